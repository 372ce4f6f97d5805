"""What is measured on the trials of a method: the paper's numbers, and the audited ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, ParamSpec

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.comparison.curves import Action, First, curve
from fairshapley.comparison.measures import ape, inversion_error, inversions, mape, nl_nsw
from fairshapley.errors import InputError
from fairshapley.fairness.guarantees import fidelity
from fairshapley_paper import metrics
from fairshapley_paper.experiment import Ground, Measure, Outcome, Points, Trial

# The constant in the published percentage errors, for true values of 0.
APE_OFFSET = 1e-5
# The study adds 1e−5 to the variance of a marginal, and has 50 of them.
STUDY_FLOOR = 1e-5 / 50
XIS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
EPSILONS = tuple(round(0.01 * step, 2) for step in range(2, 26))
CURVE_STEPS = 50

Arguments = ParamSpec("Arguments")


def _or_nan(compute: Callable[Arguments, float]) -> Callable[Arguments, float]:
    """Return a measure that is not defined (all scores equal, a sum of 0) is NaN in the tables."""

    def defined(*args: Arguments.args, **kwargs: Arguments.kwargs) -> float:
        try:
            number = compute(*args, **kwargs)
        except InputError:
            return math.nan
        return number if math.isfinite(number) else math.nan

    return defined


# --- what trials cost -------------------------------------------------------------------------

COSTS = (
    Measure("evaluations", "evaluations", each=lambda outcome, _ground: float(outcome.evaluations)),
    Measure(
        "marginals",
        "marginals",
        each=lambda outcome, _ground: math.nan if outcome.marginals is None else outcome.marginals,
    ),
)


# --- fidelity and its meaning -----------------------------------------------------------------


def reported(outcome: Outcome, xi: float) -> FloatArray:
    """Return the fidelity scores that an estimator gives itself."""
    return fidelity(outcome.values, outcome.variances, xi)


def audited(outcomes: Sequence[Outcome], ground: Ground) -> FloatArray:
    """Return the fidelity of each player: (|φ| + ξ)² over the mean squared error of the trials."""
    values = np.stack([outcome.values for outcome in outcomes])
    errors = np.square(values - ground.truth).mean(axis=0)
    return fidelity(ground.truth, errors, ground.xi)


MIN_FIDELITY = Measure(
    "min_fidelity",
    "minimum fidelity, as reported",
    "higher",
    each=lambda outcome, ground: float(reported(outcome, ground.xi).min()),
)
TRUE_MIN_FIDELITY = Measure(
    "true_min_fidelity",
    "minimum fidelity, audited",
    "higher",
    together=lambda outcomes, ground: float(audited(outcomes, ground).min()),
)


def _chosen_elsewhere(outcomes: Sequence[Outcome], ground: Ground) -> float:
    """Return the fidelity in one half of the trials of who has the lowest in the other half.

    The minimum of estimated scores is too low on average: it is the score of whoever had bad luck.
    A player chosen by other trials has no such luck, and is not always the worst: this is too high.
    """
    halves = [audited(outcomes[start::2], ground) for start in (0, 1) if outcomes[start::2]]
    picked = [second[first.argmin()] for first, second in zip(halves, halves[::-1], strict=True)]
    return float(np.mean(picked))


TRUE_MIN_ABOVE = Measure(
    "true_min_fidelity_above",
    "audited, the worst chosen on other trials",
    "higher",
    together=_chosen_elsewhere,
)
FIDELITY_PATH, TRUE_FIDELITY_PATH = (
    replace(measure, name=f"{measure.name}_path", path=True, accountings=("paper",), x="% of m")
    for measure in (MIN_FIDELITY, TRUE_MIN_FIDELITY)
)


def _study_scores(outcome: Outcome, ground: Ground, xi: float) -> FloatArray:
    """f_i = m·(|φ_i| + ξ)²/(s_i² + 1e−5), with the *true* φ_i."""
    return fidelity(ground.truth, outcome.variances + STUDY_FLOOR, xi)


@_or_nan
def _spearman(outcome: Outcome, ground: Ground, xi: float, *, by_run: bool) -> float:
    """Return the coefficient with the estimator's own score, or with f as the study computes it."""
    scores = reported(outcome, xi) if by_run else _study_scores(outcome, ground, xi)
    return metrics.fidelity_spearman(scores, outcome.values, ground.truth, offset=APE_OFFSET)


def _spearman_measures(name: str, label: str, *, by_run: bool) -> tuple[Measure, Measure]:
    """Return the coefficient at the experiment's ξ, and by ξ."""
    single = Measure(
        name,
        label,
        "higher",
        each=lambda outcome, ground: _spearman(outcome, ground, ground.xi, by_run=by_run),
    )
    by_xi = replace(
        single,
        name=f"{name}_by_xi",
        each=lambda outcome, ground: {
            xi: _spearman(outcome, ground, xi, by_run=by_run) for xi in XIS
        },
        x="ξ",
    )
    return single, by_xi


SPEARMAN, SPEARMAN_BY_XI = _spearman_measures("spearman", "Spearman of f and APE^−½", by_run=False)
OWN_SPEARMAN, OWN_SPEARMAN_BY_XI = _spearman_measures(
    "own_spearman", "the same, f without the truth", by_run=True
)


def _ranked(outcomes: Sequence[Outcome], ground: Ground, *, what: str) -> Points:
    """Return means over the trials of APE^−½ or f of each player, sorted by the former (Figure 1).

    f has the true values in it, as in the figure.
    """
    accuracy = np.stack(
        [ape(run.values, ground.truth, offset=APE_OFFSET) ** -0.5 for run in outcomes]
    )
    scores = np.stack([_study_scores(outcome, ground, ground.xi) for outcome in outcomes])
    shown = accuracy if what == "accuracy" else scores
    errors = shown.std(axis=0, ddof=1) / math.sqrt(len(shown)) if len(shown) > 1 else shown[0] * 0
    order = np.argsort(accuracy.mean(axis=0))
    means = shown.mean(axis=0)
    return {float(rank): (float(means[at]), float(errors[at])) for rank, at in enumerate(order)}


RANKED = tuple(
    Measure(
        f"ranked_{what}",
        label,
        together=partial(_ranked, what=what),
        accountings=("paper",),
        x="players by APE^−½",
    )
    for what, label in (("accuracy", "APE^−½"), ("fidelity", "f"))
)


# --- errors of the values ---------------------------------------------------------------------


def _error(
    name: str,
    label: str,
    metric: Callable[..., float],
    normalise: metrics.Normalise | None = "mean",
) -> Measure:
    """Return the measure of a metric; by default both values are divided by their means first."""

    def each(outcome: Outcome, ground: Ground) -> float:
        return metric(*metrics.normalised(outcome.values, ground.truth, normalise))

    return Measure(name, label, "lower", each=_or_nan(each))


def _mse(values: FloatArray, truth: FloatArray) -> float:
    return float(np.square(values - truth).mean())


MSE = _error("mse", "mean squared error", _mse, None)
NL_NSW = Measure(
    "nl_nsw",
    "NL NSW, as reported",
    "lower",
    each=_or_nan(lambda outcome, ground: nl_nsw(reported(outcome, ground.xi))),
)


def _rounds_nl_nsw(trial: Trial, ground: Ground) -> float:
    """Return NL NSW of the rounds of a federation, as the published tables have it.

    The score of a round is the mean of its agents' scores. Where the T scores were standardised to
    the sum n, not T, NL NSW is larger by T·log(T/n).
    """
    facts = ground.played.facts
    scores = np.array([reported(outcome, ground.xi).mean() for outcome in trial.path[:-1]])
    shares = facts["standardised"] * scores / (facts["spans"] @ scores)
    return -float(facts["spans"] @ np.log(shares))


ROUNDS_NL_NSW = Measure("nl_nsw", "NL NSW, of the rounds", "lower", whole=_rounds_nl_nsw)
TRUE_NL_NSW = Measure(
    "true_nl_nsw",
    "NL NSW, audited",
    "lower",
    together=_or_nan(lambda outcomes, ground: nl_nsw(audited(outcomes, ground))),
)


def table_measures(*, relative: bool, rounds: bool = False) -> tuple[Measure, ...]:
    """Return the columns of the tables of P2–P4, and the fidelity beside them.

    Values are divided by their mean, the one unit in which the tables of all games compare; the
    text names none. With `relative`, as in the program, each term of ε_inv is divided by the larger
    of its two values; with `rounds`, as in its federations, NL NSW compares rounds, not agents.
    """
    return (
        _error("mape", "MAPE", mape),
        _error("mse", "MSE", _mse),
        _error("n_inv", "N_inv", inversions, None),
        _error(
            "eps_inv", "ε_inv", metrics.relative_inversion_error if relative else inversion_error
        ),
        ROUNDS_NL_NSW if rounds else NL_NSW,
        MIN_FIDELITY,
        TRUE_MIN_FIDELITY,
        TRUE_MIN_ABOVE,
    )


# --- axioms and uses --------------------------------------------------------------------------


def _violations(outcome: Outcome, ground: Ground) -> Points:
    given = outcome.values, ground.truth, ground.played.facts["pairs"]
    return {
        epsilon1: metrics.symmetry_violations(*given, epsilon1, ground.xi) for epsilon1 in EPSILONS
    }


@_or_nan
def _deviation(outcome: Outcome, ground: Ground) -> float:
    return metrics.deviation_ratio(outcome.values, ground.played.facts["pairs"], ground.xi)


def _moved(outcome: Outcome, ground: Ground, *, action: Action, first: First) -> Points:
    """Return the utility as players join or leave, as published."""
    game = ground.played.game
    drawn = curve(game, outcome.values, action=action, first=first, steps=CURVE_STEPS)
    return dict(zip(drawn.counts.astype(float).tolist(), drawn.utilities.tolist(), strict=True))


def _added_area(outcome: Outcome, ground: Ground, *, first: First) -> float:
    """Return the mean height of the same curve on rows that the utility has not seen."""
    game = ground.played.facts["held_out"]
    return curve(game, outcome.values, action="add", first=first, steps=CURVE_STEPS).area


@_or_nan
def _f1(outcome: Outcome, ground: Ground, *, rule: Literal["cluster", "below_centre"]) -> float:
    return metrics.noisy_label_f1(outcome.values, ground.played.facts["noisy"], rule=rule)


NULLITY = Measure(
    "eps_abs",
    "ε_abs",
    "lower",
    each=_or_nan(lambda outcome, ground: metrics.nullity_error(outcome.values, ground.truth)),
)
VIOLATIONS = Measure(
    "violations", "share of pairs that break symmetry", "lower", each=_violations, x="ε1"
)
LOG_RATIO = Measure("log_ratio", "log Σ ρ", "lower", each=_deviation)

_ACTIONS: tuple[Action, ...] = ("add", "remove")
_ENDS: tuple[First, ...] = ("high", "low")
MOVES = tuple(
    Measure(
        f"{action}_{first}",
        f"accuracy, {action} {first} values first",
        each=partial(_moved, action=action, first=first),
        x="points moved",
    )
    for action in _ACTIONS
    for first in _ENDS
)
# Removing the highest first is adding the lowest first, read backwards: the areas are the same.
MOVE_AREAS = tuple(
    Measure(
        f"add_{first}_area",
        f"mean held-out accuracy, add {first} first",
        "higher" if first == "high" else "lower",
        each=partial(_added_area, first=first),
        of_truth=True,
    )
    for first in _ENDS
)
F1 = Measure(
    "f1",
    "F1 of noisy labels, lower cluster",
    "higher",
    each=partial(_f1, rule="cluster"),
    of_truth=True,
)
F1_BELOW = Measure(
    "f1_below_centre",
    "F1 of noisy labels, below the lower centre",
    "higher",
    each=partial(_f1, rule="below_centre"),
    of_truth=True,
)
