"""The pages of docs/paper say what the files of results say."""

import csv
import math
import re

import pytest
from benchmarks.paper.__main__ import PAPER
from benchmarks.paper.ties import TIE, refresh, tied
from benchmarks.paper.verdicts import Cell, Column, columns, page

from fairshapley.errors import InputError
from fairshapley_paper import EXPERIMENTS
from fairshapley_paper.report import Valued, published_numbers

RESULTS = PAPER / "results"
SCENARIO = EXPERIMENTS["datasets"].scenarios[0]


def cell(published, ours, row="mc"):
    return Cell(SCENARIO, row, "mse", None, Valued(*published), Valued(*ours))


def column(*cells):
    return Column(EXPERIMENTS["datasets"], SCENARIO, "mse", tuple(cells))


@pytest.mark.parametrize(
    ("published", "ours", "z", "mark"),
    [
        ((1.0, 0.4), (1.5, 0.24), 0.5 / 0.4665, "agrees"),
        ((0.00486, 0.001), (1547.0, 844.0), 1.833, "undecided"),
        ((1.0, 0.1), (1.5, 0.0), 5.0, "near"),
        ((1.0, 0.1), (2.5, math.nan), 15.0, "off"),
        ((0.0, 0.0), (0.0, 0.0), 0.0, "agrees"),
        ((0.0, 0.0), (1.0, 0.0), math.inf, "off"),
    ],
)
def test_a_number(published, ours, z, mark):
    one = cell(published, ours)
    assert one.z == pytest.approx(z, rel=1e-3)
    assert one.mark == mark


def test_the_rule_for_a_column():
    right, wrong = cell((1.0, 0.1), (1.1, 0.1)), cell((1.0, 0.01), (9.0, 0.1))
    assert column(right, right, right, wrong).verdict == "reproduced"
    assert column(right, right, wrong).verdict == "not"
    rising = [cell((float(at), 0.01), (100.0 * at, 0.01)) for at in range(1, 7)]
    assert column(*rising).verdict == "in order only"
    assert column(*rising[:4]).verdict == "not"
    falling = [cell((float(at), 0.01), (-100.0 * at, 0.01)) for at in range(1, 7)]
    assert column(*falling).verdict == "not"


def test_every_published_number_is_there_once_in_each_reading():
    found: dict[tuple[str, str], list[object]] = {}
    for part in columns(RESULTS):
        experiment = part.experiment
        if experiment.reading != "guess":
            cells = found.setdefault((experiment.reads or experiment.name, experiment.reading), [])
            cells += [(one.scenario.name, one.row, one.measure, one.x) for one in part.cells]
    assert {name for name, _ in found} == {name for name in EXPERIMENTS if published_numbers(name)}
    for (name, _), cells in found.items():
        assert sorted(map(str, cells)) == sorted(map(str, published_numbers(name)))


def test_the_verdicts_are_those_of_the_results():
    assert (PAPER / "verdicts.md").read_text(encoding="utf-8") == page(RESULTS), (
        "write it again: python -m benchmarks.paper"
    )


def test_ties():
    one = tied("nullity:breast_cancer-svc:mc:nl_nsw@published", RESULTS)
    assert one == "15"
    assert " to " in tied("nullity:*:gae-*:nl_nsw", RESULTS)
    ratio = "nullity:breast_cancer-svc:gae-5:mse / nullity:breast_cancer-svc:mc:mse"
    assert float(tied(ratio, RESULTS)) > 1
    text = refresh("a <!--= nullity:breast_cancer-svc:mc:nl_nsw@published -->9<!--/--> b", RESULTS)
    assert ">15<" in text
    with pytest.raises(InputError, match="there is no number"):
        tied("nullity:nothing:mc:nl_nsw", RESULTS)
    with pytest.raises(InputError, match="a tie is"):
        tied("nullity:mc", RESULTS)


ALL_FORMS = (
    *("datasets", "agents", "federations", "features"),
    *("datasets-code", "agents-code", "federations-code", "features-code", "uber-volume"),
    *("nullity", "nullity-code"),
)


def rows_of(name):
    with (RESULTS / name / "numbers.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", ALL_FORMS)
def test_every_method_was_run_with_the_trials_of_the_setting(name):
    experiment = EXPERIMENTS[name]
    rows = rows_of(name)
    assert {row["scenario"] for row in rows} == {one.name for one in experiment.scenarios}
    assert {row["method"] for row in rows} == set(experiment.methods)
    trials = str(experiment.settings["full"].trials)
    assert {row["trials"] for row in rows if row["method"] != "exact"} == {trials}


PAGES = (PAPER / "README.md", PAPER / "details.md")
MOST_LINES = 60
# Decimals that are no results: settings, published numbers that have no cell of their own, what was
# measured with the authors' program or by a script that the sentence names.
STATED = {
    *("0.05", "0.9", "1.1", "0.1", "0.25"),  # settings, and ξ, ε1
    *("0.57", "0.13", "0.31", "0.36", "0.004"),  # the program's biases
    *("1.01", "2.6"),  # Table 2, in percent; the published error of the last ξ, in 1e−3
    *("0.50", "0.02", "0.23", "0.0002", "0.644", "0.194", "0.127", "0.156"),  # published
    *("0.42", "0.48", "0.41", "0.30", "0.70"),  # benchmarks/paper/misses.py, earlier runs
    *("0.115", "0.09", "1.6"),  # published; benchmarks/paper/misses.py
    *("0.17",),  # 2 · 0.1 · 0.5 / (0.1 + 0.5)
    *("107.5", "230.3", "737.8"),  # T·log(T/n), as a test of the federations has them
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_number_in_prose_is_that_of_the_results(path):
    text = path.read_text(encoding="utf-8")
    assert text == refresh(text, RESULTS), "write it again: python -m benchmarks.paper"
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", TIE.sub("", text), flags=re.DOTALL)
    found = set(re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)", prose))
    assert found <= STATED, f"tie these to the results: {sorted(found - STATED)}"


def test_the_first_page_is_one_page():
    text = PAGES[0].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_line_begins_with_a_tied_number(path):
    """In Markdown such a line is a block of HTML, and ends the paragraph."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:5] == "<!--="]
    assert set(lines) <= {"<!--= counts -->", "<!--= tables -->"}
