"""What every engine must do, for the tests of processes, Dask and Ray.

Utilities are made inside functions: then they travel as code, not as the name of a module.
"""

import contextlib
import os
import signal

import numpy as np
import pytest

import fairshapley as fs


def plain(result):
    """All of a result but the date, the time it took and what happened to its workers."""
    return {**result.to_dict(), "seconds": 0, "created": 0, "notes": 0, "journal_digest": 0}


def check_same_bits(engine, tmp_path):
    """Three methods give the bits of a serial run, and journal all they compute."""
    game = fs.games.SumOfUnanimity(20, seed=1)
    for method in ("mc", "gae", "kernel"):
        options = {"method": method, "budget": 500, "seed": 3}
        journal = tmp_path / f"{method}.db"
        result = fs.estimate(game, engine=engine, journal=journal, **options)
        assert plain(result) == plain(fs.estimate(game, **options))
        assert fs.estimate(game, journal=journal, **options).run.computed == 0


def deadly_game(log, flag):
    """|S| for 9 players; the first worker at a coalition of five kills itself.

    `log` gets a line for each coalition computed, `flag` appears with the kill.
    """

    def fn(coalition):
        if len(coalition) == 5:
            with contextlib.suppress(FileExistsError):
                flag.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        with log.open("a") as file:
            file.write(f"{coalition}\n")
        return float(len(coalition))

    return fs.games.FunctionGame(fn, 9, key="deadly")


def check_a_killed_worker(engine, tmp_path):
    """A worker killed in the middle of a chunk costs only what was in flight; the result."""
    log, flag = tmp_path / "log", tmp_path / "killed"
    result = fs.estimate(deadly_game(log, flag), "exact", engine=engine, verify=0)
    assert flag.exists()
    np.testing.assert_allclose(result.values, 1.0, rtol=1e-12)
    asked = log.read_text().splitlines()
    assert len(set(asked)) == 512
    assert len(asked) <= 512 + 4 * engine.chunk_size
    return result


def check_a_failure_reads_as_in_a_serial_run(engine):
    """The same words, with the coalition."""
    failing = fs.games.FunctionGame(lambda s: 1 / 0 if s == (1, 2) else 1.0, 4)
    with pytest.raises(fs.errors.GameError, match=r"\(1, 2\) failed: ZeroDivisionError") as caught:
        fs.estimate(failing, "exact", engine=engine)
    with pytest.raises(fs.errors.GameError) as serial:
        fs.estimate(failing, "exact")
    assert str(caught.value) == str(serial.value)
    check_a_utility_that_exits_is_a_failure(engine)


def check_a_utility_that_exits_is_a_failure(engine):
    """`sys.exit` in a utility names its coalition, and neither ends nor spoils the run."""

    def exiting(coalition):
        if coalition == (1, 2):
            raise SystemExit(7)
        return float(len(coalition))

    game = fs.games.FunctionGame(exiting, 4)
    with pytest.raises(fs.errors.GameError, match=r"\(1, 2\) failed: SystemExit: 7"):
        fs.estimate(game, "exact", engine=engine)
    result = fs.estimate(game, "mc", budget=40, seed=0, engine=engine, on_error="skip")
    assert any("skipped" in note for note in result.notes)
