"""Rows explained one by one: a matrix of values, for shap's plots too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.frames import make_frame
from fairshapley._basics.markup import block_html, sentences_html
from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.arguments import check_output
from fairshapley.games.features.pieces import Images, Pieces
from fairshapley.results.plots import explanations as plots
from fairshapley.results.plots.values import plot_values
from fairshapley.results.result import Result
from fairshapley.results.sharing import shap_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is printed: the first rows, in each the players that matter most, names cut to a length.
SHOWN_ROWS = 10
SHOWN_PLAYERS = 5
SHOWN_LETTERS = 40
LINES = ("row", "output")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Attributions:
    """The values of the features in each of some rows.

    Arrays have one axis for rows, one for players and, where several outputs were asked for, one
    for outputs.
    """

    values: FloatArray
    """φ̂, (rows, players[, outputs])"""
    standard_errors: FloatArray
    """The standard error of each value, 0 where it is exact"""
    base_values: FloatArray
    """v(∅), the mean prediction over the background, (rows[, outputs])"""
    predictions: FloatArray
    """v(N), the prediction for each row (for its neighbourhood, in a conditional game)"""
    data: NDArray[Any]
    """What each player shows in each row, (rows, players)"""
    rows: tuple[int, ...]
    """The positions of the rows in X"""
    player_names: tuple[str, ...]
    output_names: tuple[str, ...]
    """The outputs explained"""
    results: tuple[tuple[Result, ...], ...]
    """The result behind each row (and output), with fidelity, certificates and provenance"""
    kind: Literal["columns", "texts", "images"] = "columns"
    """What the players are: columns, or pieces of texts or images, whose number may differ from row
    to row; values behind a row's last player are NaN"""
    segments: IntArray | None = None
    """The piece of each pixel of each image, where the rows are images"""
    complete: bool = True
    """False when Ctrl-C came: then the rows are those that were finished"""

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score of all rows, outputs and players."""
        return min(result.min_fidelity for row in self.results for result in row)

    def names(self, place: int) -> tuple[str, ...]:
        """The players of a row, by its place among the rows: columns, or the words of a text."""
        return tuple(self.data[place]) if self.kind == "texts" else self.player_names

    def importance(self) -> FloatArray:
        """The mean |φ̂| over the rows, (players[, outputs]): what matters in the whole data."""
        importance: FloatArray = np.abs(self.values).mean(axis=0)
        return importance

    def overall(self, output: int | str | None = None) -> Result:
        """The importance of the players in the data that the rows come from, as a result.

        Its values are the means of |φ̂| over the rows, its errors those of the choice of the rows
        and of the coalitions together: rows share their coalitions, so that their errors count as
        if they were all alike. ``overall().decisions().top(3)`` names features that are certified
        to matter most.
        """
        at = self._output(output)
        sizes, errors = np.abs(self.values[at]), self.standard_errors[at]
        if self.kind != "columns" or len(sizes) < 2:
            raise InputError("what matters overall is known from at least two rows of a table")
        spread = np.sqrt(sizes.var(axis=0, ddof=1) / len(sizes) + np.square(errors.mean(axis=0)))
        first = self.results[0][0]
        return replace(
            first,
            values=sizes.mean(axis=0),
            standard_errors=spread,
            counts=np.full(sizes.shape[1], len(sizes)),
            evaluations=sum(row[0].evaluations for row in self.results),
            exact=False,
            level_share=1.0,
            endpoints=None,
            xi=float(sizes.mean()),
            stopped=f"the mean |value| over {len(sizes)} rows",
            notes=(
                *first.notes,
                "means of |value|: their errors include those of the rows",
            ),
        )

    def plot(
        self,
        kind: Literal["waterfall", "beeswarm", "bar", "text", "image"] | None = None,
        *,
        row: int = 0,
        output: int | str | None = None,
        axes: Axes | None = None,
        most: int = plots.MOST,
    ) -> Axes:
        """Draw one row or all (needs matplotlib).

        Parameters
        ----------
        kind
            "waterfall", "text" or "image" for one row; "beeswarm" or "bar" for all of them. By
            default what suits: all rows of a table, or one text or image.
        row
            The place of the row among those explained.
        output
            Which output, where there are several.
        axes, most
            Where to draw; how many players.
        """
        single = {"texts": "text", "images": "image"}.get(self.kind, "waterfall")
        several_rows = self.kind == "columns" and len(self.rows) > 1
        kind = kind or ("beeswarm" if several_rows else single)  # type: ignore[assignment]
        checks.choice("kind", kind, ("waterfall", "beeswarm", "bar", "text", "image"))
        at, place = self._output(output), plots.check_row(row, len(self.rows))
        if kind == "bar":
            return plot_values(self.overall(output), axes, most=max(most, 2))
        if kind == "beeswarm":
            names = list(self.player_names)
            return plots.plot_beeswarm(self.values[at], self.data, names, axes, most)
        values, errors = self.values[at][place], self.standard_errors[at][place]
        known = ~np.isnan(values)
        values, errors = values[known], errors[known]
        if kind == "image":
            if self.segments is None:
                raise InputError("these rows are no images: draw a waterfall")
            return plots.plot_image(values, self.segments[place], axes)
        if kind == "text":
            return plots.plot_text(values, errors, list(self.names(place))[: len(values)], axes)
        shown = [str(name) for name in self.names(place)[: len(values)]]
        if self.kind == "columns":
            shown = [f"{n} = {_short(d)}" for n, d in zip(shown, self.data[place], strict=True)]
        return plots.plot_waterfall(
            values, errors, shown, float(self.base_values[at][place]), axes, most
        )

    def _output(self, output: int | str | None) -> Any:
        """The index of one output in the arrays."""
        if self.values.ndim == 2:
            return ...
        return (..., check_output(output, self.output_names))

    def __str__(self) -> str:
        title, lines = self._told()
        return "\n".join([title, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, lines = self._told()
        return block_html(title, sentences_html(lines))

    def _told(self) -> tuple[str, list[str]]:
        """A title, a line for each of the first rows, and one for all; so for each output."""
        how = "exact" if all(one.exact for row in self.results for one in row) else "estimated"
        if not self.complete:
            how += "; interrupted, the rows are those that were finished"
        rows, players = several(len(self.rows), "row"), several(len(self.player_names), "player")
        lines = [
            f"row {row}{named}: {self._sum(place, output)}"
            for place, row in enumerate(self.rows[:SHOWN_ROWS])
            for output, named in self._outputs()
        ]
        if len(self.rows) > SHOWN_ROWS:
            lines.append(f"… {several(len(self.rows) - SHOWN_ROWS, 'more row')}")
        title = f"values of {players} for the predictions of {rows}, {how}"
        return title, [*lines, *self._most_important()]

    def _outputs(self) -> list[tuple[Any, str]]:
        """An index of each output in the arrays, and its name behind a row's."""
        if self.values.ndim == 2:
            return [(..., "")]
        names = [one_line(name, SHOWN_LETTERS) for name in self.output_names]
        return [((..., at), f", output {name}") for at, name in enumerate(names)]

    def _sum(self, place: int, output: Any) -> str:
        """A prediction as the sum of the base value and the players' values."""
        values = self.values[output][place]
        values = values[~np.isnan(values)]
        errors = self.standard_errors[output][place]
        order = np.argsort(-np.abs(values), kind="stable")
        names = self.names(place)
        shown = [
            f"{one_line(names[player], SHOWN_LETTERS)} {values[player]:+.3g}"
            + (f" ± {errors[player]:.1g}" if errors[player] > 0 else "")
            for player in order[:SHOWN_PLAYERS].tolist()
        ]
        if len(order) > SHOWN_PLAYERS:
            rest = values[order[SHOWN_PLAYERS:]]
            shown.append(f"{several(len(rest), 'other')} {rest.sum():+.3g}")
        base, prediction = self.base_values[output][place], self.predictions[output][place]
        return f"{prediction:.4g} = {base:.4g} on average, {', '.join(shown)}"

    def _most_important(self) -> list[str]:
        """The players that matter most over all rows, for each output."""
        if len(self.rows) < 2 or self.kind != "columns":
            return []
        found = []
        for output, named in self._outputs():
            means = self.importance()[output]
            order = np.argsort(-means, kind="stable")[:SHOWN_PLAYERS].tolist()
            names = [one_line(self.player_names[player], SHOWN_LETTERS) for player in order]
            words = [f"{name} {means[at]:.3g}" for name, at in zip(names, order, strict=True)]
            found.append(f"mean |value| over the rows{named}: {', '.join(words)}")
        return found

    def to_shap(self) -> Any:
        """The values as a `shap.Explanation`, for shap's plots (needs shap)."""
        named = {"output_names": list(self.output_names)} if self.values.ndim == 3 else {}
        return shap_package().Explanation(
            values=self.values.copy(),
            base_values=self.base_values.copy(),
            data=self.data.copy(),
            feature_names=list(self.player_names),
            **named,
        )

    def to_frame(self, kind: Any = "pandas") -> Any:
        """One line per row (and output), one column per player; `kind` as in `Result.to_frame`."""
        # A player may have the name of one of these.
        row, output = (f"{name}_" if name in self.player_names else name for name in LINES)
        values = self.values
        columns: dict[str, Any] = {row: self.rows}
        if values.ndim == 3:
            values = np.swapaxes(values, 1, 2).reshape(-1, len(self.player_names))
            columns = {row: np.repeat(self.rows, len(self.output_names))}
            columns[output] = list(self.output_names) * len(self.rows)
        frame = make_frame({**columns, **dict(zip(self.player_names, values.T, strict=True))}, kind)
        return (
            frame.set_index(output, append=True)
            if output in columns and hasattr(frame, "iloc")
            else frame
        )


def _short(content: Any) -> str:
    return f"{content:.4g}" if isinstance(content, float) else str(content)


def gathered(
    subject: FeatureGame | Pieces,
    positions: IntArray,
    outputs: tuple[int, ...],
    results: dict[int, tuple[Result, ...]],
    *,
    single: bool,
    complete: bool,
) -> Attributions:
    """The results of rows, by their place among the positions, as arrays."""
    if not results:
        raise KeyboardInterrupt  # it came before any row had values
    kept = np.array(sorted(results))
    shape = len(kept), max(row[0].n_players for row in results.values()), len(outputs)
    values, errors = np.full((2, *shape), np.nan)
    ends = np.zeros((2, len(kept), len(outputs)))
    for place, row in enumerate(kept.tolist()):
        for at, one in enumerate(results[row]):
            values[place, : one.n_players, at] = one.values
            errors[place, : one.n_players, at] = one.standard_errors
            ends[:, place, at] = one.endpoints
    last: Any = 0 if single else slice(None)
    return Attributions(
        values=values[:, :, last],
        standard_errors=errors[:, :, last],
        base_values=ends[0][:, last],
        predictions=ends[1][:, last],
        data=subject.shown(positions[kept])[:, : shape[1]],
        rows=tuple(positions[kept].tolist()),
        player_names=subject.player_names[: shape[1]],
        output_names=tuple(subject.output_names[output] for output in outputs),
        results=tuple(results[row] for row in kept.tolist()),
        kind=subject.shape,
        segments=subject.labels[positions[kept]] if isinstance(subject, Images) else None,
        complete=complete,
    )


def shap_explanation(game: FeatureGame, result: Result) -> Any:
    """The result of one feature game as a `shap.Explanation` with one value per player.

    For the mean over rows, whose values have no row to show beside them, ``data`` is None.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.games.features import FeatureGame
    >>> game = FeatureGame(lambda X: X[:, 0], [[1.0], [2.0]], rows=1)
    >>> shap_explanation(game, fs.exact(game)).values
    array([0.5])
    """
    if result.n_players != game.n_players:
        raise InputError(
            f"the result has {result.n_players} players and the game {game.n_players}: give the "
            "result of this game"
        )
    return result.to_shap(game.player_data[0] if len(game.rows) == 1 else None)
