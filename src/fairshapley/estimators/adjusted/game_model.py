"""A model of the whole game, from few evaluations: Gaussian processes, weighted by foresight.

A process that has learnt from n to 20·n evaluations predicts the rest of a game better than a mean
over so few coalitions. None fits every game, so several are fitted, from simple to flexible
(`MEMBERS`), and weighted by how well each predicts coalitions that it has not seen. Three things
decide more than the rest:

- Whether v(N) − v(∅) tells something of the coalitions between. It does where utilities grow
  steadily, and misleads where v(∅) is a convention. So there are members of both kinds.
- Whether players differ in how much they matter.
- Whether what a player is worth alone tells something of larger coalitions. A score of clusters on
  one feature was 10³⁵ times that on more of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley._basics.threads import one_thread
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.estimators.adjusted.process import (
    PRECISION,
    PRIOR_MEANS,
    STARTS,
    Noise,
    Observations,
    Prior,
    Process,
    search,
    start_at,
)

FEWEST_UNITS = 4
# Parameters are searched on this many units, the process then takes all.
SEARCH_UNITS = 192
# Steps of the search on every third of these units, and then on all. 25 steps on all take twice as
# long; errors on five games were 0.85 to 1.1 times as large.
QUICK_SHARE, QUICK_PASSES, LAST_PASSES = 3, 10, 4


@dataclass(frozen=True, eq=False)
class Member:
    """One kind of process."""

    prior: Prior
    ends: bool
    """Whether it is told v(N) − v(∅)"""
    singles: bool = True
    """Whether it is told of single players; else they count for themselves alone, and it needs a
    unit for each player beside them"""
    after: int | None = None
    """The member whose parameters the search starts from"""
    flexible: bool = False
    """Whether it has so many parameters that it predicts what it was fitted to too well, even
    coalitions that are left out one by one"""


EQUAL, ONE, SOME = Prior(0.0, players=False), Prior(0.0), Prior(0.5)
BOUND_ONE, BOUND_SOME = Prior(0.0, offsets=False), Prior(0.5, offsets=False)
SIZES, ANY = Prior(0.5, slopes=True), Prior(1.5)
MEMBERS = (
    Member(EQUAL, ends=False),
    Member(ONE, ends=False),
    Member(BOUND_ONE, ends=True),
    Member(SOME, ends=False, after=1),
    Member(BOUND_SOME, ends=True, after=2),
    Member(SIZES, ends=False, after=3, flexible=True),
    Member(ANY, ends=False, after=3, flexible=True),
    Member(ONE, ends=False, singles=False),
)
ALL = tuple(range(len(MEMBERS)))
# Flexible members are compared with this one; it and they need those that come before.
PLAIN, FLEXIBLE = 3, (1, 3, 5, 6)
# So much less the logarithm of the weight is, a factor of e², of a flexible member, and of one
# that is not told of single players: few coalitions then judge it.
DOUBT = 2.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """Shapley values less their mean over the players, with the variances of the model."""

    values: FloatArray
    variances: FloatArray
    weights: FloatArray
    """Of the members"""

    @property
    def tells_players_apart(self) -> bool:
        """Whether the members that do have most of the weight."""
        return bool(self.weights[0] < 0.5)


@one_thread()
def fit_posterior(
    masks: BoolArray,
    gains: FloatArray,
    span: float,
    noise: Noise | None = None,
) -> Posterior:
    """The values that a model of the game gives.

    Where no member can be fitted, from fewer than four units or from gains that are all 0, players
    share alike, and the variances are not known.

    Parameters
    ----------
    masks, gains
        Coalitions and half of v(S) − v(N ∖ S).
    span
        Half of v(N) − v(∅).
    noise
        What the variance of a gain's noise is at least and at most, where utilities are random:
        then a coalition that was drawn again counts again.

    Examples
    --------
    >>> worth = np.array([1.0, 2.0, 3.0, 6.0])
    >>> masks = np.random.default_rng(0).random((12, 4)) < 0.5
    >>> posterior = fit_posterior(masks, masks @ worth - 6.0, 6.0)
    >>> (posterior.values + 3.0).round(2)
    array([1., 2., 3., 6.])
    """
    members, gains = _distinct(masks, gains) if noise is None else (masks.astype(float), gains)
    unit, n_players = float(np.abs(gains).max(initial=0.0)), masks.shape[1]
    equal = Posterior(np.zeros(n_players), np.full(n_players, np.nan), np.eye(len(MEMBERS))[0])
    if len(gains) < FEWEST_UNITS or unit == 0.0:
        return equal
    least, most = noise or (0.0, 0.0)
    sample = _Sample(members, gains / unit, span / unit, (least / unit**2, most / unit**2))
    with np.errstate(all="ignore"):
        fitted = sample.fit(np.arange(len(gains)))
        marks = sample.marks(fitted)
    if marks.max() == -np.inf:
        return equal
    weights = np.exp(marks - marks.max())
    weights /= weights.sum()
    means, spreads = np.zeros((2, len(MEMBERS), n_players))
    for place, process in enumerate(fitted):
        if process is not None and (weights[place] > 0 or place == 1):
            singles = None if MEMBERS[place].singles else sample.singles
            means[place], spreads[place] = process.values(singles)
    # That differences cannot be seen does not say that there are none: how large they may be, the
    # next simplest member knows.
    spreads[0] = spreads[1]
    mean = weights @ means
    spread = weights @ (spreads + np.square(means - mean))
    if noise is not None:  # the parameters were fitted to the same gains
        spread *= len(gains) / max(len(gains) - len(PRIOR_MEANS), 1)
    if not np.isfinite(mean).all() or not np.isfinite(spread).all():
        return equal
    return Posterior(unit * mean, unit**2 * np.maximum(spread, PRECISION**2), weights)


def _distinct(masks: BoolArray, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each coalition or its complement once, in the order in which they came."""
    turned = ~masks[:, 0]
    masks, gains = masks ^ turned[:, None], np.where(turned, -gains, gains)
    _, first = np.unique(masks, axis=0, return_index=True)
    first = np.sort(first)
    return masks[first].astype(np.float64), gains[first]


class _Sample:
    """The coalitions that members are fitted to and judged by."""

    def __init__(
        self,
        masks: FloatArray,
        gains: FloatArray,
        span: float,
        noise: Noise = (0.0, 0.0),
    ) -> None:
        self.masks, self.gains, self.span = masks, gains, span
        self.noise = noise
        size = masks.sum(axis=1)
        size = np.minimum(size, masks.shape[1] - size)
        # Not single players: all of them may be known, and nothing is left to predict there.
        self.judged = size > 1 if (size > 1).any() else size > 0
        self.singles = Observations(masks[~self.judged], gains[~self.judged])

    def fit(self, rows: IntArray, wanted: tuple[int, ...] = ALL) -> list[Process | None]:
        """The wanted members on these rows; None where one cannot be fitted."""
        masks, gains = self.masks[rows], self.gains[rows]
        inner = Observations(masks, gains)
        ends = np.ones_like(masks[:1])
        whole = Observations(np.concatenate([ends, masks]), np.append(self.span, gains))
        found: list[Process | None] = []
        for place, member in enumerate(MEMBERS):
            if place not in wanted:
                found.append(None)
                continue
            seen = whole if member.ends else inner
            if not member.singles:
                between = self.judged[rows]
                if between.all() or between.sum() < masks.shape[1] or self.noise[1]:
                    found.append(None)
                    continue
                seen = Observations(masks[between], gains[between])
            known = None if member.after is None else found[member.after]
            starts = [start_at(rate) for rate in STARTS] if known is None else [known.at]
            try:
                some = seen.some(slice(SEARCH_UNITS))
                few = some.some(slice(None, None, QUICK_SHARE))
                starts = [search(few, member.prior, starts, QUICK_PASSES)]
                at = search(some, member.prior, starts, LAST_PASSES)
                found.append(Process(seen, member.prior, at, self.noise))
            except np.linalg.LinAlgError:
                found.append(None)
        return found

    def marks(self, fitted: list[Process | None]) -> FloatArray:
        """The logarithms of the members' weights, from how well they predict coalitions.

        Coalitions are left out one by one. Flexible members have to show more: what half of the
        coalitions teaches them of the other half, against what it teaches the plain one.
        """
        marks = np.full(len(MEMBERS), -np.inf)
        for place, (member, process) in enumerate(zip(MEMBERS, fitted, strict=True)):
            if process is not None and not member.flexible:
                errors = process.left_out[1:] if member.ends else process.left_out
                judged = errors[self.judged] if member.singles else errors
                marks[place] = _mark(np.square(judged)) - DOUBT * (not member.singles)
        halves = self._halves()
        for place, member in enumerate(MEMBERS):
            if member.flexible and fitted[place] is not None:
                marks[place] = marks[PLAIN] + halves[place] - halves[PLAIN] - DOUBT
        return np.where(np.isnan(marks), -np.inf, marks)

    def _halves(self) -> FloatArray:
        """How well each half of the coalitions predicts the other."""
        places = np.arange(len(self.gains))
        squares = np.zeros((len(MEMBERS), len(self.gains)))
        for half in (0, 1):
            own, other = places[places % 2 == half], places[places % 2 != half]
            for errors, process in zip(squares, self.fit(own, FLEXIBLE), strict=True):
                errors[other] = np.inf
                if process is not None:
                    missed = self.gains[other] - process.predict(self.masks[other])
                    errors[other] = np.square(missed)
        return np.array([_mark(one[self.judged]) for one in squares])


def _mark(squares: FloatArray) -> float:
    """The likelihood of normal errors with this mean square."""
    return float(-0.5 * len(squares) * np.log(squares.mean() + 1e-300))
