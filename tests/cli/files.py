"""Small files for the command line, and what runs it."""

import csv
import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from fairshapley.cli.registry import app

SUPPLIERS = ("north", "south", "west")
DATA = ("train.csv", "--target", "label", "--test", "test.csv")
GROUPED = (*DATA, "--group-by", "supplier")


def write_csv(path: Path, rows: list[list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


def example_rows(n_rows: int, seed: int) -> list[list[object]]:
    """Numbers, a text, a missing value, a supplier and a label that depends on the numbers."""
    draw = np.random.default_rng(seed)
    rows: list[list[object]] = [["age", "income", "town", "supplier", "label"]]
    for row in range(n_rows):
        age, income = draw.normal(size=2)
        label = "yes" if age + 0.5 * income + 0.3 * draw.normal() > 0 else "no"
        shown = "" if row == 3 else round(age, 4)
        town = ("Ulm", "Bonn", "Kiel")[int(draw.integers(3))]
        rows.append([shown, round(income, 4), town, SUPPLIERS[row % 3], label])
    return rows


def write_examples(folder: Path) -> None:
    """train.csv, test.csv, updates/ and scoring.py, as the examples in the help have them."""
    write_csv(folder / "train.csv", example_rows(24, seed=1))
    write_csv(folder / "test.csv", example_rows(30, seed=2))
    (folder / "updates" / "round-1").mkdir(parents=True)
    for agent, weight in (("ann", 1.0), ("bob", 3.0)):
        np.savez(folder / "updates" / "round-1" / f"{agent}.npz", w=np.array([weight]))
    np.savez(folder / "updates" / "server.npz", w=np.zeros(1))
    scoring = "def accuracy(weights):\n    return float(weights['w'][0])\n"
    (folder / "scoring.py").write_text(scoring, encoding="utf-8")


def run(*arguments: object):
    """The command line in this process: exit_code, stdout, stderr."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def passed(*arguments: object):
    """The command line where it succeeds."""
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return done


def printed(*arguments: object):
    """What a command that succeeds prints as JSON."""
    return json.loads(passed(*arguments, "--json").stdout)


def refused(done, *words: str) -> None:
    """Input that is refused: one or two lines on standard error, exit code 2, no traceback."""
    assert done.exit_code == 2, (done.exit_code, done.stderr, done.exception)
    lines = done.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr, done.stderr
