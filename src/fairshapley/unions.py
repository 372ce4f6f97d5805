"""Owen values: players form unions, and the unions divide before their members do.

The Owen value of a player (Owen 1977) is its mean marginal contribution over the permutations in
which every union stays together: the unions in random order, and the members of each in random
order. A union gets its Shapley value in the game among unions, however many members it has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.semivalues import Semivalue

# The coalitions of an exact value are listed: so many at most.
MOST_LISTED = 1 << 20


@dataclass(frozen=True)
class OwenValue(Semivalue):
    """The Owen value for players in unions; with one union, or single players, the Shapley value.

    Every place of a walk that keeps unions together is taken by one player, as in any walk: the
    weights by size, which are means over the players, equal the weights of the Shapley value.

    Examples
    --------
    >>> value = OwenValue(("north", "north", "south", "south"))
    >>> value.n_unions, value.n_coalitions
    (2, 12)
    """

    unions: tuple[str, ...]
    """The union of each player"""

    name = "owen"

    @classmethod
    def of(cls, unions: Iterable[object], n_players: int) -> OwenValue:
        """Return the value for these unions; raise InputError unless each player has one."""
        if isinstance(unions, str) or not isinstance(unions, Iterable):
            raise InputError("must be a list", parameter="unions", received=unions)
        named = tuple(map(str, unions))
        if len(named) != n_players:
            raise InputError(
                f"name the union of each of the {n_players} players, got {len(named)}",
                parameter="unions",
                remedy="a player without a union has one of its own",
            )
        return cls(named)

    @cached_property
    def members(self) -> list[IntArray]:
        """The players of each union."""
        numbers = np.unique(self.unions, return_inverse=True)[1]
        return [np.flatnonzero(numbers == union) for union in range(numbers.max() + 1)]

    def _log_weights(self, n_players: int, sizes: FloatArray) -> FloatArray:
        return np.full(n_players, -math.log(n_players))

    @property
    def n_unions(self) -> int:
        """The number of unions."""
        return len(self.members)

    @property
    def n_coalitions(self) -> int:
        """The coalitions that exact values need: whole unions, and parts of one more."""
        inner = sum((1 << len(one)) - 2 for one in self.members)
        return (1 << self.n_unions) + inner * (1 << self.n_unions) // 2

    def among(self, players: Sequence[int] | IntArray) -> OwenValue:
        """Return the value for some of the players."""
        return OwenValue(tuple(self.unions[player] for player in players))

    def alike(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return the pairs of identical players that have one value: both in one union."""
        return tuple(pair for pair in pairs if self.unions[pair[0]] == self.unions[pair[1]])

    def ranks(self, rng: np.random.Generator, rows: int) -> IntArray:
        """Draw `rows` permutations in which unions stay together; entry (r, i) is i's place.

        Examples
        --------
        >>> value = OwenValue(("north", "south", "north"))
        >>> ranks = value.ranks(np.random.default_rng(0), 100)
        >>> np.unique(ranks[:, 1]).tolist()
        [0, 2]
        """
        keys = rng.random((rows, len(self.unions)))
        places = rng.permuted(np.tile(np.arange(self.n_unions), (rows, 1)), axis=1)
        for union, players in enumerate(self.members):
            keys[:, players] += places[:, [union]]
        order = np.argsort(keys, axis=1, kind="stable")
        ranks = np.empty(keys.shape, dtype=np.uint16 if keys.shape[1] < 1 << 16 else np.uint32)
        np.put_along_axis(ranks, order, np.arange(keys.shape[1], dtype=ranks.dtype)[None], axis=1)
        return ranks

    def coalitions(self) -> BoolArray:
        """Return the coalitions that exact values need.

        First all sets of whole unions, by their bit masks; then, for each union, every set of the
        others with every part of this one.

        Examples
        --------
        >>> OwenValue(("north", "north", "south")).coalitions().astype(int)
        array([[0, 0, 0],
               [1, 1, 0],
               [0, 0, 1],
               [1, 1, 1],
               [1, 0, 0],
               [0, 1, 0],
               [1, 0, 1],
               [0, 1, 1]])
        """
        if self.n_coalitions > MOST_LISTED:
            raise InputError(
                f"exact values of these unions need {self.n_coalitions:,} coalitions, and "
                f"{MOST_LISTED:,} can be listed",
                remedy="give {method:'auto'} or 'mc' with a budget for estimates",
            )
        whole = np.zeros((1 << self.n_unions, len(self.unions)), dtype=bool)
        numbered = bits.numbered(range(len(whole)), self.n_unions)
        for union, players in enumerate(self.members):
            whole[:, players] = numbered[:, [union]]
        blocks = [whole]
        for union, players in enumerate(self.members):
            parts = bits.numbered(range(1, (1 << len(players)) - 1), len(players))
            block = np.repeat(whole[~numbered[:, union]], len(parts), axis=0)
            block[:, players] = np.tile(parts, (1 << (self.n_unions - 1), 1))
            blocks.append(block)
        return np.concatenate(blocks)

    def positions(self) -> list[IntArray]:
        """Return where `coalitions` has, for each union, sets of the others × sets of its members.

        Rows and columns are in the order of their bit masks.
        """
        start, found = 1 << self.n_unions, []
        numbers = np.arange(start)
        for union, players in enumerate(self.members):
            without = numbers[(numbers >> union) % 2 == 0]
            parts = (1 << len(players)) - 2
            inner = start + np.arange(len(without) * parts).reshape(len(without), parts)
            found.append(np.column_stack([without, inner, without | 1 << union]))
            start += inner.size
        return found

    def described(self) -> str:
        """Say in a note what was valued."""
        sizes = Counter(self.unions)
        return (
            f"Owen values: {self.n_unions} unions divide first, and the members of each after "
            f"(the largest, {max(sizes, key=lambda union: sizes[union])!r:.40}, has "
            f"{max(sizes.values())})"
        )
