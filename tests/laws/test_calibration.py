"""The check of calibration passes honest errors, and refuses those that are 0.8 times as large."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.testing import check_calibration
from fairshapley.testing.calibration import _require_uniform


@dataclass(frozen=True, kw_only=True)
class Boasting(fs.MonteCarlo):
    """Monte Carlo whose standard errors are multiplied."""

    factor: float = 0.8

    def estimate(self, state):
        found = super().estimate(state)
        return replace(found, variances=found.variances * self.factor**2)


GAME = fs.games.SumOfUnanimity(9, seed=1)


def test_errors_of_monte_carlo_are_calibrated():
    check_calibration(fs.MonteCarlo(), GAME, repeats=150, budget=200)


@pytest.mark.parametrize("factor", [0.8, 1.3])
def test_wrong_errors_are_refused(factor):
    with pytest.raises(fs.errors.ContractError, match="not calibrated"):
        check_calibration(Boasting(factor=factor), GAME, repeats=150, budget=200)


def test_the_false_alarm_rate_is_kept():
    """Uniform ranks, strongly dependent within a run; of 400 checks 4 are expected at 1 %."""
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(400):
        common = rng.random((60, 1))
        ranks = (common + 0.1 * rng.random((60, 8))) % 1.0
        try:
            _require_uniform(ranks, "ranks", 0.01 / 19)
        except fs.errors.ContractError:
            alarms += 1
    assert alarms <= 12


def test_few_repeats_are_refused():
    with pytest.raises(fs.InputError, match="at least 20"):
        check_calibration(fs.MonteCarlo(), repeats=5)
