"""Games that are nobody's idea of a game, with their Shapley values, and what a run of them owes.

Real data come close to all of them: an accuracy with four decimals is integer-valued, a rare class
makes all utilities equal but for a few, and one supplier may have all the rows of a class.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

import fairshapley as fs
from fairshapley.estimators.exact import exact_values
from fairshapley.fairness.guarantees import lower_fidelity
from fairshapley.fairness.tails import all_equal
from fairshapley.semivalues import parse_semivalue


@dataclass(frozen=True, eq=False)
class Degenerate:
    """A utility of the masks, times a scale; `shapley` are its values at scale 1."""

    n_players: int
    utility: Callable[[np.ndarray], np.ndarray]
    shapley: np.ndarray
    scale: float = 1.0
    identical_players: tuple[tuple[int, int], ...] = ()
    nulls: int = 0
    """So many players at the end are declared null"""

    @property
    def n_active(self) -> int:
        return self.n_players - self.nulls

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        return self.scale * np.asarray(self.utility(masks), dtype=np.float64)

    def values(self, semivalue: str) -> np.ndarray | None:
        """The values where they are known."""
        if semivalue == "shapley":
            return self.scale * self.shapley
        if self.n_players > 10:
            return None
        members = np.arange(1 << self.n_players)[:, None] >> np.arange(self.n_players)
        return exact_values(self((members & 1).astype(bool)), parse_semivalue(semivalue))


def constant(n: int) -> Degenerate:
    return Degenerate(n, lambda masks: np.full(len(masks), 3.0), np.zeros(n))


def zero(n: int) -> Degenerate:
    return Degenerate(n, lambda masks: np.zeros(len(masks)), np.zeros(n))


def one_coalition(n: int) -> Degenerate:
    """1 for the first half of the players alone."""
    size = max(1, n // 2)
    only = np.arange(n) < size
    inside = 1.0 / (size * math.comb(n, size))
    outside = 1.0 / ((n - size) * math.comb(n, size)) if n > size else 0.0
    phi = np.where(only, inside, -outside)
    return Degenerate(n, lambda masks: (masks == only).all(axis=1), phi)


def single(n: int) -> Degenerate:
    """1 for the last player alone."""
    phi = np.full(n, -1.0 / (n * max(n - 1, 1)))
    phi[-1] = 1.0 / n
    return Degenerate(n, lambda masks: masks[:, -1] & (masks.sum(axis=1) == 1), phi)


def step(n: int, size: int) -> Degenerate:
    return Degenerate(n, lambda masks: masks.sum(axis=1) >= size, np.full(n, 1.0 / n))


def decides(n: int) -> Degenerate:
    """The first player gets everything; the others are null, and nobody says so."""
    return Degenerate(n, lambda masks: masks[:, 0], np.eye(n)[0])


def vetoes(n: int) -> Degenerate:
    """Nothing without the first player, and nothing without any other."""
    phi = np.full(n, 1.0 / (n * max(n - 1, 1)))
    phi[0] = 1.0 - 1.0 / n if n > 1 else 0.0
    return Degenerate(n, lambda masks: masks[:, 0] & (masks.sum(axis=1) > 1), phi)


def additive(n: int) -> Degenerate:
    return Degenerate(n, lambda masks: masks.sum(axis=1), np.ones(n))


def rounded(n: int) -> Degenerate:
    """Additive but for rounding, far above 0."""
    parts = np.linspace(-0.1, 0.7, n)
    return Degenerate(n, lambda masks: 1e4 + masks @ parts, parts)


def whole_numbers(n: int) -> Degenerate:
    return Degenerate(n, lambda masks: masks.sum(axis=1) ** 2, np.full(n, float(n)))


def parity(n: int) -> Degenerate:
    return Degenerate(n, lambda masks: masks.sum(axis=1) % 2, np.full(n, n % 2 / n))


def duplicates(n: int) -> Degenerate:
    """A maximum over players of which each is there twice, and says so."""
    heights = np.arange(n) // 2 + 1.0
    # Airport: the k-th step is shared by all who reach it.
    reach = np.array([(heights >= level).sum() for level in range(1, int(heights[-1]) + 1)])
    phi = np.array([(1.0 / reach[: int(height)]).sum() for height in heights])
    pairs = tuple((at, at + 1) for at in range(0, n - 1, 2))
    return Degenerate(n, lambda masks: (masks * heights).max(axis=1), phi, identical_players=pairs)


def nulls(n: int) -> Degenerate:
    """The last half of the players are null, and are declared so."""
    active = max(1, n // 2)
    phi = np.where(np.arange(n) < active, 1.0 / active, 0.0)
    return Degenerate(n, lambda masks: masks[:, :active].any(axis=1), phi, nulls=n - active)


FAMILIES: dict[str, Callable[[int], Degenerate]] = {
    "constant": constant,
    "zero": zero,
    "one coalition": one_coalition,
    "single": single,
    "step 1": lambda n: step(n, 1),
    "step 2": lambda n: step(n, min(2, n)),
    "step half": lambda n: step(n, (n + 1) // 2),
    "step all": lambda n: step(n, n),
    "decides": decides,
    "vetoes": vetoes,
    "additive": additive,
    "rounded": rounded,
    "whole numbers": whole_numbers,
    "parity": parity,
    "duplicates": duplicates,
    "nulls": nulls,
}


# What is seen once in a hundred runs, or never, has no error to speak of.
RARE = {"one coalition", "single"}
# A value may be so many standard errors off (of Student's t) with this probability; the few 10⁵
# values that are looked at give a false alarm once in a thousand times, and seeds are fixed.
FALSE_ALARM = 1e-8
# Fewer contributions of 0 and 1 are too far from normal, and equal ones have no spread: a
# certificate warns of the first and refuses the second.
FEWEST = 30


def check(
    result: fs.Result, game: Degenerate, family: str, *, efficient: bool, honest: bool
) -> None:
    """A result is finite, right where the values are known, and can be used in every way."""
    values, errors, semivalue = result.values, result.standard_errors, result.semivalue
    assert np.isfinite(values).all()
    assert not np.isinf(errors).any()
    ends = game(np.array([[False] * game.n_players, [True] * game.n_players]))
    rounding = 1e-9 * (float(np.abs(ends).max()) + game.scale)
    if efficient and semivalue == "shapley":
        assert abs(values.sum() - (ends[1] - ends[0])) <= rounding
    truth = game.values(semivalue)
    if truth is not None:
        off = np.abs(values - truth)
        if result.exact:
            assert (off <= rounding).all()
        elif honest and family not in RARE:
            known = ~np.isnan(errors) & (result.counts >= FEWEST) & ~all_equal(result.evidence)
            # What one player has not met yet shows in the errors of the others.
            largest = errors[known].max(initial=0.0)
            reach = -stdtrit(np.maximum(result.counts - 1, 1), FALSE_ALARM / 2) * largest
            assert (off <= reach + rounding)[known].all()
    assert str(result)
    cautious = lower_fidelity(values, result.evidence.variances, result.xi)
    assert not (result.fidelity() < 0).any()
    assert not (cautious < 0).any()
    again = fs.Result.from_dict(result.to_dict())
    np.testing.assert_array_equal(again.values, values)
    for statement in (result.certificate, result.guarantee):
        with contextlib.suppress(fs.FairShapleyError):  # no variance is known yet
            assert str(statement(0.5, 0.1) if statement == result.certificate else statement(0.5))
