"""The efficiency benchmark in its smallest form: our methods, one small game, no peers."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.efficiency import runner
from benchmarks.efficiency.cases import CASES
from benchmarks.efficiency.methods import participants
from benchmarks.efficiency.truths import TRUTHS, probe, truth_of
from benchmarks.peers import wire

import fairshapley as fs


@pytest.fixture
def lines(tmp_path):
    small = fs.games.SumOfUnanimity(10, n_terms=15, seed=1)
    case = replace(CASES["unanimity"], name="small", make=lambda: small)
    with participants(peers=False) as solvers:
        chosen = {name: solvers[name] for name in ("adjusted", "mc", "kernel")}
        limits = {"repeats": 8, "limit": 60, "per_player": [20, 30]}
        return list(runner.run_case(case, chosen, **limits, kept=tmp_path, truths=tmp_path))


def test_a_small_case(lines, tmp_path):
    """30 evaluations per player are more than a quarter of 2**10 coalitions: left out."""
    assert [line.method for line in lines] == ["adjusted", "mc", "kernel"]
    assert {line.per_player for line in lines} == {20}
    ours, walks, _ = lines
    assert ours.mse_ratio == ours.fidelity_ratio == 1.0
    assert all(150 <= line.evaluations <= 200 for line in lines)
    # Walks are some 20 times worse: the whole interval is above 1, with a wide margin.
    assert walks.mse_ratio_low > 2 * ours.mse_ratio_high
    assert walks.mse_ratio_low < walks.mse_ratio < walks.mse_ratio_high
    runner.write(lines, tmp_path / "lines.csv")
    again = runner.read(tmp_path / "lines.csv")
    assert [line.method for line in again] == [line.method for line in lines]
    assert again[1].mse == pytest.approx(walks.mse, rel=1e-3)


@pytest.mark.parametrize("name", ["unanimity", "knn-breast-cancer"])
def test_kept_truths_are_those_of_the_games(name):
    """The utilities of a truth are those of its game today, and its values satisfy efficiency."""
    case = CASES[name]
    game = case.make()
    kept = json.loads((TRUTHS / f"{name}.json").read_text())
    np.testing.assert_allclose(kept["utilities"], probe(game), rtol=1e-9, atol=1e-12)
    ends = game(np.repeat([[False], [True]], game.n_players, axis=1))
    assert truth_of(case, game).values.sum() == pytest.approx(ends[1] - ends[0])


def test_a_peer_counts_distinct_coalitions_and_gets_the_games_values():
    """The peer's end of the wire, with the benchmark's answers written in advance."""
    answers, sent = io.BytesIO(), io.BytesIO()
    wire.send(answers, b"V", np.array([3.0, 4.0]).tobytes())
    answers.seek(0)
    oracle = wire.Oracle(answers, sent, 3)
    asked = np.array([[True, False, False], [False, True, True], [True, False, False]])
    np.testing.assert_array_equal(oracle(asked), [3.0, 4.0, 3.0])
    assert oracle.distinct == 2
    sent.seek(0)
    assert wire.receive(sent) == (b"Q", bytes([0b001, 0b110]))
    oracle.restart()
    np.testing.assert_array_equal(oracle(asked[1]), [4.0])  # known: nothing more is asked
    assert oracle.distinct == 1
    assert wire.receive(sent) == (b"", b"")
