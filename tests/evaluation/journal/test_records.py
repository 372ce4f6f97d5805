"""Games and runs are recorded and found again."""

from __future__ import annotations

import pytest
from tests.evaluation.journal.files import filled

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal import Journal


def test_a_second_game_is_refused_unless_the_file_is_shared(tmp_path):
    path = filled(tmp_path / "j", 10)
    message = r"another game.*key=.*shared=True"
    with Journal(path) as journal, pytest.raises(JournalError, match=message):
        journal.open_game("b", 100)
    with Journal(path, shared=True) as journal:
        first, second = journal.open_game("a", 100), journal.open_game("b", 3)
        journal.append(second, [b"\x01"], [1.5])
        assert (journal.count(first), journal.count(second)) == (10, 1)
    with Journal(path) as journal:
        assert journal.open_game("b", 3) == second
        with pytest.raises(JournalError, match="3 players, not 4"):
            journal.open_game("b", 4)


def test_runs_are_recorded_and_found_by_their_configuration(tmp_path):
    seed = 2**127 + 1
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        old = journal.start_run(game, {"method": "mc", "xi": 1e-3}, {}, seed, {"numpy": "2"})
        origin = {"player_names": ["x", "ü", "z"]}
        new = journal.start_run(game, {"xi": 1e-3, "method": "mc"}, {}, 7, {}, origin)
        journal.start_run(game, {"xi": 2e-3, "method": "mc"}, {}, 7, {})
        journal.end_run(old, status="interrupted", evaluations=6, result={"values": [0.1]})
        journal.end_run(new, status="finished", evaluations=0, result={})
    with Journal(tmp_path / "j", readonly=True) as journal:
        run = journal.runs()[0]
        assert (run.id, run.fingerprint, run.n_players, run.seed) == (old, "a", 3, seed)
        assert (run.status, run.evaluations, run.result) == ("interrupted", 6, {"values": [0.1]})
        assert run.versions == {"numpy": "2"}
        assert run.configuration == {"method": "mc", "xi": 1e-3}
        assert run.started <= run.updated
        assert run.started.endswith("+00:00")
        found = journal.find_run(game, {"method": "mc", "xi": 1e-3})
        assert found is not None
        assert journal.find_run(game, {"method": "kernel"}) is None
        assert (found.id, found.result, found.origin) == (new, {}, origin)
        assert [r.status for r in journal.runs()] == ["interrupted", "finished", "running"]


def test_a_run_must_be_plain_json_known_and_of_a_known_status(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        with pytest.raises(JournalError, match="JSON"):
            journal.start_run(game, {"xi": float("nan")}, {}, 0, {})
        run = journal.start_run(game, {}, {}, 0, {})
        with pytest.raises(JournalError, match="CHECK"):
            journal.end_run(run, status="lost", evaluations=0, result={})
