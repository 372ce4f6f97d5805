"""What was found: a probability for each row, its table as CSV, and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.files import write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.results.tables import csv_bytes
from fairshapley.uses.selecting import Selection
from fairshapley.uses.suspects.wrong_labels import Mistakes

if TYPE_CHECKING:
    import pyarrow as pa

# Above it a label is wrong rather than right.
LIKELY = 0.5
# A range of shares as wide as this says that features do not tell mistakes from hard rows.
WIDE = 0.1
PATTERNS = {
    "any": "mistakes of any kind",
    "by class": "some classes are mistaken more often than others",
    "by pair": "classes are mistaken for one certain other",
}
# Longer texts from the data are cut on pages and terminals.
LONGEST = 40


@dataclass(frozen=True, eq=False)
class Removal:
    """How well a model does on other rows, without the suspects, most suspect first."""

    counts: IntArray
    """How many rows were removed or relabelled"""
    removed: FloatArray
    """The score after they were removed"""
    relabelled: FloatArray
    """The score after they got the label that is suggested"""
    at_random: FloatArray
    """The mean score after as many rows were removed at random"""
    n_rows: int
    """The rows that there were"""
    metric: str
    """What the score is, and on how many rows"""


@dataclass(frozen=True)
class Planted:
    """How many labels that were made wrong on purpose were found again."""

    planted: int
    """How many were planted"""
    found: int
    """How many of them are among as many first suspects, without rows that were likely before"""
    auc: float
    """The probability that a planted one is more suspect than another row"""


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Rows by the probability that their labels are wrong; arrays have one entry for each row.

    Rows of classes that are too small to be judged have NaN, and are not in `order`.
    """

    names: tuple[str, ...]
    labels: NDArray[Any]
    """The labels as given"""
    probability: FloatArray
    """That the label is wrong"""
    suggestions: NDArray[Any]
    """The likeliest other label; of numbers, the prediction"""
    held_out: FloatArray
    """How probable the label is to models that have not seen the row"""
    neighbours: NDArray[Any]
    """The most frequent label of the ten nearest rows; of numbers, the median"""
    agreement: FloatArray
    """The share of them with the row's own label; of numbers, as near as is usual"""
    values: FloatArray
    """The row's closed-form Shapley value for nearest neighbours, where each class counts alike"""
    distance: FloatArray
    """To the ten nearest rows, in units of what is usual: 3 and more is unlike all others"""
    mistakes: Mistakes
    weights: dict[str, float]
    """How much each model counts"""
    removal: Removal | None
    chance: Selection | None
    """Whether a model without the suspects is better than one without random rows"""
    planted: Planted | None
    notes: tuple[str, ...]
    table: pa.Table | None = None
    """The rows themselves, where they came as a table"""

    @property
    def order(self) -> IntArray:
        """The rows that were judged, the most suspect first."""
        judged = np.flatnonzero(~np.isnan(self.probability))
        ranks = np.lexsort((judged, self.held_out[judged], -self.probability[judged]))
        order: IntArray = judged[ranks]
        return order

    @property
    def n_likely(self) -> int:
        """How many labels are wrong rather than right."""
        return int((self.probability > LIKELY).sum())

    def sentences(self) -> list[str]:
        """What was found, in words."""
        few = self.mistakes
        label = "target" if self.labels.dtype.kind == "f" else "label"
        have = "has" if self.n_likely == 1 else "have"
        said = [
            f"{self.n_likely:,} of {len(self.names):,} rows {have} a {label} that is probably "
            f"wrong; about {100 * few.share:.2g} % of all {label}s are "
            f"({100 * few.lower:.2g} to {100 * few.upper:.2g} %): {PATTERNS[few.pattern]}"
        ]
        if few.upper - few.lower > WIDE:
            said.append(
                "the features do not tell wrong labels from hard rows: how many are wrong is "
                "hardly known, so that the order of the suspects means more than their "
                "probabilities; give share= if you know it"
            )
        if self.planted is not None:
            one = self.planted
            said.append(
                f"of {several(one.planted, 'label')} made wrong on purpose, {one.found:,} were "
                f"among the first {one.planted:,} new suspects (AUC {one.auc:.3f})"
            )
        if self.removal is not None and self.chance is not None:
            n_gone = self.removal.n_rows - self.chance.keep
            without = f"without the first {several(n_gone, 'suspect')}"
            better = "better" if self.chance.better else "no better"
            said.append(
                f"{self.removal.metric}: {self.removal.removed[0]:.4g} with all "
                f"{self.removal.n_rows:,} rows, {self.chance.utility:.4g} {without}, "
                f"{self.chance.random.mean():.4g} without as many at random: removing suspects is "
                f"{better} than chance (p = {self.chance.p_value:.2g})"
            )
        return said

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return f"<Suspects: {self.n_likely:,} of {len(self.names):,} rows>"

    def columns(self, most: int | None = None) -> dict[str, Sequence[Any]]:
        """The suspects, most suspect first: what was found, then the columns of the row."""
        rows = self.order[:most]
        found: dict[str, Sequence[Any]] = {
            "row": [self.names[row] for row in rows],
            "probability_wrong": self.probability[rows].tolist(),
            "label": self.labels[rows].tolist(),
            "suggestion": self.suggestions[rows].tolist(),
            "held_out_probability": self.held_out[rows].tolist(),
            "neighbours_say": self.neighbours[rows].tolist(),
            "neighbours_agree": self.agreement[rows].tolist(),
            "value": self.values[rows].tolist(),
            "distance": self.distance[rows].tolist(),
        }
        if self.table is not None:
            own = self.table.take(rows)
            for name, column in zip(own.column_names, own.columns, strict=True):
                found[name if name not in found else f"{name} (given)"] = column.to_pylist()
        return found

    def to_csv(self, path: str | os.PathLike[str], *, most: int | None = None) -> None:
        """Write the suspects to a CSV file, most suspect first.

        Texts that a spreadsheet would take for formulas get a leading apostrophe.

        Parameters
        ----------
        path
            The file.
        most
            How many rows to write; by default all that were judged.
        """
        write_whole(Path(path), csv_bytes(self.columns(_most(most))))

    def to_frame(self, kind: Any = "pandas", *, most: int | None = None) -> Any:
        """The same as a table of pandas, polars, Arrow or another kind, see `Result.to_frame`."""
        return make_frame(self.columns(_most(most)), kind)

    def report(self, path: str | os.PathLike[str], *, title: str = "Suspect rows") -> Path:
        """Write what was found as one HTML file: sentences, a chart, the first suspects."""
        from fairshapley.uses.suspects.page import page

        target = Path(path)
        write_whole(target, page(self, title).encode("utf-8"))
        return target

    def summary(self, most: int) -> dict[str, Any]:
        """Everything but the arrays, and the first suspects, as plain data."""
        chance = self.chance
        return {
            "rows": len(self.names),
            "likely": self.n_likely,
            "mistakes": asdict(self.mistakes),
            "weights": self.weights,
            "planted": None if self.planted is None else asdict(self.planted),
            "better_than_chance": None if chance is None else chance.better,
            "removal": None
            if self.removal is None
            else {name: np.asarray(one).tolist() for name, one in vars(self.removal).items()},
            "suspects": {
                name: [
                    str(one) if isinstance(one, date | time | timedelta) else one for one in column
                ]
                for name, column in self.columns(most).items()
            },
            "notes": self.notes,
        }

    def shown(self, most: int) -> tuple[list[str], list[list[str]]]:
        """Headings and the first suspects, for people."""
        headings = ["row", "wrong", "label", "suggested", "neighbours", "agree", "value"]
        rows = [
            [
                one_line(self.names[row], LONGEST),
                f"{self.probability[row]:.2f}",
                _cell(self.labels[row]),
                _cell(self.suggestions[row]),
                _cell(self.neighbours[row]),
                f"{100 * self.agreement[row]:.0f} %",
                f"{self.values[row]:+.2g}",
            ]
            for row in self.order[:most]
        ]
        return headings, rows


def _most(most: int | None) -> int | None:
    return None if most is None else checks.whole("most", most)


def _cell(label: Any) -> str:
    return (
        f"{label:.5g}" if isinstance(label, float | np.floating) else one_line(str(label), LONGEST)
    )
