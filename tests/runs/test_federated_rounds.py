"""A federated run valued round by round."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.games import FederatedGame

UPDATES = [
    {name: [np.array([float(at), 1.0])] for at, name in enumerate("abcd")},
    {name: [np.array([2.0, float(at)])] for at, name in enumerate("bcd")},
]


def federation():
    return FederatedGame.from_updates(
        UPDATES,
        lambda weights: -float(((weights[0] - 1.5) ** 2).sum()),
        given="weights",
        server=[np.zeros(2)],
    )


def test_the_rounds_add_up_to_the_total():
    game = federation()
    result = fs.estimate(game)
    coalitions = np.array([[int(bit) for bit in f"{at:04b}"[::-1]] for at in range(16)], dtype=bool)
    whole = fs.exact(fs.games.TableGame(game(coalitions)))
    np.testing.assert_allclose(result.values, whole.values, atol=1e-12)
    assert result.exact
    assert result.game.endpoints == pytest.approx(whole.game.endpoints)
    assert [part.name for part in result.run.parts] == ["round 0", "round 1"]
    for part, one in zip(result.run.parts, game.rounds, strict=True):
        np.testing.assert_allclose(part.values, fs.exact(one).values, atol=1e-12)
    assert result.run.parts[1].values[0] == 0, "who sat a round out"
    again = fs.Result.from_dict(result.to_dict())
    assert again.to_dict() == result.to_dict()
    for found in (result, again):
        frame = found.to_frame(parts=True)
        assert frame.index.tolist() == ["a", "b", "c", "d"]
        assert frame["round 1"].tolist() == found.run.parts[1].values.tolist()


def test_one_journal_keeps_all_rounds(tmp_path):
    given = {"budget": 12, "journal": tmp_path / "run.db"}
    first, again = (fs.estimate(federation(), "mc", **given) for _ in range(2))
    assert first.run.computed > 12
    assert again.run.computed == 0
    assert again.seed == first.seed
    assert again.values.tolist() == first.values.tolist()
    assert again.run.journal_digest != first.run.journal_digest


def test_a_total_of_more_than_is_allowed_says_that_this_holds_in_each_round():
    rounds = [{at: [np.array([float(at)])] for at in range(8)}] * 4
    game = FederatedGame.from_updates(
        rounds, lambda weights: float(weights[0][0]), given="weights", server=[np.zeros(1)]
    )
    result = fs.estimate(game)
    assert result.evaluations == 4 * 2**8
    assert "no budget was given: 800 evaluations" in result.notes[0]
    assert "over 4 rounds; the budget holds in each" in result.notes[-1]


def test_the_report_has_a_table_of_rounds(tmp_path):
    page = fs.estimate(federation()).report(tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ("Values by part", "round 1", "all together", "sum over 2 rounds of the utility"):
        assert words in page


def test_a_rule_looks_at_the_total():
    rule = fs.Fidelity(at_least=1e9)
    assert fs.estimate(federation(), "mc", until=rule, budget=12, seed=0).run.parts == ()


def test_seconds_are_divided_among_the_rounds():
    result = fs.estimate(federation(), "mc", budget=fs.Budget(evaluations=12, seconds=60), seed=0)
    assert result.run.limits["budget"]["seconds"] == 30


def test_verify_does_not_judge_a_total_by_the_journal_of_its_rounds(tmp_path):
    result = fs.estimate(federation(), "mc", budget=12, seed=0, journal=tmp_path / "run.db")
    last = fs.verify(result, journal=tmp_path / "run.db").checks[-1]
    assert (last.name, last.passed) == ("journal", None)
