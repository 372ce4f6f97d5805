"""Progress of a run: a line on a terminal or in a notebook, or a function of one's own."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from fairshapley._basics.text import duration, several
from fairshapley.stopping import Budget, Rule, Snapshot

ProgressOption: TypeAlias = bool | Callable[[Snapshot], None] | None

# Ten updates a second are enough for the eye, and cost a run nothing.
REFRESH_SECONDS = 0.1
SEPARATOR = " · "


class ProgressLine:
    """A line on standard error that is written over itself, with as many words as fit.

    Parameters
    ----------
    title, total, unit
        What is run; how much there is to do; what is counted.
    """

    def __init__(self, title: str, total: int | None, unit: str = "evaluations") -> None:
        self._title, self._unit, self._started = title, unit, time.monotonic()
        self._of = "" if total is None else f"/{total:,}"

    def update(self, done: int, status: str) -> None:
        """Show how far the run is."""
        width = shutil.get_terminal_size().columns - 1
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        line = f"{self._title} {done:,}{self._of} {self._unit} · {minutes}:{seconds:02}"
        for word in status.split(SEPARATOR):
            if len(line) + len(SEPARATOR) + len(word) > width:
                break
            line += SEPARATOR + word
        self._write(f"\r{line[:width]:<{width}}")

    def say(self, sentence: str) -> None:
        """Write a sentence that stays."""
        self.stop()
        self._write(f"{self._title}: {sentence}\n")

    def stop(self) -> None:
        """Take the line away."""
        self._write(f"\r{'':<{shutil.get_terminal_size().columns - 1}}\r")

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError):  # a run goes on without a terminal
            sys.stderr.write(text)
            sys.stderr.flush()


def is_watched() -> bool:
    """Return whether standard error is a terminal, or the output of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or (sys.stderr is not None and sys.stderr.isatty())


def at_prompt() -> bool:
    """Return whether somebody types commands: at a prompt of Python, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None or hasattr(sys, "ps1") or bool(sys.flags.interactive)


class ProgressReporter:
    """Shows evaluations, rate, workers, minimum fidelity and the time left.

    Parameters
    ----------
    option
        None: a line when standard error is a terminal, or in a notebook. True or False: always or
        never. A function is called with a snapshot of the run, at most ten times a second.
    method, budget, until
        What is run, and how far.
    """

    def __init__(
        self, option: ProgressOption, method: str, budget: Budget | None, until: Rule | None = None
    ) -> None:
        self._call = option if callable(option) else None
        self._budget, self._until, self._next = budget, until, 0.0
        self._line: ProgressLine | None = None
        if option is True or (option is None and is_watched()):
            self._line = ProgressLine(method, budget.evaluations if budget is not None else None)

    def __enter__(self) -> ProgressReporter:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._line is not None:
            self._line.stop()

    def say(self, sentence: str) -> None:
        """Write a sentence, where a line is shown and there is something to say."""
        if self._line is not None and sentence:
            self._line.say(sentence)

    def show(self, state: Callable[[], Snapshot]) -> None:
        """Show the state of the run, which `state` gives, when an update is due.

        An update takes an estimate, which some methods compute from all they were told: the next
        update waits until updates take no more than a twentieth of the time.
        """
        began = time.monotonic()
        if began < self._next or (self._line is None and self._call is None):
            return
        snapshot = state()
        now = time.monotonic()
        self._next = now + max(REFRESH_SECONDS, 20.0 * (now - began))
        if self._call is not None:
            self._call(snapshot)
        if self._line is not None:
            status = describe(snapshot, self._budget, self._until)
            self._line.update(snapshot.evaluations, status)


def describe(snapshot: Snapshot, budget: Budget | None, until: Rule | None = None) -> str:
    """Word the time left, the predicted cost of fairness, rate, workers and minimum fidelity.

    What matters most comes first: a narrow terminal shows no more.

    Examples
    --------
    >>> import fairshapley as fs
    >>> evidence = fs.exact(fs.games.Additive([1.0])).evidence
    >>> describe(Snapshot(200, None, 2.0, evidence, xi=0.0), Budget(evaluations=1000))
    '8 s left · 100/s'
    >>> describe(Snapshot(200, None, 2.0, evidence, xi=0.0, workers=4), None)
    '100/s · 4 workers'
    """
    rate = snapshot.evaluations / max(snapshot.seconds, 1e-9)
    lowest = snapshot.min_fidelity
    left = seconds_left(snapshot, budget)
    words = [f"{duration(left)} left"] if left < math.inf else []
    rules = until.parts() if until is not None else ()
    predicted = [rule.predicted(snapshot) for rule in rules]
    words += [f"fair after about {cost:,.2g}" for cost in predicted if cost is not None]
    words.append(f"{rate:,.3g}/s" if rate < 1000 else f"{rate:,.0f}/s")
    words += [several(snapshot.workers, "worker")] if snapshot.workers else []
    if math.isfinite(lowest):
        words.append(f"min fidelity {lowest:.3g}")
    return SEPARATOR.join(words)


def seconds_left(snapshot: Snapshot, budget: Budget | None) -> float:
    """Return the time until the budget is spent at the present rate; infinite without a budget."""
    spent = {
        "evaluations": snapshot.evaluations,
        "marginals": snapshot.marginals or 0,
        "seconds": snapshot.seconds,
        "cost": snapshot.cost,
    }
    times = [
        max(0.0, limit - spent[unit]) * snapshot.seconds / spent[unit]
        for unit, limit in (budget or Budget()).limits().items()
        if spent[unit] > 0
    ]
    return min(times, default=math.inf)
