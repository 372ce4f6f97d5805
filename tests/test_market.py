"""What payments hang on: two names, another metric, copies paid once."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley.market import MERGED, examined, split_players
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.payouts.letters import write_letters
from fairshapley.results.records import PartValues, Remark, Split
from fairshapley.results.serialising import with_fields
from fairshapley.runs.plan import record_again
from tests.cli.files import passed, run


def game_of(n_players, metric="log_loss", rows=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_players * rows + 200, 3))
    y = np.where(x @ [1.0, -1.0, 0.5] + rng.normal(size=len(x)) > 0, "yes", "no")
    train = x[:-200], y[:-200]
    who = np.repeat([f"p{player}" for player in range(n_players)], rows)
    return fs.games.DataGame(LogisticRegression(), train, (x[-200:], y[-200:]), metric, groups=who)


def gain_by_enumeration(game, player, generator):
    """What both halves get together less what the player gets, from all coalitions."""
    halved, halves = game.halved(generator)
    names = [one for one in range(game.n_players) if one != player]

    class Split:
        n_players = game.n_players + 1

        def __call__(self, coalitions):
            whole = np.zeros((len(coalitions), halved.n_players), dtype=bool)
            for place, one in enumerate(names):
                whole[:, halves[one]] = coalitions[:, [place]]
            whole[:, halves[player]] = coalitions[:, -2:]
            return halved(whole)

    return fs.exact(Split()).values[-2:].sum() - fs.exact(game).values[player]


@pytest.mark.parametrize("n_players", [2, 3, 6])
def test_what_a_player_would_get_in_two_names_is_that_of_the_game_with_both(n_players):
    game = game_of(n_players)
    splits = split_players(game, 10_000)
    assert [split.player for split in splits] == list(range(n_players))
    missed = []
    for split in splits[:3]:
        generator = side_generator(root_seed(0), "halves of players")
        truth = gain_by_enumeration(game, split.player, generator)
        if n_players <= 3:
            assert split.error == 0
            assert split.earned == pytest.approx(truth)
        else:
            missed.append((split.earned - truth) / split.error)
    assert np.abs(missed).max(initial=0) < 3


def test_a_player_with_one_row_has_no_halves():
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(x[:, 0] > 0, "yes", "no")
    who = ["a"] * 14 + ["b"] + ["c"] * 15
    game = fs.games.DataGame(LogisticRegression(), (x, y), (x, y), groups=who)
    assert [split.player for split in split_players(game, 100)] == [0, 2]


def examined_market():
    """Five suppliers and one with the rows of the first, with what payments hang on."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(260, 3))
    y = np.where(x @ [1.0, -1.0, 0.5] + rng.normal(size=260) > 0.8, "yes", "no")
    rows = [*range(60), *range(12)]
    who = [*np.repeat(list("abcde"), 12), *["z"] * 12]
    games = [
        fs.games.DataGame(
            LogisticRegression(), (x[rows], y[rows]), (x[60:], y[60:]), one, groups=who
        )
        for one in ("accuracy", "auc")
    ]
    return games, examined(fs.exact(games[0]), games[0], {"auc": games[1]})


def test_a_journal_keeps_what_payments_hang_on(tmp_path):
    games, found = examined_market()
    first = fs.estimate(games[0], "mc", budget=30, seed=0, journal=tmp_path / "j.db")
    added = with_fields(first, splits=found.run.splits, scenarios=found.run.scenarios)
    with fs.Journal(tmp_path / "j.db") as journal:
        kept = record_again(journal, added)
    assert fs.verify(kept, journal=tmp_path / "j.db").holds
    longer = fs.resume(tmp_path / "j.db", games[0], budget=50)
    assert longer.evaluations > first.evaluations
    for result in (longer, fs.resume(tmp_path / "j.db"), fs.resume(tmp_path / "j.db", run=1)):
        assert result.run.splits == found.run.splits
        assert result.payout(100).alternatives.keys() == {"auc", MERGED}


def test_a_payout_says_what_it_hangs_on(tmp_path):
    games, result = examined_market()
    paid = result.payout(10_000)
    assert list(paid.alternatives) == ["auc", MERGED]
    assert paid.alternatives["auc"] == fs.exact(games[1]).payout(10_000).amounts
    once = paid.alternatives[MERGED]
    assert once[0] == once[5]
    assert once[0] < paid.amounts[0]
    headings, rows, _ = paid.hanging()
    assert headings == ["player", "amount", "auc", MERGED, "in two names", "other test set"]
    assert len(rows) == 6
    split = result.run.splits[0]
    values = np.maximum(result.values, 0)
    wanted = 10_000 * max(paid.values[0] + split.earned, 0) / values.sum()
    assert float(paid.split[0][0]) == pytest.approx(wanted, abs=0.01)
    assert len(paid.to_dict()["players"][0]) == len(paid.to_frame("dict"))
    page = result.report(tmp_path / "page.html", pool=10_000).read_text("utf-8")
    assert "What the amounts depend on" in page
    assert all(cell in page for row in rows for cell in row)
    again = fs.Result.from_dict(result.to_dict())
    assert again.payout(10_000).hanging() == paid.hanging()


def test_who_goes_from_nothing_to_something_is_marked_and_two_names_that_pay_are_a_warning():
    result = fs.exact(fs.games.Additive([3.0, 1.0, 0.0]))
    scenario = PartValues("auc", (2.0, 1.0, 1.0), (0.0, 4.0))
    splits = (Split(0, 1.0, 0.1), Split(1, 0.05, 0.1))
    paid = with_fields(result, scenarios=(scenario,), splits=splits).payout(400)
    assert paid.hanging()[1][-1] == ("2", "0.00", "100.00 *", "")
    assert paid.hanging()[2] == ["* something instead of nothing, or the reverse: '2' (auc)"]
    (said,) = [note for note in paid.notes if "two names" in note]
    assert "'0' would get 400.00 ± 10.00 instead of 300.00." in said


def test_a_letter_has_what_concerns_its_player_and_no_other_amount(tmp_path):
    _, result = examined_market()
    paid = result.payout(10_000)
    pages = [page.read_text("utf-8") for page in write_letters(result, paid, tmp_path / "letters")]
    assert len(pages) == 6
    amounts = [f"{amount:,f}" for amount in paid.amounts]
    for player, page in enumerate(pages):
        assert f"You get {amounts[player]} of 10,000.00" in page
        assert "12 rows." in page
        copied = player in (0, 5)
        assert ("&#39;a&#39; and &#39;z&#39; have the same rows" in page) == copied
        others = {*amounts} - {amounts[player]}
        told = {f"{one[player]:,f}" for one in (*paid.alternatives.values(), paid.test_lower)}
        assert not [amount for amount in others - told if f" {amount} " in page]


def test_the_shell_writes_letters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fs.exact(fs.games.Additive([3.0, 1.0])).save("v.json")
    passed("payout", "v.json", "--pool", 100, "--letters", "letters")
    assert {page.name for page in Path("letters").iterdir()} == {"1-0.html", "2-1.html"}
    Path("file").touch()
    done = run("payout", "v.json", "--pool", 9, "--letters", "file")
    assert "cannot write into file" in done.stderr


def test_a_report_has_remarks_at_the_player(tmp_path):
    result = fs.exact(fs.games.Additive([3.0, 1.0]))
    result = with_fields(result, remarks=(Remark(1, "9 rows, of which 1 is distinct"),))
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert '"found":["","9 rows, of which 1 is distinct"]' in page
    assert page.count("9 rows, of which 1 is distinct") >= 3  # warning, table, data of the table


def test_rows_worth_far_more_than_is_usual_are_named_in_money(tmp_path):
    rows = (40, 50, 50, 45, 6)
    plain = fs.exact(fs.games.Additive([4.0, 4.0, 5.0, 4.5, 2.5]))
    result = with_fields(plain, row_counts=rows, player_names=(*"abcd", "Tara"))
    text = "6 rows, worth 4.2 times as much per row as those of the median player"
    assert result.warnings == (f"'Tara': {text}; value +2.5",)
    paid = result.payout(2_000)
    assert f"warning: 'Tara': {text}; gets 250.00 of 2,000.00" in paid.notes
    page = result.report(tmp_path / "page.html", pool=2_000).read_text("utf-8")
    assert page.count(text) >= 3
    # An error that explains it, rows as players, and values that are usual: nothing is said.
    moved = np.outer([0, 0, 0, 0, 1.0], [-1, 1])
    assert not with_fields(result, replicates=moved).warnings
    assert not with_fields(result, row_counts=(1,) * 5).warnings
    assert not with_fields(result, row_counts=(40, 50, 50, 45, 25)).warnings
