"""Before a run starts: the method with its options, what it will take, what to do instead."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from fairshapley._basics.checks import whole
from fairshapley._basics.memory import used_bytes
from fairshapley._basics.text import duration, near_miss
from fairshapley.cli.exits import say
from fairshapley.cli.options import DataOptions, RunOptions
from fairshapley.errors import InputError
from fairshapley.estimators import METHODS, Estimator, from_configuration
from fairshapley.games.data.data_game import CHUNK_BYTES
from fairshapley.uses.forecasting import Forecast

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


def chosen_method(name: str, options: Sequence[str]) -> str | Estimator[Any, Any]:
    """The method: its name, or where it has options, the estimator with these.

    Examples
    --------
    >>> chosen_method("mc", ["antithetic=yes"])
    MonteCarlo(walk=True, antithetic=True)
    >>> chosen_method("mc", [])
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
        raise InputError(f"--option goes with a method that has options, not with {name!r:.40}")
    return from_configuration({"name": name, **read_options(options)})


def read_options(options: Sequence[str]) -> dict[str, Any]:
    """Options as they are typed, as values of Python.

    Examples
    --------
    >>> read_options(["alpha=5", "honest=yes", "proposal=pooled", "batch=none"])
    {'alpha': 5, 'honest': True, 'proposal': 'pooled', 'batch': None}
    """
    found: dict[str, Any] = {}
    for option in options:
        name, sign, text = option.partition("=")
        if not sign or not name.strip() or not text.strip():
            raise InputError(f"--option must be NAME=VALUE, such as alpha=5, not {option!r:.60}")
        if name.strip() in found:
            raise InputError(f"--option {name.strip()} is given twice: give it once")
        found[name.strip()] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    words = {"yes": True, "no": False, "none": None}
    try:
        return json.loads(text.lower())
    except ValueError:
        return words.get(text.lower(), text)


def check_computed(data: DataOptions, run: RunOptions) -> None:
    """An InputError when something is asked for that a method without sampling cannot do."""
    asked = {"--semivalue": run.semivalue != "shapley", "--budget": run.budget is not None}
    asked |= run.aims() | {"--seconds": run.seconds is not None, "--price": run.price is not None}
    if run.method == KNN:
        asked |= {"--group-by": data.group_by is not None, "--journal": run.journal is not None}
    else:
        asked["--option"] = bool(run.option)
    what = "values single rows in closed form" if run.method == KNN else "leaves each player out"
    for name in (name for name, wanted in asked.items() if wanted):
        raise InputError(f"--method {run.method} {what}: leave {name} out")


def neighbours(run: RunOptions) -> int:
    """The k of the method knn."""
    options = read_options(run.option or ())
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
    most = "at most " if any(run.aims().values()) else ""
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
    needed = used_bytes() + planned.cache_bytes + CHUNK_BYTES
    if needed > gibibytes * 2**30:
        raise InputError(
            f"the run will take about {needed / 2**30:.2g} GiB, --memory allows {gibibytes:g}: "
            "allow more, or value fewer rows (--sample) or groups of them (--group-by)"
        )
