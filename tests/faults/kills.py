"""Runs that are killed with SIGKILL at random moments: ``python -m tests.faults.kills``.

The package is imported once; every run is a process forked from this one. Prints how many were
killed, and how many utilities their journals held then.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from tests.faults.oracle import CountedGame, Scenario, journalled, plain, utility

SCENARIO = Scenario(n_players=12, options={"method": "mc", "budget": 160})
CHUNK = SCENARIO.engine().chunk_size
SECONDS = 0.01  # for a chunk, so that a run takes a quarter of a second


class SlowGame(CountedGame):
    """Writes down each coalition whose utility is known."""

    def __init__(self, log: Path) -> None:
        super().__init__(SCENARIO.n_players)
        self.log = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        values = super().__call__(coalitions)
        time.sleep(SECONDS)
        for key in self.batches[-1]:
            os.write(self.log, key)
        return values


def begin(path: Path, log: Path) -> int:
    """Start a run in a process of its own."""
    child = os.fork()
    if child:
        return child
    try:
        SCENARIO.call(SlowGame(log), path)
    finally:
        os._exit(0)


def kill_once(path: Path, log: Path, moment: float) -> bool:
    """Kill a run after some seconds; whether it was still running."""
    child = begin(path, log)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def computed(log: Path) -> list[bytes]:
    """The coalitions whose utility some run has computed."""
    data = log.read_bytes() if log.exists() else b""
    return [data[at : at + 2] for at in range(0, len(data), 2)]


def main(folder: Path, kills: int, seed: int) -> None:
    """Kill so many runs; every second journal is killed twice."""
    expected = plain(SCENARIO.call(SCENARIO.game(), folder / "whole.db"))
    began = time.monotonic()
    os.waitpid(begin(folder / "first.db", folder / "first.log"), 0)
    duration = time.monotonic() - began
    rng, trial, killed, held = np.random.default_rng(seed), 0, 0, []
    while killed < kills:
        trial += 1
        path, log = folder / f"{trial}.db", folder / f"{trial}.log"
        kept: dict[bytes, float] = {}
        for _ in range(1 + trial % 2):
            before = len(computed(log))
            hit = kill_once(path, log, rng.uniform(0.0, 1.02 * duration))
            again = kept.keys() & set(computed(log)[before:])
            assert not again, "journalled evaluations were computed again"
            now = journalled(path)
            assert kept.items() <= now.items(), "journalled evaluations were lost"
            lost = set(computed(log)[before:]) - now.keys()
            assert lost <= set(computed(log)[-CHUNK:]), "more is lost than was in flight"
            kept = now
            if hit:
                killed += 1
                held.append(len(kept))
        assert all(value == utility(key) for key, value in kept.items()), "a wrong value"
        game = SCENARIO.game()
        assert plain(SCENARIO.call(game, path)) == expected, "a wrong result"
        assert not kept.keys() & set(game.calls), "journalled evaluations were computed again"
        assert len(kept) + len(game.calls) == expected["evaluations"]
        assert sorted(path.parent.glob(f"{path.name}*")) == [path], "files are left behind"
    sys.stdout.write(json.dumps({"killed": killed, "held": held}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
