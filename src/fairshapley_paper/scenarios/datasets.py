"""P2: providers' datasets, valued by the robust volume that they span."""

from __future__ import annotations

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.datasets import load, prepare
from fairshapley.games.volume import VolumeGame
from fairshapley.randomness import side_generator
from fairshapley_paper.experiment import Played, Setup
from fairshapley_paper.scenarios.tables import tabulated

ROWS = {"full": 100, "quick": 100, "tiny": 20}
"""The rows of a provider"""

OMEGA = 0.1

_SCALE = (
    "features are standardised over all providers' rows; the rows of each provider are drawn once, "
    "and the trials repeat the estimators"
)


def credit_card(setup: Setup) -> Played:
    """Ten providers with rows drawn from all payments up to 1000."""
    payments = prepare.card_amounts(load("creditcard")).select(split="main")
    n_providers, rows = 10, ROWS[setup.size]
    generator = side_generator(setup.seed, "paper credit card")
    drawn = generator.choice(len(payments), n_providers * rows, replace=False)
    providers = [payments.X[part] for part in np.split(drawn, n_providers)]
    return _volume(providers, [f"provider {place}" for place in range(1, n_providers + 1)])


def used_cars(setup: Setup) -> Played:
    """Eight providers, each with cars of one make."""
    cars = prepare.paper_used_cars(load("used_cars"))
    generator = side_generator(setup.seed, "paper used cars")
    providers = []
    for make in prepare.PAPER_MAKES:
        own = cars.select(group=make).X
        providers.append(own[generator.choice(len(own), ROWS[setup.size], replace=False)])
    return _volume(providers, list(prepare.PAPER_MAKES))


def _volume(providers: list[FloatArray], names: list[str]) -> Played:
    rows = prepare.standardise(np.concatenate(providers))
    ends = np.cumsum([len(part) for part in providers])[:-1]
    game = VolumeGame(np.split(rows, ends), OMEGA, player_names=names)
    return tabulated(game, notes=(_SCALE,))
