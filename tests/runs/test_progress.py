"""Progress: shown on a terminal, silent elsewhere, throttled for functions."""

import os
import pty
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.stopping.test_stopping import snapshot

import fairshapley as fs
from fairshapley.runs.progress import ProgressLine, seconds_left

SCRIPT = textwrap.dedent("""
    import time
    import fairshapley as fs
    game = fs.games.FunctionGame(lambda s: time.sleep(0.001) or float(len(s) ** 1.5), 12)
    print(fs.estimate(game, "mc", budget=700, seed=0).evaluations)
""")


def test_silent_when_not_a_terminal():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert int(run.stdout) > 600


def test_a_terminal_sees_evaluations_rate_fidelity_and_time_left():
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stderr=child, stdout=subprocess.PIPE, env=environment
    )
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(parent)
    output, _ = process.communicate(timeout=60)
    assert int(output) > 600  # the result alone goes to standard output
    text = shown.decode()
    for words in ("evaluations", "/s", "min fidelity", "left"):
        assert words in text, text


def test_a_function_is_called_now_and_then():
    seen = []
    game = fs.games.SumOfUnanimity(30, seed=0)
    result = fs.estimate(game, "mc", budget=3000, seed=0, progress=seen.append)
    assert 1 <= len(seen) < 100
    evaluations = [snapshot.evaluations for snapshot in seen]
    assert evaluations == sorted(evaluations)
    assert evaluations[-1] <= result.evaluations
    assert all(len(snapshot.evidence.values) == 30 for snapshot in seen)


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (fs.Budget(evaluations=1000), 90.0),
        (fs.Budget(evaluations=1000, seconds=15.0), 5.0),
        (None, np.inf),
    ],
)
def test_time_left(budget, left):
    assert seconds_left(snapshot(seconds=10.0), budget) == pytest.approx(left)


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_a_line_has_the_words_that_fit(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    line = ProgressLine("adjusted", 123456)
    line.update(12345, "3 min left · 1,234/s · 4 workers · min fidelity 12.3")
    shown = capsys.readouterr().err
    assert shown.startswith("\radjusted 12,345/123,456 evaluat")
    assert len(shown) == width
    assert ("3 min left" in shown) == (width >= 60)
    assert ("12.3" in shown) == (width >= 100)
    line.stop()
    assert capsys.readouterr().err.strip() == ""
