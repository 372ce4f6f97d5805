"""More evaluations never give a worse answer, with a stopping rule or without; intervals hold.

Two ways to run a game are compared by the logarithms of the errors of paired seeds. Two seeds find
the changes that look like a rise; fresh seeds alone then decide about those, by one-sided t-tests
with Holm's correction. A test so fails an estimator that never gets worse with a probability of
1 % at most. Among four changes five fresh seeds find a rise by the factor 3 nineteen times in
twenty where errors spread by a quarter from seed to seed, by the factor 5 four times in five where
they spread by half; twenty seeds find the factors 1.5 and 2 as often.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.judging import SMALLEST, holm
from benchmarks.referee.games import RefereeGame, families
from scipy.stats import t as student

import fairshapley as fs
from fairshapley.testing.calibration import error_ranks

FALSE_ALARM = 0.01
FIRST_SEEDS = range(2)
FEW_SEEDS, MANY_SEEDS = range(100, 105), range(100, 120)
PER_PLAYER = (3.2, 6.0, 10.0, 20.0, 30.0, 60.0, 100.0, 200.0)
INTERVALS_AT = (3.2, 10.0, 30.0)
RULES = {
    "wide": fs.Fair(epsilon1=1.0, delta=0.1),
    "out of reach": fs.Fair(epsilon1=1e-3, delta=0.1),
}
FAMILIES = {family.name: family for family in families()}


@dataclass(frozen=True)
class Change:
    """Two ways to run a game with one seed; the second must not have the larger error."""

    what: str
    before: Callable[[int], float]
    after: Callable[[int], float]

    def rises(self, seeds: Iterable[int]) -> np.ndarray:
        """The logarithms of the ratios of errors; an error that rises has positive ones."""
        pairs = np.array([(self.before(seed), self.after(seed)) for seed in seeds])
        return np.diff(np.log(np.maximum(pairs, SMALLEST)), axis=1)[:, 0]


def p_value(rises: np.ndarray) -> float:
    """The probability of such rises where the error does not rise."""
    spread = rises.std(ddof=1) / np.sqrt(len(rises))
    if spread == 0:
        return float(rises.mean() <= 0)
    return float(student.sf(rises.mean() / spread, len(rises) - 1))


def worse(changes: Iterable[Change], fresh: Iterable[int], alarm: float = FALSE_ALARM) -> list[str]:
    """The changes for the worse that are beyond chance, in words."""
    suspects = [change for change in changes if change.rises(FIRST_SEEDS).mean() > 0]
    found = [change.rises(fresh) for change in suspects]
    corrected = holm([p_value(rises) for rises in found]) if found else []
    return [
        f"{change.what}: error × {np.exp(rises.mean()):.3g}, p = {p:.2g}"
        for change, rises, p in zip(suspects, found, corrected, strict=True)
        if p < alarm
    ]


@cache
def games(family: str) -> Sequence[RefereeGame]:
    return FAMILIES[family].load()


@cache
def run(played: RefereeGame, budget: int, seed: int, rule: str = "") -> fs.Result:
    """One run of the default; ξ is the mean size of a value."""
    until = RULES[rule] if rule else None
    return fs.estimate(
        played.game,
        budget=budget,
        until=until,
        xi=10 * played.xi,
        seed=seed,
        progress=False,
        verify=0,
    )


def error(result: fs.Result, played: RefereeGame) -> float:
    """The relative mean squared error."""
    return float(np.square(result.values - played.truth).mean() / np.square(played.truth).mean())


def budgets(played: RefereeGame) -> list[int]:
    """From 2n + 2 evaluations to 200 per player, as far as they leave half of the coalitions."""
    allowed = [played.budget(per_player) for per_player in (2, *PER_PLAYER)]
    return [2 * played.game.n_players + 2, *(one for one in allowed[1:] if one is not None)]


def budget_changes(played: RefereeGame, chosen: Sequence[int], rule: str = "") -> list[Change]:
    """Every budget against the next."""

    def with_budget(budget: int) -> Callable[[int], float]:
        return lambda seed: error(run(played, budget, seed, rule), played)

    return [
        Change(f"{played.name} {rule}, {few} → {more}", with_budget(few), with_budget(more))
        for few, more in pairwise(chosen)
    ]


def rule_change(played: RefereeGame, budget: int, rule: str) -> Change:
    """What a rule does to the error of the evaluations that the run makes with it."""

    def without(seed: int) -> float:
        made = run(played, budget, seed, rule).evaluations
        return error(run(played, made, seed), played)

    def with_rule(seed: int) -> float:
        return error(run(played, budget, seed, rule), played)

    return Change(f"{played.name}, a {rule} target, {budget} evaluations", without, with_rule)


@pytest.mark.parametrize(("rise", "least", "most"), [(1, 0, 0.027), (0.8, 0, 0.027), (3, 0.9, 1)])
def test_the_comparison_itself(rise, least, most):
    """300 times four changes, one of them a rise; 0.027 is 1 % and three standard deviations."""
    rng = np.random.default_rng(0)

    def noisy(factor):
        return lambda _: factor * np.exp(0.25 * rng.normal())

    changes = [Change("", noisy(1), noisy(rise)), *[Change("", noisy(1), noisy(0.8))] * 3]
    alarms = np.mean([bool(worse(changes, FEW_SEEDS)) for _ in range(300)])
    assert least <= alarms <= most


def test_more_evaluations_are_never_worse():
    (played,) = games("boosting-features")
    assert not worse(budget_changes(played, [600, 1200]), FEW_SEEDS)


def test_a_rule_is_never_worse():
    changes = [
        rule_change(played, played.budget(10), "out of reach")
        for family in ("boosting-features", "passages")
        for played in games(family)
    ]
    assert not worse(changes, FEW_SEEDS)


def test_a_target_out_of_reach_leaves_no_evaluation_unspent():
    (played,) = games("passages")
    found = run(played, 240, 0, "out of reach")
    assert 238 <= found.evaluations <= 240


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_budget_and_no_rule_is_worse(family):
    """Two games of each family, nine budgets; 1 % for all families together."""
    changes = []
    for played in games(family)[:2]:
        allowed = budgets(played)
        changes += budget_changes(played, allowed)
        changes += budget_changes(played, allowed, "out of reach")
        changes += [rule_change(played, budget, rule) for budget in allowed[2::3] for rule in RULES]
    assert not worse(changes, MANY_SEEDS, FALSE_ALARM / len(FAMILIES))


def shares_held(family: str, per_player: float) -> list[float]:
    """The share of 95 % intervals that hold, of each run that states some."""
    found = []
    for played in games(family)[:2]:
        budget = played.budget(per_player)
        for seed in range(10 if budget is not None and played.truth_mse == 0 else 0):
            result = run(played, budget, seed)
            ranks = error_ranks([result], played.truth)[0]
            stated = np.isfinite(result.standard_errors)
            held = np.isnan(ranks) | (np.abs(ranks - 0.5) <= 0.475)
            found += [float(held[stated].mean())] if stated.any() else []
    return found


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("per_player", INTERVALS_AT)
def test_intervals_hold_where_they_are_stated(per_player):
    """In the mean and in each family; measured .96 to .98, and .81 in the worst family at 3.2.

    Some 20 families with 20 runs each have a standard deviation of 0.005 in the mean, and of 0.02
    in a family, as players of one run depend on each other.
    """
    shares = {name: shares_held(name, per_player) for name in FAMILIES}
    means = {name: float(np.mean(share)) for name, share in shares.items() if share}
    assert 0.93 <= np.mean(list(means.values())) <= 0.985, means
    assert min(means.values()) >= (0.75 if per_player < 6 else 0.8), means
