"""P3, federated: the agents of eight federations, by the accuracy of coalitions' models.

Each federation was trained once, by ``python -m benchmarks.paper.tabulating``. What is left of it
is a file of some kilobytes: how many test rows the model of every coalition got right, by round.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from fairshapley.games.game import TableGame
from fairshapley_paper.experiment import ScenarioGame, Setup

PAPER_ROUNDS = {"mnist": 60, "cifar10": 100, "movie_reviews": 200, "sst5": 200}
WELL_STANDARDISED = ("mnist-iid", "mnist-classimbalance", "movie_reviews")
"""The tables of the paper whose NL NSW has scores that add up to their number"""


def federation(_setup: Setup, name: str) -> ScenarioGame:
    """Return the game of the agents of one federation, and the games of its rounds.

    The paper normalises the values of each round to add up to 1 and averages them. With v(∅) = 0
    they add up to v(N), so that this is the Shapley value of the mean of v/v(N). A round that was
    not valued counts as the next one that was.
    """
    file = files("fairshapley_paper") / "trained" / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as table:
        accuracies = table["correct"] / float(table["tested"])
        rounds, description = table["rounds"] + 1, str(table["description"])
    accuracies[:, 0] = 0.0
    utilities = np.average(
        accuracies / accuracies[:, -1:], axis=0, weights=np.diff(rounds, prepend=0)
    )
    n_agents = len(utilities).bit_length() - 1
    n_rounds = PAPER_ROUNDS[name.split("-")[0]]
    facts = {
        "rounds": [TableGame(round_) for round_ in accuracies],
        "spans": np.diff([*rounds[:-1], n_rounds], prepend=0),
        "standardised": n_rounds if name in WELL_STANDARDISED else n_agents,
    }
    notes = (
        f"trained once; the table is the mean of rounds {', '.join(map(str, rounds))} of "
        "v(S)/v(N) with v(∅) = 0, whose Shapley values are the rounds' normalised values, averaged",
        f"trained with {description}",
    )
    names = [f"agent {place}" for place in range(1, n_agents + 1)]
    return ScenarioGame(TableGame(utilities, player_names=names), facts, notes)
