"""What holds, whatever was asked for."""

import numpy as np
import pytest
from tests.results.making import made

import fairshapley as fs
from fairshapley.fairness import Certificate

NAMES = ["north", "south", "<b>west", "east\n"]


def estimated(values, errors, **other):
    named = {"xi": 0.1, "player_names": tuple(NAMES[: len(values)])}
    return made(values, errors, **(named | other))


@pytest.mark.parametrize("xi", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("bound", ["normal", "chebyshev"])
def test_the_tightest_tolerance_is_where_the_certificate_begins_to_hold(xi, bound):
    rng = np.random.default_rng(3)
    for _ in range(40):
        errors = np.abs(rng.normal(size=4)) * 10.0 ** rng.uniform(-3, 1)
        known = estimated(rng.normal(size=4), errors).evidence
        edge = Certificate(known, 0.5, 0.1, xi, bound).tightest
        below = edge if edge < np.inf else 1e9
        assert not Certificate(known, 0.999 * below, 0.1, xi, bound).holds
        assert edge == np.inf or Certificate(known, 1.001 * edge, 0.1, xi, bound).holds
    assert Certificate(estimated([0.0], [0.0], exact=True).evidence, 0.5, 0.1, 0.0).tightest == 0
    assert Certificate(estimated([1.0], [2.0]).evidence, 0.5, 0.1, 0.0).tightest == np.inf


def test_every_result_says_what_holds_with_names():
    result = estimated([1.0, 0.8, -0.5, 0.01], [0.01, 0.01, 0.01, 0.02])
    findings = result.findings()
    assert findings.certificate.tightest < 0.5
    assert findings.decisions.signs().tolist() == [1, 1, -1, 0]
    decisions = findings.decisions
    assert (decisions.top(1).certain, decisions.bottom(1).certain) == ((0,), (2,))
    assert decisions.settled_pairs() == 6
    said = str(findings)
    for words in (
        "With a probability of at least 0.9, all of this holds together:",
        "signs: 2 values are positive, 1 negative (“<b>west”), 1 unclear",
        "order: known for 6 of 6 pairs; the highest is “north”, the lowest is “<b>west”",
    ):
        assert words in said
    assert "Not certified" not in said
    assert "would take" not in said


def test_what_was_asked_for_and_missed_has_a_price():
    rule = {"rule": "Fair", "epsilon1": 0.05, "delta": 0.2, "xi": 0.2, "bound": "normal"}
    limits = {"until": {"rule": "AnyOf", "rules": [{"rule": "Fidelity", "at_least": 1}, rule]}}
    result = estimated([1.0, 0.8], [0.1, 0.1], limits=limits)
    assert result.run.asked == {"epsilon1": 0.05, "delta": 0.2, "xi": 0.2}
    findings = result.findings()
    stated = findings.certificate
    assert (stated.delta, stated.xi, stated.epsilon1) == (0.2, 0.2, 0.05)
    assert stated.needed == 4.0, "all coalitions"
    assert "(ε1 = 0.05) would take all 4 coalitions; this run made 500." in str(findings)
    refused = result.certificate(0.05, 0.1)
    assert "“south” is known to ±" in refused.reason
    assert "What holds instead, with a probability of at least 0.9: each value" in str(refused)


def test_what_few_units_show_states_no_probability():
    """One player with a veto: what was seen may look like a game of that player alone."""
    game = fs.games.TableGame([float(one & 1 and one.bit_count() > 3) for one in range(256)])
    result = fs.estimate(game, budget=30, seed=0)
    assert result.evidence.shift is not None
    said = str(result)
    assert "with a probability" not in said.lower()
    certificate = result.certificate(0.5, 0.1)
    assert not certificate.holds
    assert certificate.tightest == np.inf
    with pytest.raises(fs.InputError, match="contribution"):
        result.decisions()
    assert "no tolerance band" in str(result.payout(100))
    assert result.findings().single_widths(0.05) is None


def test_a_sentence_about_hopeless_intervals_stays_true():
    result = estimated([0.1, 0.2], [1.0, 2.0], xi=0.0)
    assert "no relative tolerance holds for all of them" in str(result.findings())
    few = estimated([0.1, 0.2], [0.1, np.nan])
    assert "the error of 1 value, the first that of “south”, is not known yet" in str(few)
    blocked = estimated([0.1, 0.2], [0.1, 0.1], obstacle="it reuses its samples")
    assert "Nothing is certified: it reuses its samples" in str(blocked)
    assert "exact" in str(fs.exact(fs.games.TableGame([0, 1])).findings())
