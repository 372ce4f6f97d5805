"""Which agents take part in which round."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import BoolArray
from fairshapley.errors import InputError
from fairshapley.randomness import side_generator

Participation: TypeAlias = (
    float
    | BoolArray
    | Sequence[Iterable[int]]
    | Callable[[int, np.random.Generator], Iterable[int]]
    | None
)


class Schedule:
    """The agents of every round; what can be checked beforehand is.

    Examples
    --------
    >>> Schedule([[0, 2], [1]], rounds=2, n_agents=3, seed=0).agents(0)
    (0, 2)
    >>> len(Schedule(0.5, rounds=2, n_agents=6, seed=0).agents(1))
    3
    """

    def __init__(self, participation: Participation, rounds: int, n_agents: int, seed: int) -> None:
        self.rounds = rounds
        self.n_agents = n_agents
        self.seed = seed
        self._of_round = self._parse(participation)

    def agents(self, number: int) -> tuple[int, ...]:
        """Who takes part in a round, in increasing order."""
        generator = side_generator(self.seed, f"federated round {number}")
        return self._check(self._of_round(number, generator), number)

    def _parse(self, given: Any) -> Callable[[int, np.random.Generator], Iterable[int]]:
        everyone = range(self.n_agents)
        if given is None:
            return lambda _number, _generator: everyone
        if callable(given):
            return given  # type: ignore[no-any-return]
        if isinstance(given, int | float | np.number):
            if not 0 < given <= 1:
                raise InputError(f"participation as a part must be in (0, 1], not {given!r}")
            count = max(1, round(float(given) * self.n_agents))
            return lambda _number, generator: generator.choice(self.n_agents, count, replace=False)
        table = self._table(given)
        return lambda number, _generator: table[number]

    def _table(self, given: Any) -> list[tuple[int, ...]]:
        array = given if isinstance(given, np.ndarray) else None
        if array is not None and array.dtype == np.bool_:
            if array.shape != (self.rounds, self.n_agents):
                raise InputError(
                    f"participation has the shape {array.shape}, not (rounds, agents) = "
                    f"({self.rounds}, {self.n_agents})"
                )
            given = [np.flatnonzero(row) for row in array]
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
            raise InputError(
                f"participation must be None, a number, a list, a boolean array or a function, "
                f"not {given!r}"
            )
        if len(given) != self.rounds:
            raise InputError(
                f"participation has {len(given)} rounds of {self.rounds}: list the agents of each"
            )
        return [self._check(agents, number) for number, agents in enumerate(given)]

    def _check(self, agents: Iterable[int] | NDArray[Any], number: int) -> tuple[int, ...]:
        try:
            listed = list(agents)
            # A mask as a list would be read as the agents 0 and 1.
            if any(isinstance(agent, bool) for agent in listed):
                raise TypeError
            chosen = sorted(operator.index(agent) for agent in listed)
        except TypeError:
            raise InputError(
                f"round {number}: the agents that take part must be listed by their indices, not "
                f"{agents!r}; masks go into one boolean array (rounds, agents)"
            ) from None
        if not chosen:
            raise InputError(f"round {number}: nobody takes part; leave the round out")
        if len(set(chosen)) < len(chosen):
            raise InputError(f"round {number}: an agent is listed twice")
        if chosen[0] < 0 or chosen[-1] >= self.n_agents:
            odd = chosen[0] if chosen[0] < 0 else chosen[-1]
            raise InputError(f"round {number}: agent {odd} is not one of 0…{self.n_agents - 1}")
        return tuple(chosen)
