"""What a run keeps of its course: the same bits however it was run, and right by hand."""

import math

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.fairness.guarantees import lower_fidelity
from fairshapley.results.records import Checkpoint, SizeBin
from fairshapley.runs.history import FOLD_ROWS, MOST_BINS, Recorder


def records(result):
    return result.run.history, result.run.profile


def test_the_profile_of_an_exact_run_by_hand():
    game = fs.games.FunctionGame(lambda s: float(len(s) ** 2 + (0 in s)), 3)
    result = fs.exact(game)
    # v(∅) and v(N) are asked for twice: first on their own, then with all coalitions.
    assert [(item.first, item.last, item.coalitions) for item in result.run.profile] == [
        (0, 0, 2),
        (1, 1, 3),
        (2, 2, 3),
        (3, 3, 2),
    ]
    assert [item.size for item in result.run.profile] == [0.0, 1.0, 2.0, 3.0]
    np.testing.assert_allclose([item.mean for item in result.run.profile], [0, 4 / 3, 14 / 3, 10])
    spread = math.sqrt(2) / 3  # two of three coalitions of a size are alike
    np.testing.assert_allclose(
        [item.deviation for item in result.run.profile], [0, spread, spread, 0], atol=1e-12
    )
    assert result.run.history == (Checkpoint(8, math.inf, math.inf),)


def test_history_ends_with_the_result_and_looks_are_spaced_evenly():
    game = fs.games.SumOfUnanimity(20, seed=1)
    result = fs.estimate(game, "mc", budget=5000, seed=0)
    spent = np.array([point.evaluations for point in result.run.history])
    assert spent[-1] == result.evaluations
    assert result.run.history[-1].min_fidelity == pytest.approx(result.min_fidelity, rel=1e-12)
    low = lower_fidelity(result.values, result.evidence.variances, result.xi).min()
    assert result.run.history[-1].lower_fidelity == pytest.approx(low, rel=1e-12)
    assert 10 < len(spent) < 20
    # Rounds of up to six walks of 19 coalitions: a checkpoint is late by no more than one round.
    due = 2**0.5 * spent[:-2]
    assert ((spent[1:-1] >= due) & (spent[1:-1] <= due + 6 * 19)).all()


def test_history_ends_with_the_result_where_the_last_rounds_cost_nothing():
    """On three players all coalitions but a few are known after some rounds of KernelSHAP."""
    table = np.zeros(8)
    table[0b001] = 1.0
    for seed in range(8):
        result = fs.estimate(fs.games.TableGame(table), "kernel", budget=7, seed=seed)
        if result.run.history:
            assert result.run.history[-1].min_fidelity == pytest.approx(
                result.min_fidelity, rel=1e-9
            )
        assert fs.Result.from_dict(result.to_dict()).values.tolist() == result.values.tolist()


METHODS = ["mc", fs.RegressionAdjusted(proxy="linear"), "stratified", "gae"]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_however_a_run_is_run_it_records_the_same(method, tmp_path):
    game = fs.games.SumOfUnanimity(12, seed=0)
    whole = fs.estimate(game, method, budget=900, seed=3)
    small_chunks = fs.estimate(
        game, method, budget=900, seed=3, engine=fs.SerialEngine(chunk_size=5)
    )
    journal = tmp_path / "run.db"
    first = fs.estimate(game, method, budget=500, seed=3, journal=journal)
    second = fs.estimate(game, method, budget=900, seed=3, journal=journal)
    assert records(whole) == records(small_chunks) == records(second)
    shared = len(first.run.history) - 1  # the last checkpoint is at the end of the run
    assert first.run.history[:shared] == whole.run.history[:shared]
    assert fs.resume(journal).to_dict() == second.to_dict()


def test_skipped_evaluations_and_null_players_are_left_out():
    game = fs.games.FunctionGame(lambda s: math.nan if s == (0,) else float(len(s)), 10)
    result = fs.estimate(game, "mc", budget=500, seed=0, on_error="skip")
    assert all(item.mean == item.first and item.deviation == 0 for item in result.run.profile)


def test_many_sizes_share_bins_and_none_is_lost():
    rng = np.random.default_rng(0)
    n_players, recorder = 1000, Recorder(1000, 2.0)
    sizes = rng.integers(0, n_players + 1, 3 * FOLD_ROWS + 17)
    values = 5.0 + sizes * 0.5
    for part in np.array_split(np.arange(len(sizes)), 40):
        recorder.add(sizes[part], values[part])
    profile = recorder.records()["profile"]
    assert len(profile) <= MOST_BINS
    assert (profile[0].first, profile[-1].last) == (0, n_players)
    assert sum(item.coalitions for item in profile) == len(sizes)
    for item in profile:
        inside = (sizes >= item.first) & (sizes <= item.last)
        assert item == SizeBin(
            item.first,
            item.last,
            int(inside.sum()),
            pytest.approx(sizes[inside].mean()),
            pytest.approx(values[inside].mean()),
            pytest.approx(values[inside].std(), rel=1e-6),
        )


def test_no_call_waits_for_costly_checkpoints():
    game = fs.games.SumOfUnanimity(10, seed=0)
    engine = fs.SerialEngine(in_flight=16)
    points = {
        method: len(fs.estimate(game, method, budget=400, seed=0, engine=engine).run.history)
        for method in ("adjusted", "mc")
    }
    assert points["adjusted"] == 1
    assert points["mc"] > 1
