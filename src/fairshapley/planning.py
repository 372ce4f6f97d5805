"""What a run will take, measured before it starts; and a ξ for it, fixed before it starts.

A few evaluations give the time of one. A pilot, the first rounds of the run itself, gives the
errors, and from them the evaluations that an aim will take, or the ε1 that a budget will reach.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import duration, several
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import ListedCoalitions
from fairshapley.draws.device import DeviceCoalitions
from fairshapley.errors import BudgetError, InputError
from fairshapley.estimators import Estimator
from fairshapley.estimators.exact import MAX_EXACT_PLAYERS, Exact, coalitions_needed
from fairshapley.evaluation.cache import CACHE_BYTES, entry_bytes
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.prices import Prices, by_size
from fairshapley.fairness.certificate import Certificate
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import DELTA, EPSILON1, XI, planned_look, spent_share
from fairshapley.games import abilities
from fairshapley.games.game import FunctionGame, Game, GameOption, function_game
from fairshapley.randomness import side_generator
from fairshapley.results.result import Result
from fairshapley.results.wording import number as shown_number
from fairshapley.runs.allowance import LEAST_COMPUTED
from fairshapley.runs.calls import (
    answers_peers,
    estimate,
    planned_repeats,
    resolve_method,
    run_limits,
)
from fairshapley.runs.plan import LEAST_DEVICE_EXACT, JournalOption, evaluating, game_facts
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget, Rule, Snapshot, parse_budget, rungs
from fairshapley.stopping.planned import PlannedLooks

# The first coalitions say enough of a run that they make out to be shorter than this.
SHORT_SECONDS = 0.5
# Else coalitions are evaluated for about so long: a batch four times as large as the last one, as
# in a run, up to a size from which on a vectorised game is hardly faster.
MEASURED_SECONDS = 1.0
LARGEST_BATCH = 1024
# Without a budget or an aim, a run is planned for so long. With an aim, values that take no longer
# than this are exact.
PLANNED_SECONDS, EXACT_SECONDS = 60.0, 20.0
# A call of a plain function that takes longer than this, or is paid, is made once.
SLOW_SECONDS = 0.1
# What a method takes for itself: for each evaluation, and for each player in it (benchmarks/).
OVERHEAD_SECONDS, OVERHEAD_PER_PLAYER = 5e-6, 2.5e-9
# Masks of a batch, with the random numbers that they are drawn from.
BATCH_BYTES = 2**26
# Where only time or a rule ends a run: a nanosecond each would make it eleven days.
UNLIMITED = 10**15
# Forecasts from 10 evaluations per player were within a factor of 1.5 in 21 of 29 runs on 15 games.
PILOT_PER_PLAYER = 10
# Variances of the methods that adjust shrink faster than their evaluations grow: about with this
# power on those games.
USUAL_POWER = 1.8
# Of all coalitions, those that are left: a forecast that leaves fewer is one of all of them.
SCARCE = 0.01
# Looks beyond which nothing is predicted: 10¹² evaluations for each player.
MOST_LOOKS = 100


@dataclass(frozen=True)
class Forecast:
    """What a run will take, at the speed of a few evaluations.

    Examples
    --------
    >>> print(Forecast(16_000, 1_600_000, 0.012))
    1,600,000 evaluations of 12 ms each: about 5.3 hours
    >>> print(Forecast(16_000, 1_600_000, 0.012, workers=8, time_limit=600))
    400,000 evaluations, what 10 min allow at 12 ms each with 8 workers
    """

    n_players: int
    allowed: int
    """Evaluations that the budget and the number of coalitions allow"""
    seconds_each: float
    """What an evaluation takes in this process"""
    workers: int = 1
    time_limit: float | None = None
    """Seconds after which the run stops"""
    rungs: bool = False
    """Whether the seconds buy a round number of evaluations"""
    pilot: int = 0
    """Evaluations of the pilot; 0 without one"""
    needed: int | None = None
    """Evaluations until the aim is reached, as the pilot predicts; None without an aim"""
    needed_at_most: int | None = None
    """The same if errors shrink no faster than in plain averages"""
    epsilon1: float | None = None
    """The tightest ε1 to expect when the evaluations are made, at δ and ξ; None without a pilot"""

    repeats: int = 0
    """Calls that are made again at the end, to see whether the utility is random"""
    cost_each: float | None = None
    """What an evaluation costs on average, where the game has prices"""
    cost_unit: str = ""

    @property
    def cost(self) -> float | None:
        """What the evaluations cost, about."""
        return None if self.cost_each is None else self.cost_each * self.evaluations

    @property
    def all_seconds(self) -> float:
        """The time that all evaluations would take."""
        return self._aimed_at * self.seconds_each / self.workers

    @property
    def _aimed_at(self) -> int:
        """The evaluations that are allowed, or as many of them as the aim takes."""
        return self.allowed if self.needed is None else min(self.allowed, self.needed)

    @property
    def seconds(self) -> float:
        """The time that the run takes, at most."""
        limit = self.time_limit
        if limit is None or limit >= self.all_seconds:
            return self.all_seconds
        if not self.rungs:
            return limit
        each = self.all_seconds / self._aimed_at
        return each * rungs(limit / each)[0]

    @property
    def evaluations(self) -> int:
        """The evaluations that the run comes to, at most."""
        share = self.seconds / self.all_seconds if self.all_seconds > 0 else 1.0
        return int(share * self._aimed_at + 1e-6)

    @property
    def cache_bytes(self) -> int:
        """The memory for utilities already known, at most."""
        return min(CACHE_BYTES, self.evaluations * entry_bytes(self.n_players))

    def __str__(self) -> str:
        each = f"{duration(self.seconds_each)} each"
        if self.workers > 1:
            each += f" with {several(self.workers, 'worker')}"
        money = ""
        if self.cost is not None:
            money = f", about {shown_number(self.cost)} {self.cost_unit}".rstrip()
        if self.seconds < self.all_seconds:
            allowed = f"what {duration(self.time_limit or 0)} allow at {each}"
            return f"{several(self.evaluations, 'evaluation')}, {allowed}{money}"
        total = f"about {duration(self.seconds)}{money}"
        return f"{several(self.evaluations, 'evaluation')} of {each}: {total}"

    def sentences(self) -> list[str]:
        """Return what a pilot has shown, in words."""
        sentences = [str(self)]
        if self.repeats:
            sentences.append(
                f"{self.repeats} calls are made again at the end, to see whether the utility is "
                "random"
            )
        if self.cost_each is not None and not self.pilot:
            count = min(PILOT_PER_PLAYER * self.n_players + 2, self.allowed)
            price = f"{shown_number(count * self.cost_each)} {self.cost_unit}".rstrip()
            sentences.append(f"a pilot (pilot=True) would make {count:,} calls, for about {price}")
        if self.needed is not None:
            most = max(self.needed_at_most or 0, self.needed)
            slow = f" ({most:,} if errors shrink no faster than in plain averages)"
            enough = "" if most <= self.allowed else f"; the {self.allowed:,} allowed may not do"
            if self.needed > self.allowed:
                enough = f", more than the {self.allowed:,} allowed"
            sentences.append(
                f"the aim is predicted to take {self.needed:,} evaluations"
                f"{slow if most > self.needed else ''}{enough}"
            )
        if self.epsilon1 is not None:
            sentences.append(
                f"then each value should be known to {self.epsilon1:.2g} times its size plus "
                f"{self.epsilon1:.2g} · ξ (ε1 = {self.epsilon1:.2g})"
            )
        if self.evaluations >= 2**self.n_players:
            sentences.append("every coalition will be evaluated: the values will be exact")
        if self.pilot and self.needed is None and self.epsilon1 is None:
            sentences.append(
                f"a pilot of {self.pilot:,} evaluations is too small to predict errors: plan "
                "with a larger one"
            )
        elif self.pilot:
            sentences.append(f"predicted from a pilot of {self.pilot:,} evaluations")
        return sentences


@answers_peers
def forecast(
    game: GameOption,
    method: str | Estimator[Any, Any] = "auto",
    *,
    players: Iterable[Any] | None = None,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    engine: EngineOption = None,
    pilot: int | bool = False,
    semivalue: str | Semivalue = "shapley",
    xi: float = XI,
    seed: int | None = None,
    journal: JournalOption = None,
) -> Forecast:
    """Return what `estimate` with the same arguments would take, measured or from a pilot.

    Parameters
    ----------
    game, players, method, budget, until, engine
        As in `estimate`. Only an engine's number of processes counts; for clusters, whose
        workers are not known before they start, the time is that of one of them.
    pilot
        False: the time of an evaluation is measured, by one call where that is paid or slow, and
        the forecast says what a pilot would cost. Else the evaluations of a pilot, which predicts
        what ``until=fs.Fair(…)`` or ``fs.Decided(…)`` will take, and the ε1 to expect: at least
        2n + 2 for n players; True for 10n, with which most predictions are within a factor of 1.5.
        It stays within the money of the budget. An aim that is reached sooner is predicted for the
        end of the pilot. Its evaluations are the first ones of the run: with a journal, the run
        that follows does not compute them again.
    semivalue, xi, seed, journal
        As in `estimate`, for the pilot.

    Returns
    -------
    Forecast
        The evaluations and the seconds; with a rule and without a pilot, the most that the run may
        take.

    Examples
    --------
    >>> import fairshapley as fs
    >>> planned = fs.forecast(fs.games.SumOfUnanimity(50, seed=0), budget=10_000)
    >>> planned.evaluations, planned.seconds < 60
    (10000, True)
    >>> game = fs.games.SumOfUnanimity(50, seed=0)
    >>> fair = fs.Fair(epsilon1=0.5, delta=0.1, xi=0.5)
    >>> planned = fs.forecast(game, until=fair, budget=50_000, pilot=True, seed=1)
    >>> 500 <= planned.needed < 5000
    True
    >>> walks = fs.forecast(game, "mc", until=fair, budget=50_000, pilot=True, seed=1)
    >>> planned.needed < walks.needed
    True
    """
    game = function_game(game, players)
    n_players = abilities.number_of_players(game)
    limits = run_limits(parse_budget(budget), until, n_players, method)[0] or Budget()
    kind = parse_semivalue(semivalue)
    chosen = resolve_method(method, n_players, limits, until, "raise", semivalue=kind)
    allowed = min(coalitions_needed(n_players, kind), UNLIMITED)
    if not isinstance(chosen, Exact):
        allowed = min(allowed, limits.evaluations or limits.marginals or UNLIMITED)
    prices = Prices.of(game)
    # Sizes are drawn about alike.
    cost_each = None if prices is None else float(by_size(prices.means(), n_players).mean())
    if limits.cost is not None and cost_each is not None:
        allowed = min(allowed, int(limits.cost / cost_each))
    workers = _workers(engine)
    overhead = (
        0.0 if isinstance(chosen, Exact) else OVERHEAD_SECONDS + OVERHEAD_PER_PLAYER * n_players
    )
    plain = Forecast(
        n_players,
        allowed,
        overhead + _seconds_each(game, n_players, allowed / workers),
        workers,
        limits.seconds,
        limits.rungs,
        cost_each=cost_each,
        cost_unit=abilities.cost_unit(game),
        repeats=planned_repeats(game, None, journal) if allowed >= LEAST_COMPUTED else 0,
    )
    if pilot is False or isinstance(chosen, Exact):
        return plain
    result = estimate(
        game,
        chosen,
        budget=Budget(min(_check_pilot(pilot, n_players), allowed), cost=limits.cost),
        semivalue=semivalue,
        xi=xi,
        seed=seed,
        engine=engine,
        journal=journal,
        progress=False,
    )
    parts = () if until is None else until.parts()
    aims = tuple(part for part in parts if isinstance(part, PlannedLooks))
    return _predicted(plain, result, aims, iid=chosen.traits.iid)


def _workers(engine: EngineOption) -> int:
    with opened_engine(engine) as opened:
        return int(getattr(opened, "workers", None) or 1)


def _check_pilot(pilot: int | bool, n_players: int) -> int:
    if pilot is True:
        return PILOT_PER_PLAYER * n_players + 2
    return checks.whole(
        "pilot",
        pilot,
        least=2 * n_players + 2,
        remedy=f"give {{pilot:True}} for {PILOT_PER_PLAYER * n_players + 2:,}",
        error=BudgetError,
    )


def _predicted(
    plain: Forecast, result: Result, aims: tuple[PlannedLooks, ...], *, iid: bool
) -> Forecast:
    """Return the forecast with what a pilot shows."""
    made, n_players = result.evaluations, result.n_players
    if result.exact:
        return replace(plain, allowed=made, pilot=made, needed=made, epsilon1=0.0)
    if result.evidence.obstacle or np.isnan(result.standard_errors).any():
        return replace(plain, pilot=made)

    def after(evaluations: int, power: float) -> Evidence:
        """Return the evidence to expect after a number of evaluations."""
        factor = evaluations / made
        if iid:
            # The fewer coalitions are left, the more often known ones come again.
            left, then = (1.0 - count / n_coalitions for count in (made, evaluations))
            factor *= left / max(then, SCARCE)
        return replace(result.evidence.scaled(factor, power), evaluations=evaluations)

    n_coalitions = result.evidence.coalitions
    likely = 1.0 if iid else USUAL_POWER
    needed, most = (
        min((_needed(aim, result, partial(after, power=power)) for aim in aims), default=None)
        for power in (likely, 1.0)
    )
    planned = replace(plain, pilot=made, needed=needed, needed_at_most=most)
    spent = planned.evaluations
    if spent >= n_coalitions:
        return replace(planned, epsilon1=0.0)
    # At the ξ, the δ and the bound of the aim, and at the level that its last look then has.
    xi, delta, bound, share = result.xi, DELTA, "normal", 1.0
    if aims:
        delta, bound = aims[0].delta, aims[0].certified_by
        if (given := getattr(aims[0], "xi", None)) is not None:
            xi = given
        before, by_then = (spent_share(count, n_players) for count in (spent - 1, spent))
        share = by_then - before if spent == needed else 1.0 - by_then
    then = after(spent, likely)
    tightest = Certificate(then, EPSILON1, delta, xi, bound, share * delta).tightest
    return replace(planned, epsilon1=tightest if tightest < math.inf else None)


def _needed(rule: PlannedLooks, result: Result, after: Callable[[int], Evidence]) -> int:
    """Return the evaluations at the planned look at which the aim is predicted to be reached."""
    look = 0
    for number in range(MOST_LOOKS):
        last, look = look, planned_look(number, result.n_players)
        if look >= result.evidence.coalitions:
            break
        if look < result.evaluations:
            continue
        snapshot = Snapshot(look, None, 0.0, after(look), result.xi, last_look=last)
        if rule.judge(snapshot, snapshot.level_share * rule.delta).holds:
            break
    return int(min(look, result.evidence.coalitions))


def exact_seconds(game: Game, engine: EngineOption = None) -> float:
    """Return how long all 2ⁿ coalitions should take; infinite where exact values cannot be had.

    Examples
    --------
    >>> import fairshapley as fs
    >>> exact_seconds(fs.games.Airport([1.0, 2.0, 3.0])) < 1
    True
    """
    n_players = abilities.active_players(game)
    if n_players > MAX_EXACT_PLAYERS or abilities.is_random(game):
        return math.inf
    count = float(1 << n_players)
    if n_players >= LEAST_DEVICE_EXACT and (form := abilities.device_form(game)) is not None:
        most, size, taken = min(form.block, 1 << 20, 1 << n_players), 256, 0.0
        while size < most and taken < MEASURED_SECONDS / 10:
            size = min(8 * size, most)
            middle = DeviceCoalitions(n_players, 0, (int(count) - size) // 2, size, form.device)
            for _ in range(2):  # the first sets something up
                started = time.perf_counter()
                form(middle.columns(0, size)).sum().item()
                taken = time.perf_counter() - started
        return count / size * taken
    # What a run does beside the game counts too: it is not short because the game is.
    least = count if n_players < LEAST_DEVICE_EXACT else math.inf
    return count * _seconds_each(game, game.n_players, least) / _workers(engine)


def _seconds_each(game: Game, n_players: int, evaluations: float) -> float:
    """Return the time of an evaluation: the mean over all sizes, or where calls count, of all."""
    everybody = np.ones((1, n_players), dtype=bool)
    each = _timed(lambda: _utilities(game, everybody))  # what a game sets up at its first call
    slow = isinstance(game, FunctionGame) and each > SLOW_SECONDS
    if slow or abilities.cost(game) is not None:
        return each
    draw = side_generator(0, "forecast")
    largest = max(1, min(LARGEST_BATCH, BATCH_BYTES // (9 * n_players)))
    size, spent = min(abilities.batch_size(game), largest), 0.0
    with evaluating(game, game_facts(game, needed=False)) as evaluator:
        while spent < MEASURED_SECONDS:
            # The fit to everybody's rows tells nothing of others: they may begin at it.
            shares = draw.random((size, 1))
            batch = ListedCoalitions.of(draw.random((size, n_players)) < shares)
            known = evaluator.tally.computed
            try:
                taken = _timed(partial(evaluator.evaluate, batch))
            except Exception:  # the run says which coalition fails, or skips it
                break
            each, spent = taken / max(evaluator.tally.computed - known, 1), spent + taken
            if size == largest or each * evaluations < SHORT_SECONDS:
                break
            size = min(4 * size, largest)
    return each


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _utilities(game: Game, masks: BoolArray) -> FloatArray:
    """Return the utilities of some coalitions, or an error that names the one that failed."""
    with evaluating(game, game_facts(game, needed=False)) as evaluator:
        return evaluator.evaluate(ListedCoalitions.of(masks)).values


def equal_share(game: Game) -> float:
    """Return ξ = |v(N) − v(∅)|/n, an equal share of what all players achieve together.

    A certificate holds for any ξ that does not depend on the run it speaks of. Shapley values add
    up to v(N) − v(∅), so that this is at most the mean |value|: a certificate with it is at least
    as strict as one with ξ = mean |value|. It takes two evaluations.

    Examples
    --------
    >>> import fairshapley as fs
    >>> equal_share(fs.games.Airport([1.0, 2.0, 3.0]))
    1.0
    """
    n_players = abilities.number_of_players(game)
    # Everybody first: an error then names a coalition that has players.
    ends = np.repeat([[True], [False]], n_players, axis=1)
    full, empty = _utilities(game, ends).tolist()
    xi = abs(full - empty) / n_players
    if not 0 < xi < np.inf:
        raise InputError(
            "all players together are worth as much as nobody, so an equal share is zero and "
            "cannot be a tolerance: give ξ as a number"
        )
    return float(xi)
