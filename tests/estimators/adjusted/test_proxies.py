"""Proxies: their values in closed form, and that no fold's proxy saw its units."""

from dataclasses import replace

import numpy as np
import pytest

from fairshapley._basics.bits import pack
from fairshapley.estimators.adjusted.adjustment import Adjustment, Fitted
from fairshapley.estimators.adjusted.boosted_trees import Forest
from fairshapley.estimators.adjusted.linear_proxy import LinearProxies, Regression, fit_linear
from fairshapley.estimators.adjusted.process import Prior, Process, start_at
from fairshapley.estimators.adjusted.sample import Sample
from fairshapley.estimators.adjusted.size_bases import SizeBases, spread
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.stacked_proxy import _Fit, fit_stacked
from fairshapley.estimators.adjusted.units import Units
from fairshapley.estimators.exact import exact_values
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley

# The processes' covariance of a maximum is nearly singular.
ROUNDING = {"linear": 1e-7, "stack": 1e-7, "trees": 1e-4}
SEMIVALUES = [Shapley(), Banzhaf(), BetaShapley(16, 1), BetaShapley(2, 5)]
N = 6
N_FOLDS = 4


def every_unit(weights, table, interior):
    """All coalitions of the interior sizes as one sample, with any plan."""
    n = weights.n_players
    masks = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
    sizes = masks.sum(axis=1)
    kept = (sizes > 0) & (sizes < n)
    kept[kept] = interior[sizes[kept] - 1]
    gains = table - table[::-1] if weights.paired else 2.0 * table
    units = Units(n)
    units.add_packed(pack(masks[kept]), 0.5 * gains[kept], plan=0)
    plan = np.random.default_rng(1).uniform(0.5, 2.0, n - 1)
    plan = np.where(interior, plan + plan[::-1], 0.0)
    plan /= plan.sum()
    sizes = sizes[kept]
    first, places = np.zeros_like(sizes), np.arange(len(sizes))
    sample = Sample(units, places, sizes, units.gains, plan[None], first, places, N_FOLDS)
    chances = plan[sizes - 1] / np.bincount(sizes, minlength=n)[sizes]
    return sample, chances


def nothing_known(n):
    return np.zeros((0, n), dtype=bool), np.zeros(0)


def adjusted_by(sample, weights, interior, proxy, known=()):
    return Adjustment(sample, weights, interior, proxy, nothing_known(weights.n_players), known)


def random_proxies(weights, rng):
    """A linear proxy with coefficients of no meaning, the same for every fold."""
    n = weights.n_players
    bases = SizeBases.of(weights, rng.uniform(0.5, 1.5, n - 1))
    slopes = rng.standard_normal((len(bases.slopes), n, 1))
    slopes -= slopes.mean(axis=1, keepdims=True)
    offsets = rng.standard_normal((len(bases.offsets), 1))
    folds = np.ones(N_FOLDS + 1)
    return LinearProxies(bases, slopes * folds, offsets * folds)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
@pytest.mark.parametrize("enumerated", [0, 1])
def test_the_adjusted_mean_is_the_value_for_any_proxy(semivalue, enumerated):
    """E over all coalitions, plus the sizes left out, is the semivalue whatever the proxy."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal(1 << N)
    weights = SizeWeights.of(semivalue, N)
    interior = np.ones(N - 1, dtype=bool)
    interior[:enumerated] = interior[N - 1 - enumerated :] = False
    sample, chances = every_unit(weights, table, interior)
    proxies = random_proxies(weights, rng)

    plain = adjusted_by(sample, weights, interior, "none")
    adjusted = adjusted_by(sample, weights, interior, "none")
    values = proxies.interior_values(weights, interior)
    adjusted.stages.append(Fitted(proxies, 0, len(sample.sizes), sample.folds, values))
    for rows, masks in sample.units.rows(sample.chosen):
        adjusted.residuals[rows] -= proxies.predict(masks, sample.sizes[rows], sample.folds[rows])
    means = [chances @ np.concatenate(list(fit.contributions())) for fit in (plain, adjusted)]
    np.testing.assert_allclose(means[1], means[0], atol=1e-12)
    assert np.abs(adjusted.residuals - plain.residuals).max() > 0.1
    if not enumerated:
        ends = weights.ends[1] * table[-1] - weights.ends[0] * table[0]
        np.testing.assert_allclose(means[1] + ends, exact_values(table, semivalue), atol=1e-12)


def all_coalitions(n):
    masks = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
    sizes = masks.sum(axis=1)
    return masks, sizes, (sizes > 0) & (sizes < n)


@pytest.mark.parametrize("semivalue", SEMIVALUES, ids=lambda s: s.name)
def test_values_are_those_of_the_proxys_own_table(semivalue):
    weights = SizeWeights.of(semivalue, N)
    proxy = random_proxies(weights, np.random.default_rng(4))
    masks, sizes, inner = all_coalitions(N)
    table = np.zeros(1 << N)
    folds = np.zeros(inner.sum(), dtype=np.int64)
    table[inner] = proxy.predict(masks[inner].astype(float), sizes[inner], folds)
    if weights.paired:
        np.testing.assert_allclose(table, -table[::-1], atol=1e-12)
    values = proxy.interior_values(weights, np.ones(N - 1, dtype=bool))
    np.testing.assert_allclose(values[0], exact_values(table, semivalue), atol=1e-12)


@pytest.mark.parametrize("semivalue", [Shapley(), Banzhaf(), BetaShapley(3, 3)], ids=str)
@pytest.mark.parametrize("enumerated", [0, 1, 2])
@pytest.mark.parametrize("n", [6, 7])
def test_values_of_a_stack_are_those_of_its_own_table(semivalue, enumerated, n):
    """Of the sizes that are sampled, whatever the others are."""
    interior = np.ones(n - 1, dtype=bool)
    interior[:enumerated] = interior[n - 1 - enumerated :] = False
    sample, _ = random_sample(n, 60, 5, interior=interior)
    weights = SizeWeights.of(semivalue, n)
    masks, sizes, _ = all_coalitions(n)
    outer = (sizes > 0) & (sizes <= enumerated)
    known = masks[outer], np.random.default_rng(2).standard_normal(int(outer.sum()))
    stack = fit_stacked(sample, weights, interior, known)
    inner = (sizes > enumerated) & (sizes < n - enumerated)
    table = np.zeros(1 << n)
    table[inner] = stack.predict(masks[inner].astype(float), sizes[inner], sizes[inner])
    np.testing.assert_allclose(table, -table[::-1], atol=1e-9)
    assert np.abs(table).max() > 0.1
    # Without the ends, whose utility is 0 here, a semivalue is the sum over the sizes between.
    np.testing.assert_allclose(stack.values[-1], exact_values(table, semivalue), atol=1e-8)


def test_units_are_judged_by_processes_that_never_saw_their_fold():
    """Residuals and values of a fold are those of members fitted to all other units."""
    n = 9
    sample, weights = random_sample(n, 120, 6)
    interior = np.ones(n - 1, dtype=bool)
    stack = fit_stacked(sample, weights, interior, nothing_known(n))
    masks = sample.units.masks(slice(0, 120)).astype(float)
    for fold in (2, 3):
        own = sample.folds == fold
        rest = _Fit(sample.part(slice(None), sample.gains), weights, interior, nothing_known(n))
        predicted = np.zeros(own.sum())
        for share, prior, at in stack.choices[fold % 2]:
            process = Process(rest.seen.some(np.flatnonzero(~own)), prior, at)
            predicted += share * process.predict(masks[own])
        np.testing.assert_allclose(stack.residuals[own], sample.gains[own] - predicted, atol=1e-7)


def test_bases_are_orthonormal():
    weights = SizeWeights.of(Shapley(), 25)
    usage = np.random.default_rng(5).uniform(0.1, 2.0, 24)
    usage += usage[::-1]
    bases = SizeBases.of(weights, usage)
    for functions, weight in ((bases.slopes, usage * spread(25)), (bases.offsets, usage)):
        weight = weight / weight.sum()
        np.testing.assert_allclose((functions * weight) @ functions.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(bases.slopes, bases.slopes[:, ::-1])
    np.testing.assert_allclose(bases.offsets, -bases.offsets[:, ::-1], atol=1e-9)
    # Three players have one even and one odd function of the size.
    tiny = SizeBases.of(SizeWeights.of(Shapley(), 3), np.ones(2))
    assert (len(tiny.slopes), len(tiny.offsets)) == (1, 1)


def random_sample(n, count, seed, noise=0.1, interior=None, **limits):
    """Pairs of an additive game with interactions, drawn by the base plan."""
    rng = np.random.default_rng(seed)
    weights = SizeWeights.of(Shapley(), n)
    plan = weights.base if interior is None else np.where(interior, weights.base, 0.0)
    plan = plan / plan.sum()
    sizes = 1 + rng.choice(n - 1, size=count, p=plan)
    masks = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1) < sizes[:, None]
    z = 2.0 * masks - 1.0
    gains = z @ np.linspace(-1.0, 2.0, n) + noise * rng.standard_normal(count)
    gains += z[:, 0] * z[:, 1] * z[:, 2]
    units = Units(n, **limits)
    units.add_packed(pack(masks), gains, plan=0)
    places, first = np.arange(count), np.zeros(count, dtype=int)
    return Sample(units, places, sizes, units.gains, plan[None], first, places, 8), weights


def maximum(masks):
    """Half of v(S) − v(N ∖ S) for a maximum: trees foresee it, processes do not."""
    numbers = np.arange(1.0, masks.shape[1] + 1) ** 2
    inside, outside = (np.where(some, numbers, 0.0).max(axis=1) for some in (masks, ~masks))
    return 0.5 * (inside - outside)


def judged(kind, sample, weights):
    """What proxies say of fold 3 of a sample, and their values, by proxy."""
    count, interior = len(sample.gains), np.ones(weights.n_players - 1, dtype=bool)
    if kind != "linear":
        stack = fit_stacked(sample, weights, interior, nothing_known(weights.n_players))
        assert any(isinstance(member, Forest) for _, member in stack.members) == (kind == "trees")
        return (sample.gains - stack.residuals)[sample.folds == 3], stack.values
    fit, masks = fit_linear(sample, weights), sample.units.masks(slice(0, count)).astype(float)
    said = fit.predict(masks, sample.sizes, np.full(count, 3))
    return said[sample.folds == 3], fit.interior_values(weights, interior)


@pytest.mark.parametrize("kind", ["linear", "stack", "trees"])
def test_no_proxy_sees_its_fold(kind):
    """Other gains in a fold leave its proxy as it is, and change the others."""
    found = []
    for shift in (0.0, 5.0):
        sample, weights = random_sample(10, 300 if kind == "trees" else 120, 6)
        if kind == "trees":
            sample.gains[:] = maximum(sample.units.masks(slice(0, 300)))
        fold = sample.folds == 3
        sample.gains[fold] += shift * np.random.default_rng(1).standard_normal(fold.sum())
        found.append(judged(kind, sample, weights))
    tolerance = ROUNDING[kind]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found[0][1][3], found[1][1][3], rtol=tolerance, atol=tolerance)
    # Trees leave out folds two by two.
    others = ~np.isin(np.arange(9), (2, 3) if kind == "trees" else 3)
    assert (np.abs(found[0][1] - found[1][1]).max(axis=1)[others] > 0.01).all()


@pytest.mark.parametrize("semivalue", [Shapley(), Banzhaf(), BetaShapley(3, 3)], ids=str)
def test_values_of_trees_are_those_of_their_own_table(semivalue):
    masks, _, _ = all_coalitions(7)
    some = np.random.default_rng(0).choice(len(masks), 60)
    gains = np.random.default_rng(1).standard_normal(60)
    forest = Forest(masks[some].astype(float), gains)
    table = forest.predict(masks.astype(float))
    np.testing.assert_allclose(forest.values(semivalue), exact_values(table, semivalue), atol=1e-12)
    assert np.abs(table).max() > 0.1


@pytest.mark.parametrize("kind", ["linear", "stack", "trees"])
def test_no_proxy_knows_the_coalitions_of_its_fold(kind):
    """Nor do other coalitions and sizes in a fold change its proxy: else values are biased."""
    found, (n, count) = [], (10, 300 if kind == "trees" else 120)
    for other in (False, True):
        sample, weights = random_sample(n, count, 6)
        chosen = np.flatnonzero(sample.folds == 3)
        masks, gains = sample.units.masks(slice(0, count)).copy(), sample.gains.copy()
        # Pairs of any other size but the one that they had, by other probabilities.
        if other:
            masks[chosen] = np.random.default_rng(2).random((len(chosen), n)) < 0.5
            masks[chosen, :2] = [True, False]
        if kind == "trees":
            own = sample.folds != 3
            gains[own] = maximum(masks[own])
        units = Units(n)
        units.add_packed(pack(masks), gains, plan=0)
        changed = replace(sample, units=units, sizes=units.sizes, gains=gains)
        found.append(judged(kind, changed, weights)[1][3])
    np.testing.assert_allclose(*found, rtol=ROUNDING[kind], atol=ROUNDING[kind])


@pytest.mark.parametrize(("proxy", "count"), [("linear", 900), ("linear", 905), ("auto", 905)])
@pytest.mark.parametrize("most", [120, 400])
def test_stages_that_hold_are_used_again(proxy, count, most, monkeypatch):
    """Looking before changes no bit; a fit that is known is not made again."""
    monkeypatch.setattr(Adjustment, "most_stacked_units", most)
    sample, weights = random_sample(10, count, 11, block_entries=700)
    interior = np.ones(9, dtype=bool)
    anew = adjusted_by(sample, weights, interior, proxy)
    known = []
    for early in (20, 250, 500, 888):
        part = sample.part(slice(early), sample.gains[:early])
        known = adjusted_by(part, weights, interior, proxy, known).stages
    again = adjusted_by(sample, weights, interior, proxy, known)
    np.testing.assert_array_equal(again.residuals, anew.residuals)
    np.testing.assert_array_equal(again.stages[-1].values, anew.stages[-1].values)
    assert again.stages[0] is known[0]
    assert [stage.stop for stage in again.stages[:-1]] == ([most] if proxy == "auto" else [])


@pytest.mark.parametrize("pairs", [0, 41])
def test_the_estimate_is_that_of_the_contributions(pairs, monkeypatch):
    """Units of two stages, judged by different proxies; the first are halves of pairs."""
    monkeypatch.setattr(Adjustment, "most_stacked_units", 120)
    sample, weights = random_sample(10, 905, 11, block_entries=700)
    places = np.arange(905)
    groups = np.where(places < 2 * pairs, places // 2, places - pairs)
    fit = adjusted_by(replace(sample, groups=groups), weights, np.ones(9, dtype=bool), "auto")
    monkeypatch.setattr(fit, "_dependence", lambda: 0.0)
    assert len(fit.stages) == 2
    constant = np.linspace(-1.0, 1.0, 10)
    found, y = fit.estimate(constant), np.concatenate(list(fit.contributions(constant)))
    np.testing.assert_allclose(found.values, y.mean(axis=0), rtol=1e-12)
    deviations = y - y.mean(axis=0)
    one, other = deviations[: 2 * pairs : 2], deviations[1 : 2 * pairs : 2]
    squares = np.square(deviations).sum(axis=0)
    together = squares + 2.0 * (one * other).sum(axis=0)
    np.testing.assert_allclose(found.variances, together / (905 * 904), rtol=1e-9)
    largest = np.square(deviations).max(axis=0) / (squares / 904)
    np.testing.assert_allclose(found.extremes, largest, rtol=1e-9)


@pytest.mark.parametrize(("entries", "rounding"), [(1 << 24, 1e-9), (1, 1e-5)])
def test_small_and_large_utilities_have_the_same_proxy(monkeypatch, entries, rounding):
    """In any unit of measurement: products in single precision must not underflow."""
    monkeypatch.setattr(Regression, "single_entries", entries)
    sample, weights = random_sample(12, 300, 12)
    masks = sample.units.masks(slice(0, 300)).astype(float)

    def fitted(scale):
        scaled = replace(sample, gains=scale * sample.gains)
        fit = fit_linear(scaled, weights)
        return fit.predict(masks, sample.sizes, sample.folds) / scale

    for scale in (1e-60, 1e60):
        np.testing.assert_allclose(fitted(scale), fitted(1.0), rtol=1e-6, atol=rounding)


def test_the_influence_is_a_derivative(monkeypatch):
    """With kinds and parameters fixed, Σ_u y_u of the others is linear in a unit's gain."""
    sample, weights = random_sample(8, 80, 9)
    interior = np.ones(7, dtype=bool)
    chosen = ((0.7, Prior(0.0), start_at(-1.0)), (0.2, Prior(0.0, slopes=True), start_at(-2.0)))
    monkeypatch.setattr(_Fit, "chosen", lambda self, half: chosen)
    before = adjusted_by(sample, weights, interior, "auto")
    stage, y = before.stages[0], np.concatenate(list(before.contributions()))
    others = np.arange(stage.stop) != 5
    sample.gains[5] += 1.0
    after = adjusted_by(sample, weights, interior, "auto")
    moved = np.concatenate(list(after.contributions())) - y
    measured = moved[: stage.stop][others].sum(axis=0)
    np.testing.assert_allclose(measured, stage.proxies.influence[5], rtol=1e-6, atol=1e-9)
