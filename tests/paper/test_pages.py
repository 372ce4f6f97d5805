"""The pages of docs/paper say what the files of results say."""

import math

import pytest
from benchmarks.paper.__main__ import PAPER
from benchmarks.paper.ties import refresh, tied
from benchmarks.paper.verdicts import Cell, Column, columns, page

from fairshapley.errors import InputError
from fairshapley_paper import EXPERIMENTS
from fairshapley_paper.publications import Valued, published_numbers

RESULTS = PAPER / "results"
SCENARIO = EXPERIMENTS["datasets"].scenarios[0]


def cell(published, ours, row="mc"):
    return Cell(SCENARIO, row, "mse", None, Valued(*published), Valued(*ours))


def column(*cells):
    return Column(EXPERIMENTS["datasets"], SCENARIO, "mse", tuple(cells))


@pytest.mark.parametrize(
    ("published", "ours", "z", "mark"),
    [
        ((1.0, 0.3), (1.5, 0.4), 1.0, "agrees"),
        ((1.0, 0.1), (1.5, 0.0), 5.0, "near"),
        ((1.0, 0.1), (2.5, math.nan), 15.0, "off"),
        ((1.0, 0.1), (-1.0, 0.0), -20.0, "off"),
        ((0.0, 0.0), (0.0, 0.0), 0.0, "agrees"),
        ((0.0, 0.0), (1.0, 0.0), math.inf, "off"),
    ],
)
def test_a_number(published, ours, z, mark):
    one = cell(published, ours)
    assert one.z == pytest.approx(z)
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
    found = columns(RESULTS)
    for experiment in EXPERIMENTS.values():
        if experiment.reading == "guess" or (experiment.reads and experiment.reading == "text"):
            continue
        known = published_numbers(experiment.reads or experiment.name)
        cells = [
            (one.scenario.name, one.row, one.measure, one.x)
            for part in found
            if part.experiment is experiment
            for one in part.cells
        ]
        assert len(cells) == len(set(cells)) == len(known)
        assert set(cells) == set(known)


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
