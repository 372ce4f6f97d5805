"""Tables in terminals of any width: every number is whole."""

import csv
import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

import fairshapley as fs
from fairshapley.cli.registry import app
from fairshapley.cli.tables import print_table
from fairshapley.results.tables import shown_table

WIDTHS = (30, 40, 60, 80, 200)
DATA = ("train.csv", "--target", "label", "--test", "test.csv")


def shown(width, *arguments):
    """What a terminal of a width sees, line by line, without colours."""
    terminal = {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm"}
    done = CliRunner().invoke(app, [str(one) for one in arguments], env=terminal)
    assert done.exit_code == 0, done.stderr
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout)


def numbers(file):
    """The numbers in a table of values, as they are printed."""
    _, rows = shown_table(fs.Result.load(file), 20, 20)
    return [cell for _, *cells in rows for cell in cells]


def holds_whole(text, cells):
    words = set(text.split())
    assert cells
    assert set(cells) <= words, sorted(set(cells) - words)
    assert "…" not in text


@pytest.fixture
def finished(folder):
    """Files with what the commands are going to print."""
    run = CliRunner().invoke
    assert run(app, ["value", *DATA, "--budget", "300", "--out", "v.json"]).exit_code == 0
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_are_whole_in_all_tables(finished, width):
    text = shown(width, "value", *DATA, "--budget", 300, "--quiet", "--verbose")
    holds_whole(text, numbers("v.json"))

    text = shown(width, "exact", *DATA, "--group-by", "supplier", "--quiet", "--out", "exact.json")
    holds_whole(text, numbers("exact.json"))

    text = shown(width, "payout", "v.json", "--pool", "1e12")
    parts = json.loads(
        CliRunner().invoke(app, ["payout", "v.json", "--pool", "1e12", "--json"]).stdout
    )["players"]
    holds_whole(text, [f"{float(row['amount']):,.2f}" for row in parts])

    grouped = (*DATA, "--group-by", "supplier", "--methods", "mc,owen", "--budget", 6)
    text = shown(width, "compare", *grouped, "--repeats", 3, "--quiet", "--out", "methods.csv")
    with (finished / "methods.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = ("evaluations", "mse", "true_min_fidelity", "coverage")
    holds_whole(text, [f"{float(row[name]):.4g}" for row in rows for name in names])

    text = shown(width, "paper", "list")
    assert "federations-code" in text.split() or "│ federations-code " in text
    assert "…" not in text


@pytest.mark.parametrize("width", range(1, 60))
def test_no_line_is_wider_than_the_terminal_and_no_sign_is_lost(width, capsys):
    cells = ["+1.2346e-05", "123,456,789", "1,000,000,000,000,000.00"]
    console = Console(width=width)
    print_table(console, "a title of four words", ["player", "value", "n", "sum"], [["x", *cells]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    joined = re.sub(r"[\s│]", "", "".join(lines))
    for cell in cells:
        assert cell in joined
    if width > max(map(len, cells)):
        assert set(cells) <= set(" ".join(lines).split())
