"""The game of one round: which of its participants' updates make up the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.federated.layout import Weights, write
from fairshapley.games.federated.record import Round
from fairshapley.games.game import as_real, check_coalitions, check_names, members

Empty: TypeAlias = Literal["server"] | float


@runtime_checkable
class Utility(Protocol):
    """What models are worth, many at a time, such as a `ModelUtility`."""

    value_range: tuple[float, float] | None
    """The lowest and the highest utility of a model, where known."""

    def values(self, record: Round, coefficients: FloatArray) -> FloatArray:
        """The utilities of the models server + Σ_i c_i·Δ_i, one for each row of coefficients."""
        ...


class RoundGame:
    """One round of a federated run as a game; those who sat it out are null players.

    Coalitions with the same participants are evaluated once.

    Parameters
    ----------
    record
        The round, from `train` or `read_round`; it may come while the training goes on.
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
                f"a {type(record).__name__} is no round: rounds come from `train` or `read_round`"
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
        """What the utilities depend on: not the names, not the declared range."""
        return {"record": self.record, "utility": self.utility, "empty": self.empty}

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
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
            values[index] = _number(answer, members(row), self.record.number)
        return values


def _check_empty(empty: Empty, record: Round) -> Empty:
    if isinstance(empty, str):
        if empty != "server":
            raise InputError(f"empty must be 'server' or a number, not {empty!r}")
        if not record.server_known:
            raise InputError(
                f"round {record.number}: the server's weights before the round are not known, so "
                "that a coalition without participants has no model: give `server`, or a number "
                "such as empty=0.0"
            )
        return empty
    try:
        number = float(empty)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"empty must be 'server' or a finite number, not {empty!r}")
    return number


def _range(given: tuple[float, float] | None, empty: Empty) -> tuple[float, float] | None:
    if given is None:
        return None
    low, high = checks.value_range(given)
    return (low, high) if isinstance(empty, str) else (min(low, empty), max(high, empty))


def _number(answer: object, coalition: tuple[int, ...], number: int) -> float:
    try:
        return as_real(answer)
    except (TypeError, ValueError, RuntimeError):
        raise GameError(
            f"the utility of coalition {coalition} in round {number} is {answer!r}, which is not "
            "a real number: return a float",
            coalition,
        ) from None
