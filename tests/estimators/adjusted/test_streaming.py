"""The regression-adjusted estimator without kept units: games of very many players."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.draws.permutations import packed_sets
from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.streaming import Stream
from fairshapley.estimators.estimator import Problem
from fairshapley.randomness import round_generator
from fairshapley.semivalues import parse_semivalue


class Streamed(RegressionAdjusted):
    """Streams games of any size."""

    name = "adjusted"
    _max_kept = 0


def test_this_estimator_streams():
    problem = Problem(10, parse_semivalue("shapley"), 0.0, 1.0, 1e-3)
    assert isinstance(Streamed().start(problem).schedule, Stream)
    assert not isinstance(RegressionAdjusted().start(problem).schedule, Stream)


class Weighted:
    """Additive, or its square root, or with a product of two players."""

    def __init__(self, n_players, kind="additive", seed=5):
        self.n_players, self.kind = n_players, kind
        self.fingerprint = f"{kind} {n_players} {seed}"
        self.weights = np.random.default_rng(seed).gamma(1.0, size=n_players)

    def __call__(self, masks):
        sums = masks @ self.weights
        if self.kind == "root":
            return np.sqrt(sums)
        return sums + (3.0 * masks[:, 0] * masks[:, 1] if self.kind == "product" else 0.0)


@pytest.mark.parametrize("semivalue", ["shapley", "beta(4,1)"])
def test_the_mean_is_unbiased_and_its_errors_are_honest(semivalue):
    """100 runs against exact values: each z has Student's distribution, 4.5 once in 10⁴ tests."""
    game = Weighted(10, "product")
    truth = fs.exact(game, semivalue).values
    runs = [
        fs.estimate(game, Streamed(), budget=160, semivalue=semivalue, seed=seed, progress=False)
        for seed in range(100)
    ]
    values = np.array([run.values for run in runs])
    spread = values.std(axis=0, ddof=1)
    # Weights that follow the variance of so few players bias by some 0.02 of an error.
    assert np.abs((values.mean(axis=0) - truth) / spread * np.sqrt(100)).max() < 4.5
    reported = np.sqrt(np.mean([run.standard_errors**2 for run in runs], axis=0))
    assert 0.8 < (reported / spread).mean() < 1.25


@pytest.mark.parametrize("seed", range(4))
def test_weights_have_no_scale_of_their_own(seed):
    """Nor while nothing was left of any unit, because the proxy's start was right."""

    def utility(masks):
        return masks.sum(axis=1) + (masks[:, :7].all(axis=1) & ~masks[:, 7])

    def scaled(factor):
        def game(masks):
            return factor * utility(masks)

        game.n_players = 16
        return fs.estimate(game, Streamed(), budget=400, seed=seed, progress=False)

    one, other = scaled(1.0), scaled(2.0**40)
    np.testing.assert_array_equal(other.values, 2.0**40 * one.values)
    np.testing.assert_array_equal(other.standard_errors, 2.0**40 * one.standard_errors)


def test_the_proxy_learns():
    """Ten units for each player of an additive game leave next to nothing."""
    game = Weighted(400)
    plain = fs.estimate(game, Streamed(proxy="none"), budget=8000, seed=0)
    learnt = fs.estimate(game, Streamed(), budget=8000, seed=0)
    errors = [np.square(run.values - game.weights).mean() for run in (plain, learnt)]
    assert errors[1] < 0.1 * errors[0]
    assert learnt.values.sum() == pytest.approx(game.weights.sum(), rel=1e-9)


def test_chunks_skips_and_pickles_change_nothing_else(tmp_path):
    """Other engines and continued runs give the same bits; what is skipped is left out."""
    game = Weighted(100, "root")
    whole = fs.estimate(game, Streamed(), budget=3000, seed=1, verify=0)
    journal = tmp_path / "run.db"
    fs.estimate(game, Streamed(), budget=1000, seed=1, journal=journal)
    resumed = fs.estimate(game, Streamed(), budget=3000, seed=1, journal=journal)
    np.testing.assert_array_equal(resumed.values, whole.values)
    np.testing.assert_array_equal(resumed.standard_errors, whole.standard_errors)

    class Broken(Weighted):
        def __call__(self, masks):
            values = super().__call__(masks)
            values[masks[:, 3] & masks[:, 7] & ~masks[:, 11]] = np.nan
            return values

    skipped = fs.estimate(
        Broken(100, "root"), Streamed(), budget=3000, seed=1, on_error="skip", progress=False
    )
    assert skipped.run.skipped > 100
    assert np.isfinite(skipped.values).all()


def test_moments_are_those_of_the_contributions():
    """Sums by products, against contributions one by one."""
    n_players = 30
    problem = Problem(n_players, parse_semivalue("shapley"), 0.0, 10.0, 1e-3)
    weights = SizeWeights.of(problem.semivalue, n_players)
    stream = Stream(problem, "none", weights)
    rng = np.random.default_rng(3)
    draw = stream.drawn(packed_sets(rng, rng.integers(1, n_players, 15), n_players))
    gains = rng.normal(size=15) ** 3
    stream.tell(draw, np.stack([gains, -gains], axis=1).ravel())
    units = draw.masks(0, 30)[::2]
    at = units.sum(axis=1) - 1
    scaled = (gains - 10.0 * ((at + 1) / n_players - 0.5)) / weights.base[at]
    inside, outside = (
        (weights.inside[at] * scaled)[:, None],
        (weights.outside[at] * scaled)[:, None],
    )
    rows = np.where(units, inside, -outside) + 10.0 / n_players
    found = stream.estimate()
    np.testing.assert_allclose(found.values, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.variances, rows.var(axis=0, ddof=1) / 15, rtol=1e-4)
    deviations = np.square(rows - rows.mean(axis=0)).max(axis=0)
    largest = deviations / rows.var(axis=0, ddof=1)
    np.testing.assert_allclose(found.extremes, largest, rtol=1e-4)


LIMITED = """
    import resource
    import sys

    import numpy as np

    import fairshapley as fs

    n_players, evaluations, method = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

    class Votes:
        fingerprint = "votes"

        def __init__(self):
            self.n_players = n_players

        def __call__(self, masks):
            return np.array([np.count_nonzero(row) for row in masks]) ** 0.5 + masks[:, 0]

    fs.estimate(Votes(), method, budget=4 * n_players if method == "mc" else 40, seed=0)
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + int(sys.argv[4]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    run = fs.estimate(Votes(), method, budget=evaluations, seed=0)
    assert np.isclose(run.values.sum(), n_players**0.5 + 1)
    print(run.evaluations)
"""


def limited(n_players, evaluations, method, megabytes):
    """A run in a process that may take so much memory more than it had."""
    command = [sys.executable, "-c", textwrap.dedent(LIMITED)]
    arguments = [str(number) for number in (n_players, evaluations, method, megabytes)]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=1700, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


def test_units_are_not_kept():
    """The state of a game of 20 000 players grows by a few bytes with a unit, not by its 2500."""
    problem = Problem(20_000, parse_semivalue("shapley"), 0.0, 1.0, 1e-3)
    estimator, lengths = RegressionAdjusted(), []
    state = estimator.start(problem)
    for index in range(40):
        draw = estimator.ask(state, round_generator(0, index))
        estimator.tell(state, draw, round_generator(1, index).normal(size=len(draw)))
        lengths.append((state.schedule.told, len(pickle.dumps(state))))
    (early, short), (late, long) = lengths[20], lengths[-1]
    assert late > early + 1000
    assert (long - short) / (late - early) < 100


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
def test_a_walk_is_not_unrolled():
    """The masks of a walk of 20 000 players are 400 MB."""
    assert limited(20_000, 41_000, "mc", 350) >= 39_000


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
@pytest.mark.parametrize(("method", "evaluations"), [("mc", 2_000_100), ("adjusted", 200_000)])
def test_100_000_players(method, evaluations):
    """The masks of the walks would be 200 GB and their bits 25 GB; the bits of the units 1.2 GB."""
    assert limited(100_000, evaluations, method, 1200) >= 0.9 * evaluations
