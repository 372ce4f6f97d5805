"""The values of rows: a matrix, for shap's plots too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import block_html, sentences_html
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.explanations import presentation
from fairshapley.games.features.arguments import check_output
from fairshapley.results.plots import explanations as plots
from fairshapley.results.plots.results import plot_values
from fairshapley.results.result import Result
from fairshapley.results.serialising import with_fields
from fairshapley.results.sharing import shap_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What can be drawn; by default the first, the second for several rows of a table.
PLOTS = {"columns": ("waterfall", "beeswarm", "bar"), "texts": ("text", "waterfall")}


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
    """v(N), the prediction for each row"""
    data: NDArray[Any]
    """The content of each player in each row, (rows, players)"""
    rows: tuple[int, ...]
    """The positions of the rows in X"""
    player_names: tuple[str, ...]
    output_names: tuple[str, ...]
    """The outputs explained"""
    results: tuple[tuple[Result, ...], ...]
    """The result behind each row (and output), with fidelity, certificates and provenance"""
    kind: Literal["columns", "texts"] = "columns"
    """The kind of players: columns, or pieces of texts, whose number may differ from row to row;
    values behind a row's last player are NaN"""
    complete: bool = True
    """False when Ctrl-C came: then the rows are those that were finished"""

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score of all rows, outputs and players."""
        return min(result.min_fidelity for row in self.results for result in row)

    def names(self, place: int) -> tuple[str, ...]:
        """Return the players of a row, by its place among the rows: columns, or words of a text."""
        return tuple(self.data[place]) if self.kind == "texts" else self.player_names

    def importance(self) -> FloatArray:
        """Return the mean |φ̂| over the rows, (players[, outputs])."""
        return np.abs(self.values).mean(axis=0)

    def overall(self, output: int | str | None = None) -> Result:
        """Return the importance of the players in the data that the rows come from, as a result.

        Its values are the means of |φ̂| over the rows, its errors those of the choice of the rows
        and of the coalitions together: rows share their coalitions, so that their errors count as
        if they were all alike. ``overall().decisions().top(3)`` names features that are certified
        to matter most.
        """
        at = self.index(output)
        sizes, errors = np.abs(self.values[at]), self.standard_errors[at]
        if self.kind != "columns" or len(sizes) < 2:
            raise InputError("what matters overall is known from at least two rows of a table")
        spread = np.sqrt(sizes.var(axis=0, ddof=1) / len(sizes) + np.square(errors.mean(axis=0)))
        first = self.results[0][0]
        return with_fields(
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
            notes=(*first.notes, "means of |value|: their errors include the choice of the rows"),
        )

    def plot(
        self,
        kind: Literal["waterfall", "beeswarm", "bar", "text"] | None = None,
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
            "waterfall" or "text" for one row; "beeswarm" or "bar" for all of them. By default all
            rows of a table, or one text.
        row
            The place of the row among those explained.
        output
            Which output, where there are several.
        axes, most
            Where to draw; how many players.
        """
        all_rows = self.kind == "columns" and len(self.rows) > 1
        drawn = checks.choice("kind", kind or PLOTS[self.kind][all_rows], PLOTS[self.kind])
        place = checks.whole("row", row, least=-len(self.rows), most=len(self.rows) - 1)
        if drawn == "bar":
            axes = plot_values(self.overall(output), axes, most=max(most, 2))
            axes.set_xlabel("mean |value| over the rows, 90 % intervals each on its own")
            return axes
        if drawn == "beeswarm":
            names = list(self.player_names)
            return plots.plot_beeswarm(
                self.values[self.index(output)], self.data, names, axes, most
            )
        values, errors = self.row_values(place, output)
        names = list(self.names(place))[: len(values)]
        if drawn == "text":
            return plots.plot_text(values, errors, names, axes)
        if self.kind == "columns":
            names = [f"{name} = {self.content(place, at)}" for at, name in enumerate(names)]
        base = float(self.base_values[self.index(output)][place])
        return plots.plot_waterfall(values, errors, names, base, axes, most)

    def index(self, output: int | str | None) -> Any:
        """Return the index of one output in the arrays."""
        if self.values.ndim == 2:
            return ...
        return (..., check_output(output, self.output_names))

    def row_values(
        self, place: int, output: int | str | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the values of a row, by its place, and their standard errors."""
        at = self.index(output)
        known = ~np.isnan(self.values[at][place])
        return self.values[at][place][known], self.standard_errors[at][place][known]

    def content(self, place: int, player: int) -> str:
        """Return the content of a player in a row, as a text."""
        content = self.data[place, player]
        return f"{content:.4g}" if isinstance(content, float) else str(content)

    def __str__(self) -> str:
        title, lines = presentation.sentences(self)
        return "\n".join([title, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, lines = presentation.sentences(self)
        return block_html(title, sentences_html(lines))

    def to_shap(self) -> Any:
        """Return the values as a `shap.Explanation`, for shap's plots (needs shap)."""
        named = {"output_names": list(self.output_names)} if self.values.ndim == 3 else {}
        return shap_package().Explanation(
            values=self.values.copy(),
            base_values=self.base_values.copy(),
            data=self.data.copy(),
            feature_names=list(self.player_names),
            **named,
        )

    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return a line per row (and output) as a table; `kind` as in `Result.to_frame`."""
        # A player may have one of these names.
        row, output = (f"{it}_" if it in self.player_names else it for it in ("row", "output"))
        columns: dict[str, Any] = {row: self.rows}
        values = self.values
        if values.ndim == 3:
            columns = {row: np.repeat(self.rows, len(self.output_names))}
            columns[output] = self.output_names * len(self.rows)
            values = np.swapaxes(values, 1, 2).reshape(-1, len(self.player_names))
        frame = make_frame({**columns, **dict(zip(self.player_names, values.T, strict=True))}, kind)
        pandas = len(columns) > 1 and hasattr(frame, "iloc")
        return frame.set_index(output, append=True) if pandas else frame
