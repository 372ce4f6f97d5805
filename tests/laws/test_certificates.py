"""Certificates fail as rarely as they say, for every estimator that may be certified.

The tolerance is chosen on runs with other seeds so that three quarters or so are certified. At
δ = 0.1 the certified runs in which A0 does not hold may number δ·issued plus 2.5 standard
deviations, which a method that just keeps its promise exceeds with probability 0.6 %; in fact the
union bound leaves all of them far below.
"""

from functools import lru_cache

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.fairness import within_tolerance
from fairshapley.fairness.axioms import check_fairness
from tests.laws.estimators import ESTIMATORS

DELTA = 0.1
# A method that fails in a fifth of its certified runs is found nine times in ten.
RUNS = 200
# In `make test` one that fails in a quarter of them is.
FEW_RUNS = 60
CERTIFIABLE = [estimator for estimator in ESTIMATORS if estimator.traits.certifiable]


class Lognormal:
    """Heavy tails: every coalition has a lognormal utility of its own beside an additive part."""

    def __init__(self, n_players, sigma):
        self.n_players = n_players
        rng = np.random.default_rng(9)
        self.table = rng.lognormal(0.0, sigma, 1 << n_players)
        self.weights = np.linspace(3.0, 6.0, n_players)

    def __call__(self, coalitions):
        codes = coalitions @ (1 << np.arange(self.n_players))
        return self.table[codes] + coalitions @ self.weights


GAMES = {
    "interactions": fs.games.SumOfUnanimity(13, seed=5),
    "planted": fs.testing.with_null_players(fs.testing.PlantedGame(13, n_null=0, seed=6), 2),
    "airport": fs.games.Airport(np.linspace(1.0, 4.0, 13) ** 2),
    "heavy tails": Lognormal(13, 1.0),
}


@lru_cache
def truth(name):
    return fs.exact(GAMES[name]).values


def tolerance_for(runs, xi):
    """The ε1 with which three quarters of the runs are certified."""
    needed = [run.certificate(1.0, DELTA, xi).tightest for run in runs]
    return float(np.quantile(np.minimum(needed, 100.0), 0.75))


def few_enough(failures, issued):
    return failures <= DELTA * issued + 2.5 * (issued * DELTA * (1 - DELTA)) ** 0.5


def check_fixed_budget(estimator, name, budget=1500, runs=RUNS):
    game, phi = GAMES[name], truth(name)
    xi = 0.5 * float(np.abs(phi).mean())
    options = {"budget": budget, "xi": xi, "verify": 0}
    pilot = [
        fs.estimate(game, estimator, seed=10_000 + k, **options) for k in range(max(20, runs // 8))
    ]
    epsilon1 = tolerance_for(pilot, xi)
    issued = failures = missed = 0
    for seed in range(runs):
        run = fs.estimate(game, estimator, seed=seed, **options)
        certificate = run.certificate(epsilon1, DELTA)
        missed += not (np.abs(run.values - phi) <= certificate.half_widths).all()
        if certificate.holds:
            issued += 1
            fair = within_tolerance(run.values, phi, epsilon1, xi).all()
            failures += not fair
            if fair:
                checks = check_fairness(run.values, epsilon1=epsilon1, xi=xi, truth=phi)
                assert all(check.holds for check in checks)
    assert issued >= runs / 3
    assert few_enough(failures, issued), (failures, issued)
    # The intervals themselves, whatever they certify. With some 100 skewed contributions (airport,
    # heavy tails) normal intervals miss up to twice as often as stated, of which they warn.
    assert few_enough(missed, 2 * runs), missed


def check_stopped(estimator, name, budget=6000, runs=RUNS):
    game, phi = GAMES[name], truth(name)
    xi = 0.5 * float(np.abs(phi).mean())
    pilot = [fs.estimate(game, estimator, seed=10_000 + k, budget=2500, xi=xi) for k in range(10)]
    rule = fs.Fair(epsilon1=tolerance_for(pilot, xi), delta=DELTA)
    issued = failures = early = 0
    for seed in range(runs):
        run = fs.estimate(game, estimator, seed=seed, until=rule, budget=budget, xi=xi)
        if run.certificate(rule.epsilon1, DELTA).holds:
            issued += 1
            early += run.stopped.startswith("certified as")
            failures += not within_tolerance(run.values, phi, rule.epsilon1, xi).all()
    assert issued >= runs / 3
    # Methods that average few large groups do not reach the hundred contributions of a look.
    assert early > 0 or run.counts.min() < 100
    assert few_enough(failures, issued), (failures, issued)


@pytest.mark.parametrize("estimator", CERTIFIABLE, ids=str)
def test_certificates_at_a_fixed_budget(estimator):
    name = list(GAMES)[CERTIFIABLE.index(estimator) % len(GAMES)]
    check_fixed_budget(estimator, name, runs=FEW_RUNS)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (fs.MonteCarlo(antithetic=True), "planted"),
        (fs.RegressionAdjusted(proxy="linear"), "heavy tails"),
    ],
    ids=str,
)
def test_certificates_of_runs_stopped_when_fair(estimator, name):
    check_stopped(estimator, name, runs=FEW_RUNS)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("estimator", CERTIFIABLE, ids=str)
def test_all_certificates(estimator, name):
    if (estimator.name, name) == ("stratified", "airport"):
        # Player 0 adds something to the empty coalition alone, which is enumerated: its sampled
        # contributions are all equal, so that nothing bounds the others.
        runs = [fs.estimate(GAMES[name], estimator, budget=6000, seed=seed) for seed in range(5)]
        assert not any(run.certificate(1.0, DELTA).holds for run in runs)
        return
    check_fixed_budget(estimator, name)
    check_stopped(estimator, name)
