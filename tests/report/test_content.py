"""What a report says: sentences, callouts, curves and the call that repeats the run."""

import dataclasses
import html
import json
import re

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.digests import page_is_whole, read_marks
from fairshapley.report.callouts import callouts, label_rows
from fairshapley.report.charts import charts
from fairshapley.report.fairness import ToleranceCurves, smallest_epsilon1, verdict
from fairshapley.report.page import report_html
from fairshapley.report.players import PlayerTable, identical_groups
from fairshapley.report.provenance import snippet
from tests.report.samples import HOSTILE, by_hand


def players(result, labels=None, epsilon1=0.5, delta=0.1):
    return PlayerTable.of(result, epsilon1=epsilon1, delta=delta, labels=labels)


def said(result, epsilon1=0.5, delta=0.1):
    smallest = smallest_epsilon1(result, delta)
    return verdict(result, players(result), epsilon1, delta, smallest)


def data_of(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text)


def text_of(page):
    """The page without its scripts and styles, entities resolved."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", bare)))


@pytest.fixture(scope="module")
def fair():
    game = fs.games.SumOfUnanimity(12, seed=1)
    return fs.estimate(game, "mc", until=fs.Fair(epsilon1=0.5, delta=0.1), budget=4000, xi=0.5)


def test_what_holds_is_said():
    result = by_hand(standard_errors=np.full(60, 1e-4))
    words = said(result)
    assert words.kind == "holds"
    assert "at least 90 %" in words.summary
    assert "60 values" in words.summary
    assert "50 % of its size plus 0.005" in words.summary
    assert words.statement == result.certificate(0.5, 0.1).statement


def test_what_does_not_hold_is_said_with_its_cost():
    result = by_hand()
    words, certificate = said(result), result.certificate(0.5, 0.1)
    assert words.kind == "fails"
    too_wide = int((certificate.half_widths > certificate.allowed).sum())
    assert f"not shown for {too_wide} of the 60 values" in words.summary
    worst = result.names()[certificate.worst_players[0]]
    assert f"“{worst}”" in words.details[0]
    excess = (certificate.half_widths / certificate.allowed).max() ** 2
    assert f"{excess:.2g} times what was spent" in words.details[1]
    predicted = result.predict(0.5, 0.1, bound="normal")
    assert f"{float(f'{predicted.evaluations:.2g}'):,.0f} evaluations" in words.details[2]


def test_exact_partial_and_uncertifiable_results():
    exact = fs.exact(fs.games.Airport([1.0, 2.0, 4.0]))
    assert said(exact).headline == "These values are exact"
    partial = by_hand(complete=False, obstacle="the run did not finish")
    assert said(partial).kind == "impossible"
    assert "partial" in said(partial).headline
    unknown = by_hand(standard_errors=np.full(60, np.nan))
    assert "not known" in said(unknown).summary
    leverage = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "leverage", budget=300, seed=0)
    assert said(leverage).kind == "impossible"
    assert leverage.obstacle in said(leverage).statement


@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_the_smallest_tolerance_is_where_the_certificate_turns(delta):
    result = by_hand(standard_errors=np.full(60, 0.002))
    edge = smallest_epsilon1(result, delta)
    assert result.certificate(edge * 1.0001, delta).holds
    assert not result.certificate(edge * 0.9999, delta).holds


def test_curves_are_those_of_the_result():
    result = by_hand(standard_errors=np.full(60, 0.002))
    curves = ToleranceCurves.of(result)
    assert {delta for _, delta in curves.certified} >= {0.1, 0.01}
    for bound, points in curves.guaranteed.items():
        for epsilon1, delta in points:
            assert result.guarantee(epsilon1, bound=bound).delta == delta
    certified = [epsilon1 for epsilon1, _ in curves.certified]
    assert certified == sorted(certified)  # the surer, the looser


def test_callouts_name_the_right_players():
    result = by_hand()
    harmful, duplicates, nulls = callouts(result, players(result), 0.5, 0.1)
    signs = result.decisions(0.1).signs()
    assert harmful.total == (signs < 0).sum() > 0
    assert harmful.items[0][0] == result.names()[np.argmin(result.values)]
    assert "hardly wrong labels" in harmful.text or harmful.total <= 15
    assert (duplicates.total, len(duplicates.items)) == (4, 2)
    assert [name for name, _ in nulls.items] == ["customer 00059"]


def test_intervals_of_each_player_alone_call_nobody_out():
    result = by_hand(obstacle="a method of one's own")
    table = players(result)
    assert not table.intervals.joint
    assert not table.signs.any()
    assert not table.nulls.any()
    np.testing.assert_allclose(table.intervals.upper - result.values, 2 * result.standard_errors)
    assert "a method of one's own" in table.intervals.meaning


def test_labels_from_sequences_and_mappings():
    result = by_hand(4)
    rows = label_rows(players(result, ["a", "b", "a", "b"]))
    assert [row[:2] for row in rows] == [("a", "2"), ("b", "2")]
    assert players(result, {"customer 00001": "x", 3: 5}).labels == ("", "x", "", "5")
    for bad in (["a"], "abcd", {"nobody": 1}):
        with pytest.raises(fs.InputError, match="labels"):
            players(result, bad)


def test_groups_join_pairs():
    assert identical_groups([(3, 1), (5, 3), (0, 2)]) == ((0, 2), (1, 3, 5))


def test_the_profile_gives_marginals():
    game = fs.games.FunctionGame(lambda s: float(len(s) ** 2), 12)
    result = fs.estimate(game, "mc", budget=300, seed=0)
    drawn = charts(result, players(result), ToleranceCurves.of(result), 0.5, 0.1)
    np.testing.assert_allclose(drawn["marginals"].data["y"], 2 * np.arange(12) + 1.0)
    assert sum(drawn["requests"].data["y"]) == result.evaluations + result.cache_hits


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "adjusted", "budget": 200},
        {"method": fs.MonteCarlo(antithetic=True), "budget": fs.Budget(marginals=240)},
        {"method": "owen", "until": fs.Evaluations(at_least=99) | fs.Fidelity(at_least=1e6)},
        {"method": "mc", "budget": 400, "until": fs.Fair(epsilon1=0.9, delta=0.2, xi=0.3)},
        {"method": "stratified", "budget": 300, "semivalue": "banzhaf", "xi": 0.25},
        {"method": "exact"},
    ],
)
def test_the_code_in_the_report_repeats_the_run(arguments):
    game = fs.games.SumOfUnanimity(9, seed=1)
    result = fs.estimate(game, **arguments)
    space = {"game": game}
    code = snippet(result)
    assert repr(fs.games.fingerprint(game)) in code
    exec(re.sub(r"^game = .*$", "", code, flags=re.M), space)  # noqa: S102 - our own text
    differing = {"seconds": 0, "created": 0}
    assert space["result"].to_dict() | differing == result.to_dict() | differing


def test_the_code_of_other_results():
    rows, classes = np.arange(8.0)[:, None], np.arange(8) % 2
    result = fs.knn_shapley(rows, classes, rows, classes, k=3)
    space = {"X": rows, "y": classes, "X_test": rows, "y_test": classes}
    exec(snippet(result), space)  # noqa: S102 - our own text
    assert space["result"].values.tobytes() == result.values.tobytes()
    foreign = dataclasses.replace(
        result,
        configuration={"method": {"name": "x'\nimport os"}, "semivalue": "shapley"},
        limits={"until": {"rule": "Theirs"}},
    )
    compile(snippet(foreign).replace("…", "..."), "snippet", "exec")


def test_a_result_of_an_earlier_version_has_a_report():
    page = report_html(by_hand(history=(), profile=(), limits={}, versions={}))
    assert "was not recorded" in text_of(page)


@pytest.mark.parametrize("n_players", [1, 2, 300])
def test_any_number_of_players(n_players):
    result = by_hand(n_players)
    page = report_html(result)
    assert len(data_of(page)["players"]["name"]) == n_players
    plain = page.split('<div class="plain">')[1].split("</table>")[0]
    assert plain.count("<tr>") == 1 + min(200, n_players)


def test_numbers_that_are_not_finite():
    values = np.linspace(0.5, -0.2, 60)
    values[3] = np.nan
    result = by_hand(values=values, standard_errors=np.where(np.isnan(values), np.nan, 0.0))
    columns = data_of(report_html(result))["players"]
    assert columns["value"][3] is None
    assert columns["fidelity"][0] == "inf"


def test_embedded_data_and_text_cannot_break_out():
    names = [HOSTILE[player % len(HOSTILE)] for player in range(60)]
    result = by_hand(names=names, notes=tuple(HOSTILE), stopped=HOSTILE[1])
    page = report_html(result, title=HOSTILE[1], labels=names)
    page.encode("utf-8")
    ours = report_html(by_hand())
    for tag in ("<script", "</script", "<img", "<!--", "<a ", "<b>"):
        assert page.count(tag) == ours.count(tag), tag
    embedded = re.search(r'id="data">(.*?)</script>', page, re.S)[1]
    assert embedded.isascii()
    assert not set("<>&") & set(embedded)
    assert data_of(page)["players"]["name"][0] == HOSTILE[0]
    body = page[: page.index('id="data"')]
    assert not set("\x00\x1b\u202e\u2066\u2028\u2029") & set(body)
    assert "{{ 7 * 7 }}" in html.unescape(body)


def test_nothing_is_fetched_and_only_our_scripts_run():
    page = report_html(by_hand())
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert re.search(r"script-src ('sha256-[^']*' ?)+;", policy)
    # Plotly's own script has addresses in it, of map servers that are never asked.
    bare = re.sub(r"<script\b.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", bare)


def test_arguments_are_checked(tmp_path):
    result = by_hand()
    for bad in ({"epsilon1": 0}, {"delta": 1}, {"title": 5}, {"labels": []}):
        with pytest.raises(fs.InputError):
            result.report(tmp_path / "r.html", **bad)
    with pytest.raises(fs.InputError, match="cannot write"):
        result.report(tmp_path / "no" / "r.html")
    assert list(tmp_path.iterdir()) == []
    assert result.report(tmp_path / "r.html") == tmp_path / "r.html"


@pytest.mark.parametrize("module", ["jinja2", "plotly.offline"])
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(fs.MissingExtraError, match=r"fairshapley\[report\]"):
        by_hand().report(tmp_path / "r.html")


def test_a_real_run_is_reported(fair, tmp_path):
    page = fair.report(tmp_path / "fair.html", epsilon1=0.5).read_text(encoding="utf-8")
    words = text_of(page)
    assert "Shapley values of 12 players" in words
    assert f"{fair.evaluations:,}" in words
    assert fair.fingerprint in words


def test_the_page_names_the_digests_of_its_result_and_journal_and_has_its_own():
    result = dataclasses.replace(fs.exact(fs.games.Airport([1.0, 2.0])), journal_digest=64 * "a")
    page = report_html(result)
    marks = read_marks(page)
    assert marks["result"] == result.digest
    assert marks["journal"] == 64 * "a"
    assert page.count(result.digest) == 2, "in the head for machines, in the facts for people"
    assert page_is_whole(page)
    assert not page_is_whole(page.replace("0.5", "0.6", 1))
    assert "journal" not in read_marks(report_html(fs.exact(fs.games.Airport([1.0, 2.0]))))
