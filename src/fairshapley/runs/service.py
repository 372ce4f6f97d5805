"""An estimate that is awaited, for programs that run an event loop."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from functools import partial
from typing import Any

from fairshapley.estimators import Estimator
from fairshapley.evaluation.engines.threads import CALLERS_LOOP
from fairshapley.games.game import GameOption
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate


async def estimate_async(
    game: GameOption, method: str | Estimator[Any, Any] = "auto", **options: Any
) -> Result:
    """Await what `estimate` returns; the event loop goes on meanwhile.

    The run has a thread of its own. An ``async def`` is awaited in the caller's event loop, where
    its connections are; a plain function and `progress` are called in the thread. When the task is
    cancelled, the run ends, and with a journal it can be continued.

    Parameters
    ----------
    game, method, **options
        As in `estimate`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> async def turnover(chosen):
    ...     return 3.0 * ("tea" in chosen) + 5.0 * ("cups" in chosen)
    >>> async def service():
    ...     return await fs.estimate_async(turnover, players=["tea", "cups"])
    >>> asyncio.run(service())["tea"]
    3.0
    """
    cancel = options.setdefault("cancel", threading.Event())
    context, loop = copy_context(), asyncio.get_running_loop()
    context.run(CALLERS_LOOP.set, loop)
    run = loop.run_in_executor(None, partial(context.run, estimate, game, method, **options))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait([run])
        raise
