"""The index from the paper to the code is complete, and all that it names is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from fairshapley_paper import EXPERIMENTS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "paper" / "items.md"
ROW = re.compile(r"^\| `(?P<item>[^`]+)` \| .+ \| `(?P<code>[\w.]+)` \| .+ \| `(?P<test>\S+)` \|$")
ROWS = [found for found in map(ROW.match, PAGE.read_text(encoding="utf-8").splitlines()) if found]
# The paper's source lies beside the repository, or beside the folder of its worktrees.
SOURCES = [
    path
    for up in (1, 2)
    for path in sorted(Path(*[*ROOT.parts[:-up], "shared/paper"]).glob("*.txt"))
]


def test_every_line_of_the_table_is_an_entry():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    assert len(lines) == len(ROWS) > 70
    items = [row["item"] for row in ROWS]
    assert len(set(items)) == len(items)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["item"])
def test_names_exist(row):
    parts = row["code"].split(".")
    for depth in range(len(parts) - 1, 0, -1):
        try:
            thing = import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        break
    for name in parts[depth:]:
        thing = getattr(thing, name)
    assert callable(thing)
    assert (ROOT / row["test"]).is_file()


def test_an_experiment_shows_what_is_said_of_it():
    run = re.findall(r"^\| `(\S+)` \| `fairshapley paper run (\S+)`", PAGE.read_text("utf-8"), re.M)
    assert len(run) >= 24
    for label, name in run:
        shown = ", ".join(EXPERIMENTS[name].shows).split(", ")
        assert label in shown


def test_every_label_of_the_paper_has_an_entry():
    if not SOURCES:
        pytest.skip("the paper's source is not here: ../shared/paper")
    labels = set(re.findall(r"\\label\{([^}]+)\}", SOURCES[0].read_text(encoding="utf-8")))
    wanted = {label for label in labels if not label.startswith(("sec:", "app:"))}
    assert len(wanted) > 50
    assert wanted <= {row["item"] for row in ROWS}
