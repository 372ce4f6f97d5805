"""What a run will take, measured before it starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshapley._basics.text import duration, several
from fairshapley.estimators import Estimator
from fairshapley.estimators.exact import Exact
from fairshapley.evaluation.cache import CACHE_BYTES, entry_bytes
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.games.game import Game
from fairshapley.randomness import side_generator
from fairshapley.runs.calls import resolve_method, run_limits
from fairshapley.runs.setup import check_game
from fairshapley.stopping import Budget, Rule, parse_budget

# One evaluation of all players says enough of a run that it makes out to be shorter than this.
SHORT_SECONDS = 5.0
# Else coalitions are evaluated for about so long: a batch four times as large as the last one, as
# in a run, up to a size from which on a vectorised game is hardly faster.
MEASURED_SECONDS = 1.0
LARGEST_BATCH = 64
# Masks of a batch, with the random numbers that they are drawn from.
BATCH_BYTES = 2**26
# Where only time or a rule ends a run: a nanosecond each would make it eleven days.
UNLIMITED = 10**15


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

    @property
    def all_seconds(self) -> float:
        """The time that all evaluations would take."""
        return self.allowed * self.seconds_each / self.workers

    @property
    def seconds(self) -> float:
        """The time that the run takes, at most."""
        limit = self.time_limit
        return self.all_seconds if limit is None else min(limit, self.all_seconds)

    @property
    def evaluations(self) -> int:
        """The evaluations that the run comes to, at most."""
        share = self.seconds / self.all_seconds if self.all_seconds > 0 else 1.0
        return int(share * self.allowed)

    @property
    def cache_bytes(self) -> int:
        """The memory for utilities already known, at most."""
        return min(CACHE_BYTES, self.evaluations * entry_bytes(self.n_players))

    def __str__(self) -> str:
        each = f"{duration(self.seconds_each)} each"
        if self.workers > 1:
            each += f" with {several(self.workers, 'worker')}"
        if self.seconds < self.all_seconds:
            allowed = f"what {duration(self.seconds)} allow at {each}"
            return f"{several(self.evaluations, 'evaluation')}, {allowed}"
        total = f"about {duration(self.seconds)}"
        return f"{several(self.evaluations, 'evaluation')} of {each}: {total}"


def forecast(
    game: Game,
    method: str | Estimator[Any, Any] = "auto",
    *,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    engine: EngineOption = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Forecast:
    """What `estimate` with the same arguments would take at most, from a few evaluations.

    Parameters
    ----------
    game, method, budget, until, engine
        As in `estimate`. Of an engine only the number of its processes counts; for clusters, whose
        workers are not known before they start, the time is that of one of them.
    clock
        What the time is read from.

    Returns
    -------
    Forecast
        The evaluations and the seconds; with a rule, the most that the run may take.

    Examples
    --------
    >>> import fairshapley as fs
    >>> planned = fs.forecast(fs.games.SumOfUnanimity(50, seed=0), budget=10_000)
    >>> planned.evaluations, planned.seconds < 60
    (10000, True)
    """
    n_players = check_game(game)
    limits, _ = run_limits(parse_budget(budget), until, n_players, method)
    chosen = resolve_method(method, n_players, limits, until, "raise")
    allowed = min(2**n_players, UNLIMITED)
    if not isinstance(chosen, Exact) and limits is not None:
        allowed = min(allowed, limits.evaluations or limits.marginals or UNLIMITED)
    with opened_engine(engine) as opened:
        workers = int(getattr(opened, "workers", None) or 1)
    return Forecast(
        n_players,
        allowed,
        _seconds_each(game, n_players, allowed / workers, clock),
        workers,
        None if limits is None else limits.seconds,
    )


def _seconds_each(
    game: Game, n_players: int, evaluations: float, clock: Callable[[], float]
) -> float:
    """What an evaluation takes: that of all players, or the mean of coalitions of all sizes."""
    game(np.ones((1, n_players), dtype=bool))  # what a game sets up at its first call
    started = clock()
    game(np.ones((1, n_players), dtype=bool))
    each = clock() - started
    if each * evaluations < SHORT_SECONDS:
        return each
    draw = side_generator(0, "forecast")
    largest = max(1, min(LARGEST_BATCH, BATCH_BYTES // (9 * n_players)))
    size, spent = 1, 0.0
    while spent < MEASURED_SECONDS:
        shares = draw.random((size, 1))
        batch = draw.random((size, n_players)) < shares
        started = clock()
        game(batch)
        taken = clock() - started
        each, spent = taken / size, spent + taken
        if size == largest:
            break
        size = min(4 * size, largest)
    return each
