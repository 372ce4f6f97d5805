"""What was found: a probability for each row, its table as CSV, and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.files import as_path, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import one_line, quoted, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.clean.mistakes import Mistakes
from fairshapley.clean.sources import Source
from fairshapley.results.tables import csv_bytes

if TYPE_CHECKING:
    import pyarrow as pa

# Above it a label is wrong rather than right.
LIKELY = 0.5
# A range of shares as wide as this says that features do not tell mistakes from hard rows.
WIDE = 0.1
# A share of wrong labels above it is not nothing.
SMALL = 0.005
# What is said of a pattern of mistakes, after the share of wrong labels.
PATTERNS = {
    "none": "",
    "any": ": mistakes of any kind",
    "by class": ": some classes are mistaken more often than others",
    "by pair": ": classes are mistaken for one certain other",
    "one pair": ": one class is mistaken for one other",
}
# The columns of what was found, before those of the row itself.
SHOWN = 9
# Longer texts from the data are cut on pages and terminals.
LONGEST = 40


@dataclass(frozen=True, eq=False)
class Checks:
    """A model without the suspects, and how many labels made wrong on purpose were found."""

    metric: str
    """What the scores are, and on how many rows"""
    n_rows: int
    """The rows that there were"""
    counts: IntArray
    """How many first suspects were removed or relabelled"""
    removed: FloatArray
    """The score after they were removed"""
    relabelled: FloatArray
    """The score after they got the label that is suggested"""
    n_removed: int
    """How many first suspects are probably wrong"""
    score: float
    """The score without these"""
    random: FloatArray
    """The scores without as many rows drawn at random"""
    planted: int
    """How many labels that are probably right were made wrong"""
    found: int
    """How many of these are among as many first suspects, of rows that were not likely before"""
    auc: float
    """The probability that one of these is more suspect than another row"""


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Rows by the probability that their labels are wrong; arrays have one entry for each row.

    Rows of classes that are too small to be judged have NaN, and are not in `order`.
    """

    names: tuple[str, ...]
    labels: NDArray[Any]
    """The labels as given"""
    classes: NDArray[Any]
    """The different labels"""
    probability: FloatArray
    """That the label is wrong"""
    suggestions: NDArray[Any]
    """The likeliest other label"""
    held_out: FloatArray
    """How probable the label is to models that have not seen the row"""
    neighbours: NDArray[Any]
    """The most frequent label of the ten nearest rows"""
    agreement: FloatArray
    """The share of them with the row's own label"""
    values: FloatArray
    """The row's closed-form Shapley value for nearest neighbours, where each class counts alike"""
    distance: FloatArray
    """To the ten nearest rows, in units of what is usual: 3 and more is unlike all others"""
    mistakes: Mistakes
    sources: tuple[Source, ...]
    """Categories whose labels are probably wrong as a whole"""
    weights: dict[str, float]
    """How much each model counts"""
    checks: Checks | None
    notes: tuple[str, ...]
    table: pa.Table | None = None
    """The rows themselves, where they came as a table"""

    @property
    def order(self) -> IntArray:
        """The rows that were judged, the most suspect first."""
        judged = np.flatnonzero(~np.isnan(self.probability))
        ranks = np.lexsort((judged, self.held_out[judged], -self.probability[judged]))
        return judged[ranks]

    @property
    def n_likely(self) -> int:
        """How many labels are wrong rather than right."""
        return int((self.probability > LIKELY).sum())

    def sentences(self) -> list[str]:
        """What was found, in words."""
        few, done, n_rows = self.mistakes, self.checks, len(self.names)
        span = f"{100 * few.lower:.2g} to {100 * few.upper:.2g} %"
        have = "has" if self.n_likely == 1 else "have"
        sentences = [
            f"{self.n_likely:,} of {n_rows:,} rows {have} a label that is probably wrong; about "
            f"{100 * few.share:.2g} % of all labels are ({span}){PATTERNS[few.pattern]}"
        ]
        if few.upper == 0:
            sentences = ["no row looks like one with a wrong label"]
        elif not self.n_likely and few.upper > SMALL:
            sentences = [
                f"of no single row is the label probably wrong, but up to {100 * few.upper:.2g} % "
                f"of all labels may be ({span}): the features do not rule it out"
            ]
        if few.pair is not None:
            taken, label = (str(self.classes[place]) for place in few.pair)
            sentences[0] += f", {quoted([taken])} labelled {quoted([label])}"
        sentences += [
            f"labels of {source.column} = {quoted([source.category])} look {source.pattern}: about "
            f"{100 * source.share:.2g} % of its {int(source.rows.sum()):,} labels are wrong, if "
            "its rows do not differ from all others for a good reason; they were judged by models "
            "that do not know that column"
            for source in self.sources
        ]
        if few.upper - few.lower > WIDE and not self.sources:
            sentences.append(
                "the features do not tell wrong labels from hard rows: how many are wrong is "
                "hardly known, so that the order of the suspects means more than their "
                "probabilities; give the share of wrong labels if you know it"
            )
        likely = self.probability > LIKELY
        classes = dict.fromkeys(self.labels[likely].tolist())
        if whole := [str(class_) for class_ in classes if likely[self.labels == class_].all()]:
            sentences.append(
                f"all rows with the label {quoted(whole)} are suspects: this may be a rare "
                "class that the features do not show; look at them before you remove any"
            )
        if done is not None:
            sentences += [
                f"of {several(done.planted, 'label')} made wrong on purpose, {done.found:,} "
                f"{'was' if done.found == 1 else 'were'} among the first {done.planted:,} new "
                f"suspects (AUC {done.auc:.3f})",
                f"{done.metric}: {done.removed[0]:.4g} with all {done.n_rows:,} rows, "
                f"{done.score:.4g} without the first {several(done.n_removed, 'suspect')}, "
                f"{done.random.min():.4g} to {done.random.max():.4g} without as many at random "
                f"({len(done.random)} draws)",
            ]
        return sentences

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
            given = self.table.take(rows)
            for name, column in zip(given.column_names, given.columns, strict=True):
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
        write_whole(as_path(path), csv_bytes(self.columns(_most(most))))

    def to_frame(self, kind: Any = "pandas", *, most: int | None = None) -> Any:
        """The same as a table of pandas, polars, Arrow or another kind, see `Result.to_frame`."""
        return make_frame(self.columns(_most(most)), kind)

    def report(self, path: str | os.PathLike[str], *, title: str = "Suspect rows") -> Path:
        """Write what was found as one HTML file: sentences, a chart, the first suspects."""
        from fairshapley.clean.web_page import page

        target = as_path(path)
        write_whole(target, page(self, title).encode("utf-8"))
        return target

    def shown(self, most: int) -> tuple[list[str], list[list[str]]]:
        """Headings and the first suspects, for people."""
        columns = list(self.columns(most).items())[:SHOWN]
        rows = zip(*([_cell(value) for value in column] for _, column in columns), strict=True)
        return [name.replace("_", " ") for name, _ in columns], [list(row) for row in rows]


def _most(most: int | None) -> int | None:
    return None if most is None else checks.whole("most", most)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else one_line(str(value), LONGEST)
