"""Games to test with: relabelled, scaled, with planted players and with null players."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games import abilities
from fairshapley.games.abilities import is_random
from fairshapley.games.game import Game, check_coalitions, check_n_players
from fairshapley.games.synthetic import SumOfUnanimity
from fairshapley.randomness import root_seed, side_generator

MOST_NULL_PLAYERS = 10**6


class _Changed:
    """What a game has of the one that it is made of."""

    def __init__(self, game: Game) -> None:
        self.game = _check_game(game)
        self.n_players = game.n_players
        self.value_range = abilities.value_range(game)
        self.player_names = abilities.player_names(game)
        self.identical_players = abilities.identical_players(game)
        self.unit = abilities.unit(game)


class Relabelled(_Changed):
    """The same game with its players in another order.

    Player k of this game is player ``order[k]`` of the inner one.

    Examples
    --------
    >>> from fairshapley.games import Additive
    >>> game = Relabelled(Additive([1.0, 2.0, 4.0]), [2, 0, 1])
    >>> game(np.array([[True, False, False]]))
    array([4.])
    >>> game.shapley_values
    array([4., 1., 2.])
    """

    def __init__(self, game: Game, order: Sequence[int] | NDArray[np.integer[Any]]) -> None:
        super().__init__(game)
        try:
            self.order = tuple(operator.index(player) for player in order)
        except TypeError:
            raise InputError("order must be a sequence of player indices") from None
        if sorted(self.order) != list(range(self.n_players)):
            raise InputError(f"order must hold each of the players 0…{self.n_players - 1} once")
        if self.player_names is not None:
            self.player_names = tuple(self.player_names[k] for k in self.order)
        places = {player: place for place, player in enumerate(self.order)}
        pairs = self.identical_players
        self.identical_players = tuple((places[i], places[j]) for i, j in pairs)

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, where the inner game knows its own."""
        return _shapley_values(self.game)[list(self.order)]

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        inner = np.empty_like(rows)
        inner[:, self.order] = rows
        return self.game(inner)


class Affine(_Changed):
    """A game in another unit: scale·v(S) + offset.

    The offset is also the utility of the empty coalition, when the inner game starts at 0.

    Examples
    --------
    >>> from fairshapley.games import Additive
    >>> game = Affine(Additive([1.0, 2.0]), scale=10.0, offset=0.5)
    >>> game(np.array([[False, False], [True, True]]))
    array([ 0.5, 30.5])
    >>> game.shapley_values
    array([10., 20.])
    """

    def __init__(self, game: Game, scale: float = 1.0, offset: float = 0.0) -> None:
        super().__init__(game)
        self.scale = checks.real("scale", scale)
        self.offset = checks.real("offset", offset)
        if self.value_range is not None:
            low, high = sorted(self.scale * end + self.offset for end in self.value_range)
            self.value_range = low, high

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, where the inner game knows its own."""
        return self.scale * _shapley_values(self.game)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        return self.scale * self.game(check_coalitions(coalitions, self.n_players)) + self.offset


def _shapley_values(game: Game) -> FloatArray:
    """The known values; the AttributeError of a game without makes `hasattr` false outside too."""
    return cast("FloatArray", cast("Any", game).shapley_values)


class WithNullPlayers(_Changed):
    """The same game with null players added behind the others.

    They change nobody's Shapley value and cost no evaluation: coalitions that differ only in null
    players are the same to the evaluator. Their estimates should be 0, so that a run carries its
    own check of axiom A1.
    """

    def __init__(self, game: Game, k: int) -> None:
        super().__init__(game)
        k = checks.whole("k", k, most=MOST_NULL_PLAYERS)
        self.n_active = abilities.active_players(game)
        if self.n_active < game.n_players:
            raise InputError("the game has null players already: add all of them at once")
        self.n_players = self.n_active + k
        names = self.player_names or tuple(map(str, range(self.n_active)))
        self.player_names = (*names, *(f"null {number + 1}" for number in range(k)))

    @property
    def null_players(self) -> tuple[int, ...]:
        """The players that were added."""
        return tuple(range(self.n_active, self.n_players))

    @property
    def shapley_values(self) -> FloatArray:
        """The Shapley values, where the inner game knows its own."""
        return np.pad(_shapley_values(self.game), (0, self.n_players - self.n_active))

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """The utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        return self.game(rows[:, : self.n_active])


def with_null_players(game: Game, k: int) -> WithNullPlayers:
    """The game with `k` null players added.

    Examples
    --------
    >>> from fairshapley.games import Additive
    >>> game = with_null_players(Additive([1.0, 2.0]), 2)
    >>> game.n_players, game.null_players
    (4, (2, 3))
    >>> game(np.array([[True, False, True, True]]))
    array([1.])
    """
    return WithNullPlayers(game, k)


class PlantedGame(SumOfUnanimity):
    """A game with planted null players, duplicates and dominated players.

    A sum of unanimity games and an additive part, symmetric in both players of every pair; the
    stronger player of a dominated pair then gets more. Weights are multiples of 1/1024, so that
    all sums are exact and the planted equalities hold to the last bit.

    Parameters
    ----------
    n_players
        The number of players; those without a role below take part in the core alone.
    n_null
        Players that add nothing to any coalition.
    n_duplicates
        Pairs (i, j) with v(C∪i) = v(C∪j) for every C without i and j.
    n_dominated
        Pairs (i, j) with v(C∪i) > v(C∪j) for every C without i and j (axiom A3 of the paper).
    n_terms
        How many unanimity games to draw before they are made symmetric; twice the number of
        players unless given.
    seed
        The seed of the draw and of the places of the planted players; None for a fresh one.

    Attributes
    ----------
    null_players
        The null players.
    duplicate_pairs
        The pairs of equal players.
    dominated_pairs
        The pairs (stronger, weaker).

    Examples
    --------
    >>> game = PlantedGame(8, n_null=2, seed=1)
    >>> game.shapley_values[list(game.null_players)]
    array([0., 0.])
    >>> (stronger, weaker), = game.dominated_pairs
    >>> bool(game.shapley_values[stronger] > game.shapley_values[weaker])
    True
    """

    def __init__(
        self,
        n_players: int,
        *,
        n_null: int = 1,
        n_duplicates: int = 1,
        n_dominated: int = 1,
        n_terms: int | None = None,
        seed: int | None = 0,
    ) -> None:
        n_players = check_n_players(n_players)
        needed = n_null + 2 * n_duplicates + 2 * n_dominated
        if min(n_null, n_duplicates, n_dominated) < 0 or not needed <= n_players:
            raise InputError(
                f"{n_null} null players, {n_duplicates} duplicate and {n_dominated} dominated "
                f"pairs need {needed} players, n_players is {n_players}"
            )
        if n_players - n_null < 2:
            raise InputError("at least two players must not be null, or no two can interact")
        rng = side_generator(root_seed(seed), "PlantedGame")
        places = iter(rng.permutation(n_players).tolist())
        self.null_players = tuple(sorted(itertools.islice(places, n_null)))
        self.duplicate_pairs = tuple((next(places), next(places)) for _ in range(n_duplicates))
        self.identical_players = self.duplicate_pairs
        self.dominated_pairs = tuple((next(places), next(places)) for _ in range(n_dominated))
        terms = self._draw(rng, n_players, 2 * n_players if n_terms is None else n_terms)
        super().__init__(n_players, coalitions=list(terms), weights=list(terms.values()))

    def _draw(
        self, rng: np.random.Generator, n_players: int, n_terms: int
    ) -> dict[tuple[int, ...], float]:
        """The unanimity games and their weights, the additive part as those of one player."""
        active = np.setdiff1d(np.arange(n_players), self.null_players)
        pairs = self.duplicate_pairs + self.dominated_pairs
        largest = min(4, len(active))  # An orbit has up to 2**largest terms.
        terms: dict[tuple[int, ...], float] = {}
        for _ in range(checks.whole("n_terms", n_terms)):
            drawn = rng.choice(active, size=rng.integers(2, largest + 1), replace=False)
            weight = float(rng.integers(-256, 1025)) / 1024
            for term in _orbit(drawn.tolist(), pairs):
                terms[term] = terms.get(term, 0.0) + weight
        for player in active.tolist():
            terms[(player,)] = float(rng.integers(1, 1025)) / 1024
        for first, second in pairs:
            terms[(second,)] = terms[(first,)]
        for pair in self.dominated_pairs:
            stronger = pair[0]
            terms[(stronger,)] += float(rng.integers(1, 257)) / 1024
            # The lead also depends on the company, but is never lost: the weight is positive.
            others = np.setdiff1d(active, pair)
            if len(others):
                company = [stronger, int(rng.choice(others))]
                weight = float(rng.integers(1, 257)) / 1024
                for term in _orbit(company, [other for other in pairs if other != pair]):
                    terms[term] = terms.get(term, 0.0) + weight
        return terms


def _orbit(term: list[int], pairs: Sequence[tuple[int, int]]) -> set[tuple[int, ...]]:
    """The coalitions that `term` becomes when the players of any of the pairs change places."""
    partner = {i: j for pair in pairs for i, j in (pair, pair[::-1])}
    # A pair that is in the term as a whole stays as it is.
    choices = [
        (player,) if partner.get(player, player) in term else (player, partner[player])
        for player in term
    ]
    return {tuple(sorted(chosen)) for chosen in itertools.product(*choices)}


def _check_game(game: Game) -> Game:
    if not isinstance(game, Game):
        raise InputError(
            f"a {type(game).__name__} is not a game: it needs `n_players` and must be callable"
        )
    if is_random(game):
        raise InputError("the game is random, and its seeds would be lost: change its function")
    return game
