"""What was found: a probability for each row, what to do now, tables, files and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.files import as_path, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import (
    block_html,
    names_table_html,
    one_line,
    quoted,
    sentences_html,
    several,
)
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.clean.mistakes import Mistakes
from fairshapley.clean.sources import Source
from fairshapley.errors import InputError
from fairshapley.results.tables import csv_bytes
from fairshapley.tables.columns import column_of

if TYPE_CHECKING:
    import pyarrow as pa

# Above it a label is wrong rather than right.
LIKELY = 0.5
# A range of shares as wide as this says that features do not tell mistakes from hard rows.
WIDE = 0.1
# A share of wrong labels above it is not nothing.
SMALL = 0.005
# The columns of what was found; a terminal shows the first.
FOUND = (
    *("row", "probability_wrong", "label", "suggestion", "against_the_label", "for_the_label"),
    *("held_out_probability", "neighbours_say", "neighbours_agree", "value", "distance"),
)
IN_BRIEF = FOUND[:5]
# Longer texts from the data are cut on pages and terminals; rows in a notebook.
LONGEST, FEW = 40, 10
# Rows on a page, and bars of its histogram.
MOST_SHOWN, BARS = 200, 20


@dataclass(frozen=True, eq=False)
class Checks:
    """A model without the suspects, and how many labels made wrong on purpose were found."""

    metric: str
    """What the scores are, and on how many rows"""
    n_rows: int
    """The rows that there were"""
    n_removed: int
    """How many first suspects are probably wrong"""
    score_before: float
    score: float
    """The score without these"""
    planted: int
    """How many labels that are probably right were made wrong"""
    found: int
    """How many of these are among as many first suspects, of rows that were not likely before"""
    by_chance: int
    """How many a random order finds at most, in 99 of 100 cases"""
    tenths: FloatArray
    """(10, 2): the mean probability of a tenth of these rows, and the share that was planted"""


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """Rows by the probability that their labels are wrong; arrays have one entry for each row.

    Rows of classes that are too small to be judged have NaN, and are not in `order`.
    """

    names: tuple[str, ...]
    target: str
    """The column of the labels"""
    labels: NDArray[Any]
    """The labels as given"""
    classes: NDArray[Any]
    """The different labels; of numbers, the middles of the ranges"""
    ordered: bool
    """Whether the labels are numbers"""
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
    """The columns and classes that were left out, and why"""
    table: pa.Table
    """The rows themselves"""
    reasons: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Of the first suspects: the columns against the label, and those for it"""

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

    def review(self, *, precision: float | None = None, recall: float | None = None) -> IntArray:
        """Return the rows to look at, the most suspect first.

        Parameters
        ----------
        precision
            The share of them whose label is to be wrong: as many rows as have it on average.
        recall
            The share of all wrong labels that is to be among them: as few rows as have it. With
            neither, the rows whose label is wrong rather than right.
        """
        order = self.order
        expected = np.cumsum(self.probability[order])
        if precision is not None and recall is not None:
            raise InputError("give a precision or a recall, not both")
        if precision is not None:
            wanted = checks.real("precision", precision, above=0, below=1)
            enough = expected >= wanted * np.arange(1, len(order) + 1)
            return order[: int(enough.sum())]  # the mean probability falls along the order
        if recall is not None:
            wanted = checks.real("recall", recall, above=0, below=1) * expected[-1]
            return order[: int(np.searchsorted(expected, wanted * (1 - 1e-12))) + 1]
        return order[: self.n_likely]

    def sentences(self, rows: IntArray | None = None) -> list[str]:
        """Return what was found in words; `rows` are those to look at, see `review`."""
        few, n_rows = self.mistakes, len(self.names)
        rows = self.review() if rows is None else rows
        what = "number" if self.ordered else "label"
        span = f"{100 * few.lower:.2g} to {100 * few.upper:.2g} %"
        have = "has" if self.n_likely == 1 else "have"
        sentences = [
            f"{self.n_likely:,} of {n_rows:,} rows {have} a {what} that is probably wrong; about "
            f"{100 * few.share:.2g} % of all {what}s are ({span})"
        ]
        if few.upper == 0:
            sentences = [
                f"no row looks like one with a wrong {what}; mistakes that follow the features, "
                "alike in all rows of a kind, cannot be seen here"
            ]
        elif not self.n_likely and few.upper > SMALL:
            sentences = [
                f"of no single row is the {what} probably wrong, but up to {100 * few.upper:.2g} % "
                f"of all {what}s may be ({span}): the features do not rule it out"
            ]
        if few.pair is not None:
            taken, label = (str(self.classes[place]) for place in few.pair)
            sentences[0] += f": {quoted([taken])} labelled {quoted([label])}"
        if len(rows):
            mistaken = float(self.probability[rows].sum())
            sentences.append(
                f"review these {len(rows):,}: about {mistaken:,.0f} are mistakes"
                if len(rows) > 1
                else "review the first suspect"
            )
        sentences += self._about_sources(rows)
        if few.upper - few.lower > WIDE and not self.sources:
            sentences.append(
                f"the features do not tell wrong {what}s from hard rows: how many are wrong is "
                "hardly known, so that the order of the suspects means more than their "
                f"probabilities; give the share of wrong {what}s if you know it"
            )
        return [*sentences, *self._about_checks(what), *self.notes]

    def _about_sources(self, rows: IntArray) -> list[str]:
        sentences = []
        for source in self.sources:
            inside = f"{100 * source.rows[rows].mean():.0f} % of the suspects have " * bool(
                len(rows)
            )
            sentences.append(
                f"{inside}{source.column} = {quoted([source.category])}: its labels look "
                f"{source.pattern}, about {100 * source.share:.2g} % of its "
                f"{int(source.rows.sum()):,} are wrong, if its rows do not differ from all others "
                "for a good reason; they were judged by models that do not know that column"
            )
        return sentences

    def _about_checks(self, what: str) -> list[str]:
        done = self.checks
        if done is None:
            return []
        return [
            f"we made {several(done.planted, what)} wrong on purpose: {done.found:,} "
            f"{'was' if done.found == 1 else 'were'} among the first {done.planted:,} new "
            f"suspects, where chance finds {done.by_chance:,} at most",
            f"{done.metric}: {done.score_before:.4g} with all {done.n_rows:,} rows, "
            f"{done.score:.4g} without {several(done.n_removed, 'first suspect')}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return f"<Suspects: {self.n_likely:,} of {len(self.names):,} rows>"

    def _repr_html_(self) -> str:
        headings, rows = self.shown(FEW)
        table = names_table_html(headings, [[line[0], *line[1:]] for line in rows])
        return block_html("Suspect rows", sentences_html(self.sentences()), table)

    def columns(self, most: int | None = None) -> dict[str, Sequence[Any]]:
        """Return the suspects, most suspect first: what was found, then the columns of the row."""
        rows = self.order[: None if most is None else checks.whole("most", most)]
        reasons = [self.reasons.get(row, ("", "")) for row in rows.tolist()]
        facts = (self.held_out, self.neighbours, self.agreement, self.values, self.distance)
        parts: list[Sequence[Any]] = [
            [self.names[row] for row in rows],
            *(each[rows].tolist() for each in (self.probability, self.labels, self.suggestions)),
            [against for against, _ in reasons],
            [speaking for _, speaking in reasons],
            *(each[rows].tolist() for each in facts),
        ]
        found = dict(zip(FOUND, parts, strict=True))
        given = self.table.take(rows)
        for name, column in zip(given.column_names, given.columns, strict=True):
            found[name if name not in found else f"{name} (given)"] = column.to_pylist()
        return found

    def by(self, column: str, rows: IntArray | None = None) -> dict[str, Sequence[Any]]:
        """Return a line for each category of a column, those with most wrong labels first.

        Parameters
        ----------
        column
            A column of the table, such as the supplier of the rows.
        rows
            The suspects that are counted, see `review`.
        """
        cells = column_of(self.table, column, "training", "by").to_pylist()
        kinds, codes = np.unique([str(cell) for cell in cells], return_inverse=True)
        suspect = np.isin(np.arange(len(codes)), self.review() if rows is None else rows)
        sizes, suspects = np.bincount(codes), np.bincount(codes, weights=suspect).astype(int)
        wrong = np.bincount(codes, weights=np.nan_to_num(self.probability)) / sizes
        look = {each.category: each.pattern for each in self.sources if each.column == column}
        order = np.argsort(-wrong, kind="stable")
        return {
            column: kinds[order].tolist(),
            "rows": sizes[order].tolist(),
            "suspects": suspects[order].tolist(),
            "probably_wrong": wrong[order].tolist(),
            "labels_look": [look.get(kind, "") for kind in kinds[order].tolist()],
        }

    def apply(self, path: str | os.PathLike[str], rows: IntArray | None = None) -> Path:
        """Write the table as CSV with the suggested labels, and a log of the changes beside it.

        Rows whose target is a number are left out in place of that: nobody knows the right one.

        Parameters
        ----------
        path
            The file; the log has the same name with `.changes.csv` at its end.
        rows
            The rows to be changed, see `review`.

        Returns
        -------
        Path
            The log: row, old and new label, and the probability that the old one is wrong.
        """
        rows = self.review() if rows is None else rows
        target = as_path(path)
        new = ["left out"] * len(rows) if self.ordered else self.suggestions[rows].tolist()
        if self.ordered:
            cleaned = self.table.take(np.delete(np.arange(len(self.names)), rows)).to_pydict()
        else:
            cleaned = self.table.to_pydict()
            for row, label in zip(rows.tolist(), new, strict=True):
                cleaned[self.target][row] = label
        changes: dict[str, Sequence[Any]] = {
            "row": [self.names[row] for row in rows],
            "old": self.labels[rows].tolist(),
            "new": new,
            "probability_wrong": self.probability[rows].tolist(),
        }
        log = target.with_name(f"{target.stem}.changes.csv")
        write_whole(target, csv_bytes(cleaned))
        write_whole(log, csv_bytes(changes))
        return log

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
        write_whole(as_path(path), csv_bytes(self.columns(most)))

    def to_frame(self, kind: Any = "pandas", *, most: int | None = None) -> Any:
        """Return the same as a table of pandas, polars or another kind, see `Result.to_frame`."""
        return make_frame(self.columns(most), kind)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Suspect rows",
        rows: IntArray | None = None,
        by: str | None = None,
    ) -> Path:
        """Write what was found as one HTML file: sentences, charts, the first suspects.

        Parameters
        ----------
        path, title
            The file, and its heading.
        rows
            The rows to look at, see `review`.
        by
            A column whose categories get a table.
        """
        from fairshapley.results.report.page import environment, source

        target = as_path(path)
        judged = self.probability[~np.isnan(self.probability)]
        facts: dict[str, Any] = {
            "title": title,
            "sentences": self.sentences(rows),
            "bars": np.histogram(judged, BARS, (0, 1))[0].tolist(),
            "tenths": [] if self.checks is None else self.checks.tenths.tolist(),
            "suspects": self.shown(MOST_SHOWN),
            "sources": None if by is None else as_lines(self.by(by, rows)),
            "models": as_lines({"model": [*self.weights], "weight": [*self.weights.values()]}),
            "style": source("style.css"),
        }
        # The template escapes everything from the data.
        page = environment().get_template("suspects.html").render(facts)
        write_whole(target, page.encode("utf-8"))
        return target

    def shown(self, most: int, names: Sequence[str] = FOUND) -> tuple[list[str], list[list[str]]]:
        """Return headings and the first suspects, for people."""
        columns = self.columns(most)
        return as_lines({name: columns[name] for name in names})


def as_lines(columns: dict[str, Sequence[Any]]) -> tuple[list[str], list[list[str]]]:
    """Return columns as headings and lines of texts."""
    lines = zip(*([_cell(value) for value in column] for column in columns.values()), strict=True)
    return [name.replace("_", " ") for name in columns], [list(line) for line in lines]


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else one_line(str(value), LONGEST)
