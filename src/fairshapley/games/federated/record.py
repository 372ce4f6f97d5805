"""One round of federated averaging: the server's model, and what each agent made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.games.federated.layout import Fixed, Layout, Vector, Weights, write
from fairshapley.games.game import check_coalitions


@dataclass(frozen=True, eq=False)
class Round:
    """A round as it is kept: made by `train`, or by `read_round` of the updates of another run.

    The model of a coalition S is the server's plus the updates of its members that took part,
    weighted by their examples: server + Σ_{i∈S} (w_i / Σ_{j∈S} w_j)·Δ_i.

    Attributes
    ----------
    number
        The place of the round in its run, from 0.
    n_agents
        All agents of the federation, those who sat the round out included.
    agents
        The indices of those who took part, in increasing order.
    sizes
        The examples of each of them, w_i.
    server, deltas
        The server's weights before the round as a vector, and a row Δ_i for each participant.
    layout, fixed
        How a vector is made up of the entries of the model, and the entries that are not averaged.
    server_known
        False when the server's weights before the round were not given: `server` is then 0 and
        the rows of `deltas` are the agents' own weights, which give the same averages.
    """

    number: int
    n_agents: int
    agents: tuple[int, ...]
    sizes: FloatArray
    server: Vector = field(repr=False)
    deltas: Vector = field(repr=False)
    layout: Layout = field(repr=False)
    fixed: Fixed = field(repr=False)
    server_known: bool = True

    def coefficients(self, coalitions: BoolArray) -> FloatArray:
        """The weight of each participant (columns) in each coalition's average (rows).

        The row of a coalition without participants is 0.
        """
        rows = check_coalitions(coalitions, self.n_agents)
        # Column by column: the sum of a row then has the same bits in any batch.
        shares = np.where(rows[:, self.agents], self.sizes, 0.0)
        total = np.zeros(len(rows))
        for column in shares.T:
            total += column
        total[total == 0.0] = 1.0
        return shares / total[:, None]

    def combine(self, coefficients: FloatArray) -> Vector:
        """The vectors server + Σ_i c_i·Δ_i, one for each row of coefficients."""
        vectors = np.repeat(self.server[None], len(coefficients), axis=0)
        # Agent by agent, not a matrix product, whose bits depend on the size of the batch.
        for column, delta in zip(coefficients.T.astype(vectors.dtype), self.deltas, strict=True):
            vectors += column[:, None] * delta
        return vectors

    def weights(self, coalition: BoolArray) -> Weights:
        """The weights of one coalition's model, in the form in which weights came."""
        vector = self.combine(self.coefficients(coalition))[0]
        return write(vector, self.fixed, self.layout)

    def next_server(self) -> Weights:
        """The server's weights after the round, by federated averaging of all participants."""
        return self.weights(np.ones((1, self.n_agents), dtype=bool))
