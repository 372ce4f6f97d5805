"""Estimators and games of your own in the paper's tables, each named as ``module:name``."""

from __future__ import annotations

import hashlib
import inspect
import sys
from functools import partial
from pathlib import Path

from fairshapley.errors import InputError
from fairshapley.estimators import Estimator
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.tables.models import imported_object
from fairshapley_paper.experiment import Experiment, Scenario, ScenarioGame, Setup
from fairshapley_paper.methods import METHODS, Method, bootstrapped

NEEDED = {"symmetry": "pairs", "noisy-labels": "noisy"}
"""What a game must say of itself for the measures of an experiment"""


def add_method(place: str) -> None:
    """Add the estimator at a place to the methods; it starts with the paper's bootstrap."""
    inner = imported_object(place, "estimator")
    if not isinstance(inner, Estimator):
        raise InputError(
            f"{place} is {type(inner).__name__}, not an estimator: derive from fs.Estimator or "
            "Sampling (docs/own_estimator.md)"
        )
    make = partial(bootstrapped, inner)
    METHODS[place] = Method(name=place, label=_name(place), make=make, version=_version(place))


def own_scenario(place: str, experiment: Experiment) -> Scenario:
    """Return the scenario of a game, or of a function without arguments that returns a game."""
    known = _built(Setup("full", 0), place).facts
    needed = NEEDED.get(experiment.name)
    if needed is not None and not known.get(needed):
        raise InputError(
            f"{experiment.name} needs the {needed!r} of the game: return "
            f"fairshapley_paper.experiment.ScenarioGame(game, {{{needed!r}: …}})"
        )
    build = partial(_built, place=place)
    return Scenario(_name(place), place, "", build, version=_version(place))


def _built(_setup: Setup, place: str) -> ScenarioGame:
    found = imported_object(place, "game")
    if inspect.isfunction(found):
        found = found()
    if isinstance(found, ScenarioGame):
        return found
    if not isinstance(found, Game):
        raise InputError(f"{place} is {type(found).__name__}, not a game: give one of fs.games")
    pairs = abilities.identical_players(found)
    return ScenarioGame(found, {"pairs": pairs, "held_out": found})


def _name(place: str) -> str:
    return place.rpartition(":")[2].replace(".", "-")


def _version(place: str) -> str:
    """Return the fingerprint of a module: what was run before its last change is run again."""
    file = sys.modules[place.partition(":")[0]].__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""
