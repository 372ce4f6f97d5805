"""P2: providers' datasets, valued by the robust volume that they span."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.games.volume import VolumeGame
from fairshapley.randomness import side_generator
from fairshapley_paper.datasets import (
    PAPER_MAKES,
    card_amounts,
    load,
    paper_used_cars,
    standardise,
)
from fairshapley_paper.experiment import ScenarioGame, Setup
from fairshapley_paper.scenarios.tables import tabulated

ROWS = 100
"""The rows of a provider"""
# The authors' program has 50 rows in the place of 100, and keeps 80 % of the cars for training.
PROGRAM_CARD_ROWS, PROGRAM_CAR_ROWS = 50, 80
RIDES = 50
"""The rows of an agent of P3"""
TINY_ROWS = 20
N_PROVIDERS = 10
OMEGA = 0.1

_SCALE = (
    "features are standardised over all providers' rows; the rows of each provider are drawn once, "
    "and the trials repeat the estimators"
)


def credit_card(setup: Setup) -> ScenarioGame:
    """Return ten providers with rows drawn from all payments up to 1000."""
    payments = card_amounts(load("creditcard")).select(split="main")
    return _drawn(payments.X, _rows(setup, PROGRAM_CARD_ROWS), setup, "paper credit card")


def rides(setup: Setup) -> ScenarioGame:
    """Return ten providers of 50 rides each, as the agents of P3 have them."""
    return _drawn(load("uber_lyft").X, RIDES, setup, "paper volume of rides")


def used_cars(setup: Setup) -> ScenarioGame:
    """Return eight providers, each with cars of one make."""
    cars = paper_used_cars(load("used_cars"))
    generator = side_generator(setup.seed, "paper used cars")
    rows = _rows(setup, PROGRAM_CAR_ROWS)
    providers = []
    for make in PAPER_MAKES:
        offered = cars.select(group=make).X
        providers.append(offered[generator.choice(len(offered), rows, replace=False)])
    return _volume(providers, PAPER_MAKES)


def _rows(setup: Setup, program: int) -> int:
    if setup.size == "tiny":
        return TINY_ROWS
    return program if setup.reading == "program" else ROWS


def _drawn(features: FloatArray, rows: int, setup: Setup, purpose: str) -> ScenarioGame:
    """Return ten providers with rows drawn from all."""
    generator = side_generator(setup.seed, purpose)
    drawn = generator.choice(len(features), N_PROVIDERS * rows, replace=False)
    providers = [features[part] for part in np.split(drawn, N_PROVIDERS)]
    return _volume(providers, [f"provider {place}" for place in range(1, N_PROVIDERS + 1)])


def _volume(providers: list[FloatArray], names: Sequence[str]) -> ScenarioGame:
    rows = standardise(np.concatenate(providers))
    game = VolumeGame(np.split(rows, len(providers)), OMEGA, player_names=list(names))
    return tabulated(game, notes=(_SCALE,))
