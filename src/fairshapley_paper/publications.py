"""The paper's numbers, as files beside this one."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from importlib.resources import files

from fairshapley.errors import InputError
from fairshapley_paper.experiment import Experiment
from fairshapley_paper.methods import METHODS

COLUMNS = ("scenario", "method", "measure", "x", "value", "error")


@dataclass(frozen=True)
class Valued:
    """A number with its standard error."""

    value: float
    error: float
    """NaN where there is none"""


Key = tuple[str, str, str, float | None]
"""Scenario, method, measure, and x for a point of a curve"""


def published_numbers(experiment: str) -> dict[Key, Valued]:
    """The paper's numbers for an experiment; none where it prints none.

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
        numbers[key] = Valued(float(row["value"]), error)
    return numbers


def published_beside(experiment: Experiment) -> dict[Key, Valued]:
    """The paper's numbers by our own names: beside every reading and every form of a row."""
    known = published_numbers(experiment.reads or experiment.name)
    return {
        (scenario.name, method, measure, x): number
        for (shown, row, measure, x), number in known.items()
        for scenario in experiment.scenarios
        if shown == (scenario.form_of or scenario.name)
        for method in experiment.methods
        if METHODS[method].row == row
    }
