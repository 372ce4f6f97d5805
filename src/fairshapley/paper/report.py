"""What a run of an experiment found: numbers by scenario, method, accounting and measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairshapley._types import FloatArray
from fairshapley.paper.experiment import (
    Accounting,
    Experiment,
    Ground,
    Measure,
    Points,
    Setting,
    Size,
    Trial,
)


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
    """NaN for a number of all trials together, or of a single trial"""
    trials: int


@dataclass(frozen=True, eq=False)
class Report:
    """The results of one run of an experiment."""

    experiment: Experiment
    size: Size
    setting: Setting
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
        """One of the numbers; NaN where there is none."""
        for number in self.numbers:
            key = (number.scenario, number.method, number.measure, number.accounting)
            if key == (scenario, method, measure, accounting) and number.x == x:
                return number.value
        return math.nan

    def summary(self) -> str:
        """The tables as Markdown, the published numbers beside ours."""
        from fairshapley.paper.tables import markdown

        return markdown(self)


def measured(
    measure: Measure, scenario: str, trials: Sequence[Trial], ground: Ground
) -> list[Number]:
    """The numbers of one measure for the trials of one method."""
    found = []
    for accounting in measure.accountings:
        if measure.together is not None:
            answers = [measure.together(trials, accounting, ground)]
        elif measure.each is not None:
            answers = [measure.each(trial, accounting, ground) for trial in trials]
        else:
            continue
        curves = [_points(answer) for answer in answers]
        for x in curves[0]:
            values = np.array([curve[x] for curve in curves], dtype=np.float64)
            mean, error = _mean_and_error(values)
            found.append(
                Number(
                    scenario,
                    trials[0].method,
                    accounting,
                    measure.name,
                    x,
                    mean,
                    error,
                    len(trials),
                )
            )
    return found


def _points(answer: float | Points) -> dict[float | None, float]:
    """A number as a curve of one point without an x."""
    if isinstance(answer, float | int):
        return {None: answer}
    return {float(x): y for x, y in answer.items()}


def cost_numbers(scenario: str, trials: Sequence[Trial]) -> list[Number]:
    """What the trials of a method have cost: evaluations and marginals."""
    found = []
    accountings: tuple[Accounting, ...] = ("paper", "honest")
    for accounting in accountings:
        outcomes = [trial.outcome(accounting) for trial in trials]
        costs = {
            "evaluations": [float(one.evaluations) for one in outcomes],
            "marginals": [
                math.nan if one.marginals is None else float(one.marginals) for one in outcomes
            ],
        }
        for name, values in costs.items():
            mean = float(np.mean(values))
            number = Number(
                scenario,
                trials[0].method,
                accounting,
                name,
                None,
                mean,
                math.nan,
                len(trials),
            )
            found.append(number)
    return found


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean and standard error of the numbers that are defined."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        # An infinite score is a proven value; NaN is not defined.
        return (float(values[0]) if len(values) else math.nan), math.nan
    if len(known) < len(values) and np.isinf(values).any():
        return math.inf, math.nan
    error = float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan
    return float(known.mean()), error
