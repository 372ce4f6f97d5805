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
# What can be drawn; by default the first, the second for several rows of a table.
PLOTS = {
    "columns": ("waterfall", "beeswarm", "bar"),
    "texts": ("text", "waterfall"),
    "images": ("image", "waterfall"),
}


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
            notes=(*first.notes, "means of |value|: their errors include those of the rows"),
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
        all_rows = self.kind == "columns" and len(self.rows) > 1
        drawn = checks.choice("kind", kind or PLOTS[self.kind][all_rows], PLOTS[self.kind])
        at, count = self._output(output), len(self.rows)
        place = checks.whole("row", row, least=-count, most=count - 1)
        if drawn == "bar":
            return plot_values(self.overall(output), axes, most=max(most, 2))
        if drawn == "beeswarm":
            names = list(self.player_names)
            return plots.plot_beeswarm(self.values[at], self.data, names, axes, most)
        known = ~np.isnan(self.values[at][place])
        values, errors = (part[at][place][known] for part in (self.values, self.standard_errors))
        names = list(self.names(place))[: len(values)]
        if drawn == "image" and self.segments is not None:
            return plots.plot_image(values, self.segments[place], axes)
        if drawn == "text":
            return plots.plot_text(values, errors, names, axes)
        if self.kind == "columns":
            names = [f"{n} = {_short(d)}" for n, d in zip(names, self.data[place], strict=True)]
        base = float(self.base_values[at][place])
        return plots.plot_waterfall(values, errors, names, base, axes, most)

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
        outputs = [("", self._output(0))]
        if self.values.ndim == 3:
            names = [one_line(name, SHOWN_LETTERS) for name in self.output_names]
            outputs = [(f", output {name}", (..., at)) for at, name in enumerate(names)]
        lines = [
            f"row {row}{named}: {self._sum(place, at)}"
            for place, row in enumerate(self.rows[:SHOWN_ROWS])
            for named, at in outputs
        ]
        if len(self.rows) > SHOWN_ROWS:
            lines.append(f"… {several(len(self.rows) - SHOWN_ROWS, 'more row')}")
        if len(self.rows) > 1 and self.kind == "columns":
            for named, at in outputs:
                means = self.importance()[at]
                shown = [f"{name} {means[player]:.3g}" for player, name in self._largest(0, means)]
                lines.append(f"mean |value| over the rows{named}: {', '.join(shown)}")
        return f"values of {players} for the predictions of {rows}, {how}", lines

    def _largest(self, place: int, values: FloatArray) -> list[tuple[int, str]]:
        """The players of a row whose values are the largest, with their names."""
        order = np.argsort(-np.abs(values), kind="stable")[:SHOWN_PLAYERS].tolist()
        names = self.names(place)
        return [(player, one_line(names[player], SHOWN_LETTERS)) for player in order]

    def _sum(self, place: int, output: Any) -> str:
        """A prediction as the sum of the base value and the players' values."""
        values, errors = self.values[output][place], self.standard_errors[output][place]
        values = values[~np.isnan(values)]
        largest = self._largest(place, values)
        shown = [
            f"{name} {values[player]:+.3g}"
            + (f" ± {errors[player]:.1g}" if errors[player] > 0 else "")
            for player, name in largest
        ]
        if len(values) > len(shown):
            rest = np.delete(values, [player for player, _ in largest])
            shown.append(f"{several(len(rest), 'other')} {rest.sum():+.3g}")
        base, prediction = self.base_values[output][place], self.predictions[output][place]
        return f"{prediction:.4g} = {base:.4g} on average, {', '.join(shown)}"

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
        columns: dict[str, Any] = {row: self.rows}
        values = self.values
        if values.ndim == 3:
            columns = {row: np.repeat(self.rows, len(self.output_names))}
            columns[output] = self.output_names * len(self.rows)
            values = np.swapaxes(values, 1, 2).reshape(-1, len(self.player_names))
        frame = make_frame({**columns, **dict(zip(self.player_names, values.T, strict=True))}, kind)
        pandas = len(columns) > 1 and hasattr(frame, "iloc")
        return frame.set_index(output, append=True) if pandas else frame


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
