"""The published numbers in the package are those of the paper's source, cell by cell."""

import re

import pytest

from fairshapley.randomness import side_generator
from fairshapley_paper import EXPERIMENTS
from fairshapley_paper.report import Valued, published_numbers
from tests.paper.test_items import SOURCES

CELLS = 60
COLUMNS = {
    "nullity": ("eps_abs", "nl_nsw"),
    **dict.fromkeys(
        ("datasets", "agents", "federations", "features"),
        ("mape", "mse", "n_inv", "eps_inv", "nl_nsw"),
    ),
}
NUMBER = re.compile(r"(?P<value>-?[\d.]+(?:e[-+]\d+)?)\s*\((?P<error>[\d.]+(?:e[-+]\d+)?)\)")
ALPHA = re.compile(r"Ours.*?(\d+)")


def tables():
    """The rows of every table of the paper by its label: numbers with errors, by the method."""
    source = SOURCES[0].read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"\\begin\{table\*?\}", source)[1:]:
        body, *_ = re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", part, re.DOTALL) or [""]
        part = part.split(r"\end{table")[0]
        rows = {}
        for line in body.replace(r"\textbf", "").split(r"\\"):
            name, *cells = line.replace("{", "").replace("}", "").split("&")
            alpha = ALPHA.search(name)
            method = f"gae-{alpha[1]}" if alpha else name.split("rule")[-1].strip().lower()
            numbers = [NUMBER.search(cell) for cell in cells]
            if numbers and all(numbers):
                rows[method] = [Valued(float(one["value"]), float(one["error"])) for one in numbers]
        for label in re.findall(r"\\label\{([^}]+)\}", part):
            found[label] = rows
    return found


def test_random_cells_are_those_of_the_latex():
    if not SOURCES:
        pytest.skip("the paper's source is not here: ../shared/paper")
    printed = tables()
    cells = [
        (name, scenario, method, column, measure)
        for name, measures in COLUMNS.items()
        for scenario in EXPERIMENTS[name].scenarios
        if not scenario.form_of
        for method in printed[scenario.shows.split(", ")[0]]
        for column, measure in enumerate(measures)
    ]
    assert len(cells) == 18 + 16 * 45
    rng = side_generator(0, "cells of the paper")
    for place in rng.choice(len(cells), CELLS, replace=False):
        name, scenario, method, column, measure = cells[place]
        shown = printed[scenario.shows.split(", ")[0]][method][column]
        assert published_numbers(name)[scenario.name, method, measure, None] == shown
