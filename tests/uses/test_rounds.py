"""A federated run valued round by round."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.games import FederatedGame
from fairshapley.uses.rounds import estimate_rounds

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
    result = estimate_rounds(game)
    whole = fs.exact(game)
    np.testing.assert_allclose(result.values, whole.values, atol=1e-12)
    assert result.exact
    assert result.endpoints == pytest.approx(whole.endpoints)
    assert [part.name for part in result.parts] == ["round 0", "round 1"]
    for part, one in zip(result.parts, game.rounds, strict=True):
        np.testing.assert_allclose(part.values, fs.exact(one).values, atol=1e-12)
    assert result.parts[1].values[0] == 0, "who sat a round out"
    again = fs.Result.from_dict(result.to_dict())
    assert again.parts == result.parts


def test_errors_of_rounds_add_up():
    result = estimate_rounds(federation(), "mc", budget=12, seed=0)
    assert result.parts
    assert result.certificate(0.5, 0.1).half_widths.shape == (4,)
    assert estimate_rounds(federation(), "mc", budget=12, seed=0).values.tolist() == (
        result.values.tolist()
    )


def test_one_journal_keeps_all_rounds(tmp_path):
    with fs.Journal(tmp_path / "run.db", shared=True) as journal:
        given = {"budget": 12, "seed": 0, "journal": journal}
        first, again = (estimate_rounds(federation(), "mc", **given) for _ in range(2))
    assert first.computed > 12
    assert again.computed == 0
    assert again.values.tolist() == first.values.tolist()
    assert again.journal_digest != first.journal_digest


def test_the_report_has_a_table_of_rounds(tmp_path):
    page = estimate_rounds(federation()).report(tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ("Values by part", "round 1", "all together", "sum over 2 rounds of the utility"):
        assert words in page
    plain = fs.exact(federation()).report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Values by part" not in plain


def test_other_games_have_no_rounds():
    with pytest.raises(InputError, match=r"fs\.estimate"):
        estimate_rounds(fs.games.Airport([1.0, 2.0]))
