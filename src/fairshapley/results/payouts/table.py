"""What a payout is: amounts that add up, with names, a band and notes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fairshapley._basics.files import as_path, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import block_html, names_table_html, one_line, sentences_html
from fairshapley._basics.types import FloatArray
from fairshapley.results.payouts.amounts import shown
from fairshapley.results.tables import BOTTOM_ROWS, TOP_ROWS, csv_bytes, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Negative: TypeAlias = Literal["zero", "charge"]

ROWS_SHOWN = 20
# Of a pool as large as this, what amounts hang on is shown without cents.
BRIEF = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class Payout:
    """A sum divided among the players, exact to its smallest unit.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 4.0])
    >>> payout = fs.exact(game).payout(100)
    >>> [str(amount) for amount in payout.amounts]
    ['14.29', '28.57', '57.14']
    >>> sum(payout.amounts)
    Decimal('100.00')
    """

    pool: Decimal
    """The sum that was to be divided: all amounts and the rest add up to it exactly"""
    unit: Decimal
    """What every amount is a multiple of"""
    amounts: tuple[Decimal, ...]
    """What each player gets; negative where it is charged"""
    rest: Decimal
    """What could not be divided equally among equals; 0 but in rare cases"""
    shares: FloatArray
    """The share of each player before rounding"""
    values: FloatArray
    """The values that were divided by: identical players have their mean"""
    lower: tuple[Decimal, ...] | None
    """The least that true values could give each player; None without a band"""
    upper: tuple[Decimal, ...] | None
    """The most"""
    delta: float
    """The probability that the band misses what true values would give to some player"""
    negative: Negative
    names: tuple[str, ...]
    notes: tuple[str, ...]
    """How negative values, identical players and the rest were treated, and what is certain"""
    findings: tuple[str, ...] = ()
    """What holds of the values, see `Result.findings`; empty without a band"""
    test_lower: tuple[Decimal, ...] | None = None
    """The least that another test set of the same size would pay each player; None where unknown"""
    test_upper: tuple[Decimal, ...] | None = None
    """The most"""
    alternatives: dict[str, tuple[Decimal, ...]] = field(default_factory=dict)
    """What each player would get by another metric, or if copies were paid once"""
    split: dict[int, tuple[Decimal, Decimal]] = field(default_factory=dict)
    """What some players would get in two names, with the standard error"""

    @property
    def widest(self) -> Decimal:
        """The widest band of a player; 0 without bands."""
        ends = zip(self.lower or (), self.upper or (), strict=True)
        return max((high - low for low, high in ends), default=Decimal(0))

    def bands(self) -> dict[str, list[tuple[Decimal, Decimal]]]:
        """Return the bands there are: the least and the most for each player."""
        found = {
            "by true values": (self.lower, self.upper),
            "by other test rows": (self.test_lower, self.test_upper),
        }
        return {
            name: list(zip(low, high, strict=True))
            for name, (low, high) in found.items()
            if low is not None and high is not None
        }

    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return one row per player: value, share, amount and band; money as Decimal.

        `kind` as in `Result.to_frame`.
        """
        return make_frame(self._columns(), kind)

    def _columns(self) -> dict[str, Sequence[Any]]:
        bands = {"lower": self.lower, "upper": self.upper}
        bands |= {"test_set_lower": self.test_lower, "test_set_upper": self.test_upper}
        return {
            "player": self.names,
            "value": self.values.tolist(),
            "share": self.shares.tolist(),
            "amount": self.amounts,
            **{name: ends for name, ends in bands.items() if ends is not None},
            **{f"amount by {name}": amounts for name, amounts in self.alternatives.items()},
            **self._split_columns(),
        }

    def _split_columns(self) -> dict[str, Sequence[Any]]:
        if not self.split:
            return {}
        pairs = [self.split.get(player, (None, None)) for player in range(len(self.names))]
        both, errors = zip(*pairs, strict=True)
        return {"in_two_names": both, "in_two_names_error": errors}

    def to_dict(self) -> dict[str, Any]:
        """Return the payout as plain data for JSON; money as text, which loses no cent."""
        columns = {
            name: [f"{cell:f}" if isinstance(cell, Decimal) else cell for cell in column]
            for name, column in self._columns().items()
        }
        return {
            "pool": f"{self.pool:f}",
            "unit": f"{self.unit:f}",
            "rest": f"{self.rest:f}",
            "negative": self.negative,
            "delta": self.delta,
            "players": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "notes": [*self.notes, *self.findings],
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line per player; a name that a spreadsheet would take for a formula is tamed.

        The rest, where there is one, is in `notes` and `rest` alone.
        """
        write_whole(as_path(path), csv_bytes(self._columns()))

    def plot(self, axes: Axes | None = None, *, most: int = 40) -> Axes:
        """Draw what each player gets, with the bands of estimation and of the test set.

        Parameters
        ----------
        axes, most
            Where to draw; how many players, those who get most.
        """
        from fairshapley.results.plots.canvas import BLUE, GREY, ORANGE, literal, new_axes

        order = self.order()[:most]
        places, amounts = range(len(order)), [float(self.amounts[player]) for player in order]
        axes = new_axes(axes, height=max(2.0, 1.4 + 0.3 * len(order)))
        colours = [ORANGE if amount < 0 else BLUE for amount in amounts]
        axes.barh(places, amounts, color=colours, alpha=0.7)
        styles = {"by other test rows": (GREY, 5), "by true values": ("black", 1)}
        for name, ends in reversed(self.bands().items()):
            colour, width = styles[name]
            left, right = np.array([ends[player] for player in order], dtype=float).T
            axes.hlines(places, left, right, color=colour, alpha=0.6, lw=width, label=name)
        if self.bands():
            title = f"{100 * (1 - self.delta):g} % bands"
            axes.legend(title=title, fontsize="small", loc="lower right")
        axes.set_yticks(places, [literal(self.names[player]) for player in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set_xlabel(f"amount, of {shown(self.pool)}")
        axes.set_title("Who gets what")
        return axes

    def headline(self) -> str:
        """Return what was divided, in a line."""
        return f"{shown(self.pool)} divided among {len(self.amounts)} players by their values"

    def shown(self) -> tuple[list[str], list[Sequence[str]]]:
        """Return the headings and the rows of a table, those who get most first."""
        columns = {"value": [f"{value:+.5g}" for value in self.values]}
        columns["amount"] = [shown(amount) for amount in self.amounts]
        for name, ends in self.bands().items():
            # The band of exact values is only rounding: at most a unit to each side.
            if name != "by true values" or self.widest > 2 * self.unit:
                columns[name] = [f"{shown(low)} to {shown(high)}" for low, high in ends]
        lines = list(zip(self.names, *columns.values(), strict=True))
        return ["player", *columns], [lines[player] for player in self.order()]

    def said(self) -> tuple[list[str], list[str]]:
        """Return the answer in at most three sentences, and all else that is to be known."""
        first = self.order()[0]
        most = f"most of it, {shown(self.amounts[first])}, to {one_line(self.names[first], 40)}"
        return [f"{self.headline()}: {most}", *self.notes[:2]], [*self.notes[2:], *self.findings]

    def hanging(self) -> tuple[list[str], list[Sequence[str]], list[str]]:
        """Return a table of what the amounts hang on, and who goes from nothing to something.

        Headings, rows and sentences; no rows where nothing else was tried.
        """
        headings = ["player", "amount", *self.alternatives, *["in two names"] * bool(self.split)]
        if len(headings) == 2:
            return headings, [], []
        others = self.bands().get("by other test rows")
        headings += ["other test set"] * (others is not None)
        rows: list[Sequence[str]] = []
        marked = []
        for player in self.order():
            amount, cells = self.amounts[player], []
            for name, column in self.alternatives.items():
                new = (amount > 0) != (column[player] > 0)
                cells.append(f"{self._brief(column[player])}{' *' * new}")
                if new:
                    marked.append(f"{self.names[player]!r:.60} ({name})")
            if self.split:
                both = self.split.get(player)
                cells.append(" ± ".join(map(self._brief, both)) if both else "")
            if others is not None:
                cells.append(" to ".join(map(self._brief, others[player])))
            rows.append((self.names[player], self._brief(amount), *cells))
        said = f"* something instead of nothing, or the reverse: {', '.join(marked)}"
        return headings, rows, [said] if marked else []

    def _brief(self, amount: Decimal) -> str:
        """Return an amount for people, without cents of a large pool."""
        return f"{amount:,.0f}" if self.pool >= BRIEF else shown(amount)

    def order(self) -> list[int]:
        """Return the players, those who get most first."""
        return sorted(range(len(self.amounts)), key=lambda player: -self.amounts[player])

    def __str__(self) -> str:
        order, lines, bands = self.order(), [self.headline()], self.bands()
        widest = max(len(shown(amount)) for amount in self.amounts)
        for player in order[:ROWS_SHOWN]:
            line = f"{shown(self.amounts[player]):>{widest}}  {self.names[player]}"
            for name, ends in bands.items():
                what = "other test sets: " * (name == "by other test rows")
                line += f"  ({what}{' to '.join(map(shown, ends[player]))})"
            lines.append(line)
        if len(order) > ROWS_SHOWN:
            others = sum((self.amounts[player] for player in order[ROWS_SHOWN:]), Decimal(0))
            lines.append(f"{shown(others):>{widest}}  {len(order) - ROWS_SHOWN} others together")
        return "\n".join([*lines, *self.notes, *self.findings])

    def _repr_html_(self) -> str:
        headings, rows = self.shown()
        table = names_table_html(headings, shortened(rows, TOP_ROWS, BOTTOM_ROWS))
        return block_html(self.headline(), table, sentences_html([*self.notes, *self.findings]))
