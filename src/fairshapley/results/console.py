"""The console: what a run did and what holds, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import one_line, several
from fairshapley.fairness.levels import DELTA, LARGE_XI
from fairshapley.fairness.scores import lower_fidelity
from fairshapley.results.pairs import pair_sentences
from fairshapley.results.tables import shown_table
from fairshapley.results.test_set import both_errors
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result


# What `print` shows: the highest and the lowest values, and no more lines than these in all.
FIRST_ROWS, LAST_ROWS, MOST_LINES = 5, 2, 15
LONGEST_NAME = 40


def overview(result: Result) -> list[str]:
    r"""Return what `print` shows: the values first, then what holds, in at most 15 lines.

    Examples
    --------
    >>> import fairshapley as fs
    >>> print("\n".join(overview(fs.exact(fs.games.TableGame([0, 1, 2, 5])))))
    Shapley values of 2 players, exact
      1  +3
      0  +2
    4 evaluations; seed ...; stopped: every coalition was evaluated: the values are exact
    """
    title, made, stopped, *said = summary(result)
    _, rows = shown_table(result, FIRST_ROWS, LAST_ROWS, terms=False)
    grades = dict(zip(result.names(), result.findings().grades, strict=True))
    names = [one_line(name, LONGEST_NAME) for name, *_ in rows]
    widths = max(map(len, names)), max(len(row[1]) for row in rows)
    lines = []
    for name, row in zip(names, rows, strict=True):
        error = f" ± {row[-1]}" if not result.exact and row[-1] else ""
        grade = grades.get(row[0], "") if not result.exact else ""
        lines.append(f"  {name:<{widths[0]}}  {row[1]:<{widths[1]}}{error}  {grade}".rstrip())
    said = [f"{made}; {stopped}", *said, *result.notes]
    left = MOST_LINES - 1 - len(lines)
    if len(said) > left:
        said = [*said[: left - 1], f"{len(said) - left + 1} more: result.findings(), result.notes"]
    return [title, *lines, *said]


def summary(result: Result, *, terms: bool = True) -> list[str]:
    """Return what the run did and what holds, a sentence each.

    Parameters
    ----------
    result
        The result to tell of.
    terms
        Whether to say it in the paper's terms too.

    Examples
    --------
    >>> import fairshapley as fs
    >>> print(summary(fs.exact(fs.games.TableGame([0, 1, 2, 5])))[0])
    Shapley values of 2 players, exact
    """
    kind = "exact" if result.exact else f"estimated by {result.method}"
    players = several(result.n_players, "player")
    partial = "" if result.complete else " (partial result)"
    marginals = "" if result.marginals is None else f", {result.marginals:,} marginals"
    paid = f", for {money(result, result.evaluations)}" if result.run.cost is not None else ""
    mean = float(np.abs(result.values).mean())
    relative = result.xi / mean if mean > 0 else math.inf
    lines = [
        f"{result.semivalue.capitalize()} values of {players}, {kind}{partial}",
        f"{result.evaluations:,} evaluations{marginals}{paid}; seed {result.seed}",
        f"stopped: {result.stopped}",
    ]
    if terms and not result.exact:
        cautious = lower_fidelity(result.values, result.evidence.variances, result.xi).min()
        lines.append(
            f"minimum fidelity {result.min_fidelity:.4g}, the least (size + ξ)²/error² of all, "
            f"cautious estimate {cautious:.4g}, at ξ = {result.xi:g} "
            f"({relative:.2g} × mean |value|)"
        )
    if LARGE_XI < relative < math.inf and not result.exact:
        lines.append("ξ exceeds the mean |value|, so the tolerance says very little: lower ξ")
    lines.extend(f"warning: {said}" for said in result.warnings)
    if not result.exact:
        findings = result.findings()
        lines += findings.sentences()
        stated = findings.certificate
        if not stated.holds and (more := money(result, stated.needed)):
            lines.append(f"so many evaluations cost about {more}")
    lines += pair_sentences(result)
    lines.append(both_errors(result, result.run.asked.get("delta", DELTA)))
    return [line for line in lines if line]


def money(result: Result, evaluations: float) -> str:
    """Return what a number of evaluations costs at the prices of the run; empty without prices."""
    if result.run.cost is None or evaluations == math.inf:
        return ""
    total = result.run.cost * evaluations / max(result.evaluations, 1)
    return f"{number(total, 4)} {result.run.cost_unit}".strip()
