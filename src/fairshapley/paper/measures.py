"""What is measured on the trials of a method: the paper's numbers, and the audited ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from fairshapley import metrics
from fairshapley._types import FloatArray
from fairshapley.curves import curve
from fairshapley.errors import InputError
from fairshapley.fairness.fidelity import fidelity
from fairshapley.metrics.scaling import Normalise
from fairshapley.paper.experiment import Accounting, Ground, Measure, Outcome, Points, Trial

# The constant in the published percentage errors, for true values of 0.
APE_OFFSET = 1e-5
# The study adds 1e−5 to the variance of a marginal, and has 50 of them.
STUDY_FLOOR = 1e-5 / 50
XIS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
EPSILONS = tuple(round(0.01 * step, 2) for step in range(2, 26))
CURVE_STEPS = 50


def reported(outcome: Outcome, xi: float) -> FloatArray:
    """The fidelity scores that an estimator gives itself."""
    return fidelity(outcome.values, outcome.variances, xi)


def audited(outcomes: Sequence[Outcome], ground: Ground) -> FloatArray:
    """The fidelity of each player: (|φ| + ξ)² over the mean squared error of the trials."""
    values = np.stack([outcome.values for outcome in outcomes])
    errors = np.square(values - ground.truth).mean(axis=0)
    return fidelity(ground.truth, errors, ground.xi)


def _or_nan(compute: Callable[[], float]) -> float:
    """A measure that is not defined (all scores equal, a sum of 0) is NaN in the tables."""
    try:
        number = compute()
    except InputError:
        return math.nan
    return number if math.isfinite(number) else math.nan


# --- fidelity and its meaning -----------------------------------------------------------------


def _lowest(trial: Trial, accounting: Accounting, ground: Ground) -> float:
    return float(reported(trial.outcome(accounting), ground.xi).min())


def _audited_lowest(trials: Sequence[Trial], accounting: Accounting, ground: Ground) -> float:
    return float(audited([trial.outcome(accounting) for trial in trials], ground).min())


def _lowest_path(trial: Trial, _accounting: Accounting, ground: Ground) -> Points:
    return {
        float(look): float(reported(outcome, ground.xi).min()) for look, outcome in _looks(trial)
    }


def _audited_path(trials: Sequence[Trial], _accounting: Accounting, ground: Ground) -> Points:
    looks = [look for look, _ in _looks(trials[0])]
    outcomes = zip(*(trial.path for trial in trials), strict=True)
    return {
        look: float(audited(some, ground).min()) for look, some in zip(looks, outcomes, strict=True)
    }


def _looks(trial: Trial) -> list[tuple[float, Outcome]]:
    """The outcomes along a run by the share of m that is spent, in percent."""
    if len(trial.path) == 1:
        return [(100.0, trial.path[0])]
    last = len(trial.path) - 1
    return [(100.0 * place / last, outcome) for place, outcome in enumerate(trial.path)]


MIN_FIDELITY = Measure(
    name="min_fidelity", label="minimum fidelity, as reported", better="higher", each=_lowest
)
TRUE_MIN_FIDELITY = Measure(
    name="true_min_fidelity",
    label="minimum fidelity, audited",
    better="higher",
    together=_audited_lowest,
)
FIDELITY_PATH = Measure(
    name="min_fidelity_path",
    label="minimum fidelity, as reported",
    better="higher",
    each=_lowest_path,
    accountings=("paper",),
    x="% of m",
)
TRUE_FIDELITY_PATH = Measure(
    name="true_min_fidelity_path",
    label="minimum fidelity, audited",
    better="higher",
    together=_audited_path,
    accountings=("paper",),
    x="% of m",
)


def _spearman(
    trial: Trial, accounting: Accounting, ground: Ground, *, xi: float, own: bool
) -> float:
    """The coefficient with the estimator's own score, or with f as the study computes it.

    There f_i is m·(|φ_i| + ξ)²/(s_i² + 1e−5), with the *true* φ_i.
    """
    outcome = trial.outcome(accounting)
    scores = (
        reported(outcome, xi)
        if own
        else fidelity(ground.truth, outcome.variances + STUDY_FLOOR, xi)
    )
    return _or_nan(
        lambda: metrics.fidelity_spearman(scores, outcome.values, ground.truth, offset=APE_OFFSET)
    )


def _spearman_at_xi(trial: Trial, accounting: Accounting, ground: Ground, *, own: bool) -> float:
    return _spearman(trial, accounting, ground, xi=ground.xi, own=own)


def _spearman_by_xi(trial: Trial, accounting: Accounting, ground: Ground, *, own: bool) -> Points:
    return {xi: _spearman(trial, accounting, ground, xi=xi, own=own) for xi in XIS}


def _ranked(
    trials: Sequence[Trial], accounting: Accounting, ground: Ground, *, what: str
) -> Points:
    """Means over the trials of APE^−½ or f of each player, sorted by the former (Figure 1)."""
    outcomes = [trial.outcome(accounting) for trial in trials]
    accuracy = np.mean(
        [metrics.ape(one.values, ground.truth, offset=APE_OFFSET) ** -0.5 for one in outcomes],
        axis=0,
    )
    scores = np.mean([reported(one, ground.xi) for one in outcomes], axis=0)
    shown = accuracy if what == "accuracy" else scores
    return {float(rank): float(shown[player]) for rank, player in enumerate(np.argsort(accuracy))}


SPEARMAN = Measure(
    name="spearman",
    label="Spearman of f and APE^−½",
    better="higher",
    each=partial(_spearman_at_xi, own=False),
)
OWN_SPEARMAN = Measure(
    name="own_spearman",
    label="the same, f without the truth",
    better="higher",
    each=partial(_spearman_at_xi, own=True),
)
SPEARMAN_BY_XI = Measure(
    name="spearman_by_xi",
    label="Spearman of f and APE^−½",
    better="higher",
    each=partial(_spearman_by_xi, own=False),
    x="ξ",
)
OWN_SPEARMAN_BY_XI = Measure(
    name="own_spearman_by_xi",
    label="the same, f without the truth",
    better="higher",
    each=partial(_spearman_by_xi, own=True),
    x="ξ",
)
RANKED = tuple(
    Measure(
        name=f"ranked_{what}",
        label=label,
        together=partial(_ranked, what=what),
        accountings=("paper",),
        x="players by APE^−½",
    )
    for what, label in (("accuracy", "APE^−½"), ("fidelity", "f"))
)


# --- errors of the values ---------------------------------------------------------------------


def _mse(
    trial: Trial, accounting: Accounting, ground: Ground, *, normalise: Normalise | None
) -> float:
    values = trial.outcome(accounting).values
    return _or_nan(lambda: metrics.mse(values, ground.truth, normalise=normalise))


def _mape(
    trial: Trial, accounting: Accounting, ground: Ground, *, normalise: Normalise | None
) -> float:
    values = trial.outcome(accounting).values
    return _or_nan(lambda: metrics.mape(values, ground.truth, normalise=normalise))


def _inversions(trial: Trial, accounting: Accounting, ground: Ground) -> float:
    return float(metrics.inversions(trial.outcome(accounting).values, ground.truth))


def _inversion_error(
    trial: Trial, accounting: Accounting, ground: Ground, *, normalise: Normalise | None
) -> float:
    values = trial.outcome(accounting).values
    return _or_nan(
        lambda: metrics.inversion_error(values, ground.truth, relative=True, normalise=normalise)
    )


def _welfare(trial: Trial, accounting: Accounting, ground: Ground) -> float:
    scores = reported(trial.outcome(accounting), ground.xi)
    return _or_nan(lambda: metrics.nl_nsw(scores))


def _audited_welfare(trials: Sequence[Trial], accounting: Accounting, ground: Ground) -> float:
    scores = audited([trial.outcome(accounting) for trial in trials], ground)
    return _or_nan(lambda: metrics.nl_nsw(scores))


MSE = Measure(
    name="mse",
    label="mean squared error",
    better="lower",
    each=partial(_mse, normalise=None),
)
NL_NSW = Measure(name="nl_nsw", label="NL NSW, as reported", better="lower", each=_welfare)
TRUE_NL_NSW = Measure(
    name="true_nl_nsw", label="NL NSW, audited", better="lower", together=_audited_welfare
)


def table_measures(normalise: Normalise) -> tuple[Measure, ...]:
    """The columns of the tables of P2–P4, and the fidelity beside them.

    Parameters
    ----------
    normalise
        What φ and φ̂ are each divided by: "mean" in P2 and P3, "first" in P4.
    """
    return (
        Measure(
            name="mape",
            label="MAPE",
            better="lower",
            each=partial(_mape, normalise=normalise),
        ),
        Measure(name="mse", label="MSE", better="lower", each=partial(_mse, normalise=normalise)),
        Measure(name="n_inv", label="N_inv", better="lower", each=_inversions),
        Measure(
            name="eps_inv",
            label="ε_inv",
            better="lower",
            each=partial(_inversion_error, normalise=normalise),
        ),
        NL_NSW,
        MIN_FIDELITY,
        TRUE_MIN_FIDELITY,
    )


# --- axioms and uses --------------------------------------------------------------------------


def _nullity(trial: Trial, accounting: Accounting, ground: Ground) -> float:
    values = trial.outcome(accounting).values
    return _or_nan(lambda: metrics.nullity_error(values, truth=ground.truth))


def _violations(trial: Trial, accounting: Accounting, ground: Ground) -> Points:
    values, pairs = trial.outcome(accounting).values, ground.played.facts["pairs"]
    return {
        epsilon1: metrics.symmetry_violations(
            values,
            ground.truth,
            pairs,
            epsilon1,
            ground.xi,
            threshold="published",
            normalise="sum",
        )
        for epsilon1 in EPSILONS
    }


def _deviation(trial: Trial, accounting: Accounting, ground: Ground) -> float:
    values, pairs = trial.outcome(accounting).values, ground.played.facts["pairs"]
    return _or_nan(
        lambda: metrics.deviation_ratio(values, pairs, ground.xi, log=True, normalise="sum")
    )


def _moved(
    trial: Trial,
    accounting: Accounting,
    ground: Ground,
    *,
    action: Literal["add", "remove"],
    first: Literal["high", "low"],
) -> Points:
    """The utility as players join or leave, as published."""
    values = trial.outcome(accounting).values
    drawn = curve(ground.played.game, values, action=action, first=first, steps=CURVE_STEPS)
    return dict(zip(drawn.counts.astype(float).tolist(), drawn.utilities.tolist(), strict=True))


def _moved_area(
    trial: Trial,
    accounting: Accounting,
    ground: Ground,
    *,
    action: Literal["add", "remove"],
    first: Literal["high", "low"],
) -> float:
    """The mean height of the same curve on rows that the utility has not seen."""
    values = trial.outcome(accounting).values
    game = ground.played.facts["held_out"]
    return curve(game, values, action=action, first=first, steps=CURVE_STEPS).area


def _f1(
    trial: Trial,
    accounting: Accounting,
    ground: Ground,
    *,
    rule: Literal["cluster", "below_centre"],
) -> float:
    values = trial.outcome(accounting).values
    return _or_nan(lambda: metrics.noisy_label_f1(values, ground.played.facts["noisy"], rule=rule))


NULLITY = Measure(name="eps_abs", label="ε_abs", better="lower", each=_nullity)
VIOLATIONS = Measure(
    name="violations",
    label="share of pairs that break symmetry",
    better="lower",
    each=_violations,
    x="ε1",
)
LOG_RATIO = Measure(name="log_ratio", label="log Σ ρ", better="lower", each=_deviation)

_MOVES: tuple[tuple[Literal["add", "remove"], Literal["high", "low"]], ...] = (
    ("add", "high"),
    ("add", "low"),
    ("remove", "high"),
    ("remove", "low"),
)
MOVES = tuple(
    Measure(
        name=f"{action}_{first}",
        label=f"accuracy, {action} {first} values first",
        each=partial(_moved, action=action, first=first),
        x="points moved",
    )
    for action, first in _MOVES
)
# Removing the highest first is adding the lowest first, read backwards: the areas are the same.
MOVE_AREAS = tuple(
    Measure(
        name=f"{action}_{first}_area",
        label=f"mean held-out accuracy, {action} {first} first",
        better="higher" if first == "high" else "lower",
        each=partial(_moved_area, action=action, first=first),
        of_truth=True,
    )
    for action, first in _MOVES
    if action == "add"
)
F1 = Measure(
    name="f1",
    label="F1 of noisy labels, lower cluster",
    better="higher",
    each=partial(_f1, rule="cluster"),
    of_truth=True,
)
F1_BELOW = Measure(
    name="f1_below_centre",
    label="F1 of noisy labels, below the lower centre",
    better="higher",
    each=partial(_f1, rule="below_centre"),
    of_truth=True,
)
