"""The sum over the rows of a journal: kept by every write, and missed by every change."""

import pytest
from tests.evaluation.journal.files import changed

import fairshapley as fs
from fairshapley.evaluation.journal.records import Journal

KEYS = [bytes([i, i % 3]) for i in range(40)]
VALUES = [i / 7 for i in range(40)]


def test_two_writers_keep_the_sum(tmp_path):
    with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as two:
        game = one.open_game("a", 16)
        for start in range(0, 40, 4):
            one.append(game, KEYS[start : start + 4], VALUES[start : start + 4])
            two.append(game, KEYS[start : start + 6], [9.0] * len(KEYS[start : start + 6]))
            assert one.check_rows(game).fault == ""
        found = two.check_rows(game, (0.0, 9.0))
        assert (found.count, found.fault, found.summed) == (98, "", True)
        assert one.count(game) == 40
        assert "from 0 to 9" in two.check_rows(game, (0.0, 8.0)).fault


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE batches SET utilities = "
        "CAST(substr(utilities, 9) || substr(utilities, 1, 8) AS BLOB) WHERE id = 3",
        "UPDATE batches SET coalitions = "
        "CAST(substr(coalitions, 3) || x'ff01' AS BLOB) WHERE id = 3",
        "UPDATE batches SET coalitions = substr(coalitions, 3), utilities = substr(utilities, 9) "
        "WHERE id = 3",
        "DELETE FROM batches WHERE id = 3",
        "DELETE FROM batches WHERE id = (SELECT max(id) FROM batches)",
        "INSERT INTO batches SELECT 99, game, coalitions, utilities FROM batches WHERE id = 3",
        "UPDATE batches SET game = 2 WHERE id = 3",
        "UPDATE sums SET count = count + 1",
    ],
)
def test_a_change_by_somebody_else_stops_a_run(tmp_path, statement):
    game = fs.games.SumOfUnanimity(9, seed=1)
    fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    changed(tmp_path / "j", statement)
    for again in (
        lambda: fs.estimate(game, "mc", budget=200, seed=0, journal=tmp_path / "j"),
        lambda: fs.resume(tmp_path / "j", game, budget=200),
        lambda: fs.resume(tmp_path / "j", budget=50),
    ):
        with pytest.raises(fs.JournalError, match=r"changed or damaged: .*restore a copy"):
            again()


def test_utilities_outside_the_stated_range_stop_a_run(tmp_path):
    class Sizes:
        n_players, fingerprint, value_range = 9, "sizes", (0.0, 1.0)

        def __call__(self, masks):
            return masks.mean(axis=1)

    game = Sizes()
    fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")
    game.value_range = (0.0, 0.5)
    with pytest.raises(fs.JournalError, match=r"stated to lie between 0 and 0\.5"):
        fs.estimate(game, "mc", budget=100, seed=0, journal=tmp_path / "j")


def test_a_damaged_name_of_a_table_is_damage(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.open_game("a", 16)
    content = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(content.replace(b"CREATE TABLE games", b"CREATE T\xccBLE games"))
    for readonly in (True, False):
        with pytest.raises(fs.JournalError, match="restore a copy"):
            Journal(tmp_path / "j", readonly=readonly)
