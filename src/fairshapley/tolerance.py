"""The tolerance near zero, ξ, where a run should choose it: a number fixed before the run starts.

A certificate holds for any ξ that does not depend on the run it speaks of. What makes ξ meaningful
is its size compared with the values. That is not known beforehand, but two lower bounds are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairshapley.errors import InputError
from fairshapley.evaluation.engines import EngineOption
from fairshapley.games import abilities
from fairshapley.games.game import Game
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.progress import ProgressOption
from fairshapley.runs.setup import JournalOption
from fairshapley.semivalues import Semivalue, parse_semivalue

# Evaluations of each of the two pilots: for each player, and at least.
PILOT_PER_PLAYER = 20
LEAST_PILOT = 200


@dataclass(frozen=True)
class Tolerance:
    """A ξ, and the sentence that says where it comes from."""

    xi: float
    sentence: str
    evaluations: int
    """What it took, before the run itself"""


def equal_share(game: Game) -> Tolerance:
    """ξ = |v(N) − v(∅)|/n, an equal share of what all players achieve together.

    Shapley values add up to v(N) − v(∅), so that this is at most the mean |value|: a certificate
    with it is at least as strict as one with ξ = mean |value|. It takes two evaluations.

    Examples
    --------
    >>> import fairshapley as fs
    >>> equal_share(fs.games.Airport([1.0, 2.0, 3.0])).xi
    1.0
    """
    n_players = abilities.number_of_players(game)
    ends = np.stack([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
    empty, full = (float(one) for one in game(ends))
    xi = abs(full - empty) / n_players
    if not 0 < xi < np.inf:
        raise InputError(
            "all players together are worth as much as nobody, so an equal share is zero and "
            "cannot be a tolerance: give ξ as a number"
        )
    sentence = f"ξ = {xi:.6g} is an equal share of v(N) − v(∅) = {full - empty:.6g}"
    return Tolerance(xi, sentence, 2)


def mean_value(
    game: Game,
    *,
    semivalue: str | Semivalue = "shapley",
    budget: int | None = None,
    seed: int | None = 0,
    engine: EngineOption = None,
    journal: JournalOption = None,
    progress: ProgressOption = False,
) -> Tolerance:
    r"""ξ = mean |φ|, or somewhat less, from two separate pilot runs.

    The mean of \|φ̂\| is too large, because noise adds to it. But for any signs s that do not
    depend on φ̂, Σ s_i·φ̂_i/n has the expectation Σ s_i·φ_i/n ≤ mean \|φ\|. So the signs come
    from one pilot and the values from the other; of the two ways to do this, the lower mean is
    taken. For Shapley values \|v(N) − v(∅)\|/n is a second lower bound, and the larger of the
    two bounds is ξ. When a pilot evaluates every coalition, the mean is exact.

    Parameters
    ----------
    game, semivalue, engine, journal, progress
        As in `estimate`.
    budget
        Evaluations of each pilot; by default 20 per player, 200 at least.
    seed
        Fixes the pilots; the run that follows may use the same seed and still draws anew.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.SumOfUnanimity(30, seed=1)
    >>> pilot = mean_value(game)
    >>> bool(0.8 < pilot.xi / abs(game.shapley_values).mean() < 1.05)
    True
    """
    n_players = abilities.number_of_players(game)
    spent = max(LEAST_PILOT, PILOT_PER_PLAYER * n_players) if budget is None else budget
    shapley = parse_semivalue(semivalue) == parse_semivalue("shapley")
    seeds = side_generator(root_seed(seed), "pilots of xi").integers(2**62, size=2)
    places = {"engine": engine, "journal": journal, "progress": progress}
    pilots: list[Result] = []
    for number in seeds.tolist():
        pilot = estimate(game, budget=spent, semivalue=semivalue, seed=number, **places)
        if not pilot.complete:
            raise KeyboardInterrupt
        pilots.append(pilot)
        if pilot.exact:
            break
    evaluations = sum(pilot.evaluations for pilot in pilots)
    xi, how = _lower_bound(pilots)
    if shapley and not pilots[-1].exact:
        share = abs(float(pilots[0].values.sum())) / n_players
        if share > xi:
            xi, how = share, "an equal share of v(N) − v(∅), the larger of two lower bounds"
    if not 0 < xi < np.inf:
        raise InputError(
            "two pilot runs found no value that differs from zero, so their mean cannot be used as "
            "a tolerance: give ξ as a number"
        )
    sentence = f"ξ = {xi:.6g} stands for the mean |value|: {how} ({evaluations:,} evaluations)"
    return Tolerance(xi, sentence, evaluations)


def _lower_bound(pilots: list[Result]) -> tuple[float, str]:
    last = pilots[-1]
    if last.exact:
        return float(np.abs(last.values).mean()), "exact, because every coalition was evaluated"
    first, second = (pilot.values for pilot in pilots)
    means = (np.sign(first) * second).mean(), (np.sign(second) * first).mean()
    how = "a lower estimate from two pilot runs: the signs of one times the values of the other"
    return float(min(means)), how
