"""The regression-adjusted estimator whose units stay on a device, here with torch on the CPU."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fairshapley as fs
from fairshapley.estimators.adjusted.linear_proxy import LinearProxies
from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.streaming import DeviceStream
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.moments import sums_by_size
from fairshapley.randomness import round_generator
from fairshapley.semivalues import parse_semivalue
from fairshapley.testing import LAWS

# Sums are of single precision, which another unit of the utility rounds in another way.
LONG = [law for law in LAWS if law not in ("exact_when_known", "linearity", "affine_scaling")]
SHORT = ["unbiased", "standard_errors", "efficiency", "same_seed", "continuing", "any_chunk_size"]


class OnTorch(RegressionAdjusted):
    """Games of any size on a device, in rounds for small ones."""

    name = "adjusted"

    def start(self, problem):
        state = super().start(replace(problem, device="cpu"))
        state.schedule.first_round = 16
        return state


def problem(n_players=20, semivalue="shapley"):
    return Problem(n_players, parse_semivalue(semivalue), 0.5, 3.0, 1e-3, device="cpu")


def test_laws(subtests):
    for law in SHORT:
        with subtests.test(law):
            LAWS[law](OnTorch(), 60)


@pytest.mark.full
@pytest.mark.parametrize("proxy", ["linear", "none"])
def test_laws_at_length(proxy, subtests):
    for law in LONG:
        with subtests.test(law):
            LAWS[law](OnTorch(proxy=proxy), 500)


def stream(semivalue="shapley", paired=False, n_players=20):
    given = problem(n_players, semivalue)
    weights = replace(SizeWeights.of(given.semivalue, n_players), paired=paired)
    return DeviceStream(given, "linear", weights)


@pytest.mark.parametrize(("semivalue", "paired"), [("shapley", True), ("beta(4,1)", False)])
def test_sums_are_those_of_the_contributions(semivalue, paired):
    """Moments and extremes of a second round, against contributions one by one."""
    schedule = stream(semivalue, paired)
    rng, weights = np.random.default_rng(0), schedule.weights
    for number in range(2):
        draw = schedule.ask(round_generator(1, number))
        known = draw.masks(0, len(draw))[:, :3].sum(axis=1)  # for the proxy to learn
        values = torch.as_tensor(known + rng.random(len(draw)))
        if number == 0:
            schedule.tell(draw, values)
    assert schedule.learner.slopes.any()
    common = schedule.constant + schedule.learner.values
    plan, learner = schedule.plan, schedule.learner
    gains = values.numpy()
    masks, sizes = draw.units.T.numpy(), draw.unit_sizes.numpy()
    if paired:
        gains = 0.5 * (gains[: len(sizes)] - gains[len(sizes) :])
    proxy = LinearProxies(learner.bases, learner.slopes[..., None], learner.offsets[:, None])
    fitted = schedule.level[sizes - 1] + proxy.predict(masks, sizes, np.zeros_like(sizes))
    scaled = (gains - fitted) / plan[sizes - 1]
    inside, outside = weights.inside[sizes - 1] * scaled, -weights.outside[sizes - 1] * scaled
    rows = np.where(masks, inside[:, None], outside[:, None])
    schedule._end = 10**9  # the epoch stays open
    schedule.next_planned = 10**9
    schedule.tell(draw, values)
    epoch = schedule._epoch
    np.testing.assert_allclose(epoch.means, (rows + common).mean(axis=0), 1e-5, 1e-7)
    np.testing.assert_allclose(epoch.squares, len(rows) * rows.var(axis=0), rtol=1e-4)
    np.testing.assert_allclose(epoch.lowest, (rows + common).min(axis=0), rtol=1e-4)
    np.testing.assert_allclose(epoch.highest, (rows + common).max(axis=0), rtol=1e-4)


def test_the_proxy_learns_and_blocks_change_little(monkeypatch):
    """An additive game leaves next to nothing; blocks of a round move values by rounding."""

    class Additive:
        n_players = 100
        weights = np.random.default_rng(5).gamma(1.0, size=100)
        fingerprint = "additive"

        def __call__(self, masks):
            return masks @ self.weights

    game = Additive()
    plain = fs.estimate(game, OnTorch(proxy="none"), budget=8000, seed=0)
    learnt = fs.estimate(game, OnTorch(), budget=8000, seed=0)
    assert learnt.standard_errors.mean() < 0.2 * plain.standard_errors.mean()
    name = "fairshapley.estimators.adjusted.streaming.DEVICE_ENTRIES"
    monkeypatch.setattr(name, 100 * 37)
    blocks = fs.estimate(game, OnTorch(), budget=8000, seed=0)
    np.testing.assert_allclose(blocks.values, learnt.values, rtol=1e-4, atol=1e-6)


def test_skipped_evaluations_are_left_out():
    def game(masks):
        return np.where(masks[:, 3] & ~masks[:, 7], np.nan, masks.sum(axis=1) ** 0.5)

    game.n_players = 20
    run = fs.estimate(game, OnTorch(), budget=2000, seed=1, on_error="skip")
    assert run.run.skipped > 100
    assert np.isfinite(run.values).all()
    assert run.counts[0] < run.evaluations - run.run.skipped


def test_sums_by_size_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    at, numbers = rng.integers(0, 7, 1000), rng.normal(size=1000) * 1e9
    order = rng.permutation(1000)
    one = sums_by_size(torch.as_tensor(at), torch.as_tensor(numbers), 7)
    other = sums_by_size(torch.as_tensor(at[order]), torch.as_tensor(numbers[order]), 7)
    assert torch.equal(one, other)
    np.testing.assert_array_equal(one[0], np.bincount(at))
    np.testing.assert_allclose(one[1], np.bincount(at, numbers), rtol=1e-9)
    np.testing.assert_allclose(one[2], np.bincount(at, numbers**2), rtol=1e-9)
    nothing = sums_by_size(torch.as_tensor(at), torch.zeros(1000, dtype=torch.float64), 7)
    assert not nothing[1:].any()


def test_the_unit_of_the_utility_does_not_matter():
    game = fs.games.SumOfUnanimity(30, seed=2)
    plain = fs.estimate(game, OnTorch(), budget=1500, seed=5)
    # A power of two: what rounds in another way draws another coalition once in ten runs.
    other = fs.testing.Affine(game, scale=-0.25, offset=7.0)
    scaled = fs.estimate(other, OnTorch(), budget=1500, seed=5, xi=2.5e-4)
    np.testing.assert_allclose(scaled.values, -0.25 * plain.values, rtol=1e-9)
    np.testing.assert_allclose(scaled.standard_errors, 0.25 * plain.standard_errors, rtol=1e-9)
