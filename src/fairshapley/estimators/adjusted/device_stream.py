"""The regression-adjusted estimator where the game computes on a device: units stay there.

It streams (`streaming.py`): a unit is judged by a proxy learnt from the units before it, teaches
the next one, and is forgotten. What is special here:

*Draws* come from a mixture of Bernoulli memberships (`SizeLaw`), whose law of sizes is as near to
the plan as binomials allow, and known exactly.

*Sums.* Whatever is the same for all coalitions of a size is a table of the sizes. So of a round
only three sums for each size and a few numbers for each player come to the host: products of the
memberships with two columns for the moments and one for each basis of the proxy.

*Bits.* Sums for each size are of whole numbers, so that their order does not count; products are
those of a matrix library. The same device, library and seed give the same bits; another device
draws other coalitions.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.draws.device import BLOCK_ENTRIES, DeviceUnits, SizeLaw, Tensor
from fairshapley.estimators.adjusted.adjustment import ProxyOption
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.streaming import Streaming
from fairshapley.estimators.estimator import Problem
from fairshapley.estimators.moments import sums_by_size
from fairshapley.estimators.rounds import DEVICE_FIRST, device_units


class DeviceStream(Streaming[DeviceUnits]):
    """Statistics on the device, decisions on the host.

    Parameters
    ----------
    problem, proxy, weights
        As for `Streaming`; the problem says on which device.
    """

    first_round: ClassVar[int] = DEVICE_FIRST

    def __init__(self, problem: Problem, proxy: ProxyOption, weights: SizeWeights) -> None:
        assert problem.device is not None  # noqa: S101 - asked before
        self.device = problem.device
        self.law = SizeLaw(problem.n_players)
        super().__init__(problem, proxy, weights, None)

    def _follow(self, plan: FloatArray) -> None:
        super()._follow(self.law.near(plan).sizes)

    def ask(self, rng: np.random.Generator) -> DeviceUnits:
        """Units drawn by the current plan."""
        paired = self.weights.paired
        each, n_players = 2 if paired else 1, self.problem.n_players
        count = device_units(self.told, n_players, each, self.first_round)
        return DeviceUnits.draw(rng, count, self.law, self.device, paired=paired)

    def tell(self, draw: DeviceUnits, values: Tensor) -> DeviceStream:
        """Let the units pass; plan the sizes anew when their number has doubled."""
        import torch

        gains = torch.as_tensor(values, dtype=torch.float64, device=self.device)
        units, sizes = draw.units, draw.unit_sizes
        if draw.paired:
            gains = 0.5 * (gains[: len(sizes)] - gains[len(sizes) :])
        if isinstance(values, np.ndarray) and np.isnan(values).any():  # skipped ones are left out
            kept = ~torch.isnan(gains)
            units, sizes, gains = units[:, kept], sizes[kept], gains[kept]
        if len(sizes):
            self._fold_in(units, sizes, gains)
        self._pass(int(draw.units.shape[1]))
        return self

    def _fold_in(self, units: Tensor, sizes: Tensor, gains: Tensor) -> None:
        """The sums of a round; every call of the device costs some 20 µs, so that they are few."""
        import torch

        learner, n_players = self.learner, self.problem.n_players
        slopes = learner.bases.slopes
        shared = [self.level + learner.curve, self.inside, self.outside, self.importance]
        tables = np.concatenate([shared, slopes])
        at = sizes - 1
        table = torch.as_tensor(tables, device=self.device)[:, at]
        residuals = gains - table[0]
        step = max(1, BLOCK_ENTRIES // n_players)
        blocks = [slice(start, start + step) for start in range(0, len(sizes), step)]
        if learner.slopes.any():
            columns = torch.as_tensor(2.0 * learner.slopes, device=self.device).float()
            for part in blocks:
                sums = columns @ units[:, part].float()
                residuals[part] -= (table[4:, part] * sums).sum(dim=0)
        both, weighted = table[1:3] * residuals, table[3] * residuals
        units_of = _powers_of_two(both, weighted)
        high, low = both / units_of[0]
        teaching = table[4:] * (2.0 * weighted / units_of[1])
        columns = torch.cat([torch.stack([high - low, high**2 - low**2]), teaching]).float()
        high, low = high.float(), low.float()
        products: list[Tensor] = []
        extremes: list[Tensor] = []
        for part in blocks:
            inner = units[:, part]
            products.append((columns[:, part] @ inner.float().T).double())
            extremes.extend(torch.aminmax(torch.where(inner, high[part], low[part]), dim=1))
        by_size = sums_by_size(at, residuals, n_players - 1)
        found = [*extremes, *products, by_size, units_of]
        host = torch.cat([one.reshape(-1) for one in found]).cpu().numpy()
        unit, taught = host[-2:]
        split, last = len(extremes) * n_players, -3 * n_players + 1
        edges = host[:split].reshape(-1, 2, n_players)
        added = host[split:last].reshape(len(blocks), -1, n_players).sum(axis=0)
        sums = host[last:-2].reshape(3, n_players - 1)
        extreme = np.stack([edges[:, 0].min(axis=0), edges[:, 1].max(axis=0)])
        self._deviates(unit * extreme, self._shift())
        self._add_moments(sums, unit * added[0], unit**2 * added[1])
        self._learn(sums, taught * added[2:])


def _powers_of_two(*numbers: Tensor) -> Tensor:
    """The powers of two just above the sizes of some tensors, without asking the device for them.

    Where all numbers are 0 it is 1.
    """
    import torch

    largest = torch.stack([one.abs().max() for one in numbers])
    return torch.ldexp(torch.ones_like(largest), torch.frexp(largest).exponent)
