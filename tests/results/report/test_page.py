"""The page as a file: where its numbers come from, what it holds, and what it keeps out."""

import html
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from tests.results.report.reading import data_of, text_of
from tests.results.report.samples import HOSTILE, by_hand

import fairshapley as fs
from fairshapley._basics.files import page_is_whole, read_marks
from fairshapley.results.origin import InputFile
from fairshapley.results.report.page import report_html
from fairshapley.results.report.provenance import snippet
from fairshapley.results.serialising import result_digest, with_fields


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
        result_digest(result),
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


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": fs.MonteCarlo(antithetic=True), "budget": fs.Budget(marginals=240)},
        {"method": "mc", "budget": 99, "until": fs.Decided(signs=True) | fs.Fidelity(at_least=1e6)},
        {"method": "owen", "budget": 400, "until": fs.Fair(epsilon1=0.9, delta=0.2, xi=0.3)},
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
    foreign = with_fields(
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
    assert plain.count("<tr>") == 1 + n_players


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
    with pytest.raises(fs.InputError):
        result.report(tmp_path / "r.html", title=5)
    with pytest.raises(fs.InputError, match="cannot write"):
        result.report(tmp_path / "no" / "r.html")
    assert list(tmp_path.iterdir()) == []
    assert result.report(tmp_path / "r.html") == tmp_path / "r.html"


@pytest.mark.parametrize("module", ["jinja2", "plotly.offline"])
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(fs.errors.MissingExtraError, match=r"pip install .*pandas"):
        by_hand().report(tmp_path / "r.html")


def test_the_page_names_the_digest_of_its_result_and_has_its_own():
    result = fs.exact(fs.games.Airport([1.0, 2.0]))
    page = report_html(result)
    assert read_marks(page)["result"] == result_digest(result)
    assert page.count(result_digest(result)) == 2, (
        "in the head for machines, in the facts for people"
    )
    assert page_is_whole(page)
    assert not page_is_whole(page.replace("0.5", "0.6", 1))


def test_a_report_divides_a_sum_and_counts_rows(tmp_path):
    rows = np.array([[0.0], [1.0], [0.1], [0.9], [0.2], [0.8]])
    labels = ["no", "yes", "no", "yes", "no", "yes"]
    game = fs.games.DataGame(
        KNeighborsClassifier(1), (rows, labels), (rows + 0.01, labels), groups=list("aabbbb")
    )
    assert game.row_counts == (2, 4)
    result = fs.exact(game)
    assert result.game.row_counts == (2, 4)
    assert fs.Result.from_dict(result.to_dict()).game.row_counts == (2, 4)
    text = result.report(tmp_path / "r.html", pool=1000).read_text(encoding="utf-8")
    assert "Who gets what" in text
    assert "1,000.00 divided among 2 players" in text
    assert text.count("500.00") >= 2
    assert '<th scope="col">At least' not in text, "exact amounts have no band"
    assert '<th scope="col" class="wide">Rows</th>' in text
    without = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Who gets what" not in without
    estimated = fs.estimate(fs.games.Airport(range(1, 15)), "mc", budget=400, seed=0)
    text = estimated.report(tmp_path / "r.html", pool=1000).read_text(encoding="utf-8")
    assert '<th scope="col">At least' in text
    assert '"wide">Rows<' not in text


def test_a_sum_that_cannot_be_divided_leaves_the_report_whole(tmp_path):
    result = fs.exact(fs.games.Additive([-1.0, -2.0]))
    text = result.report(tmp_path / "r.html", pool=10).read_text(encoding="utf-8")
    assert "no player has a positive value" in text
