"""Progress of a run: a bar on a terminal or in a notebook, or a function of one's own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

from fairshapley._basics.text import duration, several
from fairshapley.runs.notebook_progress import NotebookLine, in_notebook
from fairshapley.stopping import Budget, Rule, Snapshot

ProgressOption: TypeAlias = bool | Callable[[Snapshot], None] | None

# Ten updates a second are enough for the eye, and cost a run nothing.
REFRESH_SECONDS = 0.1


# Beside a bar the count, the time and the rate need about fifty columns; where there is less the
# words stand alone.
BAR_WIDTH = 12
WIDTH_WITH_BAR = 70
SEPARATOR = " · "


class StatusColumn(ProgressColumn):
    """How far a run is, in one line: the time that has passed, and as many words as fit.

    Parameters
    ----------
    unit, width
        What is counted; the columns that a line may take.
    """

    def __init__(self, unit: str, width: int) -> None:
        super().__init__(table_column=Column(overflow="fold"))
        self._unit = unit
        self._width = width

    def render(self, task: Task) -> Text:
        """The words, and the time that has passed."""
        of = "" if task.total is None else f"/{int(task.total):,}"
        minutes, seconds = divmod(int(task.elapsed or 0), 60)
        line = (
            f"{task.description} {int(task.completed):,}{of} {self._unit} · {minutes}:{seconds:02}"
        )
        for word in task.fields["status"].split(SEPARATOR):
            longer = f"{line}{SEPARATOR}{word}"
            if cell_len(longer) > self._width:
                break
            line = longer
        return Text.assemble((task.description, "bold"), line.removeprefix(task.description))


class TerminalBar:
    """A bar of rich with its status.

    Parameters
    ----------
    console, title, total, transient, unit
        Where to draw; what is run; how much there is to do; whether the bar is removed at the
        end; what is counted.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        total: int | None,
        *,
        transient: bool,
        unit: str = "evaluations",
    ) -> None:
        bar = BAR_WIDTH if console.width >= WIDTH_WITH_BAR else 0
        columns: list[ProgressColumn] = [StatusColumn(unit, console.width - bar - 2)]
        if bar:
            columns.insert(0, BarColumn(bar, table_column=Column(no_wrap=True)))
        self._bar = Progress(*columns, console=console, transient=transient)
        self._task = self._bar.add_task(title, total=total, status="starting")

    def start(self) -> None:
        """Show the bar."""
        self._bar.start()

    def update(self, done: int, status: str) -> None:
        """Show how far the run is."""
        self._bar.update(self._task, completed=done, status=status)

    def stop(self) -> None:
        """Draw it a last time, or take it away."""
        self._bar.stop()


def chosen_bar(
    option: bool | None, label: str, total: int | None
) -> TerminalBar | NotebookLine | None:
    """A bar in a notebook or on a terminal, and elsewhere when asked for; none for False."""
    if option is False:
        return None
    if in_notebook():
        return NotebookLine(label, total, transient=option is None)
    console = Console(stderr=True)
    if option or console.is_terminal:
        return TerminalBar(console, label, total, transient=option is None)
    return None


class ProgressReporter:
    """Shows evaluations, rate, workers, minimum fidelity and the time left.

    Parameters
    ----------
    option
        None: a bar when standard error is a terminal, or in a notebook. True or False: always or
        never. A function is called with a snapshot of the run, at most ten times a second.
    method, budget, until
        What is run, and how far.
    """

    def __init__(
        self, option: ProgressOption, method: str, budget: Budget | None, until: Rule | None = None
    ) -> None:
        self._call = option if callable(option) else None
        self._budget = budget
        self._until = until
        self._next = 0.0
        self._bar: TerminalBar | NotebookLine | None = None
        if not callable(option):
            total = budget.evaluations if budget is not None else None
            self._bar = chosen_bar(option, method, total)

    def __enter__(self) -> ProgressReporter:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, state: Callable[[], Snapshot]) -> None:
        """Show the state of the run, which `state` gives, when an update is due.

        An update takes an estimate, which some methods compute from all they were told: the next
        update waits until updates take no more than a twentieth of the time.
        """
        began = time.monotonic()
        if began < self._next or (self._bar is None and self._call is None):
            return
        snapshot = state()
        now = time.monotonic()
        self._next = now + max(REFRESH_SECONDS, 20.0 * (now - began))
        if self._call is not None:
            self._call(snapshot)
        if self._bar is not None:
            status = describe(snapshot, self._budget, self._until)
            self._bar.update(snapshot.evaluations, status)


def describe(snapshot: Snapshot, budget: Budget | None, until: Rule | None = None) -> str:
    """Time left, predicted cost of fairness, rate, workers and minimum fidelity in words.

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
    """The time until the budget is spent at the present rate; infinite without a budget."""
    if budget is None or snapshot.seconds <= 0:
        return math.inf
    spent = {
        "evaluations": snapshot.evaluations,
        "marginals": snapshot.marginals or 0,
        "seconds": snapshot.seconds,
        "cost": snapshot.cost,
    }
    times = [
        max(0.0, limit - spent[unit]) * snapshot.seconds / spent[unit]
        for unit, limit in budget.limits().items()
        if spent[unit] > 0
    ]
    return min(times, default=math.inf)
