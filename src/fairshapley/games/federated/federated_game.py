"""A whole federated run as a game: the total of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.federated.layout import Weights
from fairshapley.games.federated.record import Round
from fairshapley.games.federated.round_game import Empty, RoundGame, Utility
from fairshapley.games.federated.rounds import (
    Examples,
    Given,
    list_players,
    list_rounds,
    read_rounds,
)
from fairshapley.games.game import check_coalitions

Agent = TypeVar("Agent", bound=Hashable)


class FederatedGame:
    """A whole federated run as a game: the sum of the games of its rounds, or their mean.

    Shapley values are linear in the game: the values of the total are the sum (mean) of those of
    the rounds, which are games of their own in `rounds`.

    Parameters
    ----------
    rounds
        The rounds, from `train`, `read_rounds` or several `read_round`.
    utility, empty, player_names, value_range
        As for a `RoundGame`; `value_range` is that of one round.
    total
        "sum" or "mean" of the rounds' utilities.

    Attributes
    ----------
    rounds
        A `RoundGame` for each round.

    Examples
    --------
    >>> import fairshapley as fs
    >>> updates = [{"ann": [np.array([1.0])], "bob": [np.array([3.0])]}, {"bob": [np.array([8.0])]}]
    >>> game = FederatedGame.from_updates(
    ...     updates, lambda weights: float(weights[0][0]), given="weights", server=[np.zeros(1)])
    >>> fs.exact(game.rounds[0]).values, fs.exact(game.rounds[1]).values
    (array([0., 2.]), array([0., 6.]))
    >>> fs.exact(game).values
    array([0., 8.])
    """

    def __init__(
        self,
        rounds: Iterable[Round],
        utility: Utility | Callable[[Weights], float],
        *,
        empty: Empty = "server",
        total: Literal["sum", "mean"] = "sum",
        player_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        if not isinstance(rounds, Iterable):
            raise InputError(f"rounds is a {type(rounds).__name__}: give the rounds of `train`")
        if total not in ("sum", "mean"):
            raise InputError(f"total must be 'sum' or 'mean', not {total!r}")
        self.rounds = tuple(
            RoundGame(
                record, utility, empty=empty, player_names=player_names, value_range=value_range
            )
            for record in rounds
        )
        if not self.rounds:
            raise InputError("there are no rounds: a federated game needs at least one")
        sizes = sorted({game.n_players for game in self.rounds})
        if len(sizes) > 1:
            raise InputError(
                f"the rounds have {sizes} agents: give every round all agents of the federation"
            )
        self.n_players = sizes[0]
        self.total = total
        self.player_names = self.rounds[0].player_names
        self.value_range = self._total_range()

    @classmethod
    def from_updates(
        cls,
        rounds: Iterable[Mapping[Agent, Weights]],
        evaluate: Utility | Callable[[Weights], float],
        *,
        given: Given,
        agents: Sequence[Agent] | None = None,
        examples: Examples[Agent] = None,
        server: Weights | Sequence[Weights] | None = None,
        empty: Empty = "server",
        total: Literal["sum", "mean"] = "sum",
        value_range: tuple[float, float] | None = None,
    ) -> FederatedGame:
        """The game of a federated run made elsewhere, from its updates.

        Parameters
        ----------
        rounds
            For each round a dict that maps the agents who took part to their updates: state dicts
            of torch tensors, dicts of numpy arrays, or lists of numpy arrays.
        evaluate
            The utility of a model: a function of its weights, in the form of the updates, that
            returns a number; or a `ModelUtility`.
        given
            Whether updates are the agents' "weights" after training or "deltas" to the server's.
        agents, examples, server
            As for `read_rounds`.
        empty, total, value_range
            As for `FederatedGame`.
        """
        updates = list_rounds(rounds)
        players = list_players(updates, agents)
        return cls(
            read_rounds(updates, given=given, agents=players, examples=examples, server=server),
            evaluate,
            empty=empty,
            total=total,
            player_names=[str(player) for player in players],
            value_range=value_range,
        )

    @property
    def unit(self) -> str:
        """What a utility measures: a sum or a mean over rounds, which is called that."""
        one = self.rounds[0].unit or "the utility"
        if len(self.rounds) == 1:
            return one
        return f"{self.total} over {len(self.rounds)} rounds of {one}"

    def __fingerprint_state__(self) -> dict[str, Any]:
        """What the utilities depend on: not the names, not the declared range."""
        return {"rounds": self.rounds, "total": self.total}

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        values = np.zeros(len(rows))
        for game in self.rounds:
            values += game(rows)
        return values / len(self.rounds) if self.total == "mean" else values

    def _total_range(self) -> tuple[float, float] | None:
        ends = [game.value_range for game in self.rounds if game.value_range is not None]
        if len(ends) < len(self.rounds):
            return None
        # Added up in the order in which utilities are: rounding keeps the order of sums.
        low, high = 0.0, 0.0
        for lowest, highest in ends:
            low, high = low + lowest, high + highest
        parts = len(self.rounds) if self.total == "mean" else 1
        return low / parts, high / parts


def normalised_mean(values: ArrayLike, *, by: Literal["sum", "absolute"] = "sum") -> FloatArray:
    """The paper's total: the values of each round scaled to add up to 1, then averaged.

    Every round weighs the same, however much it improved the model; the plain total, which is
    the Shapley value of the sum of the rounds, weighs them by their gain.

    Parameters
    ----------
    values
        The values of the agents (columns) in each round (rows).
    by
        What a round is divided by: the "sum" of its values, which must be positive, or the sum of
        their "absolute" values, for rounds that may lose.

    Examples
    --------
    >>> normalised_mean([[1.0, 3.0], [10.0, 0.0]])
    array([0.625, 0.375])
    """
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InputError(
            "values must be a table of finite numbers, a row for each round and a column for each "
            "agent"
        )
    if by not in ("sum", "absolute"):
        raise InputError(f"by must be 'sum' or 'absolute', not {by!r}")
    scale = (np.abs(table) if by == "absolute" else table).sum(axis=1)
    if (scale <= 0).any():
        at = int(np.flatnonzero(scale <= 0)[0])
        remedy = "by='absolute', or rounds with empty=0.0" if by == "sum" else "leave it out"
        raise InputError(
            f"the values of round {at} add up to {scale[at]:.3g}, not above 0: {remedy}"
        )
    mean: FloatArray = (table / scale[:, None]).mean(axis=0)
    return mean
