"""Shell examples of the documentation run, in order, in a folder of their own."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.files import run
from tests.docs.outputs import same_output
from tests.docs.pages import ROOT, blocks


def steps(page):
    """Blocks of Python that are no doctest, and commands with what they print, in order."""
    for block in blocks(page):
        if block.language == "python" and ">>>" not in block.code:
            yield "python", block.code, ""
        elif block.language == "console":
            for command in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
                yield "console", *command.split("\n", 1)


def run_page(name):
    """Run all examples of a page; the number of commands."""
    commands = 0
    for kind, text, expected in steps(ROOT / "docs" / name):
        if kind == "python":
            exec(compile(text, name, "exec"), {})  # noqa: S102 - the page is ours
            continue
        program, *arguments = shlex.split(text)
        assert program == "fairshapley"
        done = run(*arguments)
        assert done.exit_code == 0, (text, done.stderr)
        # The files that were written are named last, as they are on a terminal.
        printed = done.stdout + done.stderr
        assert same_output(expected, printed), f"{text}\n{printed}"
        commands += 1
    return commands


def test_examples_print_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page("value_a_table.md") == 4
    written = {file.name for file in tmp_path.iterdir()}
    assert {"suppliers.json", "amounts.csv", "suppliers.html", "rows.csv", "rows.html"} <= written


def test_the_marketplace_pays_whom_it_should(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page("marketplace.md") == 6
    paid, old = amounts("amounts.csv"), amounts("old.csv")
    assert paid["Dora"] == paid["Kopa"] > 300, "a copy and what it was copied from"
    # What the page says of them, with room for another rounding of a test row.
    assert paid["Luna"] < 200, "random answers"
    assert paid["Mira"] < 60, "one row, a hundred times"
    assert paid["Tara"] > 700, "six good rows"
    assert old["Luna"] > 3 * paid["Luna"]
    merged = amounts("merged.csv")
    assert paid["Dora"] < merged["Dora = Kopa"] < 1.5 * paid["Dora"]
    assert len(list((tmp_path / "letters").iterdir())) == 12
    for division in (paid, old, merged):
        assert sum(division.values()) == pytest.approx(10_000)
    page = (tmp_path / "market.html").read_text(encoding="utf-8")
    assert "Who gets what" in page
    assert "a constant prediction" not in page.split("<script")[0]


def amounts(file):
    """What each player gets, from a file of amounts."""
    with Path(file).open(newline="") as stream:
        return {row["player"]: float(row["amount"]) for row in csv.DictReader(stream)}
