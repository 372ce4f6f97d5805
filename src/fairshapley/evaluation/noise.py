"""Random utilities: every evaluation is a new draw with a seed of its own.

A draw of a coalition is to the engines and the journal what a coalition is otherwise: its seed, 32
bits, is appended to the players. So the same seed gives the same bits, a journal holds each draw
with its seed, and a run that continues computes nothing twice.

v(∅) and v(N) have a part in every value. They are drawn again and again. A round takes them as
their first means; what their means have become since is put right in the values, which are linear
in both. A few coalitions of each round are drawn twice: they tell how large the noise is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, ByteArray, FloatArray, IntArray
from fairshapley.draws import Draw, ListedCoalitions
from fairshapley.randomness import draw_seeds
from fairshapley.semivalues import log_binomial

# Each of v(∅) and v(N) has one of 3·n draws, as have coalitions drawn twice. With a proxy, noise of
# variance σ² leaves some 6·σ² for each evaluation in a value, and r draws of v(N) leave σ²/(n²·r):
# the sum is least where r is one of 2.4·n draws, and of more for methods that leave more noise.
EVALUATIONS_PER_REPEAT = 3
FIRST_ENDS = 2
# Small budgets have more coalitions drawn twice: from three, the variance of the noise was a sixth
# of the true one in one run of eight, and a model took the rest for the game.
FIRST_TWINS, SHARE_OF_TWINS = 8, 12
# An end that gave the same number this many times is taken to be a constant: it is not drawn again.
CONSTANT_AFTER = 4


@dataclass
class Spread:
    """Count, mean and squared deviations of some numbers."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, values: Sequence[float] | FloatArray) -> None:
        """Fold in more of them, but for NaN."""
        for value in values:
            if value == value:
                self.count += 1
                off = float(value) - self.mean
                self.mean += off / self.count
                self.squares += off * (float(value) - self.mean)

    @property
    def variance(self) -> float:
        """The variance of a number; NaN below two numbers."""
        return self.squares / (self.count - 1) if self.count > 1 else np.nan

    @property
    def wants_more(self) -> bool:
        """Whether further draws may tell something."""
        return self.count < CONSTANT_AFTER or self.squares > 0


@dataclass(frozen=True, eq=False)
class RepeatedDraw:
    """A round with further draws behind it: of v(∅), of v(N), and of some of its coalitions."""

    inner: Draw
    more: BoolArray
    """∅ and N, repeated as `ends` says, then the coalitions of the rows `twins`"""
    ends: tuple[int, int] = (0, 0)
    twins: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def marginals(self) -> int | None:
        """The marginals of the round."""
        return self.inner.marginals

    def __len__(self) -> int:
        return len(self.inner) + len(self.more)

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1."""
        own = len(self.inner)
        if stop <= own:
            return self.inner.masks(start, stop)
        more = self.more[max(0, start - own) : stop - own]
        return more if start >= own else np.concatenate([self.inner.masks(start, own), more])


def noise_left(weights: FloatArray) -> float:
    """Return the variance of the value of noise of variance 1, drawn once for each coalition.

    Examples
    --------
    >>> round(noise_left(np.array([0.5, 0.5])), 6)
    1.0
    """
    counts = np.exp(log_binomial(len(weights) - 1, np.arange(float(len(weights)))))
    return 2.0 * float(counts @ np.square(weights))


class Noise:
    """The draws of a run: their seeds, and how much they vary.

    Parameters
    ----------
    n_players, n_active
        The players, and those that matter.
    same_seed
        Whether draws that belong together, in a walk or a pair, have one seed.
    """

    def __init__(self, n_players: int, n_active: int, *, same_seed: bool = False) -> None:
        self.n_players, self.n_active, self.same_seed = n_players, n_active, same_seed
        self.begin(0, np.zeros(1))

    def begin(self, seed: int, weights: FloatArray) -> None:
        """Start anew, with nothing drawn yet.

        A value is a sum over coalitions without its player, each with the weight of its size.
        """
        self._seed, self._drawn = seed, 0
        self._weights = (-float(weights[0]), float(weights[-1]))
        self.ends = (Spread(), Spread())
        self.known: tuple[float, float] | None = None
        """What v(∅) and v(N) are in the rounds"""
        self.twins = 0
        """Coalitions drawn twice"""
        self._apart = 0.0
        """Half of the squared difference of both draws, added up"""

    def first(self) -> ListedCoalitions:
        """Return the draws of v(∅) and v(N) that a run begins with."""
        masks = np.zeros((2 * FIRST_ENDS, self.n_players), dtype=bool)
        masks[FIRST_ENDS:] = True
        return ListedCoalitions.of(masks)

    def take_first(self, values: FloatArray) -> tuple[float, float]:
        """Take the first draws of the ends; return both ends as the rounds take them."""
        for end, drawn in zip(self.ends, values.reshape(2, FIRST_ENDS), strict=True):
            end.add(drawn)
        self._drawn += len(values)
        self.known = (self.ends[0].mean, self.ends[1].mean)
        return self.known

    def with_repeats(self, draw: Draw, evaluations: int, *, whole: bool = True) -> RepeatedDraw:
        """Return a round with the repeats that are due after this number of evaluations.

        A round that the budget cuts gets none: a longer run draws the rest of it in their place.
        """
        if not whole:
            return RepeatedDraw(draw, np.zeros((0, self.n_players), dtype=bool))
        total = evaluations + len(draw)
        due = total // (EVALUATIONS_PER_REPEAT * self.n_active)
        twins = max(due, min(FIRST_TWINS, total // SHARE_OF_TWINS))
        wanted = [due if end.wants_more else 0 for end in self.ends]
        empties, fulls = (
            max(0, most - end.count) for most, end in zip(wanted, self.ends, strict=True)
        )
        count = min(max(0, twins - self.twins), len(draw))
        # Evenly over the round, and not always the same ones.
        rows = (self._drawn + np.arange(count) * len(draw) // max(count, 1)) % max(len(draw), 1)
        rows = np.unique(rows)
        ends = np.repeat([[False], [True]], (empties, fulls), axis=0).repeat(self.n_players, axis=1)
        again = [draw.masks(row, row + 1) for row in rows.tolist()]
        return RepeatedDraw(draw, np.concatenate([ends, *again]), (empties, fulls), rows)

    def seeded(self, draw: Draw, start: int, packed: ByteArray) -> tuple[ByteArray, FloatArray]:
        """Return coalitions with their seeds, and what is known: v(∅) and v(N) are, in a round."""
        places = np.arange(start, start + len(packed))
        own = draw.inner if isinstance(draw, RepeatedDraw) else draw
        if self.same_seed:
            length = getattr(own, "unit_length", 1)
            places = np.where(places < len(own), places // length * length, places)
        seeds = draw_seeds(self._seed, self._drawn + places)[:, None].view(np.uint8)
        known = np.full(len(packed), np.nan)
        if self.known is not None:
            sizes, inside = bits.sizes(packed), places < len(own)
            known[inside & (sizes == 0)], known[inside & (sizes == self.n_active)] = self.known
        return np.concatenate([packed, seeds], axis=1), known

    def average_repeats(self, draw: RepeatedDraw, values: FloatArray) -> FloatArray:
        """Return the utilities of a round; what was drawn twice is the mean of both."""
        own, (empties, fulls) = len(draw.inner), draw.ends
        told = values[:own].copy()
        self.ends[0].add(values[own : own + empties])
        self.ends[1].add(values[own + empties : own + empties + fulls])
        second = values[own + empties + fulls :]
        sizes = draw.more[empties + fulls :, : self.n_active].sum(axis=1)
        inside = (sizes > 0) & (sizes < self.n_active)
        rows = draw.twins[inside]
        apart = 0.5 * np.square(told[rows] - second[inside])
        self.twins += int((~np.isnan(apart)).sum())
        self._apart += float(np.nansum(apart))
        if not self.same_seed:  # a mean of two seeds would differ from the rest of its walk
            told[rows] = 0.5 * (told[rows] + second[inside])
        self._drawn += len(draw)
        return told

    @property
    def variance(self) -> float:
        """The variance of a draw, from coalitions drawn twice; before that from both ends."""
        squares = self._apart if self.twins else sum(end.squares for end in self.ends)
        return squares / self.freedom if self.freedom else np.nan

    @property
    def freedom(self) -> int:
        """The degrees of freedom of that variance."""
        return self.twins or sum(max(0, end.count - 1) for end in self.ends)

    def correction(self) -> tuple[float, float]:
        """Return what the ends add to a value, and to its variance."""
        shift = variance = 0.0
        for end, known, weight in zip(self.ends, self.known or (), self._weights, strict=False):
            shift += weight * (end.mean - known)
            variance += weight**2 * end.variance / end.count
        return shift, variance

    def remarks(self) -> Iterator[str]:
        """Say how large the noise is."""
        if math.isnan(self.variance):
            return
        empty, full = self.ends
        yield (
            f"the utility is random: a single draw has a standard deviation of "
            f"{math.sqrt(self.variance):.3g}; v(∅) was drawn {empty.count:,} times, v(N) "
            f"{full.count:,} times"
        )
        if self.variance == 0.0 and self.twins >= CONSTANT_AFTER:
            yield (
                f"{self.twins:,} coalitions drawn twice gave the same number both times: without "
                "random=True no coalition would be evaluated twice"
            )
