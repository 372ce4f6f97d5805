"""The journal keeps what it acknowledged, whatever happens to the process or the disk."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from fairshapley.evaluation.journal import Journal

APPENDER = """
    import sys
    import numpy as np
    from fairshapley.evaluation.journal import Journal

    with Journal(sys.argv[1]) as journal:
        game = journal.open_game("a", 64)
        print("open", flush=True)
        for batch in range(1_000_000):
            keys = [(batch * 50 + i).to_bytes(8, "big") for i in range(50)]
            journal.append(game, keys, [float(batch * 50 + i) for i in range(50)])
            print(batch, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("batches", [0, 3, 117])
def test_what_was_acknowledged_survives_kill_9(tmp_path, batches):
    path = tmp_path / "j"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(APPENDER), str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        for _ in range(batches):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = batches + len([x for x in process.stdout.read().split(b"\n")[:-1] if x])
    with Journal(path) as journal:
        game = journal.open_game("a", 64)
        keys = [index.to_bytes(8, "big") for index in range(acknowledged * 50)]
        assert journal.lookup(game, keys) == {key: float(i) for i, key in enumerate(keys)}
        # At most the batch under way was added, and it is whole.
        assert journal.count(game) in (acknowledged * 50, acknowledged * 50 + 50)
        assert journal._scalar("PRAGMA integrity_check") == "ok"


def test_many_processes_may_open_a_new_journal_at_once(tmp_path):
    code = """
        import sys
        from fairshapley.evaluation.journal import Journal
        with Journal(sys.argv[1], timeout=30) as journal:
            game = journal.open_game("a", 8)
            journal.append(game, [bytes([int(sys.argv[2])])], [1.0])
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "j"), str(index)]
        )
        for index in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    with Journal(tmp_path / "j") as journal:
        assert journal.count(journal.open_game("a", 8)) == 4
