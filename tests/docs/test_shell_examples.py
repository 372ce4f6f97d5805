"""Shell examples of the documentation run, in order, in a folder of their own."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.files import run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(page):
    """Blocks of Python that are no doctest, and commands with what they print, in order."""
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python" and ">>>" not in block:
            yield kind, block, ""
        elif kind == "console":
            for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, expected = command.partition("\n")
                yield kind, line, expected


@pytest.mark.parametrize("name", ["value_a_table.md"])
def test_examples_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = 0
    for kind, text, expected in steps(ROOT / "docs" / name):
        if kind == "python":
            exec(compile(text, name, "exec"), {})  # noqa: S102 - the page is ours
            continue
        program, *arguments = shlex.split(text)
        assert program == "fairshapley"
        done = run(*arguments)
        assert done.exit_code == 0, (text, done.stderr)
        # Notes come before results, as they do on a terminal.
        printed = done.stderr + done.stdout
        assert CHECKER.check_output(expected, printed, FLAGS), f"{text}\n{printed}"
        commands += 1
    assert commands == 4
    for file in ("suppliers.json", "amounts.csv", "suppliers.html", "rows.csv", "rows.html"):
        assert (tmp_path / file).exists()
