"""Weights of the sizes, plans and enumerated borders, against enumeration of all coalitions."""

import math

import numpy as np
import pytest

from fairshapley.estimators.adjusted.enumeration import Enumeration
from fairshapley.estimators.adjusted.size_plan import BASE_SHARE, SizeWeights, borders
from fairshapley.estimators.exact import exact_values
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley

SEMIVALUES = [Shapley(), Banzhaf(), BetaShapley(16, 1), BetaShapley(2, 5), BetaShapley(3, 3)]


def all_masks(n):
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_contributions_average_to_the_semivalue(n, semivalue):
    """Σ_S v(S)/C(n, s)·(inside or −outside) and the endpoints, for a random game."""
    table = np.random.default_rng(n).standard_normal(1 << n)
    weights, masks = SizeWeights.of(semivalue, n), all_masks(n)
    values = weights.ends[1] * table[-1] - weights.ends[0] * table[0] + np.zeros(n)
    for mask, utility in zip(masks[1:-1], table[1:-1], strict=True):
        at = mask.sum() - 1
        share = utility / math.comb(n, at + 1)
        values += share * np.where(mask, weights.inside[at], -weights.outside[at])
    np.testing.assert_allclose(values, exact_values(table, semivalue), atol=1e-12)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
def test_linear_and_constant_functions(semivalue):
    """E[x_i(z_j)] and E[x_i(1)] at each size, by enumeration."""
    n = 6
    weights, masks = SizeWeights.of(semivalue, n), all_masks(n)
    for size in range(1, n):
        chosen = masks[masks.sum(axis=1) == size]
        x = np.where(chosen, weights.inside[size - 1], -weights.outside[size - 1])
        z = 2.0 * chosen - 2.0 * size / n
        products = x.T @ z / len(chosen)
        np.testing.assert_allclose(np.diag(products), weights.linear[size - 1], atol=1e-12)
        np.testing.assert_allclose(products[0, 1], -weights.linear[size - 1] / (n - 1), atol=1e-12)
        np.testing.assert_allclose(x.mean(axis=0), weights.constant[size - 1], atol=1e-12)
        power = np.square(x).sum(axis=1)
        np.testing.assert_allclose(power, weights.power[size - 1], atol=1e-12)


def test_symmetric_semivalues_are_paired():
    paired = [SizeWeights.of(semivalue, 9).paired for semivalue in SEMIVALUES]
    assert paired == [True, True, False, False, True]
    assert SizeWeights.of(Banzhaf(), 10_000).paired


def test_the_plan_follows_the_residuals():
    """Residuals whose deviation is 3 times larger at small and large sizes."""
    n, rng = 60, np.random.default_rng(0)
    weights = SizeWeights.of(Shapley(), n)
    sizes = rng.integers(1, n, size=200_000)
    scale = np.where(np.abs(np.arange(1, n) - n / 2) > 22, 3.0, 1.0)
    plan = weights.neyman(sizes, np.square(scale[sizes - 1]))
    best = scale * weights.base
    best = (1 - BASE_SHARE) * best / best.sum() + BASE_SHARE * weights.base
    assert plan.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(plan, plan[::-1])
    # Apart from the smoothing around the two steps.
    middle = slice(n // 2 - 10, n // 2 + 10)
    np.testing.assert_allclose(plan[middle], best[middle], rtol=0.1)
    np.testing.assert_allclose(plan[:2], best[:2], rtol=0.1)


def test_without_residuals_the_plan_stays():
    weights = SizeWeights.of(Shapley(), 8)
    sizes = np.array([1, 4, 7])
    np.testing.assert_array_equal(weights.neyman(sizes, np.zeros(3)), weights.base)
    rare = weights.neyman(sizes, np.array([1.0, 0.0, 0.0]))
    assert (rare >= BASE_SHARE * weights.base - 1e-15).all()


def test_borders_come_from_outside_in():
    sizes = [border.size for border in borders(SizeWeights.of(Shapley(), 100))]
    assert sizes[:4] == [1, 2, 3, 4]
    asymmetric = [border.size for border in borders(SizeWeights.of(BetaShapley(16, 1), 9))]
    assert set(asymmetric) == set(range(1, 9))
    assert len(borders(SizeWeights.of(Shapley(), 10_000))) < 10


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
@pytest.mark.parametrize("n", [2, 5, 6])
def test_all_sizes_enumerated_are_exact(n, semivalue):
    table = np.random.default_rng(9).standard_normal(1 << n)
    weights, powers = SizeWeights.of(semivalue, n), 1 << np.arange(n)
    values = weights.ends[1] * table[-1] - weights.ends[0] * table[0] + np.zeros(n)
    for border in borders(weights):
        enumeration = Enumeration(border, n)
        while not enumeration.finished:
            masks = enumeration.next_masks()[:4]
            gains = table[masks @ powers]
            if weights.paired:
                gains = 0.5 * (gains - table[~masks @ powers])
            enumeration.add(masks, gains)
        values += enumeration.values(weights)
    np.testing.assert_allclose(values, exact_values(table, semivalue), atol=1e-12)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
@pytest.mark.parametrize("n", [5, 6])
def test_a_size_with_skipped_units_does_not_see_the_zero_of_utilities(n, semivalue):
    """Gains that are shifted at one size add the same to every player, skipped units or not."""
    weights = SizeWeights.of(semivalue, n)
    for border in borders(weights):
        if weights.paired and 2 * border.size == n:
            continue  # half of the coalitions: their gains change sign with the choice of the half
        found = []
        for shift in (0.0, 1e6):
            enumeration = Enumeration(border, n)
            while not enumeration.finished:
                masks = enumeration.next_masks()
                gains = shift + np.random.default_rng(4).standard_normal(len(masks))
                gains[1::3] = np.nan
                enumeration.add(masks, gains)
            found.append(enumeration.values(weights))
        added = 1e6 * weights.constant[border.size - 1] * (2.0 if weights.paired else 1.0)
        np.testing.assert_allclose(found[1] - added, found[0], atol=1e-7)


def test_sizes_near_those_drawn():
    """On a small game each size stands for itself, on a large one for its neighbours too."""
    small = SizeWeights.of(BetaShapley(4, 1), 8).near(np.array([2, 3, 3]))
    assert np.flatnonzero(small).tolist() == [1, 2]
    pairs = SizeWeights.of(Shapley(), 8).near(np.array([2]))  # a unit of size 2 has one of size 6
    assert np.flatnonzero(pairs).tolist() == [1, 5]
    large = SizeWeights.of(BetaShapley(4, 1), 400).near(np.array([100]))
    assert 1 + np.flatnonzero(large).tolist()[0] == 94
    assert not SizeWeights.of(Shapley(), 8).near(np.array([], dtype=int)).any()
