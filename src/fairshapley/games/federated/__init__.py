"""Federated learning: what each agent's updates are worth, by round and in total.

``train`` (or ``read_rounds`` of a run made elsewhere) → ``Round`` → ``RoundGame`` →
``FederatedGame``. Only training and `ModelUtility` need torch.
"""

from fairshapley.games.federated.game import FederatedGame, RoundGame, Utility, normalised_mean
from fairshapley.games.federated.model_utility import ModelUtility
from fairshapley.games.federated.models import cifar_cnn, mnist_cnn, text_cnn
from fairshapley.games.federated.preparing import Vocabulary, as_images, tokenise
from fairshapley.games.federated.rounds import Round, read_round, read_rounds
from fairshapley.games.federated.splits import powerlaw_sizes, split
from fairshapley.games.federated.training import train

__all__ = [
    "FederatedGame",
    "ModelUtility",
    "Round",
    "RoundGame",
    "Utility",
    "Vocabulary",
    "as_images",
    "cifar_cnn",
    "mnist_cnn",
    "normalised_mean",
    "powerlaw_sizes",
    "read_round",
    "read_rounds",
    "split",
    "text_cnn",
    "tokenise",
    "train",
]
