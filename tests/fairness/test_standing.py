"""What holds, whatever was asked for."""

from dataclasses import replace

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators.adjusted.process import PRIOR_MEANS
from fairshapley.fairness.certificate import allowed_half_width, tightest_epsilon1
from fairshapley.fairness.evidence import MODEL_PARAMETERS
from fairshapley.results.serialising import assembled

NAMES = ["north", "south", "<b>west", "east\n"]


def estimated(values, errors, **other):
    fields = {
        "values": np.array(values, dtype=float),
        "standard_errors": np.array(errors, dtype=float),
        "counts": np.full(len(values), 1000),
        "evaluations": 500,
        "marginals": None,
        "stopped": "",
        "seed": 0,
        "configuration": {"method": {"name": "mc"}, "semivalue": "shapley", "xi": 0.1},
        "xi": 0.1,
        "player_names": tuple(NAMES[: len(values)]),
    }
    return assembled(fs.Result, **(fields | other))


@pytest.mark.parametrize("xi", [0.0, 0.02, 1.0])
def test_the_tightest_tolerance_is_where_the_certificate_begins_to_hold(xi):
    rng = np.random.default_rng(3)
    for _ in range(300):
        values, widths = rng.normal(size=4), np.abs(rng.normal(size=4)) * 10.0 ** rng.uniform(-3, 1)
        edge = tightest_epsilon1(values, widths, xi)
        if edge < 1e6:
            above = allowed_half_width(values, 1.001 * edge, 1.001 * edge * xi)
            below = allowed_half_width(values, 0.999 * edge, 0.999 * edge * xi)
            assert (widths <= above).all()
            assert not (widths <= below).all()
        else:
            assert not (widths <= allowed_half_width(values, 0.999, 0.999 * xi)).all()
    assert tightest_epsilon1(np.zeros(2), np.zeros(2), 0.0) == 0.0
    assert tightest_epsilon1(np.array([1.0]), np.array([2.0]), 0.0) == np.inf


def test_every_result_says_what_holds_with_names():
    result = estimated([1.0, 0.8, -0.5, 0.01], [0.01, 0.01, 0.01, 0.02])
    standing = result.standing()
    assert standing.epsilon1 < 0.5
    assert standing.signs.tolist() == [1, 1, -1, 0]
    assert (standing.top, standing.bottom, standing.settled_pairs) == ((0,), (2,), 6)
    said = str(result)
    for words in (
        "With a probability of at least 0.9, all of this holds together:",
        "signs: 3 of 4 are settled, 2 above zero and 1 below (“<b>west”)",
        "order: 6 of 6 pairs are settled; the highest is “north”; the lowest is “<b>west”",
    ):
        assert words in said
    assert "Not certified" not in said
    assert "would take" not in said


def test_what_was_asked_for_and_missed_has_a_price():
    rule = {"rule": "Fair", "epsilon1": 0.05, "delta": 0.2, "xi": 0.2, "bound": "normal"}
    limits = {"until": {"rule": "AnyOf", "rules": [{"rule": "Seconds", "at_least": 1}, rule]}}
    result = estimated([1.0, 0.8], [0.1, 0.1], limits=limits)
    assert result.run.asked == {"epsilon1": 0.05, "delta": 0.2, "xi": 0.2}
    standing = result.standing()
    assert (standing.delta, standing.xi, standing.certificate.epsilon1) == (0.2, 0.2, 0.05)
    assert standing.needed == 4.0, "all coalitions"
    assert "(ε1 = 0.05) would take all 4 coalitions; 500 were made" in str(standing)
    refused = result.certificate(0.05, 0.1)
    assert "“south” is known to ±" in refused.reason
    assert "What holds instead, with a probability of at least 0.9: each value" in str(refused)


def test_a_model_that_few_coalitions_test_is_sure_of_nothing():
    """One player with a veto: what was seen may look like a game of that player alone."""
    game = fs.games.TableGame([float(one & 1 and one.bit_count() > 3) for one in range(256)])
    result = fs.estimate(game, budget=40, seed=0)
    assert result.evidence.modelled
    said = str(result)
    assert "How probable any statement about all values is cannot be said" in said
    assert "to test it takes about 230 evaluations" in said
    assert "probability" not in said
    certificate = result.certificate(0.5, 0.1)
    assert "If the game is like" not in str(certificate)
    assert certificate.tightest == np.inf
    assert not result.decisions().signs().any()
    assert "no tolerance band" in str(result.payout(100))


@pytest.mark.parametrize(("evaluations", "level"), [(229, 0.1), (457, 0.01)])
def test_a_kind_of_coalitions_that_may_be_unseen_is_rare(evaluations, level):
    """0.98^m is at most the level from m = 114 and m = 228 pairs on."""
    one = estimated([1.0, 2.0], [0.1, 0.1], modelled=True, counts=np.full(2, 999)).evidence
    assert replace(one, evaluations=evaluations).test_of_model(level) == evaluations + 1
    assert replace(one, evaluations=evaluations + 1).test_of_model(level) == 0
    assert replace(one, evaluations=10, modelled=False).test_of_model(level) == 0


def test_parameters_of_the_model_are_counted():
    assert len(PRIOR_MEANS) == MODEL_PARAMETERS


def test_a_sentence_about_hopeless_intervals_stays_true():
    result = estimated([0.1, 0.2], [1.0, 2.0], xi=0.0)
    assert "no relative tolerance holds for all of them" in str(result.standing())
    few = estimated([0.1, 0.2], [0.1, np.nan])
    assert "the variance of 1 players, the first of them “south”" in str(few)
    blocked = estimated([0.1, 0.2], [0.1, 0.1], obstacle="it reuses its samples")
    assert "nothing can be said with confidence: it reuses its samples" in str(blocked)
    assert "exact" in str(fs.exact(fs.games.TableGame([0, 1])).standing())
