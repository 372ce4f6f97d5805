"""The methods as the authors' program has them in P2–P4, from reading it: to recognise its numbers.

Every form starts with the bootstrap's permutations and pools their marginals with its own
contributions, one weight each. A score is (|mean| + ξ)²/(variance/(m − 1) + 1e−9).

- MC: m/n permutations for each player, one marginal of each.
- Owen: levels k/(m/n − 1) up to one half, each twice; a set that holds everybody with that
  probability and, but for one half, its complement; each member's marginal of joining the others
  of the set. Players are more often in large sets than a uniform size would put them: biased.
- Stratified: place and player are exchanged, and a player may be in a permutation twice: biased.
- Sobol: for player i the first m/n points of a scrambled sequence seeded by i, the same in all
  trials; its last angle is not uniform, and the basis is normalised by sums: biased.
- Kernel: m coalitions; v(∅) stays in, times the coalition less one half: more noise.
- GAE: q′ from mean |σ| of each size and α, without a floor; all n marginals of a permutation are
  kept with the weight of the player that was placed, and count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from scipy.special import betaincinv
from scipy.stats import qmc

from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.draws import AllCoalitions, RankArray, random_ranks
from fairshapley.games.game import Game
from fairshapley_paper.experiment import Outcome

FLOOR = 1e-9
"""What is added to the variance of a mean"""
RUNS = 2
"""How often Owen's levels are gone through"""
MOST_TABLED = 10
"""Players of the largest game whose utilities are all looked up before"""


class Utilities:
    """The utilities of a game, and how many coalitions were asked for."""

    def __init__(self, game: Game) -> None:
        n_players = int(game.n_players)
        self.n_players, self._game = n_players, game
        self._bits = 1 << np.arange(n_players)
        self._asked = np.zeros(1 << n_players, dtype=np.bool_)
        self._table: FloatArray | None = None
        if n_players <= MOST_TABLED:
            self._table = game(AllCoalitions(n_players).masks(0, 1 << n_players))

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row."""
        places = coalitions @ self._bits
        self._asked[places] = True
        return self._game(coalitions) if self._table is None else self._table[places]

    @property
    def asked(self) -> int:
        """Distinct coalitions so far."""
        return int(self._asked.sum())

    def marginals(self, before: BoolArray, players: IntArray) -> FloatArray:
        """Return what each player adds to the coalition of its row, which is without it."""
        joined = before.copy()
        joined[np.arange(len(players)), players] = True
        return self(joined) - self(before)

    def walks(self, ranks: RankArray) -> FloatArray:
        """Return the marginals of all players in permutations, entry (permutation, player)."""
        n_players = self.n_players
        before = ranks[:, None, :] < ranks[:, :, None]
        players = np.tile(np.arange(n_players), len(ranks))
        return self.marginals(before.reshape(-1, n_players), players).reshape(-1, n_players)


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions, and the players to which they belong."""

    players: IntArray
    amounts: FloatArray

    @classmethod
    def of_rows(cls, rows: FloatArray) -> Contributions:
        """Return the contributions of all players, a row at a time."""
        return cls(np.tile(np.arange(rows.shape[1]), len(rows)), rows.ravel())

    def means(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the mean of each player, the variance of the mean, and the number."""
        counts = np.bincount(self.players)
        means = np.bincount(self.players, self.amounts) / counts
        squares = np.bincount(self.players, np.square(self.amounts - means[self.players]))
        return means, squares / counts / (counts - 1) + FLOOR, counts


@dataclass(frozen=True, eq=False)
class Started:
    """A run whose bootstrap is done."""

    utilities: Utilities
    ranks: RankArray
    """The permutations of the bootstrap"""
    walks: FloatArray
    """Their marginals, a row for each"""
    marginals: int
    """m, what is counted from now on"""
    xi: float
    rng: np.random.Generator

    @property
    def n_players(self) -> int:
        """The players of the game."""
        return self.utilities.n_players

    def single(self, ranks: RankArray, players: IntArray) -> Contributions:
        """Return one player's marginal of each permutation."""
        places = ranks[np.arange(len(players)), players]
        return Contributions(players, self.utilities.marginals(ranks < places[:, None], players))


Form: TypeAlias = Callable[[Started], Contributions]
"""What follows the bootstrap"""


def run_form(
    form: Form, game: Game, permutations: int, marginals: int, xi: float, rng: np.random.Generator
) -> Outcome:
    """Return what the program reports of a game.

    Parameters
    ----------
    form
        One of the functions of this module.
    game
        The game.
    permutations, marginals
        m' and m: the bootstrap's permutations, and what is counted after them.
    xi, rng
        ξ, for GAE's choice of players, and what draws.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 2.0, 3.0, 4.0])
    >>> run_form(FORMS["owen"], game, 2, 40, 1e-3, np.random.default_rng(0)).values
    array([1., 2., 3., 4.])
    """
    utilities = Utilities(game)
    ranks = random_ranks(rng, permutations, utilities.n_players)
    start = Started(utilities, ranks, utilities.walks(ranks), marginals, xi, rng)
    first, more = Contributions.of_rows(start.walks), form(start)
    players = np.concatenate([first.players, more.players])
    pooled = Contributions(players, np.concatenate([first.amounts, more.amounts]))
    values, variances, counts = pooled.means()
    return Outcome(values, variances, utilities.asked, int(counts.sum()))


def together(rounds: Sequence[Outcome], spans: Sequence[int], xi: float) -> Outcome:
    """Return the mean values and the mean scores of the rounds of a federation.

    The values of each round are divided by their mean, as in the program. The counts are a round's.

    Parameters
    ----------
    rounds
        The outcome of each valued round.
    spans
        How many rounds each of them stands for.
    xi
        The ξ of the scores.
    """
    shares = [played.values / played.values.mean() for played in rounds]
    values = np.average(shares, axis=0, weights=spans)
    scores = [(np.abs(played.values) + xi) ** 2 / played.variances for played in rounds]
    variances = (np.abs(values) + xi) ** 2 / np.average(scores, axis=0, weights=spans)
    return Outcome(values, variances, rounds[0].evaluations, rounds[0].marginals)


def monte_carlo(start: Started) -> Contributions:
    """MC: the players in turn, each in permutations of its own."""
    players = np.repeat(np.arange(start.n_players), start.marginals // start.n_players)
    return start.single(random_ranks(start.rng, len(players), start.n_players), players)


def owen(start: Started) -> Contributions:
    """Owen, with each set's complement."""
    steps = start.marginals // start.n_players - 1
    levels = np.tile(np.arange(steps // RUNS + 1) / steps, RUNS)[:, None]
    drawn = start.rng.random((len(levels), start.n_players)) < levels
    sets = np.concatenate([drawn, ~drawn[levels[:, 0] != 0.5]])
    rows, players = np.nonzero(sets)
    before = sets[rows]
    before[np.arange(len(players)), players] = False
    return Contributions(players, start.utilities.marginals(before, players))


def stratified(start: Started) -> Contributions:
    """Stratified sampling with player and place exchanged.

    By the quota of k, player k goes to place i of a permutation of all but i, where it may stand
    already. Its marginal is taken where it comes first; it never comes after i.
    """
    n_players = start.n_players
    samples = start.marginals // n_players
    shares = np.arange(1, n_players + 1) ** (2 / 3)
    quotas = np.floor(samples * shares / shares.sum()).astype(np.int64)
    quotas[: samples - quotas.sum()] += 1
    players = np.tile(np.repeat(np.arange(n_players), quotas), n_players)
    absent = np.repeat(np.arange(n_players), samples)
    ranks = random_ranks(start.rng, len(players), n_players)
    rows = np.arange(len(players))
    places, left_out = ranks[rows, players].copy(), ranks[rows, absent].copy()
    # Places among the others: those behind the one that is left out move up.
    ranks -= ranks > left_out[:, None]
    places = np.where(players == absent, absent, places - (places > left_out))
    before = ranks < np.minimum(places, absent)[:, None]
    before[rows, absent] = False
    return Contributions(players, start.utilities.marginals(before, players))


def move(ranks: RankArray, players: IntArray, places: IntArray) -> RankArray:
    """Put one player of each permutation at a place; the others keep their order.

    Examples
    --------
    >>> move(np.array([[0, 1, 2]], dtype=np.uint16), np.array([2]), np.array([0]))
    array([[1, 2, 0]], dtype=uint16)
    """
    rows, to = np.arange(len(players)), places.astype(ranks.dtype)[:, None]
    moved: RankArray = ranks - (ranks > ranks[rows, players][:, None])
    moved += moved >= to
    moved[rows, players] = to[:, 0]
    return moved


def sobol(start: Started) -> Contributions:
    """Sobol: the same permutations in every trial."""
    rows, n_players = start.marginals // start.n_players, start.n_players
    ranks = [sobol_orders(player, rows, n_players) for player in range(n_players)]
    return start.single(np.concatenate(ranks), np.repeat(np.arange(n_players), rows))


@lru_cache(maxsize=128)
def sobol_orders(seed: int, rows: int, n_players: int) -> RankArray:
    """Return permutations, as ranks, from the first points of a sequence."""
    bits = int(np.ceil(np.log2(rows)))
    u = qmc.Sobol(n_players - 2, scramble=True, seed=seed).random_base2(bits)[:rows]
    angles = 2 * u / np.pi  # the program's last angle
    for place in range(n_players - 3):
        # Those before it: density ∝ sin^k on [0, π], from tail to middle.
        tail = 2 * np.minimum(u[:, place], 1 - u[:, place])
        low = np.arcsin(np.sqrt(betaincinv((n_players - 2 - place) / 2, 0.5, tail)))
        angles[:, place] = np.where(u[:, place] < 0.5, low, np.pi - low)
    points = np.cumprod(np.column_stack([np.ones(rows), np.sin(angles)]), axis=1)
    points[:, :-1] *= np.cos(angles)
    # A row of the basis has k ones, then −k.
    basis = np.tril(np.ones((n_players - 1, n_players)))
    basis[np.arange(n_players - 1), np.arange(1, n_players)] = -np.arange(1.0, n_players)
    basis /= np.abs(basis).sum(axis=1, keepdims=True)
    orders = np.argsort(points @ basis, axis=1)
    return np.argsort(orders, axis=1).astype(np.uint16)


def kernel(start: Started, *, nth: bool = False) -> Contributions:
    """KernelSHAP from m coalitions, or from m/n as in P1, each a contribution of everybody."""
    n_players = start.n_players
    sizes = np.arange(1, n_players)
    chances = 1.0 / (sizes * (n_players - sizes))
    chances /= chances.sum()
    drawn = start.rng.choice(sizes, start.marginals // (n_players if nth else 1), p=chances)
    sets = random_ranks(start.rng, len(drawn), n_players) < drawn[:, None]
    empty, whole = start.utilities(np.array([[False] * n_players, [True] * n_players]))
    off = float(chances @ (sizes * (sizes - 1))) / (n_players * (n_players - 1))
    inverse = np.linalg.inv(off + (0.5 - off) * np.eye(n_players))
    solved = (start.utilities(sets)[:, None] * sets - 0.5 * empty) @ inverse
    excess = (solved.sum(axis=1) - whole + empty)[:, None]
    return Contributions.of_rows(solved - excess * inverse.sum(axis=0) / inverse.sum())


def greedy(start: Started, *, alpha: int) -> Contributions:
    """GAE: whoever looks worst is placed, and all marginals of the permutation are kept."""
    n_players, rng = start.n_players, start.rng
    by_size = np.bincount(start.ranks.ravel(), np.abs(start.walks).ravel())
    proposal = alpha + by_size * n_players / by_size.sum()
    proposal /= proposal.sum()
    sizes = rng.choice(n_players, start.marginals, p=proposal)
    ranks = random_ranks(rng, start.marginals, n_players)
    # Sums of what exceeds the first row: contributions that are all equal have no variance.
    origin = start.walks[0]
    sums = (start.walks - origin).sum(axis=0)
    squares = np.square(start.walks - origin).sum(axis=0)
    rows = np.empty((start.marginals, n_players))
    for step in range(start.marginals):
        count = len(start.walks) + step
        variances = (squares / count - (sums / count) ** 2) / (count - 1) + FLOOR
        scores = (np.abs(origin + sums / count) + start.xi) ** 2 / variances
        size = sizes[step : step + 1]
        placed = move(ranks[step : step + 1], scores.argmin(keepdims=True), size)
        rows[step] = start.utilities.walks(placed)[0] / (proposal[size] * n_players)
        sums += rows[step] - origin
        squares += (rows[step] - origin) ** 2
    return Contributions.of_rows(rows)


FORMS: dict[str, Form] = {
    "mc": monte_carlo,
    "owen": owen,
    "sobol": sobol,
    "stratified": stratified,
    "kernel": kernel,
    "kernel-nth": partial(kernel, nth=True),
    **{f"gae-{alpha}": partial(greedy, alpha=alpha) for alpha in (0, 2, 5, 100)},
}
"""By the row of the paper's tables; "kernel-nth" is that of Table 2"""
