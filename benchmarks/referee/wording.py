"""Words and choices that the referee's pages share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks.judging import Mean
from benchmarks.referee.methods import DEFAULT, Method
from benchmarks.referee.scores import Score

CLOSE = 1.1
"""A method within so much of the best is as good as the best"""


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(heading)} |", "|" + "---|" * len(heading), *lines])


def factor(ratio: Mean) -> str:
    """A ratio with its interval, where there is one: 1.25 (1.10–1.42)."""
    if not np.isfinite(ratio.error):
        return number(float(np.exp(ratio.mean)))
    low, high = (number(float(np.exp(end))) for end in ratio.interval())
    return f"{number(float(np.exp(ratio.mean)))} ({low}–{high})"


def number(value: float) -> str:
    """Two decimals near 1, three digits elsewhere."""
    return f"{value:.2f}" if 0.1 <= value < 100 else f"{value:.3g}"


def per(per_player: float) -> str:
    """A budget in words."""
    return f"{per_player:g}"


def best_of(here: Sequence[Score], names: Iterable[str]) -> Score | None:
    """The score with the smallest error among some methods."""
    allowed = set(names)
    own = [one for one in here if one.method in allowed]
    return min(own, key=lambda one: one.mse) if own else None


def names_of(known: Mapping[str, Method], *groups: str) -> list[str]:
    """The methods of some groups, but for the default."""
    return [name for name, one in known.items() if one.group in groups and name != DEFAULT]


def everybody(known: Mapping[str, Method]) -> list[str]:
    """All methods but the default."""
    return [name for name in known if name != DEFAULT]


def at(found: Sequence[Score], per_player: float, family: str | None = None) -> list[Score]:
    """The scores at a budget, of one family or of all."""
    return [one for one in found if one.per_player == per_player and family in (None, one.family)]


def budgets_of(found: Sequence[Score]) -> list[float]:
    """The evaluations per player that occur."""
    return sorted({one.per_player for one in found})


def of_default(here: Sequence[Score]) -> Score | None:
    """The default's own score."""
    return next((one for one in here if one.method == DEFAULT), None)


def is_close(here: Sequence[Score]) -> bool:
    """Whether the default is as good as the best of these."""
    own = of_default(here)
    return own is not None and own.mse <= CLOSE * min(one.mse for one in here)
