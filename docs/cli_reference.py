"""The command line reference, written from the app: ``python -m docs.cli_reference``.

A test compares docs/cli.md with it; with a path as argument it is written there.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from fairshapley.cli.exits import EXIT_CODES
from fairshapley.cli.groups import advanced_fields
from fairshapley.cli.options import DataOptions, RunOptions, UtilityOptions
from fairshapley.cli.registry import app

HEADING = """# Command line

<!-- written by `python -m docs.cli_reference docs/cli.md`; edit the help texts instead -->

`fairshapley COMMAND --help` shows what is below. Results go to standard output; notes, progress
and errors to standard error. `--json` prints one JSON object and nothing else. `--debug`, anywhere
on the line, shows the traceback of an error. `fairshapley --install-completion` sets up completion
for the shell, including the names of models and methods. [A table, a model, a
question](value_a_table.md) is a tutorial.

Files are written before anything is printed, and whatever fails after a run, everything else that
was asked for is still written and printed. What a model or a library prints goes to standard
error. Where the output is not UTF-8, signs that it lacks appear as `?`; files are always UTF-8.
Ctrl-C stops a run and shows what it has found so far.

What few need is given by `--option NAME=VALUE`, any number of times: the [advanced
options](#advanced-options), and the options of the method, such as `--option alpha=5` of `gae`.
"""
EXAMPLE = "Example: "


def commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands of a group and of the groups inside, each with what is typed for it.

    Examples
    --------
    >>> paths = [path for path, _ in commands(typer.main.get_command(app), ("fairshapley",))]
    >>> ("fairshapley", "paper", "run") in paths
    True
    """
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def examples(command: Any) -> list[str]:
    """The examples in the help of a command.

    Examples
    --------
    >>> examples(typer.main.get_command(app).commands["demo"])
    ['fairshapley demo']
    """
    lines = inspect.cleandoc(command.help or "").splitlines()
    return [line.removeprefix(EXAMPLE) for line in lines if line.startswith(EXAMPLE)]


def as_markdown() -> str:
    """All commands with their options, as Markdown."""
    root = typer.main.get_command(app)
    parts = [HEADING, "| exit code | meaning |\n|---|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    for path, command in commands(root, ("fairshapley",)):
        parts += ["", *_section(path, command)]
    parts += ["", "## Advanced options", "", "Each is given as `--option NAME=VALUE`.", ""]
    parts += ["| name | default | meaning |", "|---|---|---|"]
    for field in chain.from_iterable(
        map(advanced_fields, (DataOptions, UtilityOptions, RunOptions))
    ):
        name, text = field.name.replace("_", "-"), field.metadata["advanced"].replace("|", "\\|")
        parts.append(f"| `{name}` | {_default(field.default)} | {text} |")
    return "\n".join(parts) + "\n"


def _section(path: tuple[str, ...], command: Any) -> list[str]:
    told = inspect.cleandoc(command.help or "").splitlines()
    prose = "\n".join(line for line in told if not line.startswith(EXAMPLE)).strip()
    while "\n\n\n" in prose:
        prose = prose.replace("\n\n\n", "\n\n")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    lines = [f"## {' '.join(path[1:])}", "", prose, "", "```console"]
    lines += [f"$ {example}" for example in examples(command)]
    lines += ["```", ""]
    rows = [_row(one, f"`{_metavar(one)}`") for one in arguments]
    rows += [_row(one, _option(one)) for one in options if one.name != "help"]
    return [*lines, "| option | default | meaning |", "|---|---|---|", *rows] if rows else lines


def _row(parameter: Any, shown: str) -> str:
    default = "required" if parameter.required else _default(parameter.default)
    meaning = (parameter.help or "").replace("|", "\\|")
    return f"| {shown} | {default} | {meaning} |"


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} `{_metavar(option)}`"


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    kinds = {int: "N", float: "X"}
    return kinds.get(type(parameter.default), "NAME")


def _default(value: Any) -> str:
    if value is None or value is False or value == () or value == []:
        return ""
    return "yes" if value is True else f"`{value}`"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(as_markdown(), encoding="utf-8")
    else:
        sys.stdout.write(as_markdown())
