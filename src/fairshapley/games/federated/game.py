"""A round of a federated run as a game, and a whole run: the total of its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.federated.rounds import (
    Agent,
    Examples,
    Given,
    Round,
    Weights,
    list_players,
    list_rounds,
    odd_updates,
    read_rounds,
    write,
)
from fairshapley.games.game import as_utility, check_coalitions, check_names, members

Empty: TypeAlias = Literal["server"] | float


@runtime_checkable
class Utility(Protocol):
    """What models are worth, many at a time, such as a `ModelUtility`."""

    value_range: tuple[float, float] | None
    """The lowest and the highest utility of a model, where known."""

    def values(self, record: Round, coefficients: FloatArray) -> FloatArray:
        """The utilities of the models server + Σ_i c_i·Δ_i, one for each row of coefficients."""


class RoundGame:
    """One round of a federated run as a game; those who sat it out are null players.

    Coalitions with the same participants are evaluated once.

    Parameters
    ----------
    record
        The round, from `read_round`; it may come while the training goes on.
    utility
        A `ModelUtility`, or a function of the weights of a model that returns a number. It gets
        them in the form in which they came (a state dict, a dict or a list of arrays), and may
        keep or change them.
    empty
        The utility of a coalition without participants: "server", that of the server's model
        before the round, or a number. The paper's code has 0, which credits the agents with what
        the server knew before.
    player_names
        Names for the agents.
    value_range
        The lowest and the highest utility that the function returns, where known.

    Examples
    --------
    >>> from fairshapley.games.federated import read_round
    >>> record = read_round({0: [np.ones(2)], 2: [np.full(2, 4.0)]}, given="deltas",
    ...                     agents=[0, 1, 2], server=[np.zeros(2)])
    >>> game = RoundGame(record, lambda weights: weights[0].sum())
    >>> game(np.array([[True, True, False], [True, False, True], [False, True, False]]))
    array([2., 5., 0.])
    """

    def __init__(
        self,
        record: Round,
        utility: Utility | Callable[[Weights], float],
        *,
        empty: Empty = "server",
        player_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        if not isinstance(record, Round):
            raise InputError(
                f"a {type(record).__name__} is no round: make rounds with `read_round`"
            )
        if not isinstance(utility, Utility) and not callable(utility):
            raise InputError(
                f"utility is a {type(utility).__name__}: give a ModelUtility, or a function of the "
                "weights that returns a number"
            )
        self.record = record
        self.utility = utility
        self.empty = _check_empty(empty, record)
        self.n_players = record.n_agents
        self.player_names = check_names(player_names, self.n_players)
        given = getattr(utility, "value_range", None) if value_range is None else value_range
        self.value_range = _range(given, self.empty)
        if isinstance(utility, Utility):
            utility.values(record, np.zeros((0, len(record.agents))))  # does it fit the weights?

    @property
    def unit(self) -> str:
        """What a utility measures, where the utility says so."""
        return str(getattr(self.utility, "unit", ""))

    def __fingerprint_state__(self) -> dict[str, Any]:
        """Return what the utilities depend on: not the names, not the declared range."""
        return {"record": self.record, "utility": self.utility, "empty": self.empty}

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        if not len(rows):
            return np.empty(0)
        participants = np.zeros_like(rows)
        participants[:, self.record.agents] = rows[:, self.record.agents]
        distinct, back = np.unique(participants, axis=0, return_inverse=True)
        values = np.empty(len(distinct))
        wanted: BoolArray = np.ones(len(distinct), dtype=np.bool_)
        if self.empty != "server":
            wanted = np.logical_or.reduce(distinct, axis=1)
            values[~wanted] = self.empty
        if wanted.any():
            values[wanted] = self._values(distinct[wanted])
        return values[back.reshape(-1)]

    def _values(self, rows: BoolArray) -> FloatArray:
        coefficients = self.record.coefficients(rows)
        if isinstance(self.utility, Utility):
            return self.utility.values(self.record, coefficients)
        values = np.empty(len(rows))
        for index, row in enumerate(rows):
            vector = self.record.combine(coefficients[index : index + 1])[0]
            answer = self.utility(write(vector, self.record.fixed, self.record.layout))
            where = f" in round {self.record.number}"
            values[index] = as_utility(answer, members(row), where)
        return values


def _check_empty(empty: Empty, record: Round) -> Empty:
    if empty != "server":
        return checks.real("empty", empty, remedy="give 'server' to value its model")
    if not record.server_known:
        raise InputError(
            f"round {record.number}: the server's weights before the round are not known, so "
            "that a coalition without participants has no model: give `server`, or a number "
            "such as empty=0.0"
        )
    return empty


def _range(given: tuple[float, float] | None, empty: Empty) -> tuple[float, float] | None:
    if given is None:
        return None
    low, high = checks.utility_range(given)
    return (low, high) if isinstance(empty, str) else (min(low, empty), max(high, empty))


class FederatedGame:
    """A whole federated run as a game: the sum of the games of its rounds.

    Shapley values are linear in the game: the values of the total are the sums of the rounds'
    values. The rounds are games of their own in `rounds`.

    Parameters
    ----------
    rounds
        The rounds, from `read_rounds` or several `read_round`.
    utility, empty, player_names, value_range
        As for a `RoundGame`; `value_range` is that of one round.

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
        player_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
    ) -> None:
        if not isinstance(rounds, Iterable):
            raise InputError(
                f"rounds is a {type(rounds).__name__}: give the rounds of `read_rounds`"
            )
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
        value_range: tuple[float, float] | None = None,
    ) -> FederatedGame:
        """Return the game of a federated run made elsewhere, from its updates.

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
        empty, value_range
            As for `FederatedGame`.
        """
        updates = list_rounds(rounds)
        players = list_players(updates, agents)
        return cls(
            read_rounds(updates, given=given, agents=players, examples=examples, server=server),
            evaluate,
            empty=empty,
            player_names=[str(player) for player in players],
            value_range=value_range,
        )

    @property
    def unit(self) -> str:
        """What a utility measures: a sum over rounds, which is called that."""
        one = self.rounds[0].unit or "the utility"
        if len(self.rounds) == 1:
            return one
        return f"sum over {len(self.rounds)} rounds of {one}"

    @property
    def remarks(self) -> tuple[tuple[int, str], ...]:
        """The agents that sent zeros or another agent's update."""
        names = self.player_names or [f"agent {agent}" for agent in range(self.n_players)]
        return odd_updates([game.record for game in self.rounds], names)

    def __fingerprint_state__(self) -> dict[str, Any]:
        """Return what the utilities depend on: not the names, not the declared range."""
        return {"rounds": self.rounds, "total": "sum"}  # as journals have it

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        values = np.zeros(len(rows))
        for game in self.rounds:
            values += game(rows)
        return values

    def _total_range(self) -> tuple[float, float] | None:
        ends = [game.value_range for game in self.rounds if game.value_range is not None]
        if len(ends) < len(self.rounds):
            return None
        # Added up in the order in which utilities are: rounding keeps the order of sums.
        low, high = (sum(side) for side in zip(*ends, strict=True))
        return low, high
