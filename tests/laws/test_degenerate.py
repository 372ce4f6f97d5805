"""No method breaks on any game: a right result, or an error of this package that says what to do.

Numpy's warnings are errors here, as everywhere in the tests.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators import from_configuration
from tests.laws.degenerate import FAMILIES, check, step
from tests.laws.estimators import ESTIMATORS, MORE

EVERY_METHOD = ["auto", "exact", *ESTIMATORS, fs.RegressionAdjusted()]
PLAYERS = (1, 2, 3, 5, 8, 17, 40)
# From the least that there is, for n players.
BUDGETS = (
    lambda n: 2,
    lambda n: 3,
    lambda n: n + 3,
    lambda n: 3 * n + 4,
    lambda n: 16 * min(n, 20),
)
LARGEST_BUDGET = BUDGETS[-1]
FAIR = fs.Fair(epsilon1=0.5, delta=0.1)
SEMIVALUES = ("shapley", "banzhaf", "beta(4,1)")
# Utilities beyond 1e±120 are refused, because their squares may not be floats.
SCALES, REFUSED = (1.0, 1e-100, 1e110), (1e-300, 1e-130, 1e130, 1e300)


def gives_result(
    method, family, n, budget, scale=1.0, until=None, semivalue="shapley", *, seed=0, honest=True
):
    """Whether a run gave a result, which is checked, and not an error of this package."""
    game, limit = replace(FAMILIES[family](n), scale=scale), budget(n)
    if method == "exact":
        limit = max(limit, 1 << n) if n <= 8 else limit
    options = {"until": until, "semivalue": semivalue, "seed": seed, "progress": False}
    try:
        result = fs.estimate(game, method, budget=limit, **options)
    except fs.FairShapleyError:
        return False
    traits = from_configuration(result.run.configuration["method"]).traits
    honest &= traits.honest_errors and traits.unbiased
    check(result, game, family, efficient=traits.efficient, honest=honest)
    return True


@pytest.mark.parametrize("method", EVERY_METHOD, ids=str)
def test_no_method_breaks(method):
    """Some settings for each family."""
    settings = list(product(PLAYERS, BUDGETS, SCALES, (None, FAIR), SEMIVALUES))
    rng = np.random.default_rng(0)
    results = 0
    for family in FAMILIES:
        for at in rng.choice(len(settings), 2, replace=False):
            results += gives_result(method, family, *settings[at])
        results += gives_result(method, family, 5, LARGEST_BUDGET, SCALES[results % 3])
    assert results >= len(FAMILIES)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n", PLAYERS)
@pytest.mark.parametrize("method", EVERY_METHOD, ids=str)
def test_no_method_breaks_at_any_size(method, n):
    results = 0
    for family in FAMILIES:
        for budget in BUDGETS:
            results += gives_result(method, family, n, budget, seed=1)
        for semivalue in SEMIVALUES:
            results += gives_result(method, family, n, LARGEST_BUDGET, 1.0, FAIR, semivalue)
        for scale in SCALES[1:]:
            results += gives_result(method, family, n, LARGEST_BUDGET, scale)
    assert results >= len(FAMILIES) or (method == "exact" and n > 8)


@pytest.mark.parametrize("size", range(1, 18))
def test_steps_at_every_size(size):
    """All gains of half of the units are often 0."""
    game = step(17, size)
    result = fs.estimate(game, budget=300, seed=0, progress=False)
    check(result, game, "step", efficient=True, honest=True)


@pytest.mark.full
@pytest.mark.parametrize("n", [5, 12])
@pytest.mark.parametrize("method", MORE, ids=str)
def test_no_setting_of_a_method_breaks(method, n):
    """Of few players: walks that are all cut off soon take long to be found out."""
    for family, scale in product(FAMILIES, SCALES):
        assert gives_result(method, family, n, LARGEST_BUDGET, scale)


class Streamed(fs.RegressionAdjusted):
    """Keeps no units, whatever the game."""

    name = "adjusted"
    _max_kept = 0


@pytest.mark.parametrize("semivalue", SEMIVALUES)
def test_units_that_are_not_kept(semivalue):
    """The way of very many players, with few, whose errors it does not claim to know."""
    for family, scale in product(FAMILIES, SCALES):
        assert gives_result(
            Streamed(), family, 9, LARGEST_BUDGET, scale, semivalue=semivalue, honest=False
        )


@pytest.mark.parametrize("scale", REFUSED)
@pytest.mark.parametrize("method", ["auto", "exact", "mc"])
def test_utilities_whose_squares_are_no_floats_are_refused(method, scale):
    """Rather than called certain, or infinitely uncertain."""
    game = replace(FAMILIES["additive"](5), scale=scale)
    with pytest.raises(fs.FairShapleyError, match="all utilities by the same number"):
        fs.estimate(game, method, budget=40, seed=0)


@pytest.mark.parametrize("method", ["exact", "adjusted", "mc"])
def test_single_utilities_may_be_as_small_as_they_like(method):
    """As probabilities are, beside others near 1."""

    def probability(coalition):
        return 0.1 ** (100 * (4 - len(coalition)))

    result = fs.estimate(fs.games.FunctionGame(probability, 4), method, budget=20, seed=0)
    np.testing.assert_allclose(result.values, 0.25)
