"""Games: the utility v(S) of a batch of coalitions."""

from fairshapley.games.base import FunctionGame, Game, TableGame
from fairshapley.games.combinators import (
    Affine,
    LinearCombination,
    Relabelled,
    WithNullPlayers,
    with_null_players,
)
from fairshapley.games.duplicates import identical_rows
from fairshapley.games.features import FeatureGame
from fairshapley.games.fingerprint import fingerprint
from fairshapley.games.synthetic import (
    Additive,
    Airport,
    PlantedGame,
    SumOfUnanimity,
    WeightedVoting,
)

__all__ = [
    "Additive",
    "Affine",
    "Airport",
    "FeatureGame",
    "FunctionGame",
    "Game",
    "LinearCombination",
    "PlantedGame",
    "Relabelled",
    "SumOfUnanimity",
    "TableGame",
    "WeightedVoting",
    "WithNullPlayers",
    "fingerprint",
    "identical_rows",
    "with_null_players",
]
