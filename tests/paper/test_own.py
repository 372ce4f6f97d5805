"""Estimators and games of your own in the paper's tables, by one command."""

import csv
from pathlib import Path

import pytest

from fairshapley.errors import InputError
from tests.cli.files import run
from tests.paper.small import tiny

MODULE = """
from dataclasses import dataclass
import fairshapley as fs

estimator = fs.MonteCarlo(antithetic=True)
game = fs.games.SumOfUnanimity(5, seed=1)

def with_copies():
    return fs.testing.PlantedGame(8, n_duplicates=2, seed=3)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a module of one's own, whose name no other test has imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"own_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    return name


def test_an_estimator_and_a_game_stand_in_a_table(place):
    words = ["paper", "run", "datasets", "--quick", "--trials", "2", "--out", "out"]
    words += ["--method", "mc", "--method", f"{place}:estimator", "--game", f"{place}:game"]
    answer = run(*words)
    assert answer.exit_code == 0, answer.output
    folder = Path("out", "datasets")
    with (folder / "numbers.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["method"] for row in rows} == {"mc", f"{place}:estimator"}
    assert {row["scenario"] for row in rows} == {"game"}
    mse = {
        row["method"]: float(row["value"])
        for row in rows
        if (row["accounting"], row["measure"]) == ("honest", "mse")
    }
    assert min(mse.values()) > 0
    assert "| estimator |" in answer.output
    assert (folder / "mape.png").stat().st_size > 0


def test_a_game_says_what_an_experiment_measures(place):
    report = tiny("symmetry", "out", ["mc"], games=[f"{place}:with_copies"])
    assert report.value("with_copies", "mc", "log_ratio") > 0
    with pytest.raises(InputError, match="'pairs' of the game"):
        tiny("symmetry", "out", ["mc"], games=[f"{place}:game"])
