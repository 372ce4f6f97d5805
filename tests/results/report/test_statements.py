"""What a report states: the headline, what holds and what does not, in plain words."""

import re

import numpy as np
import pytest
from tests.results.report.reading import callouts, data_of, inner, players, said, text_of
from tests.results.report.samples import by_hand

import fairshapley as fs
from fairshapley.fairness.certificate import cost_text, rounded_up
from fairshapley.results.records import SizeBin
from fairshapley.results.report.page import report_html
from fairshapley.results.serialising import with_fields

ASSUMING = "assuming that averages of the sampled contributions are close to normally distributed"


def test_what_holds_is_one_sentence_to_read_out():
    result = by_hand(standard_errors=np.full(60, 1e-4), unit="accuracy on 120 test rows")
    words = said(result)
    assert (words.kind, words.stamp, words.details) == ("holds", "Certified", [])
    assert words.headline.replace("\u2068", "").replace("\u2069", "") == (
        "Each of the 60 values differs from its true value by at most 1.79 % of the size of that "
        "true value plus 0.000179 (accuracy on 120 test rows), for all 60 players together, with "
        f"90 % confidence, {ASSUMING}."
    )
    assert words.statement == result.certificate(0.5, 0.1).statement
    words = said(by_hand(standard_errors=np.full(60, 1e-4)))
    assert "plus 0.000179 utility units, for" in words.headline
    alone = by_hand(1, values=[0.5], standard_errors=[1e-4])
    assert said(alone).headline.startswith("The value differs from its true value by at most")


def test_what_does_not_hold_is_said_with_what_is_known_and_its_cost():
    result = by_hand()
    words, certificate = said(result), result.certificate(0.5, 0.1)
    assert (words.kind, words.stamp) == ("fails", "Less than requested")
    assert words.headline == (
        "Each true value lies in the interval given for it below, for all 60 players together, "
        f"with 90 % confidence, {ASSUMING}."
    )
    requested, tolerance, known, order, short, cost = words.details
    assert "The requested tolerance, 50 % of the size of each true value plus 0.005" in requested
    assert f"to ± {certificate.half_widths.max():.3g} around" in known
    findings = result.findings(0.5, 0.1)
    assert f"decided for {findings.decisions.settled_pairs():,} of 1,770 pairs of players" in order
    enough = int((certificate.half_widths <= certificate.allowed).sum())
    assert f"narrow enough for {enough} of the 60 values" in short
    worst = result.names()[certificate.worst_players[0]]
    assert f"“\u2068{worst}\u2069”" in short
    assert "No tolerance below 100 %" in tolerance
    assert f"would take {cost_text(findings.certificate.needed, 2.0**60)}; 12,345 were made" in cost


def test_the_tolerance_that_does_hold_is_not_rounded_down():
    result = by_hand(standard_errors=np.full(60, 0.002))
    told = re.search(r"at most ([\d.]+) % of the size", said(result, 0.1).headline)
    assert result.certificate(float(told[1]) / 100, 0.1).holds
    for share in (0.0123451, 0.999, 0.5, 1e-5):
        assert share <= rounded_up(share) <= 1.01 * share


def test_exact_partial_and_uncertifiable_results():
    exact = fs.exact(fs.games.Airport([1.0, 2.0, 4.0]))
    assert said(exact).stamp == "Exact"
    assert "no estimation error" in said(exact).headline
    partial = by_hand(complete=False, obstacle="the run did not finish")
    assert said(partial).kind == "impossible"
    assert said(partial).headline.endswith("about these values: the run did not finish.")
    assert "each estimate and its standard error, at most 0.01" in said(partial).details[0]
    unknown = by_hand(standard_errors=np.full(60, np.nan))
    assert "For 60 players only the estimate is known" in said(unknown).details[0]
    greedy = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "gae", budget=300, seed=0)
    assert said(greedy).kind == "impossible"
    assert greedy.evidence.obstacle in said(greedy).statement


def test_a_constant_utility_is_said_to_be_one():
    flat = [SizeBin(size, size, 9, float(size), 0.5, 0.0) for size in range(9)]
    unknown = {"values": np.zeros(8), "standard_errors": np.full(8, np.nan), "profile": flat}
    words = said(by_hand(8, **unknown))
    assert "the error of 8 values" in words.headline
    assert any("Every utility evaluated was 0.5" in sentence for sentence in words.details)
    assert any("take all 256 coalitions" in sentence for sentence in words.details)


def test_units_and_limits_come_before_the_numbers():
    text = text_of(report_html(by_hand(unit="revenue in euros")))
    order = [
        "The utility of this analysis is \u2068revenue in euros\u2069.",
        "It does not say whether this utility is the right measure",
        "It does not show that anybody made a mistake",
        "Each true value lies in the interval given for it below, for all 60 players together",
        "Key numbers",
        "Table of players",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def reported():
    """A page of each kind, as text."""
    labels = ["a", "b"] * 30
    unknown = {"values": np.zeros(60), "standard_errors": np.full(60, np.nan)}
    results = {
        "certified": by_hand(standard_errors=np.full(60, 1e-4)),
        "not certified": by_hand(values=np.linspace(0.5, -0.01, 60)),
        "unknown": by_hand(**unknown),
        "partial": by_hand(complete=False, obstacle="the run did not finish"),
    }
    pages = {kind: report_html(result, labels=labels) for kind, result in results.items()}
    pages["exact"] = report_html(fs.exact(fs.games.Additive([1.0, -1.0, 0.0, 2.0, 3.0])))
    return {kind: text_of(page) for kind, page in pages.items()}


def test_nobody_is_accused_and_the_words_are_plain():
    pages = reported()
    for kind, text in pages.items():
        found = re.findall(
            r"harmful|likely mislabelled|wrong label is|bad |vacuous|read low|low reading|Mind:|"
            r"asked for|settled|nothing of|plug in|\binf\b",
            text,
            re.IGNORECASE,
        )
        assert found == [], kind
    few = by_hand(values=np.append(np.linspace(0.5, 0.1, 58), [-0.2, 0.0]))
    card = callouts(few, ["a", "b"] * 30)[0]
    assert "may be mislabelled; it may also be correct and unusual" in card.text
    (name, evidence), *rest = card.items
    assert (name, rest) == ("customer 00058", [])
    assert evidence.startswith(
        "label \u2068a\u2069 (may be mislabelled); value −0.2, interval −0.2"
    )
    assert "mean value of 29 other players with this label" in evidence


def test_exact_values_have_no_errors_and_nothing_infinite():
    result = fs.exact(fs.games.Additive([1.0, -1.0, 0.0]))
    page = report_html(result, labels=["a", "b", "c"])
    text = text_of(page)
    for word in ("∞", "tandard error", "Std. error", "Fidelity", "Interval", "onfidence", "±"):
        assert word not in text.replace("within ± ", ""), word
    assert "tolerances" not in page[: page.index('id="data"')].split("<body>")[1]
    assert "fidelity" not in str(result)
    assert "0 standard" not in str(result)


def test_exact_values_are_not_both_below_and_near_zero():
    result = fs.exact(fs.games.Additive([1.0, -1e-6, 0.0]))
    table = players(result)
    assert table.nulls.tolist() == [False, False, True]
    *_, nulls = callouts(result)
    assert nulls.text == "1 value is zero."
    assert not (table.nulls & (table.signs != 0)).any()


def test_exact_values_differ_by_nothing_but_rounding():
    result = with_fields(
        fs.exact(fs.games.Additive([1.0, 1.0])),
        values=np.array([1.0, 1.0 + 1e-12]),
        identical_players=((0, 1),),
    )
    _, duplicates, _ = callouts(result)
    assert "by rounding" in duplicates.text
    assert "chance" not in duplicates.text


def test_the_tolerance_near_zero_is_the_one_that_was_asked_for():
    """A rule with a ξ of its own that ended the run is what the page tells of."""
    game = fs.games.SumOfUnanimity(10, seed=1)
    rule = fs.Fair(epsilon1=0.5, delta=0.1, xi=0.5)
    result = fs.estimate(game, until=rule, seed=0, progress=False)
    assert result.stopped.startswith("certified")
    assert said(result).kind == "holds"


@pytest.mark.parametrize(
    "rule",
    [
        fs.Fidelity(at_least=1e9) & fs.Decided(signs=True, delta=0.02),
        fs.Decided(signs=True, delta=0.3) | fs.Fair(epsilon1=0.5, delta=0.02),
    ],
)
def test_the_confidence_is_the_one_that_was_asked_for(rule):
    game = fs.games.SumOfUnanimity(10, seed=1)
    result = fs.estimate(game, until=rule, budget=600, seed=0, progress=False)
    assert result.findings().certificate.delta == 0.02
    if result.findings().doubts:
        pytest.fail("the run is too short for any statement")
    page = inner("section", report_html(result))
    assert "98 % confidence" in page[1]
    assert "90 % confidence" not in page[1]
    assert "70 % confidence" in inner("section", report_html(result, delta=0.3))[1]


def test_why_errors_are_not_to_be_trusted_yet_stands_by_the_intervals():
    for changes, why in (
        ({"obstacle": "<b>a & b</b>\u202e"}, "<b>a & b</b>⟨U+202E⟩."),
        ({}, "a value is the mean of 9 contributions"),
    ):
        few = by_hand(counts=np.full(60, 9), **changes)
        sections = inner("section", report_html(few))
        (values,) = (one for one in sections if "The value of each player" in one)
        assert f"No interval is stated for any value: {why}" in values
    assert 'id="doubts"' not in report_html(by_hand())


def test_an_interval_without_ends_is_not_known():
    """One player has too few contributions for the looks of the run; the others have intervals."""
    result = by_hand(sequential=True, counts=np.append(np.full(59, 500), 50))
    table = players(result)
    assert table.bounded
    assert table.interval_text(59) == "not known"
    assert "not known" not in table.interval_text(0)
    page = report_html(result, pool=100)
    assert data_of(page)["players"]["upper"][59] is None
    assert "∞" not in text_of(page)
    assert not re.search(r"\binf\b", text_of(page))


def test_what_rests_on_few_contributions_says_so_and_is_not_called_certified():
    game = fs.games.SumOfUnanimity(10, seed=1)
    for budget in (30, 40):
        result = fs.estimate(game, budget=budget, seed=0)
        assert said(result).kind == "impossible"
        assert "adds), and 12 are needed" in said(result).headline
        assert not players(result).bounded
        assert "contain the true values is not known" in said(result).details[0]
        page = report_html(result)
        assert "contains the true value about" not in text_of(page)
        assert "no confidence statement is possible" in page
        assert text_of(page).count("90 % confidence") == 1  # in the glossary
        assert "assuming that averages" not in page
        assert 'data-chart="tolerance"' not in page
