"""The console: what a run did and what holds, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import several
from fairshapley.fairness.levels import DELTA, LARGE_XI
from fairshapley.fairness.scores import lower_fidelity
from fairshapley.results.test_set import both_errors
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.results.result import Result


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
    lines.append(both_errors(result, result.run.asked.get("delta", DELTA)))
    return [line for line in lines if line]


def money(result: Result, evaluations: float) -> str:
    """Return what a number of evaluations costs at the prices of the run; empty without prices."""
    if result.run.cost is None or evaluations == math.inf:
        return ""
    total = result.run.cost * evaluations / max(result.evaluations, 1)
    return f"{number(total, 4)} {result.run.cost_unit}".strip()
