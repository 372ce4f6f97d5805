"""The wire between the benchmark and a peer: framed bytes, and the game as the peer sees it.

This file runs in the peer's environment too: it needs numpy (of any version) alone. The game stays
in the benchmark's process; a peer sends coalitions and waits for their utilities. The waiting is
not counted as the peer's time, and every coalition is counted once, however often it is asked for.
"""

from __future__ import annotations

import json
import struct
import sys
import time
import traceback
from typing import IO

import numpy as np

LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], kind: bytes, payload: bytes = b"") -> None:
    """Write one frame: a letter and bytes."""
    stream.write(LENGTH.pack(len(payload)) + kind + payload)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """Read one frame; a letter and bytes, or two empty ones when the other side has gone."""
    head = stream.read(LENGTH.size + 1)
    if len(head) < LENGTH.size + 1:
        return b"", b""
    (length,) = LENGTH.unpack(head[:-1])
    return head[-1:], stream.read(length)


class Oracle:
    """The game at the peer's end.

    A rehearsal answers with zeros and collects what is asked for, so that the benchmark can compute
    it all in one batch; the run proper then finds the answers at hand, and asks for the rest.
    """

    def __init__(self, source, sink, n_players):
        self.source, self.sink, self.n_players = source, sink, n_players
        self.known = {}
        self.rehearsing = False
        self.restart()

    def restart(self):
        """Count anew."""
        self.asked = {}
        self.waited = 0.0

    @property
    def distinct(self):
        """How many coalitions were asked for."""
        return len(self.asked)

    def __call__(self, coalitions):
        """The utilities of a batch of coalitions."""
        began = time.perf_counter()
        rows = np.atleast_2d(np.asarray(coalitions, dtype=bool))
        packed = np.packbits(rows, axis=1, bitorder="little")
        keys = [row.tobytes() for row in packed]
        for key in keys:
            self.asked[key] = None
        if self.rehearsing:
            values = rows.all(axis=1).astype(np.float64)
        else:
            missing = [key for key in dict.fromkeys(keys) if key not in self.known]
            self.fetch(missing)
            values = np.array([self.known[key] for key in keys])
        self.waited += time.perf_counter() - began
        return values

    def fetch(self, keys):
        """Ask the benchmark for utilities."""
        if not keys:
            return
        send(self.sink, b"Q", b"".join(keys))
        kind, payload = receive(self.source)
        if kind != b"V":
            raise SystemExit("the benchmark has gone")
        values = np.frombuffer(payload, dtype="<f8").tolist()
        self.known.update(zip(keys, values, strict=True))


def rehearse(oracle, run):
    """Collect what `run` asks for, and fetch it in one batch."""
    oracle.restart()
    oracle.rehearsing = True
    try:
        run()
    finally:
        oracle.rehearsing = False
    oracle.fetch([key for key in oracle.asked if key not in oracle.known])


# The nominal budgets found, by method, number of players and distinct evaluations.
NOMINAL = {}


def fitting_budget(oracle, run, budget, key):
    """A nominal budget with which `run` asks for at most `budget` distinct coalitions.

    Peers count what they ask for again. The largest of a few trials that fits is taken, and what it
    asks for is fetched. Later seeds begin with what fitted the first.
    """
    nominal, best = NOMINAL.get(key, budget), None
    for _ in range(12):
        oracle.restart()
        oracle.rehearsing = True
        try:
            run(nominal)
        finally:
            oracle.rehearsing = False
        spent = oracle.distinct
        if spent <= budget and (best is None or spent > best[1]):
            best = (nominal, spent, list(oracle.asked))
        if 0.98 * budget <= spent <= budget or spent == 0:
            break
        # Half a percent of room: another seed repeats itself a little less.
        step = max(int(0.995 * nominal * budget / spent), 1)
        if spent > budget:
            step = min(step, int(0.97 * nominal))  # whole walks: a small step changes nothing
        if step == nominal or nominal > 20 * budget:
            break
        nominal = step
    if best is None:
        raise ValueError(f"the method spends more than {budget} evaluations")
    NOMINAL[key] = best[0]
    oracle.fetch([one for one in best[2] if one not in oracle.known])
    return best[0]


def timed(oracle, run):
    """Run for good; the values, the seconds without the game's, and the distinct evaluations."""
    oracle.restart()
    began = time.perf_counter()
    values = run()
    seconds = time.perf_counter() - began - oracle.waited
    return {"values": list(map(float, values)), "seconds": seconds, "evaluations": oracle.distinct}


def serve(solve):
    """Answer tasks until the benchmark closes the wire.

    `solve(oracle, method, budget, seed)` gives a dict with values, seconds and evaluations.
    """
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints must not end up on the wire
    oracle = None
    while True:
        kind, payload = receive(source)
        if kind != b"T":
            return
        task = json.loads(payload)
        if oracle is None or task["game"] != oracle.game:
            oracle = Oracle(source, sink, task["n_players"])
            oracle.game = task["game"]
        if len(oracle.known) > 400_000:
            oracle.known.clear()
        try:
            answer = solve(oracle, task["method"], task["budget"], task["seed"])
        except Exception:  # whatever a peer raises is its result
            send(sink, b"E", traceback.format_exc().encode())
            continue
        send(sink, b"R", json.dumps(answer).encode())
