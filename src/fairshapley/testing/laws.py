"""The laws of estimators: properties that follow from what a method says of itself.

Statistical laws fix their seed and state their false-alarm probability; the number of repeats is
the caller's, and fewer repeats make a law weaker, never wrong.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import FloatArray
from fairshapley.errors import ContractError
from fairshapley.estimators.estimator import Estimator
from fairshapley.evaluation.engines import SerialEngine
from fairshapley.games import Airport, SumOfUnanimity, TableGame
from fairshapley.games.game import Game
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, exact
from fairshapley.testing.toys import Affine, PlantedGame, Relabelled

# Two-sided probability 7e−6 for one player; a few hundred players are compared in all.
SIGMAS = 4.5
N_PLAYERS = 9
BUDGET = 150
"""Evaluations of a statistical run: a part of the 512 coalitions, so that nothing is exact"""
LATE_BUDGET = 400
"""Evaluations of a run that is far advanced"""


KNOWN = ("unanimity", "planted", "airport")
"""The games on which estimates are compared with the known values"""
ORDER = np.roll(np.arange(N_PLAYERS), 4)


@lru_cache(maxsize=1)
def law_games() -> dict[str, Game]:
    """Interactions, planted players, v(∅) ≠ 0, and the first game with its players renamed."""
    unanimity = SumOfUnanimity(N_PLAYERS, seed=1)
    planted = PlantedGame(N_PLAYERS, seed=2)
    # Laws are about an estimator's own numbers; a run gives declared players the mean of theirs.
    planted.identical_players = ()
    games: dict[str, Game] = {
        "unanimity": unanimity,
        "relabelled": Relabelled(unanimity, ORDER),
        "planted": planted,
        "airport": Affine(Airport(np.linspace(1.0, 3.0, N_PLAYERS)), scale=-2.0, offset=5.0),
    }
    for name, game in games.items():
        # A name saves hashing the content in each of thousands of runs.
        game.fingerprint = f"law game {name}"  # type: ignore[attr-defined]
    return games


@dataclass(frozen=True, eq=False)
class Repeats:
    """Many runs of one estimator on one game with different seeds."""

    values: FloatArray
    """(repeats, n_players)"""
    variances: FloatArray
    truth: FloatArray

    @property
    def bias(self) -> FloatArray:
        """Mean error of each player, in its own standard errors."""
        spread = np.maximum(self.values.std(axis=0, ddof=1), 1e-12)
        bias: FloatArray = (self.values.mean(axis=0) - self.truth) / spread
        return bias * math.sqrt(len(self.values))

    @property
    def error_ratio(self) -> float:
        """Reported over empirical standard error, root mean square over the players."""
        empirical = self.values.var(axis=0, ddof=1)
        return float(np.sqrt(self.variances.mean() / empirical.mean()))


@lru_cache(maxsize=32)
def simulate(
    estimator: Estimator[Any, Any],
    name: str,
    *,
    repeats: int,
    semivalue: str = "shapley",
    first_seed: int = 0,
    budget: int = BUDGET,
) -> Repeats:
    """Repeat a run with the seeds `first_seed` …, and compare with the exact values.

    Several laws look at the same sample, so it is kept.
    """
    game = law_games()[name]
    runs = [
        estimate(game, estimator, budget=budget, semivalue=semivalue, seed=first_seed + repeat)
        for repeat in range(repeats)
    ]
    return Repeats(
        np.array([run.values for run in runs]),
        np.square([run.standard_errors for run in runs]),
        exact(game, semivalue).values,
    )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ContractError(message)


def _require_unbiased(bias: FloatArray, finding: str) -> None:
    worst = float(np.abs(bias).max())
    _require(worst <= SIGMAS, f"{finding} {worst:.1f} standard errors")


def _require_honest(sample: Repeats, finding: str) -> None:
    """10 % apart at most, from 1000 repeats on; with fewer the margin grows as their noise."""
    ratio, margin = sample.error_ratio, max(0.1, SIGMAS / (2 * len(sample.values)) ** 0.5)
    _require(1 - margin <= ratio <= 1 + margin, finding.format(ratio))


def _run(estimator: Estimator[Any, Any], game: Game, seed: int, **options: Any) -> Result:
    return estimate(game, estimator, **{"budget": BUDGET, "seed": seed} | options)


def _same(one: Result, other: Result, what: str) -> None:
    """Bit for bit: values, errors and counts."""
    for name in ("values", "standard_errors", "counts"):
        before, after = (getattr(run, name).tobytes() for run in (one, other))
        _require(before == after, f"{what} changed {name}: results must be bit-identical")
    spent = [(run.evaluations, run.marginals) for run in (one, other)]
    _require(spent[0] == spent[1], f"{what} changed the cost from {spent[0]} to {spent[1]}")


def unbiased(estimator: Estimator[Any, Any], repeats: int) -> None:
    """The mean over many seeds is the value, on games with known values.

    4.5 standard errors for each of 27 players: false alarm below 2e−4.
    """
    for name in KNOWN:
        bias = simulate(estimator, name, repeats=repeats).bias
        _require_unbiased(bias, f"biased on the {name} game:")


def unbiased_semivalues(estimator: Estimator[Any, Any], repeats: int) -> None:
    """The same for Beta(4, 1) and Banzhaf values."""
    for semivalue in ("beta(4,1)", "banzhaf"):
        sample = simulate(estimator, "unanimity", repeats=repeats, semivalue=semivalue)
        _require_unbiased(sample.bias, f"biased for {semivalue}:")


def standard_errors(estimator: Estimator[Any, Any], repeats: int) -> None:
    """Reported and empirical standard error agree within 10 %, from 1000 repeats on.

    With fewer repeats the margin grows as their noise: 4.5 times √(1/(2·repeats)).
    """
    for name in KNOWN:
        finding = f"reported standard errors are {{:.3f}} times the empirical on the {name} game"
        _require_honest(simulate(estimator, name, repeats=repeats), finding)


def later_stages(estimator: Estimator[Any, Any], repeats: int) -> None:
    """Bias and standard errors with most coalitions known, when pilots and first groups are over.

    4.5 standard errors, and 10 % or the noise of so few repeats.
    """
    sample = simulate(estimator, "unanimity", repeats=repeats, budget=LATE_BUDGET)
    _require_unbiased(sample.bias, "biased in later stages:")
    _require_honest(sample, "standard errors of later stages are {:.3f} times the empirical")


def null_player(estimator: Estimator[Any, Any], repeats: int) -> None:
    """A null player gets exactly 0, or 0 on average where the method says so."""
    game = law_games()["planted"]
    assert isinstance(game, PlantedGame)  # noqa: S101 - defined above
    nulls = list(game.null_players)
    if estimator.traits.exact_nulls:
        largest = np.abs(_run(estimator, game, 3).values[nulls]).max()
        _require(bool(largest < 1e-12), f"a null player got {largest!r}")
    else:
        bias = simulate(estimator, "planted", repeats=repeats).bias[nulls]
        _require_unbiased(bias, "null players are off by")


def relabelling(estimator: Estimator[Any, Any], repeats: int) -> None:
    """Renaming the players renames the estimates: same means and variances."""
    one = simulate(estimator, "unanimity", repeats=repeats)
    other = simulate(estimator, "relabelled", repeats=repeats, first_seed=repeats)
    shifts = one.values.mean(axis=0)[ORDER] - other.values.mean(axis=0)
    spread = one.values.var(axis=0)[ORDER] + other.values.var(axis=0)
    bias = shifts / np.sqrt(np.maximum(spread, 1e-24) / repeats)
    _require_unbiased(bias, "renaming players shifted a mean by")
    ratio = float(np.sqrt(one.values.var(axis=0).mean() / other.values.var(axis=0).mean()))
    margin = 1 + SIGMAS / repeats**0.5
    finding = f"renaming players changed the standard deviations by a factor {ratio:.3f}"
    _require(1 / margin <= ratio <= margin, finding)


def linearity(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """With one seed, the estimate of 2v − 3w is 2φ̂(v) − 3φ̂(w)."""
    one, other = law_games()["unanimity"], law_games()["planted"]
    masks = bits.numbered(range(1 << N_PLAYERS), N_PLAYERS)
    both = TableGame(2.0 * one(masks) - 3.0 * other(masks))
    parts = [_run(estimator, game, 4).values for game in (one, other, both)]
    same = np.allclose(parts[2], 2.0 * parts[0] - 3.0 * parts[1], rtol=1e-9, atol=1e-12)
    _require(same, "the estimate of 2v − 3w is not 2φ̂(v) − 3φ̂(w)")


def affine_scaling(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """The unit of the utility (ξ along with it) and its zero do not matter."""
    game = law_games()["unanimity"]
    plain = _run(estimator, game, 5, xi=1e-3)
    for scale, offset in ((4.0, 0.0), (-0.3, 7.0)):
        scaled = _run(estimator, Affine(game, scale, offset), 5, xi=1e-3 * abs(scale))
        same_values = np.allclose(scaled.values, scale * plain.values, rtol=1e-7, atol=1e-9)
        errors = abs(scale) * plain.standard_errors
        same_errors = np.allclose(scaled.standard_errors, errors, rtol=1e-6, atol=1e-9)
        _require(
            same_values and same_errors and scaled.evaluations == plain.evaluations,
            f"{scale}·v + {offset} did not scale the estimate and its errors",
        )


def efficiency(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """Shapley estimates add up to v(N) − v(∅)."""
    for name, game in law_games().items():
        run = _run(estimator, game, 6)
        ends = game(np.array([[False] * N_PLAYERS, [True] * N_PLAYERS]))
        same = bool(np.isclose(run.values.sum(), ends[1] - ends[0], rtol=1e-9, atol=1e-9))
        _require(same, f"the values on the {name} game do not add up to v(N) − v(∅)")


def exact_when_known(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """Once every coalition is known the values are exact, and the run stops."""
    for n_players in (1, 2, 4):
        game = SumOfUnanimity(n_players, n_terms=6, sizes=(1, n_players), seed=7)
        coalitions = 1 << n_players
        run = _run(estimator, game, 7, budget=coalitions)
        finding = f"all {coalitions} coalitions of {n_players} players did not give exact values"
        _require(run.exact and run.evaluations == coalitions, finding)
        same = np.allclose(run.values, exact(game).values, rtol=1e-12, atol=1e-12)
        _require(same, f"the values of {n_players} players are not exact")


def same_seed(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """The same seed gives the same bits, another seed another estimate."""
    game = law_games()["unanimity"]
    one, again, other = (_run(estimator, game, seed) for seed in (8, 8, 9))
    _same(one, again, "running again")
    if estimator.name != "exact":
        differ = not np.array_equal(one.values, other.values)
        _require(differ, "another seed gave the very same estimate")


def continuing(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """Two runs on a journal, the second with a larger budget, equal one run."""
    game = law_games()["unanimity"]
    whole = _run(estimator, game, 10)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.db"
        first = _run(estimator, game, 10, budget=BUDGET * 2 // 3, journal=journal)
        second = _run(estimator, game, 10, journal=journal)
    _same(whole, second, "continuing a run")
    _require(
        second.run.computed == whole.evaluations - first.evaluations,
        f"continuing computed {second.run.computed} utilities again or too few: "
        f"{first.evaluations} of {whole.evaluations} were journalled",
    )


def any_chunk_size(estimator: Estimator[Any, Any], _repeats: int) -> None:
    """The chunks of the engine change nothing."""
    game = law_games()["unanimity"]
    whole = _run(estimator, game, 11)
    for chunk_size in (1, 7):
        parts = _run(estimator, game, 11, engine=SerialEngine(chunk_size=chunk_size))
        _same(whole, parts, f"a chunk size of {chunk_size}")


Law: TypeAlias = Callable[[Estimator[Any, Any], int], None]

LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        unbiased,
        unbiased_semivalues,
        standard_errors,
        later_stages,
        null_player,
        relabelling,
        linearity,
        affine_scaling,
        efficiency,
        exact_when_known,
        same_seed,
        continuing,
        any_chunk_size,
    )
}


def applicable_laws(estimator: Estimator[Any, Any]) -> list[str]:
    """The names of the laws that an estimator's traits say it obeys.

    Examples
    --------
    >>> import fairshapley as fs
    >>> "efficiency" in applicable_laws(fs.MonteCarlo(walk=False))
    False
    """
    traits = estimator.traits
    excluded = {
        "unbiased": not traits.unbiased,
        "unbiased_semivalues": not (traits.unbiased and traits.semivalues),
        "null_player": not (traits.unbiased or traits.exact_nulls),
        "standard_errors": not traits.honest_errors,
        "later_stages": not (traits.unbiased and traits.honest_errors),
        "linearity": not traits.linear,
        "efficiency": not traits.efficient,
    }
    return [name for name in LAWS if not excluded.get(name, False)]


def check_estimator(estimator: Estimator[Any, Any], *, repeats: int = 300) -> None:
    """Check every law that applies to an estimator.

    Parameters
    ----------
    estimator
        The configuration to check.
    repeats
        Runs of each statistical law; 1000 give the full strength, fewer a quick look.

    Examples
    --------
    >>> import fairshapley as fs
    >>> check_estimator(fs.MonteCarlo(), repeats=20)
    """
    for name in applicable_laws(estimator):
        LAWS[name](estimator, repeats)
