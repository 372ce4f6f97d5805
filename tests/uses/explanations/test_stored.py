"""Rows together through engines and journals: the same bits, and nothing computed twice."""

import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fairshapley as fs

ROWS = np.random.default_rng(0).normal(size=(6, 11))


def curved(rows):
    return rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 6:].sum(axis=1)


def both(rows):
    return np.stack([curved(rows), -2 * curved(rows)], axis=1)


def counts(texts):
    return [text.count("good") - 2 * ("not good" in text) for text in texts]


OPTIONS = {"rows": range(3), "budget": 100, "seed": 1, "outputs": "all"}


@pytest.mark.parametrize("engine", ["processes:2", "threads:4", fs.SerialEngine(chunk_size=7)])
def test_engines_give_the_same_bits(engine):
    here = fs.explain(both, ROWS, 4, **OPTIONS)

    def predict(rows):  # sent to workers by value, which cannot import this file
        one = rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 6:].sum(axis=1)
        return np.stack([one, -2 * one], axis=1)

    there = fs.explain(predict, ROWS, 4, engine=engine, **OPTIONS)
    assert_array_equal(there.values, here.values)
    assert_array_equal(there.standard_errors, here.standard_errors)
    assert [row[0].evaluations for row in there.results] == [
        row[0].evaluations for row in here.results
    ]


@pytest.mark.parametrize("kind", ["marginal", "conditional"])
def test_a_journal_knows_all_rows_and_outputs(kind, tmp_path):
    options = OPTIONS | {"kind": kind, "journal": tmp_path / "rows.db"}
    first, again = (fs.explain(both, ROWS, 4, **options) for _ in range(2))
    assert_array_equal(first.values, again.values)
    for row, found in zip(first.results, again.results, strict=True):
        assert row[0].computed == row[0].evaluations > 50
        assert found[0].computed == 0
    assert_array_equal(first.values, fs.explain(both, ROWS, 4, kind=kind, **OPTIONS).values)


def test_texts_of_any_length_share_a_journal(tmp_path):
    texts = ["a good film", "not good, and far too long", "not good"]
    path = tmp_path / "texts.db"
    first, again = (fs.explain(counts, texts, journal=path, seed=0) for _ in range(2))
    assert_array_equal(first.values, again.values)
    assert [row[0].computed for row in first.results] == [8, 64, 4]
    assert [row[0].computed for row in again.results] == [0, 0, 0]


def test_another_answer_than_the_journals_is_noticed(tmp_path):
    path, shift = tmp_path / "rows.db", tmp_path / "shift"

    def changing(rows):
        return curved(rows) + shift.exists()

    fs.explain(changing, ROWS, 4, journal=path, **OPTIONS)
    shift.touch()
    with pytest.raises(fs.errors.GameError, match="differently at the end than at the start"):
        fs.explain(changing, ROWS, 4, journal=path, **OPTIONS)


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
import fairshapley as fs

HERE = Path(__file__).parent

def predict(rows):
    with open(HERE / "log", "a") as log:
        log.write(f"{len(rows)}\\n")
    if (HERE / "armed").exists() and (HERE / "log").read_text().count("\\n") > 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2]) + rows[:, 6:].sum(axis=1)

if __name__ == "__main__":
    rows = np.random.default_rng(0).normal(size=(6, 11))
    found = fs.explain(
        predict, rows, 4, budget=300, seed=1, journal=HERE / "rows.db",
        engine=fs.SerialEngine(chunk_size=100),
    )
    print(sum(row[0].evaluations for row in found.results), found.values.sum())
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    """Utilities in the journal are not predicted again; those of the last chunk may be."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")

    def run():
        (tmp_path / "log").write_text("", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
        )
        sizes = [int(line) for line in (tmp_path / "log").read_text(encoding="utf-8").split()]
        return done, sizes

    (tmp_path / "armed").touch()
    killed, _ = run()
    assert killed.returncode == -signal.SIGKILL
    with sqlite3.connect(f"file:{tmp_path / 'rows.db'}?mode=ro", uri=True) as journal:
        [(known,)] = journal.execute("SELECT sum(count) FROM sums")
    (tmp_path / "armed").unlink()
    finished, sizes = run()
    assert finished.returncode == 0, finished.stderr
    total = int(finished.stdout.split()[0])
    assert 100 < known < total
    # Each utility takes 4 mixtures. Beside them are the rows that are predicted twice at the
    # beginning, and again at the end to see that the model is the same.
    assert sum(sizes) <= 4 * (total - known) + 4 + 3 + 6 * 4


def test_an_interrupted_run_keeps_what_it_has(tmp_path):
    calls = []

    def interrupted(rows):
        calls.append(len(rows))
        if len(calls) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return curved(rows)

    found = fs.explain(interrupted, ROWS, 4, budget=400, seed=0, engine=fs.SerialEngine(50))
    assert not found.complete
    assert found.results[0][0].evaluations < 400


def test_trouble_names_the_row_and_its_players():
    def broken(rows):
        return np.where((rows[:, 0] == ROWS[1, 0]) & (rows[:, 1] != ROWS[1, 1]), np.nan, 1.0)

    with pytest.raises(fs.errors.GameError, match=r"for row 1 where coalition \(0"):
        fs.explain(broken, ROWS, ROWS[2:], rows=[0, 1], engine="serial", budget=100, seed=0)
