"""P3, federated: the agents of eight federations, by the accuracy of coalitions' models.

Each federation was trained once, by ``python -m benchmarks.paper.tabulating``. What is left of it
is a file of some kilobytes: how many test rows the model of every coalition got right, by round.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from fairshapley.games.game import TableGame
from fairshapley_paper.experiment import ScenarioGame, Setup


def federation(_setup: Setup, name: str) -> ScenarioGame:
    """The agents of one federation.

    The paper normalises the values of each round to add up to 1 and averages them. With v(∅) = 0
    they add up to v(N), so that this is the Shapley value of the mean of v/v(N).
    """
    file = files("fairshapley_paper") / "trained" / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as table:
        accuracies = table["correct"] / float(table["tested"])
        rounds, description = table["rounds"] + 1, str(table["description"])
    accuracies[:, 0] = 0.0
    utilities = (accuracies / accuracies[:, -1:]).mean(axis=0)
    n_agents = len(utilities).bit_length() - 1
    notes = (
        f"trained once; the table is the mean over rounds {', '.join(map(str, rounds))} of "
        "v(S)/v(N) with v(∅) = 0, whose Shapley values are the rounds' normalised values, averaged",
        f"trained with {description}",
    )
    names = [f"agent {place}" for place in range(1, n_agents + 1)]
    return ScenarioGame(TableGame(utilities, player_names=names), notes=notes)


def equal_models(_setup: Setup, n_agents: int) -> ScenarioGame:
    """The limit of a federation in which every coalition's model is equally accurate.

    With v(∅) = 0 whoever comes first has the whole utility: the size of every error follows from
    the budget alone.
    """
    utilities = np.ones(1 << n_agents)
    utilities[0] = 0.0
    note = "no federation: v(S) = 1 for every S but ∅, what late rounds of an iid split come to"
    return ScenarioGame(TableGame(utilities), notes=(note,))
