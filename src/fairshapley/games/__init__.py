"""Games: the utility v(S) of a batch of coalitions.

Games that need scikit-learn are imported when they are first used: it takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairshapley.games import federated
from fairshapley.games.features import FeatureGame
from fairshapley.games.federated import FederatedGame, ModelUtility, RoundGame
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import FunctionGame, Game, Random, TableGame
from fairshapley.games.knn import KNNUtilityGame
from fairshapley.games.synthetic import Additive, Airport, SumOfUnanimity
from fairshapley.games.volume import VolumeGame

if TYPE_CHECKING:
    from fairshapley.games.data import DataGame
    from fairshapley.games.information import InformationGame

__all__ = [
    "Additive",
    "Airport",
    "DataGame",
    "FeatureGame",
    "FederatedGame",
    "FunctionGame",
    "Game",
    "InformationGame",
    "KNNUtilityGame",
    "ModelUtility",
    "Random",
    "RoundGame",
    "SumOfUnanimity",
    "TableGame",
    "VolumeGame",
    "federated",
    "fingerprint",
]

_LAZY = {
    "DataGame": "fairshapley.games.data",
    "InformationGame": "fairshapley.games.information",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value
