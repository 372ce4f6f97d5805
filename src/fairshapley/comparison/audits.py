"""Audits and comparisons: run a method many times, and check what it says about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtrit
from scipy.stats import kendalltau, sem, spearmanr

from fairshapley._basics import checks
from fairshapley._basics.checks import ROUNDING
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import block_html, names_table_html, sentences_html
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.comparison.measures import (
    inversion_error,
    inversions,
    mape,
    nl_nsw,
    rank_correlation,
)
from fairshapley.draws import AllCoalitions
from fairshapley.errors import InputError
from fairshapley.estimators import Estimator
from fairshapley.estimators.exact import exact_values
from fairshapley.fairness.axioms import Premises, check_estimate, check_fairness, tolerances
from fairshapley.fairness.guarantees import fidelity
from fairshapley.fairness.levels import DELTA, EPSILON1, XI, check_delta, check_epsilon1, check_xi
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.plan import evaluating, game_facts
from fairshapley.semivalues import parse_semivalue
from fairshapley.stopping import Budget, Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method: TypeAlias = str | Estimator[Any, Any]

# 65 536 evaluations for a truth that is exact, and for the cases of which the axioms speak; larger
# games need a truth that is given, and cases that are declared.
EXACT_TRUTH_PLAYERS = 16
# Beside every audited minimum.
LOWEST_OF_NOISY = (
    "The true minimum fidelity is the smallest of noisy scores, which lies low; ± is its standard "
    "error."
)
# The numbers of `Audit.row` in words; a table shows the first ones.
HEADINGS = {
    "evaluations": "evaluations",
    "mse": "mean squared error",
    "true_min_fidelity": "true minimum fidelity",
    "true_min_fidelity_error": "±",
    "reported_min_fidelity": "reported",
    "coverage": "coverage",
    "within_share": "A0 held",
    "fair_share": "fair runs",
    "seconds": "seconds",
    "worst_error": "largest root mean squared error",
    "max_bias_in_errors": "largest bias, in standard errors",
    "promised": "fair runs that Proposition 1 promised",
    "certificates": "certified runs",
    "certificate_failures": "wrongly certified runs",
    "null_players": "null players",
    "equal_pairs": "pairs of equal value",
    "dominated_pairs": "dominated pairs",
    "mse_error": "± of the mean squared error",
    "mape": "mean absolute percentage error",
    "mape_error": "± of that",
    "n_inv": "inverted pairs, N_inv",
    "n_inv_error": "± of these",
    "eps_inv": "error of differences, ε_inv",
    "eps_inv_error": "± of that error",
    "nl_nsw": "NL NSW of the true fidelity",
    "spearman": "rank correlation (Spearman)",
    "kendall": "rank correlation (Kendall)",
}
# What is computed for each run: the mean, and "_error" for its standard error.
MEASURES: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "mse": lambda values, truth: float(np.square(values - truth).mean()),
    "mape": mape,
    "n_inv": inversions,
    "eps_inv": inversion_error,
    "spearman": lambda values, truth: rank_correlation(values, truth, spearmanr),
    "kendall": lambda values, truth: rank_correlation(values, truth, kendalltau),
}
# The names of numbers in a table for a paper, and what is best when it is high.
LATEX = {
    "mse": "MSE",
    "mape": "MAPE",
    "n_inv": r"$N_{\text{inv}}$",
    "eps_inv": r"$\epsilon_{\text{inv}}$",
    "nl_nsw": "NL NSW",
}
HIGHER_IS_BETTER = ("true_min_fidelity", "spearman", "kendall", "coverage")
TABLE = list(HEADINGS)[:9]


@dataclass(frozen=True, eq=False)
class Audit:
    """Repeated runs of a method against the truth.

    The true fidelity is (|φ_i| + ξ)² over the mean squared error of the repeats, bias included;
    the reported one is what each run says of itself.
    """

    method: str
    repeats: int
    xi: float
    epsilon1: float
    delta: float
    truth: FloatArray
    evaluations: float
    """Mean over the runs"""
    seconds: float
    """Mean over the runs"""
    values: FloatArray
    """(repeats, n_players)"""
    reported: FloatArray
    """The fidelity scores that the runs report, (repeats, n_players)"""
    covered: BoolArray
    """Whether each player's own 95 % interval holds the truth, (repeats, n_players)"""
    within: BoolArray
    """Whether A0, from which A1–A3 follow, held for all players at (ε1, ξ·ε1), per run"""
    premises: Premises
    """Where A1–A3 speak of this game: found in its utilities and its true values, or declared"""
    fair: BoolArray
    """Whether A1–A3 held jointly, per run; true where there is no case to check"""
    promised: FloatArray
    """The probability of that which Proposition 1 promises in each run"""
    issued: BoolArray
    """Whether the run was certified at (ε1, ξ·ε1, δ)"""

    @property
    def mse(self) -> FloatArray:
        """The mean squared error of each player."""
        return np.square(self.values - self.truth).mean(axis=0)

    @property
    def bias(self) -> FloatArray:
        """The mean error of each player."""
        return self.values.mean(axis=0) - self.truth

    @property
    def bias_in_errors(self) -> FloatArray:
        """The mean error of each player in units of its own standard error."""
        spread = self.values.std(axis=0, ddof=1) / np.sqrt(self.repeats)
        return np.divide(self.bias, spread, out=np.zeros_like(spread), where=spread > 0)

    @property
    def true_fidelity(self) -> FloatArray:
        """(|φ_i| + ξ)² / MSE_i; infinite where no run made an error."""
        return fidelity(self.truth, self.mse, self.xi)

    @property
    def min_true_fidelity(self) -> float:
        """The lowest true fidelity, as these runs show it.

        It is the smallest of n noisy scores, and therefore too low with few runs.
        """
        return float(self.true_fidelity.min())

    @property
    def min_true_fidelity_error(self) -> float:
        """The standard error of `min_true_fidelity`; NaN where that is infinite."""
        lowest = int(self.true_fidelity.argmin())
        squares = np.square(self.values[:, lowest] - self.truth[lowest])
        if not squares.any():
            return math.nan
        return float(self.min_true_fidelity * sem(squares) / squares.mean())

    @property
    def min_reported_fidelity(self) -> float:
        """The median over the runs of the minimum that they report."""
        return float(np.median(self.reported.min(axis=1)))

    @property
    def coverage(self) -> float:
        """The share of 95 % intervals, of all players and runs, that hold the truth."""
        return float(self.covered.mean())

    @property
    def fair_share(self) -> float:
        """The share of runs in which A1–A3 held jointly; NaN where there is no case to check."""
        return float(self.fair.mean()) if any(self.premises.counts) else math.nan

    def row(self) -> dict[str, float]:
        """Return the numbers of the method for a comparison."""
        nulls, equal, dominated = self.premises.counts
        scores = self.true_fidelity
        found = {
            "evaluations": self.evaluations,
            "worst_error": float(np.sqrt(self.mse.max())),
            "max_bias_in_errors": float(np.abs(self.bias_in_errors).max()),
            "true_min_fidelity": self.min_true_fidelity,
            "true_min_fidelity_error": self.min_true_fidelity_error,
            "reported_min_fidelity": self.min_reported_fidelity,
            "coverage": self.coverage,
            "within_share": float(self.within.mean()),
            "fair_share": self.fair_share,
            "promised": float(self.promised.mean()),
            "null_players": nulls,
            "equal_pairs": equal,
            "dominated_pairs": dominated,
            "certificates": int(self.issued.sum()),
            "certificate_failures": int((self.issued & ~self.within).sum()),
            "seconds": self.seconds,
            "nl_nsw": nl_nsw(scores) if np.isfinite(scores).all() else math.nan,
        }
        for name, measure in MEASURES.items():
            try:
                runs = [measure(values, self.truth) for values in self.values]
            except InputError:  # the percentage error of a value of 0
                runs = [math.nan] * self.repeats
            found |= {name: float(np.mean(runs)), f"{name}_error": float(sem(runs))}
        return found

    def cells(self, names: Iterable[str]) -> list[str]:
        """Return some numbers of `row` as texts."""
        row = {name: f"{number:.4g}" for name, number in self.row().items()}
        if math.isnan(self.fair_share):
            row["fair_share"] = "no case to check"
        return [row[name] for name in names]

    def __str__(self) -> str:
        numbers = zip(HEADINGS.values(), self.cells(HEADINGS), strict=True)
        lines = [f"{heading}: {number}" for heading, number in numbers]
        return "\n".join([f"{self.method}: {self.repeats} runs", *lines, LOWEST_OF_NOISY])


class Case(NamedTuple):
    """What was compared: the names of a method and a game, and the budget."""

    method: str
    game: str
    budget: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Audits of several methods at equal cost, on one game or several, at one budget or several.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(12, seed=1)
    >>> methods = {"walks": "mc", "pairs": fs.MonteCarlo(antithetic=True)}
    >>> comparison = fs.compare(game, methods, [100, 300], repeats=10)
    >>> comparison.labels
    ['walks, 100', 'pairs, 100', 'walks, 300', 'pairs, 300']
    >>> len(comparison.to_latex().splitlines())
    11
    """

    audits: dict[Case, Audit]

    @property
    def labels(self) -> list[str]:
        """The methods, with game and budget where there are several."""
        shown = [place for place in (1, 2) if len({case[place] for case in self.audits}) > 1]
        return [", ".join([case.method, *(case[at] for at in shown)]) for case in self.audits]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary per case: names, the numbers of the audit, and `ratio`.

        `ratio` is the mean squared error as a multiple of the smallest on that game and budget.
        """
        found = [case._asdict() | audit.row() for case, audit in self.audits.items()]
        for row in found:
            least = min(case["mse"] for case in found if _where(case) == _where(row))
            row["ratio"] = row["mse"] / least if least > 0 else math.nan
        return found

    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return a row per case: cost, errors, fidelity, coverage; `kind` as in `Result.to_frame`.

        Among them are `mape`, `n_inv`, `eps_inv`, `nl_nsw`, rank correlations, standard errors
        (`mse_error` and others) and `ratio`, the error over that of the best.
        """
        rows = self.rows()
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, kind)

    def to_latex(self, columns: Sequence[str] = ("mse", "ratio", "n_inv", "nl_nsw")) -> str:
        """Return a table for a paper (booktabs): a row per case, the best in bold.

        Parameters
        ----------
        columns
            Numbers as `to_frame` names them; standard errors stand in parentheses.
        """
        rows = self.rows()
        for name in columns:
            checks.choice("columns", name, tuple(rows[0])[len(Case._fields) :])
        heads = ["method", *(LATEX.get(name, name.replace("_", " ")) for name in columns)]
        lines = [rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule", _latex_line(heads)]
        for _, group in groupby(zip(self.labels, rows, strict=True), lambda case: _where(case[1])):
            cases = list(group)
            lines.append(r"\midrule")
            for label, row in cases:
                shown = [
                    _latex_cell(row, name, [case[name] for _, case in cases]) for name in columns
                ]
                lines.append(_latex_line([re.sub(r"([&%$#_{}])", r"\\\1", label), *shown]))
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def shown(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Return the headings and the rows of a table, and sentences for beside it."""
        audits = zip(self.labels, self.audits.values(), strict=True)
        rows = [[name, *audit.cells(TABLE)] for name, audit in audits]
        cases = next(iter(self.audits.values())).premises
        notes = [f"fair runs: A1–A3 held jointly; cases to check: {cases}", LOWEST_OF_NOISY]
        return ["method", *map(HEADINGS.__getitem__, TABLE)], rows, notes

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the error of each method against the evaluations (needs matplotlib).

        Parameters
        ----------
        axes
            Where to draw; by default a new figure.
        """
        from fairshapley.results.plots import plot_comparison

        return plot_comparison(self, axes)

    def __str__(self) -> str:
        audits = zip(self.labels, self.audits.values(), strict=True)
        return "\n\n".join(f"[{name}]\n{audit}" for name, audit in audits)

    def _repr_html_(self) -> str:
        headings, rows, notes = self.shown()
        table = names_table_html(headings, rows)
        return block_html("Methods at equal cost", sentences_html(notes), table)


def audit(
    game: Game,
    method: Method,
    truth: FloatArray | None = None,
    *,
    budget: int | Budget | None,
    repeats: int,
    xi: float = XI,
    seed: int | None = 0,
    semivalue: str = "shapley",
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    until: Rule | None = None,
) -> Audit:
    """Repeat a run with different seeds and compare with the truth.

    Up to 16 players every coalition is evaluated once, which shows the null, the interchangeable
    and the dominated players of which A1–A3 speak. In larger games they are those that the game
    declares: `null_players` or `n_active`, `identical_players` and `dominated_pairs`.

    Parameters
    ----------
    game, method, budget, until, semivalue, xi
        As in `estimate`.
    truth
        The true values. None takes the game's own `shapley_values`, or computes them for up to 16
        players.
    repeats
        The number of runs, with the seeds `seed`, `seed` + 1, …
    seed
        The first seed.
    epsilon1, delta
        The tolerance at which fairness is judged and certificates are asked for.

    Examples
    --------
    >>> import fairshapley as fs
    >>> report = audit(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=300, repeats=20)
    >>> report.repeats, 0.85 < report.coverage < 1
    (20, True)
    """
    run: dict[str, Any] = {"until": until, "repeats": repeats, "seed": seed, "truth": truth}
    judged: dict[str, Any] = {"xi": xi, "epsilon1": epsilon1, "delta": delta}
    comparison = compare(game, {"": method}, budget, semivalue=semivalue, **run, **judged)
    return next(iter(comparison.audits.values()))


def compare(
    games: Game | Sequence[Game] | Mapping[str, Game],
    methods: Sequence[Method] | Mapping[str, Method],
    budgets: int | Budget | Sequence[int | Budget] | None,
    *,
    repeats: int = 20,
    truth: FloatArray | None = None,
    seed: int | None = 0,
    xi: float = XI,
    semivalue: str = "shapley",
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    until: Rule | None = None,
) -> Comparison:
    """Audit several methods on games, with the same budgets and the same seeds.

    Parameters
    ----------
    games
        One game, or several; a dict gives them names.
    methods
        Names or estimators; a dict gives them labels of your own.
    budgets
        One budget as in `estimate`, or several.
    repeats
        The runs of each method, game and budget.
    truth
        The true values of one game, as in `audit`.
    seed, xi, semivalue, epsilon1, delta, until
        As in `audit`.
    """
    if not methods:
        raise InputError("give at least one method to compare")
    repeats, first = checks.whole("repeats", repeats, least=2), root_seed(seed)
    known: Any = methods if isinstance(methods, Mapping) else _labels(methods)
    if isinstance(games, Sequence):
        games = {f"{type(game).__name__} {place}": game for place, game in enumerate(games, 1)}
    played = dict(games) if isinstance(games, Mapping) else {type(games).__name__: games}
    if truth is not None and len(played) > 1:
        raise InputError("the true values belong to one game: compare game by game")
    run: dict[str, Any] = {"until": until, "semivalue": semivalue, "xi": xi, "progress": False}
    seeds, audits = range(first, first + repeats), {}
    for title, game in played.items():
        phi, premises = _ground(game, truth, semivalue)
        judged: dict[str, Any] = {"epsilon1": epsilon1, "delta": delta, "premises": premises}
        for budget in budgets if isinstance(budgets, Sequence) else [budgets]:
            for name, method in known.items():
                runs = [estimate(game, method, budget=budget, seed=seed, **run) for seed in seeds]
                case = Case(name, title, str(budget))
                audits[case] = audit_runs(runs, phi, xi=xi, **judged)
    return Comparison(audits)


def _where(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["game"], row["budget"]


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(row: Mapping[str, Any], name: str, same: Sequence[float]) -> str:
    """Return a number with its standard error, bold where it is the best of the same case."""
    value, error = row[name], row.get(f"{name}_error", math.nan)
    best = np.fmax.reduce(same) if name in HIGHER_IS_BETTER else np.fmin.reduce(same)
    text = rf"\textbf{{{value:.3g}}}" if value == best else f"{value:.3g}"
    return text if math.isnan(error) else f"{text} ({error:.2g})"


def _labels(methods: Sequence[Method]) -> dict[str, Method]:
    """Return methods by name, or by configuration where a name would appear twice."""
    names = [method if isinstance(method, str) else method.name for method in methods]
    labels = [
        str(method) if names.count(name) > 1 else name
        for name, method in zip(names, methods, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise InputError("a method is given twice: compare each once, or label them with a dict")
    return dict(zip(labels, methods, strict=True))


def _ground(game: Game, truth: FloatArray | None, semivalue: str) -> tuple[FloatArray, Premises]:
    """Return the true values, given, known to the game or enumerated; and cases of the axioms."""
    facts = game_facts(game, needed=False)
    n_players, nulls = facts.n_players, facts.n_players - facts.n_active
    known = truth
    if truth is None and semivalue == "shapley":
        known = abilities.known_values(game)
    premises = Premises(
        abilities.null_players(game), facts.identical_players, abilities.dominated_pairs(game)
    )
    if n_players <= EXACT_TRUTH_PLAYERS:
        with evaluating(game, facts) as evaluator:
            table = evaluator.evaluate(AllCoalitions(facts.n_active, nulls)).values
        premises = premises | Premises.of_table(np.tile(table, 1 << nulls))
        if known is None:
            known = exact_values(table, parse_semivalue(semivalue), nulls)
    if known is None:
        raise InputError(
            f"the true values of {n_players} players are not known",
            remedy="give {truth}, the values of a run with a hundred times the budget",
        )
    return known, premises


def audit_runs(
    runs: Sequence[Result],
    truth: FloatArray,
    *,
    xi: float,
    epsilon1: float = EPSILON1,
    delta: float = DELTA,
    premises: Premises | None = None,
) -> Audit:
    """Compare runs of one method, with different seeds, to the true values.

    Parameters
    ----------
    runs
        At least two results of the same game.
    truth
        The true values.
    xi, epsilon1, delta
        The tolerances at which fairness is judged.
    premises
        What is known of the game besides: null, identical and dominated players. Players with
        φ_i = 0 and pairs with φ_i = φ_j are found in the truth.
    """
    tolerance, failure, xi = check_epsilon1(epsilon1), check_delta(delta), check_xi(xi)
    if len(runs) < 2:
        raise InputError(f"an audit needs at least 2 runs, not {len(runs)}")
    values, errors = (
        np.array(numbers)
        for numbers in zip(*[(run.values, run.standard_errors) for run in runs], strict=True)
    )
    phi = check_estimate(values[0], truth)[1]
    # Without two contributions there is no interval, which counts as one that misses.
    degrees = np.maximum(np.array([run.counts for run in runs]) - 1, 1)
    rounding = ROUNDING * max(float(np.abs(phi).max()), np.finfo(float).tiny)
    reach = np.where(errors > 0, -stdtrit(degrees, 0.025) * errors, rounding)
    known = ~np.isnan(errors).any(axis=1)
    cases = Premises.of_values(phi) | (premises or Premises())
    axioms = {"epsilon1": tolerance, "xi": xi, "truth": phi, **vars(cases)}
    fair = [all(check.holds for check in check_fairness(row, **axioms)) for row in values]
    promised, issued = np.zeros((2, len(runs)))
    for place in np.flatnonzero(known).tolist():
        promised[place] = 1.0 - runs[place].guarantee(tolerance, xi).delta
        issued[place] = runs[place].certificate(tolerance, failure, xi).holds
    return Audit(
        method=runs[0].method,
        repeats=len(runs),
        xi=xi,
        epsilon1=tolerance,
        delta=failure,
        truth=phi,
        evaluations=float(np.mean([run.evaluations for run in runs])),
        seconds=float(np.mean([run.run.seconds for run in runs])),
        values=values,
        reported=np.array([run.fidelity(xi) for run in runs]),
        covered=np.abs(values - phi) <= np.where(np.isnan(reach), -1.0, reach),
        within=np.all(np.abs(values - phi) <= tolerances(phi, tolerance, xi), axis=1),
        premises=cases,
        fair=np.array(fair),
        promised=promised,
        issued=issued > 0,
    )
