"""What a report says: sentences, callouts, curves and the call that repeats the run."""

import dataclasses
import html
import json
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from tests.results.report.samples import HOSTILE, by_hand

import fairshapley as fs
from fairshapley._basics.digests import page_is_whole, read_marks
from fairshapley.fairness.certificate import cost_text, rounded_up
from fairshapley.games.identical import identical_groups
from fairshapley.results.checkpoints import SizeBin
from fairshapley.results.origin import InputFile
from fairshapley.results.report.drawing import charts
from fairshapley.results.report.fairness import ToleranceCurves, smallest_epsilon1
from fairshapley.results.report.page import report_html
from fairshapley.results.report.players import PlayerTable
from fairshapley.results.report.provenance import snippet


def players(result, labels=None, epsilon1=0.5, delta=0.1):
    return PlayerTable.of(result, epsilon1=epsilon1, delta=delta, labels=labels)


def inner(tag, text):
    """The texts of elements, entities resolved."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, re.S)
    return [html.unescape(re.sub(r"<[^>]*>", "", one)).replace("\u00a0", " ") for one in found]


def said(result, epsilon1=0.5, delta=0.1):
    """What stands at the top of the page."""
    page = report_html(result, epsilon1=epsilon1, delta=delta)
    kind, text = re.search(r'class="verdict (\w+)"(.*?)</section>', page, re.S).groups()
    return SimpleNamespace(
        kind=kind,
        stamp=inner("p", text)[0][2:],
        headline=inner("h2", text)[0],
        details=inner("li", text),
        statement=inner("p", text)[-1],
    )


def callouts(result, labels=None):
    """The cards of values worth checking."""
    page = report_html(result, labels=labels, epsilon1=0.5)
    return [
        SimpleNamespace(
            total=int(inner("span", text)[0].replace(",", "")),
            text=inner("p", text)[0],
            items=[
                (inner("bdi", one)[0], inner("span", one)[0])
                for one in re.findall(r"<li>.*?</li>", text, re.S)
            ],
        )
        for text in re.findall(r"<article.*?</article>", page, re.S)
    ]


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


ASSUMING = "assuming that averages of the sampled contributions are close to normally distributed"


def test_what_holds_is_one_sentence_to_read_out():
    result = by_hand(standard_errors=np.full(60, 1e-4), unit="accuracy on 120 test rows")
    words = said(result)
    assert (words.kind, words.stamp, words.details) == ("holds", "Certified", [])
    assert words.headline.replace("\u2068", "").replace("\u2069", "") == (
        "Each of the 60 values differs from its true value by at most 50 % of the size of that "
        "true value plus 0.005 (accuracy on 120 test rows), for all 60 players together, with "
        f"90 % confidence, {ASSUMING}."
    )
    assert words.statement == result.certificate(0.5, 0.1).statement
    assert (
        "plus 0.005 utility units, for" in said(by_hand(standard_errors=np.full(60, 1e-4))).headline
    )
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
    requested, tolerance, known, order, short, cost, predicted = words.details
    assert "The requested tolerance, 50 % of the size of each true value plus 0.005" in requested
    assert f"to ± {certificate.half_widths.max():.3g} around" in known
    standing = result.standing(0.5, 0.1)
    assert f"decided for {standing.settled_pairs:,} of 1,770 pairs of players" in order
    enough = int((certificate.half_widths <= certificate.allowed).sum())
    assert f"narrow enough for {enough} of the 60 values" in short
    worst = result.names()[certificate.worst_players[0]]
    assert f"“\u2068{worst}\u2069”" in short
    assert "No tolerance below 100 %" in tolerance
    assert f"would take {cost_text(standing.needed, 2.0**60)}; 12,345 were made" in cost
    evaluations = result.predict(0.5, 0.1, bound="normal").evaluations
    assert f"{float(f'{evaluations:.2g}'):,.0f} evaluations" in predicted


def test_the_players_at_both_ends_are_named():
    sure = by_hand(4, values=[3.0, 2.0, 1.0, 1.0], standard_errors=[0.3, 0.01, 0.01, 0.01])
    (order,) = [one for one in said(sure, 0.01).details if "order" in one]
    assert order == (
        "The order is decided for 5 of 6 pairs of players. The highest value is that of "
        "“\u2068customer 00000\u2069”, the lowest that of “\u2068customer 00002\u2069” or "
        "“\u2068customer 00003\u2069”."
    )


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
    leverage = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "leverage", budget=300, seed=0)
    assert said(leverage).kind == "impossible"
    assert leverage.obstacle in said(leverage).statement


def test_a_constant_utility_is_said_to_be_one():
    flat = [SizeBin(size, size, 9, float(size), 0.5, 0.0) for size in range(9)]
    unknown = {"values": np.zeros(8), "standard_errors": np.full(8, np.nan), "profile": flat}
    words = said(by_hand(8, **unknown))
    assert "all 12,345 utilities that were evaluated are equal" in words.headline
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


def test_where_the_numbers_come_from_is_on_the_page():
    file = InputFile("my rows.csv", 64 * "a", 1234)
    result = by_hand(
        created="2026-01-02T03:04:05Z",
        command="fairshapley value 'my rows.csv' --target label",
        inputs=(file, InputFile("test.csv", 64 * "b", 99)),
        versions={"python": "3.11.7", "numpy": "2.0", "machine": "Linux x86_64"},
    )
    text = text_of(report_html(result))
    assert text.count("2026-01-02 03:04:05 UTC") == 2, "at the top and among the facts"
    written = re.findall(r"[Rr]eport written\W+(\S+ \S+) UTC", text)
    assert len(written) == 2
    made = datetime.fromisoformat(written[0] + "+00:00")
    assert timedelta(seconds=-1) < datetime.now(UTC) - made < timedelta(minutes=1)
    for words in (
        "fairshapley value 'my rows.csv' --target label",
        f"my rows.csv (1,234 bytes), SHA-256 {64 * 'a'}",
        f"test.csv (99 bytes), SHA-256 {64 * 'b'}",
        "python 3.11.7, numpy 2.0, machine Linux x86_64",
        "Seed of the random draws 7",
        result.digest,
    ):
        assert words in text, words
    assert "started from Python" in text_of(report_html(by_hand()))


def test_nothing_is_cut_short():
    long = "note " * 4000 + "END"
    names = [f"{'n' * 3000} END {player}" for player in range(8)]
    page = report_html(by_hand(8, names=names, notes=(long,), stopped=long), title=long)
    text = text_of(page)
    assert text.count(long) == 4, "title twice, the reason for stopping, the note"
    assert data_of(page)["players"]["name"] == names
    assert all(name in text for name in names)
    # The one that stays stands for a game, in the code that repeats the run.
    assert text.replace("game = …", "").count("…") == 0


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
    negative, duplicates, nulls = callouts(result)
    signs = result.decisions(0.1).signs()
    assert negative.total == (signs < 0).sum() > 0
    assert negative.items[0][0] == result.names()[np.argmin(result.values)]
    assert "an unlikely reason" in negative.text or negative.total <= 15
    assert (duplicates.total, len(duplicates.items)) == (4, 2)
    assert [name for name, _ in nulls.items] == ["customer 00059"]


def test_intervals_of_each_player_alone_call_nobody_out():
    result = by_hand(obstacle="a method of one's own")
    table = players(result)
    assert not table.intervals.joint
    assert not table.signs.any()
    assert not table.nulls.any()
    np.testing.assert_allclose(table.intervals.upper - result.values, 2 * result.standard_errors)
    assert "for one player alone" in text_of(report_html(result))
    assert "a method of one's own" in said(result).headline


def test_labels_from_sequences_and_mappings():
    result = by_hand(4)
    rows = players(result, ["a", "b", "a", "b"]).by_label()
    assert {label: list(found) for label, found in rows.items()} == {"a": [0, 2], "b": [1, 3]}
    assert players(result, {"customer 00001": "x", 3: 5}).labels == ("", "x", "", "5")
    for bad in (["a"], "abcd", {"nobody": 1}):
        with pytest.raises(fs.InputError, match="labels"):
            players(result, bad)


def test_groups_join_pairs():
    assert identical_groups([(3, 1), (5, 3), (0, 2)], 6) == [[0, 2], [1, 3, 5], [4]]


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
    with pytest.raises(fs.MissingExtraError, match=r"pip install .*pandas"):
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


def test_a_report_divides_a_sum_and_counts_rows(tmp_path):
    rows = np.array([[0.0], [1.0], [0.1], [0.9], [0.2], [0.8]])
    labels = ["no", "yes", "no", "yes", "no", "yes"]
    game = fs.games.DataGame(
        KNeighborsClassifier(1), (rows, labels), (rows + 0.01, labels), groups=list("aabbbb")
    )
    assert game.row_counts == (2, 4)
    result = fs.exact(game)
    assert result.row_counts == (2, 4)
    assert fs.Result.from_dict(result.to_dict()).row_counts == (2, 4)
    text = result.report(tmp_path / "r.html", pool=1000).read_text(encoding="utf-8")
    assert "Who gets what" in text
    assert "1,000.00 divided among 2 players" in text
    assert text.count("500.00") >= 2
    assert '<th scope="col">At least' not in text, "exact amounts have no band"
    assert '<th scope="col" class="wide">Rows</th>' in text
    without = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Who gets what" not in without
    estimated = fs.estimate(fs.games.Airport(range(1, 15)), budget=400, seed=0)
    text = estimated.report(tmp_path / "r.html", pool=1000).read_text(encoding="utf-8")
    assert '<th scope="col">At least' in text
    assert '"wide">Rows<' not in text


def test_a_sum_that_cannot_be_divided_leaves_the_report_whole(tmp_path):
    result = fs.exact(fs.games.Additive([-1.0, -2.0]))
    text = result.report(tmp_path / "r.html", pool=10).read_text(encoding="utf-8")
    assert "no player has a positive value" in text


def test_exact_values_are_not_both_below_and_near_zero():
    result = fs.exact(fs.games.Additive([1.0, -1e-6, 0.0]))
    table = players(result)
    assert table.nulls.tolist() == [False, False, True]
    *_, nulls = callouts(result)
    assert nulls.text == "1 value is zero."
    assert not (table.nulls & (table.signs != 0)).any()


def test_exact_values_differ_by_nothing_but_rounding():
    result = dataclasses.replace(
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
    result = fs.estimate(
        game, until=fs.Fair(epsilon1=0.5, delta=0.1, xi=0.5), seed=0, progress=False
    )
    assert result.stopped.startswith("certified")
    assert said(result).kind == "holds"


@pytest.mark.parametrize(
    "rule",
    [
        fs.Fair(epsilon1=0.5, delta=0.02, xi=0.5),
        fs.Decided(signs=True, delta=0.02),
        fs.Seconds(at_least=1e6) | fs.Decided(signs=True, delta=0.02),
        fs.Decided(signs=True, delta=0.3) | fs.Fair(epsilon1=0.5, delta=0.02),
    ],
)
def test_the_confidence_is_the_one_that_was_asked_for(rule):
    game = fs.games.SumOfUnanimity(10, seed=1)
    result = fs.estimate(game, until=rule, budget=600, seed=0, progress=False)
    assert result.standing().delta == 0.02
    page = inner("section", report_html(result))
    assert "98 % confidence" in page[1]
    assert "90 % confidence" not in page[1]
    assert "70 % confidence" in inner("section", report_html(result, delta=0.3))[1]


def test_why_errors_are_not_to_be_trusted_yet_stands_by_the_intervals():
    few = by_hand(counts=np.full(60, 9), obstacle="<b>a & b</b>\u202e")
    assert len(few.doubts) == 2
    sections = inner("section", report_html(few))
    (values,) = (one for one in sections if "The value of each player" in one)
    assert "not to be trusted yet: <b>a & b</b>⟨U+202E⟩; a value is the mean of 9" in values
    assert 'id="doubts"' not in report_html(by_hand())


def test_what_rests_on_a_model_says_so_and_is_not_called_certified():
    game = fs.games.SumOfUnanimity(10, seed=1)
    few, more = (fs.estimate(game, budget=budget, seed=0) for budget in (40, 260))
    assert said(few).kind == "impossible"
    assert "values and their errors are those of a model" in said(few).headline
    assert not players(few).intervals.joint
    assert "if the game is like the model that so few evaluations allow" in said(more).headline
    page = report_html(more)
    assert "no certificate rests on a model" in page
    assert "assuming that averages" not in page
    assert 'data-chart="tolerance"' not in page
