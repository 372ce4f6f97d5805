"""Contract suites that anyone can run on a game or an estimator of their own.

Each check raises `ContractError` with a sentence that says what is broken; they work inside any
test runner.
"""

from fairshapley.testing.calibration import check_calibration
from fairshapley.testing.games import check_game
from fairshapley.testing.laws import LAWS, applicable_laws, check_estimator
from fairshapley.testing.toys import (
    Affine,
    PlantedGame,
    Relabelled,
    WithNullPlayers,
    with_null_players,
)

__all__ = [
    "LAWS",
    "Affine",
    "PlantedGame",
    "Relabelled",
    "WithNullPlayers",
    "applicable_laws",
    "check_calibration",
    "check_estimator",
    "check_game",
    "with_null_players",
]
