"""The console: what a run did and what holds, in sentences."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import one_line, several
from fairshapley.fairness.guarantees import lower_fidelity
from fairshapley.fairness.levels import DELTA
from fairshapley.results.pairs import pair_sentences
from fairshapley.results.tables import shown_table
from fairshapley.results.test_set import another_set, both_errors
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.results.result import Result


# What `print` shows: the highest and the lowest values.
FIRST_ROWS, LAST_ROWS = 5, 2
LONGEST_NAME = 40


def overview(result: Result) -> list[str]:
    r"""Return what `print` shows: the values first, then what is certain, in at most 15 lines.

    Examples
    --------
    >>> import fairshapley as fs
    >>> print("\n".join(overview(fs.exact(fs.games.TableGame([0, 1, 2, 5])))))
    Shapley values of 2 players, exact
      1  +3
      0  +2
    All values are exact.
    4 evaluations; seed ...; stopped: every coalition was evaluated: the values are exact
    """
    title, made, stopped, *_ = summary(result)
    headings, rows = shown_table(result, FIRST_ROWS, LAST_ROWS, terms=False)
    names = [one_line(name, LONGEST_NAME) for name, *_ in rows]
    widths = max(map(len, names)), max(len(row[1]) for row in rows)
    lines = []
    for name, row in zip(names, rows, strict=True):
        cells = dict(zip(headings, row, strict=True))
        error = f" ± {cells['standard error']}" if cells.get("standard error") else ""
        grade = cells.get("effect", "")
        lines.append(f"  {name:<{widths[0]}}  {row[1]:<{widths[1]}}{error}  {grade}".rstrip())
    warned = [f"warning: {said}" for said in result.warnings[1:4]]
    return [title, *lines, *answer(result, None)[1:], *warned, f"{made}; {stopped}"]


def answer(result: Result, wanted: Certificate | None) -> list[str]:
    """Return the answer in three sentences: the highest and the lowest, what is certain, a hint.

    Parameters
    ----------
    result
        The result to tell of.
    wanted
        The certificate that was asked for.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.TableGame([0, 1, 2, 5], player_names=["Ann", "Bob"])
    >>> answer(fs.exact(game), None)
    ['“Bob” has the highest value (3), “Ann” the lowest (2).', 'All values are exact.']
    """
    values, findings = np.nan_to_num(result.values), result.findings()
    high, low = (
        (result.evidence.named(int(player)), number(values[player]))
        for player in (values.argmax(), values.argmin())
    )
    first = f"{high[0]} has the highest value ({high[1]}), {low[0]} the lowest ({low[1]})."
    if result.n_players == 1 or high[1] == low[1]:
        first = f"All values are {high[1]}."
    certain = findings.brief()
    hints = [said for said in (findings.certificate.warning, *result.warnings[:1]) if said]
    if wanted is not None and not result.exact:
        chance = f"Certified with a probability of at least {1 - wanted.delta:.6g}"
        hints.append(certain)
        certain = f"{chance}: {wanted.tolerance}"
        if wanted.reason:
            certain = f"Not certified at ε1 = {wanted.epsilon1:.6g}: {wanted.reason}"
            hints.insert(0, findings.sentences()[-1])
    if result.run.replicates is not None:
        reach = number(another_set(result.run.replicates, findings.certificate.delta).max())
        hints.append(f"Another test set of the same size could move values by up to ± {reach}")
    return [f"{said[0].upper()}{said[1:].rstrip('.')}." for said in (first, certain, *hints)][:3]


def heat_map_html(result: Result) -> str:
    """Return the texts of the players, coloured by what they add; empty where they have none."""
    texts, largest = result.game.texts or (), float(np.nanmax(np.abs(result.values), initial=0.0))
    grades, shown = result.findings().grades, []
    for at, text in enumerate(texts):
        value = float(result.values[at])
        share = abs(value) / largest if largest > 0 and value == value else 0.0
        colour = "0,150,136" if value > 0 else "229,57,53"
        told = f"{result.names()[at]}: {number(value, 3)}, {grades[at]}"
        style = f"background:rgba({colour},{0.7 * share:.2f});padding:0 0.2em"
        shown.append(f'<span style="{style}" title="{escape(told)}">{escape(text)}</span>')
    joined = "<br>".join(shown)
    return f'<p class="heat" style="margin:0.3em 0;max-width:60em">{joined}</p>' if shown else ""


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
    calls = f" ({result.run.computed:,} calls)" if result.run.computed > result.evaluations else ""
    mean = float(np.abs(result.values).mean())
    relative = result.xi / mean if mean > 0 else math.inf
    lines = [
        f"{result.semivalue.capitalize()} values of {players}, {kind}{partial}",
        f"{result.evaluations:,} evaluations{calls}{marginals}{paid}; seed {result.seed}",
        f"stopped: {result.stopped}",
    ]
    if terms and not result.exact:
        cautious = lower_fidelity(result.values, result.evidence.variances, result.xi).min()
        lines.append(
            f"minimum fidelity {result.min_fidelity:.4g}, the least (size + ξ)²/error² of all, "
            f"cautious estimate {cautious:.4g}, at ξ = {result.xi:g} "
            f"({relative:.2g} × mean |value|)"
        )
    lines.extend(f"warning: {said}" for said in result.warnings)
    if not result.exact:
        findings = result.findings()
        stated = findings.certificate
        lines += [stated.warning, *findings.sentences()]
        if not stated.holds and (more := money(result, stated.needed)):
            lines.append(f"This would cost about {more}.")
    lines += pair_sentences(result)
    lines.append(both_errors(result, result.run.asked.get("delta", DELTA)))
    return [line for line in lines if line]


def money(result: Result, evaluations: float) -> str:
    """Return what a number of evaluations costs at the prices of the run; empty without prices."""
    if result.run.cost is None or evaluations == math.inf:
        return ""
    total = result.run.cost * evaluations / max(result.evaluations, 1)
    return f"{number(total, 4)} {result.run.cost_unit}".strip()
