"""The regression-adjusted estimator: pairs, a cross-fitted proxy, sizes where the variance is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.draws import Draw
from fairshapley.estimators.adjusted.adjustment import ProxyOption
from fairshapley.estimators.adjusted.schedule import Schedule
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.adjusted.stored_units import StoredUnits
from fairshapley.estimators.adjusted.streaming import MAX_KEPT, DeviceStream, Stream
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.pooling import Pooling
from fairshapley.estimators.rounds import DEVICE_FIRST, DEVICE_ROUNDS


@dataclass(eq=False)
class AdjustedState:
    """The schedule that the run takes now; pairs may give way to single coalitions."""

    schedule: Schedule[Any]


@dataclass(frozen=True, kw_only=True)
class RegressionAdjusted(Estimator[AdjustedState, Draw]):
    """Regression-adjusted sampling: every evaluation serves every player, at little variance.

    1. *Units.* A coalition S with its complement is one unit: for Shapley, Banzhaf and any other
       semivalue with α_k = α_{n−1−k} only v(S) − v(N ∖ S) counts in it, and what v(S) and
       v(N ∖ S) have in common cancels. It costs two evaluations, one of them at a size where the
       utility may hardly vary. So each time the sizes are planned, the residuals tell whether
       single coalitions would now have the smaller variance at the same cost; from then on they
       are the units. For other semivalues, such as Beta(16, 1), they are from the start.
    2. *Proxy.* Only what a cheap model g does not explain is estimated by sampling; the values of
       g are known in closed form. For pairs of up to 200 players g is a stack of Gaussian
       processes, from linear to rough (`stacked_proxy.py`), and of boosted trees where these
       foresee more (`boosted_trees.py`); else it is linear in the players with coefficients that
       vary with the size (`linear_proxy.py`). All is learnt from the units.
    3. *Cross-fitting.* A unit's residual never uses a proxy that saw it (`adjustment.py`), so
       that the contributions y_t have the value as their mean whatever the proxy.
    4. *Sizes.* How often a size is drawn follows the spread of the residuals there. The plan is
       made anew each time the number of units has doubled; every unit keeps the weight with which
       it was drawn, and the mean is a plain one.
    5. *Border sizes* with few coalitions are enumerated, once sampling would have met each of
       them about once. That depends on the number of units told, not on their values.

    The estimate is the mean of y_t, its standard error √(Σ(y_t − ȳ)²/(M(M − 1))), enlarged for
    units that train each other's proxies. One dependence remains, of order 1/M against an error
    of order 1/√M: a unit's value has a part in the later plans, by which units that fit its proxy
    are drawn. It does not show in thousands of repeated runs (see the laws in the tests).

    The state keeps the units, and what proxies leave of them: n/8 + 36 bytes for each. On more than
    16 384 players, and where the game computes on a device, it keeps none: the
    proxy that judges a unit is learnt from the units before it (`streaming.py`), pairs stay pairs,
    and no size is enumerated.

    Parameters
    ----------
    proxy
        "auto": processes and trees for pairs of up to 200 players, else linear. "linear": an
        estimate from a thousand units then takes milliseconds instead of half a second, which
        counts when utilities take microseconds. "none": plain pairs.
    pool
        Whether players that the game declares identical (`identical_players`) share the mean of
        their contributions: they get one value, as axiom A2 asks, with a smaller error. Where units
        are not kept, that error is the mean of the players' errors.
    model
        Whether a model of the game (`game_model.py`) has a say in Shapley values of 4 to 200
        players: the values are then a mean of what it makes of the first units and of the adjusted
        contributions, weighted by how far the two are apart (`blend.py`). It is far more accurate
        from few units, and as units grow the contributions take over by themselves. Single players
        are evaluated early, unless the game seems not to tell them apart. What is certified or
        decided rests on the contributions alone. ``method="auto"`` sets this.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.estimators.adjusted.regression_adjusted import RegressionAdjusted
    >>> game = fs.games.SumOfUnanimity(20, seed=1)
    >>> result = fs.estimate(game, RegressionAdjusted(), budget=1000, seed=0)
    >>> bool(np.abs(result.values - game.shapley_values).max() < 0.1)
    True
    """

    name = "adjusted"
    checkpoint_growth = 8.0

    proxy: ProxyOption = "auto"
    pool: bool = True
    model: bool = False

    _max_kept: ClassVar[int] = MAX_KEPT

    def __post_init__(self) -> None:
        checks.choice("proxy", self.proxy, ("auto", "linear", "none"))
        pool, model = checks.flag("pool", self.pool), checks.flag("model", self.model)
        checks.set_fields(self, pool=pool, model=model)

    @property
    def traits(self) -> Traits:
        """Unbiased and efficient; a proxy is fitted to the values, so that it is not linear.

        What a model says of few units is biased, as far as the game is not like the model.
        """
        return Traits(
            linear=False,
            exact_nulls=False,
            iid=False,
            unbiased=not self.model,
            honest_errors=not self.model,
        )

    @property
    def pools(self) -> bool:
        """As asked for."""
        return self.pool

    @property
    def min_device_budget(self) -> int | None:
        """Some rounds; below, the units are better kept."""
        return DEVICE_ROUNDS * DEVICE_FIRST

    def start(self, problem: Problem) -> AdjustedState:
        """Nothing told; a very large game streams its units."""
        weights = SizeWeights.of(problem.semivalue, problem.n_players, problem.prices)
        if problem.device is not None:
            return AdjustedState(DeviceStream(problem, self.proxy, weights))
        if problem.n_players > self._max_kept:
            return AdjustedState(Stream(problem, self.proxy, weights))
        pooling = Pooling.of(problem) if self.pool and problem.identical else None
        schedule = StoredUnits.begin(problem, self.proxy, weights, pooling, model=self.model)
        return AdjustedState(schedule)

    def ask(self, state: AdjustedState, rng: np.random.Generator) -> Draw | None:
        """A part of a size that is due to be enumerated, else units drawn by the current plan."""
        return state.schedule.ask(rng)

    def tell(self, state: AdjustedState, draw: Draw, values: FloatArray) -> None:
        """Fold in the units; a plan may replace pairs by single coalitions."""
        state.schedule = state.schedule.tell(draw, values)

    def estimate(self, state: AdjustedState) -> Estimate:
        """The mean of the adjusted contributions; exact when every size was enumerated."""
        return state.schedule.estimate()

    def noise_share(self, state: AdjustedState) -> float | None:
        """What units leave of noise; not known of a model."""
        return state.schedule.noise_share()

    def remarks(self, state: AdjustedState) -> tuple[str, ...]:
        """Proxies that could not be computed."""
        return state.schedule.remarks()
