"""Before a run starts: the method with its options, what it will take, what to do instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairshapley._basics.checks import real, whole
from fairshapley._basics.text import duration, near_miss
from fairshapley.cli.exits import say
from fairshapley.cli.options import ADVANCED, DataOptions, RunOptions, changed_options
from fairshapley.errors import InputError
from fairshapley.estimators import METHODS, Estimator, from_configuration
from fairshapley.games.data.data_game import CHUNK_BYTES
from fairshapley.planning import Forecast

KNN, LOO = "knn", "loo"
"""The methods that sample nothing: exact values for nearest neighbours; leave-one-out"""
NEIGHBOURS = 5
# Shorter runs begin without a word.
SAID_SECONDS = 30.0
# Longer ones are told what else there is.
ADVISED_SECONDS = 120.0
# Nobody waits for a longer run without having decided to; with a journal it may be continued.
MOST_SECONDS = 8 * 3600.0
# What the advice aims at.
GOOD_SECONDS = 300.0


def chosen_method(name: str, options: Mapping[str, Any]) -> str | Estimator[Any, Any]:
    """The method: its name, or where it has options, the estimator with these.

    Examples
    --------
    >>> chosen_method("mc", {"antithetic": True})
    MonteCarlo(walk=True, antithetic=True)
    >>> chosen_method("mc", {})
    'mc'
    """
    if name in (KNN, LOO):
        raise InputError(f"--method {name} is for the command value: it samples nothing to plan")
    if name not in ("auto", *METHODS):
        known = ["auto", *sorted(METHODS), KNN, LOO]
        raise InputError(
            f"unknown method {name!r:.40}: use {', '.join(known)}{near_miss(name, known)}"
        )
    if not options:
        return name
    if name == "auto":
        wrong = next(iter(options))
        raise InputError(
            f"--option {wrong:.40} goes with a method that has it, not with auto: name the method "
            f"by --method{near_miss(wrong, sorted(ADVANCED))}"
        )
    return from_configuration({"name": name, **options})


def check_computed(data: DataOptions, run: RunOptions) -> None:
    """An InputError when something is asked for that a method without sampling cannot do."""
    usable = {"--method", "--xi", "--seed", "--engine", "--anyway", "--journal"}
    usable -= {"--journal"} if run.method == KNN else set()
    refused = changed_options(run) - usable
    if run.method == KNN:
        refused |= {"--group-by"} if data.group_by is not None else set()
    elif run.method_options:
        refused.add("--option " + next(iter(run.method_options)))
    what = "values single rows in closed form" if run.method == KNN else "leaves each player out"
    for name in sorted(refused):
        raise InputError(f"--method {run.method} {what}: leave {name} out")


def neighbours(run: RunOptions) -> int:
    """The k of the method knn."""
    options = dict(run.method_options)
    k = options.pop("k", NEIGHBOURS)
    if options:
        wrong = next(iter(options))
        raise InputError(f"method 'knn' has no parameter {wrong!r:.40}: it takes k")
    return whole("--option k", k)


def announce(planned: Forecast, instead: Sequence[str], run: RunOptions, *, quiet: bool) -> None:
    """Say what a run will take and what to do instead; an InputError when it is hopeless."""
    if run.memory is not None:
        _check_memory(planned, run.memory)
    continued = run.journal is not None and run.journal.exists()
    if planned.seconds > MOST_SECONDS and not (run.anyway or continued):
        raise InputError(
            f"{planned}. {'; '.join([*instead, 'start it with --anyway, best with --journal'])}"
        )
    if quiet or (planned.seconds < SAID_SECONDS and planned.cost is None):
        return
    most = "at most " if run.epsilon1 is not None or run.until is not None else ""
    say(f"plan: {most}{planned}")
    if planned.evaluations < planned.n_players:
        say(
            f"plan: fewer evaluations than the {planned.n_players:,} players say little of any of "
            "them"
        )
    if planned.all_seconds > ADVISED_SECONDS and instead:
        say(f"plan: shorter: {'; '.join(instead)}")


def advice(planned: Forecast, data: DataOptions) -> list[str]:
    """What else would answer the question, sooner."""
    found = []
    if data.group_by is None:
        # A fit takes about as many times longer as there are rows, and there are as many more.
        shorter = math.sqrt(GOOD_SECONDS / max(planned.all_seconds, GOOD_SECONDS))
        rows = planned.n_players * shorter / (1.0 if data.test else 1.0 - min(data.test_size, 0.5))
        few = max(10, int(float(f"{rows:.1g}")))
        found = [
            "--group-by COL values suppliers, clients or days in place of rows",
            f"--sample {few} values {few:,} rows, drawn at random",
            "--method knn gives exact values of all rows for nearest neighbours",
        ]
    found.append(
        f"--seconds {GOOD_SECONDS:.0f} stops after {duration(GOOD_SECONDS)}, and the signs and the "
        "order that are settled by then are said"
    )
    return found


def _check_memory(planned: Forecast, gibibytes: float) -> None:
    needed = planned.cache_bytes + CHUNK_BYTES
    if needed > real("memory", gibibytes, above=0) * 2**30:
        raise InputError(
            f"the run will take about {needed / 2**30:.2g} GiB, --memory allows {gibibytes:g}: "
            "allow more, or value fewer rows (--sample) or groups of them (--group-by)"
        )
