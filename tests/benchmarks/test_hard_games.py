"""The audit on games made to break certificates: its table, and a tiny run."""

from benchmarks.certificates import hard
from benchmarks.certificates.hard_games import GAMES, HELD_OUT


def test_the_page_is_that_of_the_runs():
    rows = hard.kept(hard.RUNS)
    page = (hard.HERE / "HARD.md").read_text(encoding="utf-8")
    assert page == f"{hard.HEAD}{hard.report(rows, hard.kept(hard.BEFORE))}\n"
    audited = {row["game"] for row in rows}
    assert set(GAMES) | set(HELD_OUT) <= audited


def test_no_held_out_game_is_above_delta():
    rows = [row for row in hard.kept(hard.RUNS) if row["set"] == "held out"]
    assert len(rows) >= 19 * 4 * 3
    for row in rows:
        assert hard.lower_bound(int(row["wrong"]), int(row["stated"])) <= hard.DELTA, row


def test_a_tiny_run_states_and_is_right():
    game = GAMES["jump at the end, n = 14"]()
    stated, wrong, spent = hard.run(game, "adjusted", "fair", seed=0)
    assert (stated, wrong) == (True, False)
    assert 2 < spent < 40
