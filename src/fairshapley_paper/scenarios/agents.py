"""P3, collaborative: agents valued by the information their rows hold for a Gaussian process."""

from __future__ import annotations

import numpy as np

from fairshapley.datasets import Dataset, load, prepare
from fairshapley.games.information import InformationGame
from fairshapley.randomness import side_generator
from fairshapley_paper.experiment import Played, Setup
from fairshapley_paper.scenarios.tables import tabulated

N_AGENTS = 10
HOTEL_ROWS = {"full": 100, "quick": 40, "tiny": 10}
RIDE_ROWS = {"full": 50, "quick": 25, "tiny": 10}
"""The rows of an agent"""

_KERNEL = (
    "features and targets are standardised over all agents' rows; length-scale, scale and noise "
    "are learnt once from the rows of all agents, which are drawn once: the trials repeat the "
    "estimators"
)


def hotel_reviews(setup: Setup) -> Played:
    """Ten agents with reviews drawn at random, as 8 extracted features."""
    return _agents(load("hotel_reviews"), HOTEL_ROWS[setup.size], setup.seed)


def uber_lyft(setup: Setup) -> Played:
    """Ten agents with rides drawn at random, 12 features."""
    rides = load("uber_lyft")
    weather = [name for name in rides.feature_names if name in ("wind", "clouds")]
    notes: tuple[str, ...] = ()
    if weather:
        notes = (
            f"{' and '.join(weather)} of the nearest weather record stand in for windBearing and "
            f"cloudCover, and {len(rides):,} rides are there to draw from",
        )
    return _agents(rides, RIDE_ROWS[setup.size], setup.seed, notes)


def _agents(data: Dataset, rows: int, seed: int, notes: tuple[str, ...] = ()) -> Played:
    generator = side_generator(seed, f"paper agents of {data.name}")
    drawn = generator.choice(len(data), N_AGENTS * rows, replace=False)
    features = prepare.standardise(data.X[drawn])
    targets = prepare.standardise(data.y[drawn, None])[:, 0]
    game = InformationGame(
        np.split(features, N_AGENTS),
        np.split(targets, N_AGENTS),
        player_names=[f"agent {place}" for place in range(1, N_AGENTS + 1)],
    )
    learnt = (
        f"learnt: length-scale {float(np.ravel(game.length_scale)[0]):.3g}, "
        f"scale {game.scale:.3g}, noise {game.noise:.3g}"
    )
    return tabulated(game, notes=(_KERNEL, learnt, *notes))
