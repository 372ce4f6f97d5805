"""From kept runs to numbers: errors of methods, ratios to the default, verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import judging
from benchmarks.judging import LEVEL, SMALLEST, Mean
from benchmarks.referee.games import BUDGETS, Family, RefereeGame
from benchmarks.referee.methods import CONTROL, DEFAULT, Method
from benchmarks.referee.runner import KEPT, Run, Store

Floats = NDArray[np.float64]
# With fewer repeats the minimum over players of an audited fidelity says little.
ENOUGH_TO_AUDIT = 30
WORSE = 1.1
"""A method made so much worse must be found out"""
ALL = "all"
"""In place of a family: the mean over all of them"""
CONTROL_LEVEL = 0.01
"""So seldom does a control fail by bad luck"""


@dataclass(frozen=True, eq=False)
class Trials:
    """The runs of one method on the games of a family at one budget."""

    squares: dict[str, Floats]
    """By game: squared errors of the values, a row for each repeat, NaN where there is no run"""
    units: dict[str, float]
    """By game: the mean φ²"""
    evaluations: float
    """Mean share of the budget that was spent"""
    seconds: float
    left_out: str = ""

    @property
    def mse(self) -> dict[str, Floats]:
        """By game: the relative mean squared error of each run."""
        return {game: one.mean(axis=1) / self.units[game] for game, one in self.squares.items()}

    def scaled(self, factor: float) -> Trials:
        """The same with all squared errors so much larger."""
        return replace(self, squares={game: factor * one for game, one in self.squares.items()})


Board = dict[tuple[str, float], dict[str, Trials]]
"""By family and evaluations per player: the trials of each method"""


def collect(
    families: Iterable[Family],
    methods: Mapping[str, Method],
    *,
    kept: Path = KEPT,
    budgets: Collection[float] = BUDGETS,
) -> tuple[Board, dict[str, Sequence[RefereeGame]]]:
    """All kept runs held against the truth, and the games of each family that has some."""
    board: Board = {}
    games: dict[str, Sequence[RefereeGame]] = {}
    for family in families:
        stores = {name: Store(kept, family.name, one) for name, one in methods.items()}
        stores = {name: store for name, store in stores.items() if store.runs}
        if not stores:
            continue
        games[family.name] = family.load()
        for name, store in stores.items():
            grouped: dict[tuple[float, str], list[Run]] = {}
            for run in store.runs.values():
                grouped.setdefault((run.per_player, run.game), []).append(run)
            for per_player in budgets:
                found = [
                    (played, runs)
                    for played in games[family.name]
                    if (runs := grouped.get((per_player, played.name)))
                ]
                if found:
                    board.setdefault((family.name, per_player), {})[name] = _trials(
                        found, per_player
                    )
    return board, games


def _trials(found: Sequence[tuple[RefereeGame, Sequence[Run]]], per_player: float) -> Trials:
    squares, spent, seconds, reasons = {}, [], [], []
    for played, runs in found:
        done = [run for run in runs if run.values]
        reasons += [run.left_out for run in runs if run.left_out]
        if not done:
            continue
        rows = np.full((1 + max(run.repeat for run in done), len(played.truth)), np.nan)
        for run in done:
            rows[run.repeat] = np.square(np.array(run.values) - played.truth)
        squares[played.name] = rows
        budget = played.budget(per_player) or 1
        spent += [run.evaluations / budget for run in done]
        seconds += [run.seconds for run in done]
    return Trials(
        squares,
        {played.name: float(np.square(played.truth).mean()) for played, _ in found},
        float(np.mean(spent)) if spent else np.nan,
        float(np.mean(seconds)) if seconds else np.nan,
        reasons[0] if reasons else "",
    )


@dataclass(frozen=True)
class Score:
    """What one method did on one family at one budget."""

    family: str
    per_player: float
    method: str
    runs: int
    mse: float
    """The geometric mean over games and runs of the relative mean squared error"""
    ratio: Mean | None
    """The logarithm of its error over that of the default, on the runs that both have"""
    p_value: float
    """Of no difference, corrected for all comparisons at this budget"""
    spent: float
    seconds: float
    families: int = 1

    @property
    def better(self) -> bool:
        """Whether it is significantly better than the default."""
        return self.ratio is not None and self.ratio.mean < 0 and self.p_value < LEVEL

    @property
    def worse(self) -> bool:
        """Whether it is significantly worse than the default."""
        return self.ratio is not None and self.ratio.mean > 0 and self.p_value < LEVEL


def geometric_mean(errors: Mapping[str, Floats]) -> float:
    """Over games, of the geometric means over runs."""
    logs = [np.nanmean(np.log(np.maximum(one, SMALLEST))) for one in errors.values()]
    return float(np.exp(np.mean(logs)))


def ratio(own: Trials, other: Trials) -> Mean | None:
    """The logarithm of the ratio of two methods' errors."""
    logs = judging.log_ratios(own.mse, other.mse)
    return judging.mean_over_games(logs) if logs else None


def scores(board: Board) -> list[Score]:
    """All methods but the control, with verdicts corrected by Holm's rule budget by budget.

    A method that was left out of some games of a family, where the default was not, has no score:
    the games that are left might be the easy ones.
    """
    found = []
    for (family, per_player), trials in board.items():
        default = trials.get(DEFAULT)
        games = max(len(one.squares) for one in trials.values())
        for name, one in trials.items():
            if name == CONTROL or len(one.squares) < games:
                continue
            compared = ratio(one, default) if default is not None and name != DEFAULT else None
            runs = int(sum(np.isfinite(errors).sum() for errors in one.mse.values()))
            found.append(
                Score(
                    family,
                    per_player,
                    name,
                    runs,
                    geometric_mean(one.mse),
                    compared,
                    compared.p_value if compared is not None else 1.0,
                    one.evaluations,
                    one.seconds,
                )
            )
    return _corrected(found)


def _corrected(found: list[Score]) -> list[Score]:
    result = []
    for per_player in sorted({one.per_player for one in found}):
        here = [one for one in found if one.per_player == per_player]
        compared = [one for one in here if one.ratio is not None]
        corrected = iter(judging.holm([one.p_value for one in compared]))
        result += [
            replace(one, p_value=float(next(corrected))) if one.ratio is not None else one
            for one in here
        ]
    return result


def overall(found: Sequence[Score]) -> list[Score]:
    """The geometric means over families.

    A method that was left out of a few has the default's mean times its ratio to the default on
    the others; of one that was left out of half of them nothing is said.
    """
    result = []
    for per_player in sorted({one.per_player for one in found}):
        here = [one for one in found if one.per_player == per_player]
        families = len({one.family for one in here})
        default = [np.log(one.mse) for one in here if one.method == DEFAULT]
        for name in dict.fromkeys(one.method for one in here):
            own = [one for one in here if one.method == name]
            ratios = [one.ratio for one in own if one.ratio is not None]
            mean = judging.mean_of_means(ratios) if len(ratios) == len(own) else None
            log_mse = float(np.mean([np.log(one.mse) for one in own]))
            if len(own) < families:
                if mean is None or len(own) <= families / 2 or len(default) < families:
                    continue
                log_mse = float(np.mean(default)) + mean.mean
            result.append(
                Score(
                    ALL,
                    per_player,
                    name,
                    sum(one.runs for one in own),
                    float(np.exp(log_mse)),
                    mean,
                    mean.p_value if mean is not None else 1.0,
                    float(np.mean([one.spent for one in own])),
                    float(np.mean([one.seconds for one in own])),
                    len(own),
                )
            )
    return _corrected(result)


@dataclass(frozen=True)
class Control:
    """A comparison whose outcome is known beforehand."""

    what: str
    ratio: Mean
    p_value: float
    expected: bool
    """Whether a difference is to be found"""

    @property
    def passed(self) -> bool:
        """Whether what was to be found was found, and nothing else."""
        found = self.p_value < CONTROL_LEVEL
        return found and self.ratio.mean > 0 if self.expected else not found


def controls(board: Board) -> list[Control]:
    """The default against itself with other seeds, as it is and made worse, over all games."""
    pairs = [
        (one[CONTROL], one[DEFAULT])
        for one in board.values()
        if CONTROL in one and DEFAULT in one and one[CONTROL].squares
    ]
    if not pairs:
        return []
    per_cent = f"{100 * (WORSE - 1):.0f} %"
    trials = {
        "the default again, with other seeds": (pairs, False),
        f"the same, made {per_cent} worse": (
            [(one.scaled(WORSE), default) for one, default in pairs],
            True,
        ),
        f"the default made {per_cent} worse, with its own seeds": (
            [(default.scaled(WORSE), default) for _, default in pairs],
            True,
        ),
    }
    found = []
    for what, (compared, expected) in trials.items():
        ratios = [one for one in (ratio(*pair) for pair in compared) if one is not None]
        mean = judging.mean_of_means(ratios)
        found.append((what, mean, expected))
    p_values = judging.holm([mean.p_value for _, mean, _ in found])
    return [
        Control(what, mean, float(p), expected)
        for (what, mean, expected), p in zip(found, p_values, strict=True)
    ]


@dataclass(frozen=True)
class Audit:
    """The minimum fidelity of one method on one game at one budget."""

    game: str
    per_player: float
    method: str
    repeats: int
    fidelity: Mean
    """Its logarithm"""
    ratio: Mean | None
    """The logarithm of its minimum over that of the default, on the repeats that both have"""
    p_value: float

    @property
    def better(self) -> bool:
        """Whether it is significantly better than the default."""
        return self.ratio is not None and self.ratio.mean > 0 and self.p_value < LEVEL


def audits(board: Board, games: Mapping[str, Sequence[RefereeGame]]) -> list[Audit]:
    """Wherever there are repeats enough; corrected by Holm's rule for all comparisons."""
    found = []
    for (family, per_player), trials in board.items():
        for played in games[family]:
            default = _complete(trials.get(DEFAULT), played.name)
            for name, one in trials.items():
                squares = _complete(one, played.name)
                if name == CONTROL or len(squares) < ENOUGH_TO_AUDIT:
                    continue
                both = min(len(squares), len(default))
                compared = (
                    judging.compare_audited(squares[:both], default[:both], played.truth, played.xi)
                    if name != DEFAULT and both >= ENOUGH_TO_AUDIT
                    else None
                )
                found.append(
                    Audit(
                        played.name,
                        per_player,
                        name,
                        len(squares),
                        judging.audited(squares, played.truth, played.xi),
                        compared,
                        compared.p_value if compared is not None else 1.0,
                    )
                )
    corrected = iter(judging.holm([one.p_value for one in found if one.ratio is not None]))
    return [
        replace(one, p_value=float(next(corrected))) if one.ratio is not None else one
        for one in found
    ]


def _complete(trials: Trials | None, game: str) -> Floats:
    """The rows of squared errors from the first on, up to the first that is missing."""
    if trials is None or game not in trials.squares:
        return np.empty((0, 0))
    rows = trials.squares[game]
    missing = np.flatnonzero(np.isnan(rows).any(axis=1))
    return rows[: missing[0]] if len(missing) else rows
