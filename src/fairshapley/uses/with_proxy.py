"""Values of an expensive game with the help of a cheap one: φ(v) = φ(v − c·g) + c·φ(g)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.arguments import known_names
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import Draw
from fairshapley.errors import GameError, InputError
from fairshapley.estimators.adjusted.course import LEAST_PILOT
from fairshapley.estimators.adjusted.regression_adjusted import AdjustedState, RegressionAdjusted
from fairshapley.estimators.adjusted.size_plan import SizeWeights
from fairshapley.estimators.estimator import Estimate, Estimator, Problem, Traits
from fairshapley.estimators.exact import Exact
from fairshapley.evaluation.engines import EngineOption
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result
from fairshapley.runs.calls import default_evaluations, estimate, resolve_method, run_limits
from fairshapley.runs.progress import ProgressOption
from fairshapley.runs.setup import JournalOption, check_game
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget, parse_budget
from fairshapley.uses.nearest_neighbours import content_of

# With so many evaluations of the proxy for one of the game, c²·se_g² is a few percent of se².
PROXY_EVALUATIONS = 30
# Enough units to know c to a tenth; more would cost an eigendecomposition of that size.
MOST_PILOT = 512
# A coefficient within so many standard errors of 0 is not used, larger ones are shrunk little: a
# proxy that explains nothing (logistic regression for an SVC, n = 16) then costs up to 3 % in
# squared error, with half of that threshold and sizes ignored in the fit it was 11 %.
LEAST_SIGNIFICANCE = 2.0
# The variance of the linear part, in units of the rest: from next to nothing to nearly all.
LINEAR_SHARES = np.geomspace(1e-2, 1e3, 26)


@known_names
def estimate_with_proxy(
    game: Game,
    proxy: Game,
    *,
    budget: int | Budget | None = None,
    proxy_budget: int | Budget | None = None,
    proxy_values: Result | None = None,
    c: float | None = None,
    method: RegressionAdjusted | None = None,
    semivalue: str | Semivalue = "shapley",
    xi: float = 1e-3,
    seed: int | None = None,
    engine: EngineOption = None,
    journal: JournalOption = None,
    progress: ProgressOption = None,
) -> Result:
    """Estimate the values of an expensive game with a cheap one over the same players.

    Values are linear in the game: φ(v) = φ(v − c·g) + c·φ(g). The few evaluations of v are spent
    on v − c·g, which varies less where g resembles v; φ(g) comes from many evaluations of g, or
    from a formula. The method is "adjusted" (`RegressionAdjusted`), so that a proxy helps only by
    what is not linear in the players: for a learner with curved boundaries 1-NN or 3-NN does,
    logistic regression does not. A proxy that does not help gets a small c, mostly 0.

    Parameters
    ----------
    game
        The game to value, v.
    proxy
        The cheap game, g, with as many players; it is evaluated in this process, on every
        coalition that `game` is evaluated on, and for its own values.
    budget
        The most that may be spent on `game`, as in `estimate`. When all coalitions fit, the
        values are exact and the proxy is not needed.
    proxy_budget
        The most that may be spent on the values of the proxy; by default 30 times as much.
    proxy_values
        The values of the proxy, where they are known, e.g. ``fs.knn_shapley(…)``.
    c
        The coefficient of the proxy. By default it is learnt from the first coalitions, see Notes.
    method
        The adjusted method with other options, e.g. ``fs.RegressionAdjusted(proxy="linear")``.
    semivalue, xi, seed, engine, progress
        As in `estimate`.
    journal
        As in `estimate`: it keeps the utilities of `game`, shared with other runs of it.

    Returns
    -------
    Result
        `evaluations` are those of `game`; the notes say c and how often the proxy was evaluated.

    Notes
    -----
    The run for φ(g) has random numbers of its own, so that se² = se(v − c·g)² + c²·se(g)². A
    certificate takes the sum of both errors as normal, with the fewer contributions of the two.

    c is fitted to the first max(n, 32) units (at most 512), as the slope of v on g beside a random
    linear part. Their coalitions are those of any run with this seed, so that they serve
    the estimate as well. That c then depends on m of the M units averaged gives a bias of
    −(m/M)·cov(ĉ, x_g) = O(1/M), as one unit moves ĉ by O(1/m): a share O(1/√M) of the standard
    error, like that which the method's own plans have. With `c` given there is none.

    Examples
    --------
    >>> import fairshapley as fs
    >>> proxy = fs.games.SumOfUnanimity(12, seed=1)
    >>> other = fs.games.SumOfUnanimity(12, n_terms=3, seed=2)
    >>> game = fs.games.LinearCombination([proxy, other], [2.0, 0.1])
    >>> result = estimate_with_proxy(game, proxy, budget=200, seed=0)
    >>> alone = fs.estimate(game, budget=200, seed=0)
    >>> bool(result.standard_errors.max() < 0.5 * alone.standard_errors.max())
    True
    """
    limits, value_of = parse_budget(budget), parse_semivalue(semivalue)
    n_players = check_game(game)
    if check_game(proxy) != n_players:
        raise InputError(
            f"the proxy has {proxy.n_players} players, the game {n_players}: give a proxy over the "
            "same players, in the same order"
        )
    if c is not None:
        c = checks.real("c", c)
    # With a journal and no seed the run takes up a recorded one, provided that its configuration is
    # the same: then the proxy's values must be too.
    chosen_seed = root_seed(seed) if seed is not None or journal is None else None
    allowed, _ = run_limits(limits, None, n_players, "auto")
    n_active = int(getattr(game, "n_active", n_players))
    base = RegressionAdjusted() if method is None else method
    if not isinstance(base, RegressionAdjusted):
        raise InputError(
            f"method must be an fs.RegressionAdjusted(…), not {method!r:.40}: only for that one "
            "it was measured what a proxy gains"
        )
    chosen = resolve_method("auto", n_active, allowed, None, "raise")
    if not isinstance(chosen, Exact):
        if proxy_values is None:
            spent = parse_budget(proxy_budget) or _default(allowed, n_players)
            proxy_values = _value_proxy(proxy, base, spent, value_of, chosen_seed or 0)
        _check_values(proxy_values, n_players, value_of, chosen_seed)
        chosen = ProxyAdjusted(proxy=proxy, known=proxy_values, c=c, base=base)
    return estimate(
        game,
        chosen,
        budget=limits,
        semivalue=value_of,
        xi=xi,
        seed=chosen_seed,
        engine=engine,
        journal=journal,
        progress=progress,
    )


def _default(budget: Budget | None, n_players: int) -> Budget:
    """Many evaluations of the proxy for each of the game."""
    given = None if budget is None else budget.evaluations
    evaluations = given or default_evaluations(n_players)
    return Budget(evaluations=PROXY_EVALUATIONS * evaluations)


def _value_proxy(
    proxy: Game, base: RegressionAdjusted, budget: Budget, semivalue: Semivalue, seed: int
) -> Result:
    """The values of the proxy, drawn independently of those of the game."""
    own = int(side_generator(seed, "proxy game").integers(2**63))
    method = resolve_method("auto", proxy.n_players, budget, None, "raise")
    if not isinstance(method, Exact):
        method = base
    try:
        return estimate(proxy, method, budget=budget, semivalue=semivalue, seed=own, progress=False)
    except GameError as error:
        raise GameError(f"the proxy failed: {error}") from error


def _check_values(known: Result, n_players: int, semivalue: Semivalue, seed: int | None) -> None:
    if not isinstance(known, Result):
        raise InputError(
            f"proxy_values must be a Result, such as that of fs.knn_shapley, not {known!r:.40}"
        )
    if known.n_players != n_players or known.semivalue != semivalue.name:
        raise InputError(
            f"proxy_values are {known.semivalue} values of {known.n_players} players, needed are "
            f"{semivalue.name} values of {n_players}"
        )
    if not np.isfinite(known.standard_errors).all():
        raise InputError("proxy_values lack standard errors: value the proxy with a larger budget")
    if not known.exact and known.seed == seed:
        raise InputError(
            f"proxy_values were estimated with the seed {seed} of this run, so that their errors "
            "are not independent: give another seed"
        )


@dataclass(eq=False)
class ProxyState:
    """The state of the estimator inside, and the pilot until c is known."""

    problem: Problem
    ends: FloatArray
    """g(∅) and g(N)"""
    inner: AdjustedState
    c: float | None
    pilot: list[tuple[Draw, FloatArray, FloatArray]] = field(default_factory=list)
    """Rounds with the utilities of game and proxy, to be told again once c is known"""
    evaluations: int = 2
    """Evaluations of the proxy, those for its own values apart"""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProxyAdjusted(Estimator[ProxyState, Draw]):
    """`RegressionAdjusted` on v − c·g, to which c·φ(g) is added; made by `estimate_with_proxy`.

    It is the estimator, not the game, that subtracts: the evaluator, its cache and its journal
    see v alone.

    Parameters
    ----------
    proxy
        g, the cheap game.
    known
        Its values.
    c
        Its coefficient; None learns it from the first units.
    base
        The method that values the difference.
    """

    name = "proxy"
    checkpoint_growth = RegressionAdjusted.checkpoint_growth

    proxy: Game
    known: Result
    c: float | None = None
    base: RegressionAdjusted = field(default_factory=RegressionAdjusted)

    @property
    def traits(self) -> Traits:
        """Those of the method inside, and what the proxy's values allow."""
        obstacle = self.known.obstacle and f"of the proxy's values: {self.known.obstacle}"
        efficient = self.known.exact
        return replace(self.base.traits, efficient=efficient, not_certifiable_because=obstacle)

    def __str__(self) -> str:
        return f"ProxyAdjusted({type(self.proxy).__name__}, c={self.c})"

    def configuration(self) -> dict[str, Any]:
        """The proxy by its content and the run that valued it."""
        valued = {"method": self.known.method, "evaluations": self.known.evaluations}
        return {
            "name": self.name,
            "proxy": content_of(self.proxy),
            "proxy_values": {**valued, "seed": self.known.seed},
            "c": self.c,
            "base": self.base.configuration(),
        }

    def start(self, problem: Problem) -> ProxyState:
        """Nothing told; without a coefficient a pilot begins, on the game itself."""
        masks = np.zeros((2, problem.n_players), dtype=bool)
        masks[1] = True
        ends = self._cheap(masks)
        inner = self.base.start(_difference(problem, ends, self.c or 0.0))
        return ProxyState(problem, ends, inner, self.c)

    @property
    def pools(self) -> bool:
        """As the method inside."""
        return self.base.pools

    def ask(self, state: ProxyState, rng: np.random.Generator) -> Draw | None:
        """What the method inside asks for; in the pilot that does not depend on any utility."""
        return self.base.ask(state.inner, rng)

    def tell(self, state: ProxyState, draw: Draw, values: FloatArray) -> None:
        """Fold in the differences; at the end of the pilot, all of them again with c."""
        cheap = self._cheap(draw.masks(0, len(draw)))
        state.evaluations += len(cheap)
        self.base.tell(state.inner, draw, values - (state.c or 0.0) * cheap)
        if state.c is not None:
            return
        state.pilot.append((draw, values, cheap))
        # The method's first plan of the sizes is made here: from then on it draws by the values.
        if state.inner.course.told < min(max(state.problem.n_players, LEAST_PILOT), MOST_PILOT):
            return
        state.c = _learnt(state)
        if state.c:
            state.inner = self.base.start(_difference(state.problem, state.ends, state.c))
            for past, utilities, proxies in state.pilot:
                self.base.tell(state.inner, past, utilities - state.c * proxies)
        state.pilot.clear()

    def estimate(self, state: ProxyState) -> Estimate:
        """The values of the difference, plus c times those of the proxy."""
        found = self.base.estimate(state.inner)
        if not state.c:
            return found
        values, errors, counts = self.known.values, self.known.standard_errors, found.counts
        if (pooling := state.inner.course.pooling) is not None:
            # Who is identical to the game need not be so to the proxy: the shared value of the
            # difference is right with the shared value of the proxy. The standard deviation of a
            # mean is at most the mean of the standard deviations.
            values, errors = pooling.shared(np.stack([values, errors]))
        if not self.known.exact:
            counts = np.minimum(counts, self.known.counts)
        return replace(
            found,
            values=found.values + state.c * values,
            variances=found.variances + np.square(state.c * errors),
            counts=counts,
            exact=found.exact and self.known.exact,
        )

    def remarks(self, state: ProxyState) -> tuple[str, ...]:
        """What the proxy cost and how much of it was used."""
        total = state.evaluations + self.known.evaluations
        if self.c is None and not state.c:
            short = "the run was shorter than the pilot that decides on it"
            useless = "the first coalitions do not show that it explains anything"
            use = f"was not used: {short if state.c is None else useless}"
        else:
            use = f"entered with c = {state.c:.4g}"
            total_variance = float(self.estimate(state).variances.sum())
            own = float(np.square((state.c or 0.0) * self.known.standard_errors).sum())
            if own > 0.005 * total_variance:
                use += f", and its own error is {own / total_variance:.0%} of the variance"
        return (f"the proxy was evaluated {total:,} times and {use}",)

    def _cheap(self, masks: BoolArray) -> FloatArray:
        """The proxy's utilities; a GameError that says whose they are."""
        try:
            values = np.asarray(self.proxy(masks.copy()), dtype=np.float64)
        except Exception as error:
            raise GameError(f"the proxy failed: {type(error).__name__}: {error}") from error
        if values.shape != (len(masks),) or not np.isfinite(values).all():
            raise GameError(
                f"the proxy must give a finite number for each of {len(masks)} coalitions; it gave "
                f"an array of shape {values.shape}, {int((~np.isfinite(values)).sum())} not finite"
            )
        return values


def _difference(problem: Problem, ends: FloatArray, c: float) -> Problem:
    empty, full = (problem.empty, problem.full) - c * ends
    return replace(problem, empty=float(empty), full=float(full))


def _learnt(state: ProxyState) -> float:
    """The coefficient that the pilot suggests."""
    n_players = state.problem.n_players
    weights = SizeWeights.of(state.problem.semivalue, n_players)
    masks = np.concatenate([draw.masks(0, len(draw)) for draw, _, _ in state.pilot])
    gains = np.concatenate([np.stack(told) for _, *told in state.pilot], axis=1)
    if weights.paired:
        masks, gains = masks[::2], 0.5 * (gains[:, ::2] - gains[:, 1::2])
    chosen = np.flatnonzero(np.isfinite(gains[0]))[:MOST_PILOT]
    return coefficient(masks[chosen], gains[0, chosen], gains[1, chosen], paired=weights.paired)


def coefficient(
    masks: BoolArray, gains: FloatArray, cheap: FloatArray, *, paired: bool = True
) -> float:
    """The slope of a game's gains on the proxy's, beside what is linear in the players.

    The adjusted method explains the linear part by itself, with coefficients that vary with the
    size; the proxy is to explain the rest. So gains = c·cheap + f + noise, where f is a Gaussian
    process that is linear in the players at each size and alike at sizes of similar logarithm. Its
    variance is that of the highest restricted likelihood. The slope is shrunk by its own error, to
    0 when within two standard errors of it.

    Parameters
    ----------
    masks
        The coalitions of the units.
    gains, cheap
        ½(v(S) − v(N ∖ S)) of each unit for the game and the proxy; v(S) when units are single.
    paired
        Whether units are pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> masks = rng.random((64, 8)) < 0.5
    >>> cheap = rng.normal(size=64)
    >>> linear = (masks - 0.5) @ np.arange(8.0)
    >>> round(coefficient(masks, 0.7 * cheap + linear, cheap), 1)
    0.7
    >>> coefficient(masks, linear, np.zeros(64))
    0.0
    """
    n_players = masks.shape[1]
    size = masks.sum(axis=1)
    if not paired:
        # Single units have a level of their own at each size.
        gains, cheap = gains - gains.mean(), cheap - cheap.mean()
    spread = float(np.abs(cheap).max(initial=0.0))
    if len(masks) < 3 or spread == 0:
        return 0.0
    signs = 2.0 * masks - 1.0
    near = np.log(np.maximum(np.minimum(size, n_players - size) if paired else size, 1))
    kernel = signs @ signs.T / n_players + (0.0 if paired else 1.0)
    kernel *= np.exp(-0.5 * np.square(near[:, None] - near))
    eigenvalues, basis = np.linalg.eigh(kernel)
    variances = 1.0 + LINEAR_SHARES[:, None] * np.maximum(eigenvalues, 0.0)
    # In units of the proxy, so that squares of tiny or huge utilities stay in range.
    y, x = basis.T @ (gains / spread), basis.T @ (cheap / spread)
    information = (x * x / variances).sum(axis=1)
    slopes = (y * x / variances).sum(axis=1) / information
    rest = (np.square(y - slopes[:, None] * x) / variances).sum(axis=1)
    free = len(masks) - 1
    likelihood = np.log(rest + 1e-24 * (y @ y) + 1e-300) * free + np.log(variances).sum(axis=1)
    best = int(np.argmin(likelihood + np.log(information)))
    slope, error = float(slopes[best]), float(rest[best] / free / information[best])
    if slope * slope <= LEAST_SIGNIFICANCE**2 * error:
        return 0.0
    return slope * (1.0 - LEAST_SIGNIFICANCE**2 * error / slope**2)
