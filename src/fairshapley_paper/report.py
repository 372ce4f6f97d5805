"""What a run of an experiment found, and what the paper printed: numbers by what they measure."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.randomness import side_generator
from fairshapley_paper.experiment import (
    Accounting,
    Experiment,
    Ground,
    Measure,
    Outcome,
    Points,
    Setting,
    Size,
    Trial,
)
from fairshapley_paper.methods import METHODS

RESAMPLES = 200
# A standard error from fewer trials drawn again is a matter of luck.
FEWEST_TRIALS = 5


@dataclass(frozen=True)
class Number:
    """A mean over trials with its standard error, or one number of all trials together."""

    scenario: str
    method: str
    accounting: Accounting
    measure: str
    x: float | None
    value: float
    error: float
    """NaN for a single trial; of all trials together, the spread when they are drawn again"""
    trials: int


@dataclass(frozen=True, eq=False)
class Report:
    """The results of one run of an experiment."""

    experiment: Experiment
    setting: Setting
    size: Size
    seed: int
    numbers: tuple[Number, ...]
    notes: tuple[str, ...]
    seconds: float
    """Wall-clock time of this run"""
    computing: float
    """CPU time of all trials and truths, those found from before too"""
    command: str
    folder: Path
    paths: tuple[Path, ...] = field(default=())
    """The files that were written"""

    def value(
        self,
        scenario: str,
        method: str,
        measure: str,
        accounting: Accounting = "paper",
        x: float | None = None,
    ) -> float:
        """Return one of the numbers; NaN where there is none."""
        for number in self.numbers:
            key = (number.scenario, number.method, number.measure, number.accounting)
            if key == (scenario, method, measure, accounting) and number.x == x:
                return number.value
        return math.nan

    def summary(self) -> str:
        """Return the tables as Markdown, the published numbers beside ours."""
        from fairshapley_paper.tables import markdown

        return markdown(self)


def measured(
    measure: Measure, scenario: str, trials: Sequence[Trial], ground: Ground
) -> list[Number]:
    """Return the numbers of one measure for the trials of one method."""
    found = []
    for accounting in measure.accountings:
        if accounting == "honest" and METHODS[trials[0].method].form is not None:
            continue
        by_x: dict[float | None, tuple[float, float]] = {}
        if measure.whole is not None:
            by_x[None] = _mean_and_error(np.array([measure.whole(run, ground) for run in trials]))
        for place, outcomes in _stages(measure, trials, accounting).items():
            by_x |= _measured_at(place, measure, outcomes, ground)
        for x, (value, error) in by_x.items():
            number = (measure.name, x, value, error, len(trials))
            found.append(Number(scenario, trials[0].method, accounting, *number))
    return found


def _measured_at(
    place: float | None, measure: Measure, outcomes: Sequence[Outcome], ground: Ground
) -> dict[float | None, tuple[float, float]]:
    """Return values and standard errors by x."""
    if measure.together is not None:
        answer = measure.together(outcomes, ground)
        if isinstance(answer, Mapping):
            return {x: y if isinstance(y, tuple) else (y, math.nan) for x, y in answer.items()}
        return {place: (answer, _resampled_error(measure.together, outcomes, ground))}
    by_x: dict[float | None, list[Any]] = {}
    answers = [measure.each(outcome, ground) for outcome in outcomes] if measure.each else []
    for answer in answers:
        for x, value in (answer if isinstance(answer, Mapping) else {place: answer}).items():
            by_x.setdefault(x, []).append(value)
    return {x: _mean_and_error(np.array(values)) for x, values in by_x.items()}


def _resampled_error(
    together: Callable[[Sequence[Outcome], Ground], float | Points],
    outcomes: Sequence[Outcome],
    ground: Ground,
) -> float:
    """Return the spread of a number of all trials together when the trials are drawn again."""
    if len(outcomes) < FEWEST_TRIALS:
        return math.nan
    rng = side_generator(0, "paper trials drawn again")
    picks = rng.integers(len(outcomes), size=(RESAMPLES, len(outcomes)))
    again = np.array([together([outcomes[at] for at in pick], ground) for pick in picks])
    return float(again.std(ddof=1)) if np.isfinite(again).all() else math.nan


def _stages(
    measure: Measure, trials: Sequence[Trial], accounting: Accounting
) -> dict[float | None, list[Outcome]]:
    """Return the outcomes to be measured: by the share of m spent, in percent, or at the end."""
    if not measure.path:
        return {None: [trial.outcome(accounting) for trial in trials]}
    last = len(trials[0].path) - 1
    return {
        100.0 * place / last if last else 100.0: [trial.path[place] for trial in trials]
        for place in range(last + 1)
    }


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Return mean and standard error of the numbers that are defined."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        # An infinite score is a proven value; NaN is not defined.
        return (float(values[0]) if len(values) else math.nan), math.nan
    if len(known) < len(values) and np.isinf(values).any():
        return math.inf, math.nan
    error = float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan
    return float(known.mean()), error


COLUMNS = ("scenario", "method", "measure", "x", "value", "error")


@dataclass(frozen=True)
class Valued:
    """A number with its standard error."""

    value: float
    error: float
    """NaN where there is none"""
    rounding: float = field(default=0.0, repr=False, compare=False)
    """The standard error of a number that was rounded to its last printed digit"""


Key = tuple[str, str, str, float | None]
"""Scenario, method, measure, and x for a point of a curve"""


def published_numbers(experiment: str) -> dict[Key, Valued]:
    """Return the paper's numbers for an experiment; none where it prints none.

    Examples
    --------
    >>> published_numbers("nullity")["breast_cancer-svc", "gae-5", "eps_abs", None]
    Valued(value=0.0142, error=0.004)
    """
    file = files("fairshapley_paper") / "published" / f"{experiment}.csv"
    if not file.is_file():
        return {}
    numbers: dict[Key, Valued] = {}
    reader = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(f"{file} must have the columns {', '.join(COLUMNS)}")
    for row in reader:
        x = float(row["x"]) if row["x"] else None
        error = float(row["error"]) if row["error"] else math.nan
        key = (row["scenario"], row["method"], row["measure"], x)
        digit = 10.0 ** int(Decimal(row["value"]).as_tuple().exponent)
        numbers[key] = Valued(float(row["value"]), error, digit / math.sqrt(12))
    return numbers


def published_beside(report: Report) -> dict[Key, Valued]:
    """Return the paper's numbers by our own names: beside every reading and every form of a row.

    None beside a run with smaller settings, whose numbers are others.
    """
    experiment = report.experiment
    if report.size != "full":
        return {}
    known = published_numbers(experiment.reads or experiment.name)
    methods = dict.fromkeys(number.method for number in report.numbers)
    return {
        (scenario.name, method, measure, x): number
        for (shown, row, measure, x), number in known.items()
        for scenario in experiment.scenarios
        if shown == (scenario.form_of or scenario.name)
        for method in methods
        if METHODS[method].row == row
    }
