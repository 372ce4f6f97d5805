"""Draws whose coalitions never leave the device: columns of a boolean tensor of torch.

A coalition is a column, (players, coalitions), as the vectorised learners take sets of rows. The
rows of `masks` are made on request, for a game that computes on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws.coalitions import AllCoalitions, Draw
from fairshapley.randomness import device_generator
from fairshapley.semivalues import log_binomial

if TYPE_CHECKING:
    from typing import Self

# A tensor of torch, which is not a dependency.
Tensor: TypeAlias = Any

# Random numbers made, or memberships turned into numbers, at a time: 512 MiB in single precision.
BLOCK_ENTRIES = 1 << 27
# Probabilities are whole multiples of this, as the random numbers that they are compared with.
PROBABILITY_STEP = 2.0**-24
# Points of the grid of probabilities. In the angle arcsin √p they are 0.003 apart, a fortieth of
# the width over which plans of sizes are smooth.
MAX_LEVELS = 512


@runtime_checkable
class DeviceDraw(Draw, Protocol):
    """A draw that also gives its coalitions as columns on a device."""

    def columns(self, start: int, stop: int) -> Tensor:
        """Return the coalitions `start` … `stop` − 1, boolean (players, coalitions)."""
        ...


def host_rows(columns: Tensor) -> BoolArray:
    """Return columns on a device as rows of numpy."""
    return np.ascontiguousarray(columns.T.cpu().numpy())


class SizeLaw:
    """How often sizes come when every player is in with probability p, and p is drawn itself.

    Given its size, such a coalition is uniform: no shuffling is needed, and the law of the size is
    a mixture of binomials. An empty coalition gets a random member, and a full one loses one.

    Parameters
    ----------
    n_players
        The number of players, at least 2.

    Examples
    --------
    >>> law = SizeLaw(4).near(np.array([0.5, 0.0, 0.5]))
    >>> law.sizes.round(3)
    array([0.395, 0.211, 0.395])
    """

    def __init__(self, n_players: int) -> None:
        self.n_players = n_players
        count = min(n_players - 1, MAX_LEVELS)
        low = np.arcsin(np.sqrt(1.0 / n_players))
        self._angles = np.linspace(low, 0.5 * np.pi - low, count)
        levels = np.square(np.sin(self._angles))
        self.levels: FloatArray = np.round(levels / PROBABILITY_STEP) * PROBABILITY_STEP
        sizes = np.arange(n_players + 1.0)
        odds = np.log(self.levels)[:, None] * sizes
        odds += np.log1p(-self.levels)[:, None] * (n_players - sizes)
        whole = np.exp(odds + log_binomial(n_players, sizes))
        self._binomials: FloatArray = whole[:, 1:-1].copy()
        self._binomials[:, 0] += whole[:, 0]
        self._binomials[:, -1] += whole[:, -1]
        self.shares: FloatArray = np.full(count, 1.0 / count)
        """How often each level comes"""

    def near(self, plan: FloatArray) -> Self:
        """Mix the levels so that the sizes 1 … n − 1 come about as often as planned."""
        angles = np.arcsin(np.sqrt(np.arange(1.0, self.n_players) / self.n_players))
        place = np.interp(angles, self._angles, np.arange(len(self._angles), dtype=np.float64))
        below = np.minimum(place.astype(np.int64), max(len(self._angles) - 2, 0))
        part = place - below
        shares = np.bincount(below, (1.0 - part) * plan, len(self._angles))
        above = np.minimum(below + 1, len(self._angles) - 1)
        more = np.bincount(above, part * plan, len(self._angles))
        self.shares = np.asarray(shares + more, dtype=np.float64)
        return self

    @property
    def sizes(self) -> FloatArray:
        """The probabilities of the sizes 1 … n − 1."""
        return self.shares @ self._binomials


@dataclass(frozen=True, eq=False)
class DeviceUnits:
    """Coalitions drawn by a law of sizes; all are followed by their complements when paired."""

    units: Tensor
    """Boolean (players, units)"""
    unit_sizes: Tensor
    paired: bool

    marginals: ClassVar[None] = None

    @classmethod
    def draw(
        cls, rng: np.random.Generator, count: int, law: SizeLaw, device: str, *, paired: bool
    ) -> DeviceUnits:
        """Draw `count` units."""
        import torch

        random, n_players = device_generator(rng, device), law.n_players
        options = {"device": device, "generator": random}
        bounds = torch.as_tensor(np.cumsum(law.shares[:-1]), device=device)
        level = torch.bucketize(torch.rand(count, dtype=torch.float64, **options), bounds)
        chances = torch.as_tensor(law.levels, dtype=torch.float32, device=device)[level]
        units = torch.empty((n_players, count), dtype=torch.bool, device=device)
        step = max(1, BLOCK_ENTRIES // n_players)
        for start in range(0, count, step):
            part = slice(start, start + step)
            width = units[:, part].shape[1]
            torch.lt(torch.rand((n_players, width), **options), chances[part], out=units[:, part])
        drawn = units.sum(dim=0)
        sizes = drawn.clamp(1, n_players - 1)
        player = torch.randint(n_players, (count,), **options)
        units[player, torch.arange(count, device=device)] ^= drawn != sizes
        return cls(units, sizes, paired)

    def __len__(self) -> int:
        return int(self.units.shape[1]) * (2 if self.paired else 1)

    def cut(self, coalitions: int) -> DeviceUnits | None:
        """Return the first units, up to a number of coalitions."""
        count = coalitions // (2 if self.paired else 1)
        if not count:
            return None
        return DeviceUnits(self.units[:, :count], self.unit_sizes[:count], self.paired)

    def columns(self, start: int, stop: int) -> Tensor:
        """Return the coalitions `start` … `stop` − 1: all units first, then complements."""
        import torch

        count = self.units.shape[1]
        first = self.units[:, min(start, count) : min(stop, count)]
        if stop <= count:
            return first
        return torch.cat([first, ~self.units[:, max(start - count, 0) : stop - count]], dim=1)

    def masks(self, start: int, stop: int) -> BoolArray:
        """Return the coalitions `start` … `stop` − 1, as rows on the host."""
        return host_rows(self.columns(start, stop))


@dataclass(frozen=True)
class DeviceCoalitions(AllCoalitions):
    """Every coalition of a small game, or a block, made on a device."""

    device: str = "cpu"

    def columns(self, start: int, stop: int) -> Tensor:
        """Return the coalitions `start` … `stop` − 1."""
        import torch

        codes = torch.arange(self.first + start, self.first + stop, device=self.device)
        players = torch.arange(self.n_players, device=self.device)
        return (codes >> players[:, None] & 1).bool()
