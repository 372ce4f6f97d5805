"""Games: the utility v(S) of a batch of coalitions.

Games that need more than numpy are imported when they are first used: that takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import FunctionGame, Game, Random, TableGame
from fairshapley.games.synthetic import Additive, Airport, SumOfUnanimity

if TYPE_CHECKING:
    from fairshapley.games import federated
    from fairshapley.games.data import DataGame
    from fairshapley.games.features import FeatureGame
    from fairshapley.games.federated import FederatedGame, ModelUtility, RoundGame
    from fairshapley.games.information import InformationGame
    from fairshapley.games.knn import KNNUtilityGame
    from fairshapley.games.prompts import PromptGame
    from fairshapley.games.volume import VolumeGame

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
    "PromptGame",
    "Random",
    "RoundGame",
    "SumOfUnanimity",
    "TableGame",
    "VolumeGame",
    "federated",
    "fingerprint",
]

_LAZY = {
    "DataGame": "data",
    "FeatureGame": "features",
    "FederatedGame": "federated",
    "InformationGame": "information",
    "KNNUtilityGame": "knn",
    "ModelUtility": "federated",
    "PromptGame": "prompts",
    "RoundGame": "federated",
    "VolumeGame": "volume",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module = import_module(f"{__name__}.{_LAZY[name]}")
        value = globals()[name] = getattr(module, name)
        return value
    if name in ("data", "features", "federated", "information", "knn", "volume"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
