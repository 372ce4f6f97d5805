"""Games: the utility v(S) of a batch of coalitions.

Each is imported when it is first used: some need more than numpy, which takes its time.
"""
# ruff: noqa: I001

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairshapley.games import federated as federated
    from fairshapley.games.data import DataGame as DataGame
    from fairshapley.games.features import FeatureGame as FeatureGame
    from fairshapley.games.federated import (
        FederatedGame as FederatedGame,
        ModelUtility as ModelUtility,
        RoundGame as RoundGame,
    )
    from fairshapley.games.fingerprints import fingerprint as fingerprint
    from fairshapley.games.game import (
        FunctionGame as FunctionGame,
        Game as Game,
        Random as Random,
        TableGame as TableGame,
    )
    from fairshapley.games.information import InformationGame as InformationGame
    from fairshapley.games.knn import KNNUtilityGame as KNNUtilityGame
    from fairshapley.games.prompts import PromptGame as PromptGame
    from fairshapley.games.synthetic import (
        Additive as Additive,
        Airport as Airport,
        SumOfUnanimity as SumOfUnanimity,
    )
    from fairshapley.games.volume import VolumeGame as VolumeGame

# Where each public name is defined.
_HOMES = {
    "data": "DataGame",
    "features": "FeatureGame",
    "federated": "FederatedGame ModelUtility RoundGame",
    "fingerprints": "fingerprint",
    "game": "FunctionGame Game Random TableGame",
    "information": "InformationGame",
    "knn": "KNNUtilityGame",
    "prompts": "PromptGame",
    "synthetic": "Additive Airport SumOfUnanimity",
    "volume": "VolumeGame",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(["federated", *_HOME_OF])


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    if name in _HOMES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
