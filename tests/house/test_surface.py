"""What a user meets first is counted: public names, members of a result, options, commands."""

import typer

import fairshapley as fs
from fairshapley.cli.registry import app

COMMANDS = typer.main.get_command(app).commands


def test_at_most_45_public_names():
    assert 30 < len(fs.__all__) <= 45
    assert all(hasattr(fs, name) for name in fs.__all__)


def test_a_result_has_at_most_40_public_members():
    members = {name for name in dir(fs.exact(fs.games.TableGame([0, 1]))) if name[0] != "_"}
    assert {"values", "run"} <= members
    assert len(members) <= 40


def test_at_most_12_commands():
    assert {"value", "verify"} <= COMMANDS.keys()
    assert len(COMMANDS) <= 12


def test_the_command_value_has_at_most_30_options():
    assert 10 < len(COMMANDS["value"].params) <= 30
