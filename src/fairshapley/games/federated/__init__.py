"""Federated learning: what each agent's updates are worth, by round and in total.

``read_rounds`` of a run made elsewhere → ``Round`` → ``RoundGame`` → ``FederatedGame``. Only
`ModelUtility` needs torch.
"""

from fairshapley.games.federated.game import FederatedGame, RoundGame, Utility
from fairshapley.games.federated.model_utility import ModelUtility
from fairshapley.games.federated.rounds import Round, read_round, read_rounds

__all__ = [
    "FederatedGame",
    "ModelUtility",
    "Round",
    "RoundGame",
    "Utility",
    "read_round",
    "read_rounds",
]
