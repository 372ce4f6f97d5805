"""Values that need no sampling: of training points for nearest neighbours, and leave-one-out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import Neighbourhoods
from fairshapley.errors import FingerprintError
from fairshapley.evaluation.engines import EngineOption
from fairshapley.fairness.levels import XI, check_xi
from fairshapley.games import abilities
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game
from fairshapley.games.knn import DistanceMetric, KNNUtilityGame, Task
from fairshapley.results.origin import origin_fields
from fairshapley.results.result import Result
from fairshapley.results.serialising import assembled
from fairshapley.runs.plan import JournalOption, evaluating, game_facts, versions

CLOSED_FORM = "computed in closed form: the values are exact"
WITHOUT_EACH = "the utility without each player was computed: the values are exact"


def knn_shapley(
    X: ArrayLike,  # noqa: N803 - as everywhere in the field
    y: ArrayLike,
    X_test: ArrayLike,  # noqa: N803
    y_test: ArrayLike,
    *,
    k: int = 5,
    task: Task = "classification",
    metric: DistanceMetric = "euclidean",
    player_names: Sequence[str] | None = None,
    xi: float = XI,
) -> Result:
    """Return the exact Shapley values of training points for the utility of k nearest neighbours.

    O(n log n) for each test point, without evaluating any coalition (Jia et al. 2019, Theorem 1
    and its counterpart for regression). The utility is that of `fairshapley.games.KNNUtilityGame`:
    the share of the k nearest neighbours with the right label, or the negative squared error of
    their mean. The values sum to v(N) − v(∅).

    Parameters
    ----------
    X, y
        The training points, the players: a matrix (rows, features), and labels or targets.
    X_test, y_test
        The test points.
    k
        The number of neighbours; more than there are points is allowed.
    task
        "classification" or "regression". Centre the targets of a regression: where fewer
        than k points are there, zeros take the place of the missing ones.
    metric
        "euclidean", "manhattan", "chebyshev" or "cosine". Equal distances are ordered by row.
    player_names
        Names for the training points.
    xi
        ξ of the result, the tolerance near zero; exact values are fair for any ξ.

    Returns
    -------
    Result
        Exact, with standard errors of 0.

    Examples
    --------
    >>> result = knn_shapley([[0.0], [1.0], [3.0]], ["a", "b", "a"], [[0.2]], ["a"], k=1)
    >>> result.values.round(3)
    array([ 0.833, -0.167,  0.333])
    >>> result.exact, float(result.values.sum().round(9))
    (True, 1.0)
    """
    started = time.monotonic()
    tolerance = check_xi(xi)
    game = KNNUtilityGame(
        X, y, X_test, y_test, k=k, task=task, metric=metric, player_names=player_names
    )
    values = _values(game)
    method = {"name": "knn_shapley", "k": game.k, "task": game.task, "metric": game.metric}
    fields: dict[str, Any] = {
        "stopped": CLOSED_FORM,
        "evaluations": 0,
        "identical_players": game.identical_players,
    }
    return exact_result(game, values, method, started, xi=tolerance, **fields)


def exact_result(
    game: Game,
    values: FloatArray,
    method: dict[str, Any],
    started: float,
    *,
    xi: float,
    semivalue: str = "shapley",
    **fields: Any,
) -> Result:
    """Return a result whose values were computed, not estimated; `fields` are others it stores."""
    identity = None
    with suppress(FingerprintError):  # such as that of a user's own metric
        identity = fingerprint(game)
    return assembled(
        Result,
        values=values,
        standard_errors=np.zeros(len(values)),
        counts=np.ones(len(values), dtype=np.int64),
        marginals=None,
        seed=0,
        configuration={"method": method, "semivalue": semivalue, "xi": xi},
        xi=xi,
        independent=True,
        exact=True,
        player_names=abilities.player_names(game),
        fingerprint=identity,
        seconds=time.monotonic() - started,
        unit=abilities.unit(game),
        versions=versions(),
        **fields,
        **origin_fields(),
    )


def _values(game: KNNUtilityGame) -> FloatArray:
    total = np.zeros(game.n_players)
    for part, order in game.sorted_blocks():
        targets, tests = game.targets[order], game.test_targets[part, None]
        if game.task == "classification":
            sorted_values = classification_values(targets == tests, game.k)
        else:
            sorted_values = regression_values(targets, tests, game.k)
        total += np.bincount(order.ravel(), sorted_values.ravel(), minlength=game.n_players)
    return total / game.n_tests


def classification_values(right: BoolArray, k: int) -> FloatArray:
    """Return the values for each test point, of training points sorted by distance.

    Two neighbours in the order differ by what one does in place of the other. That matters only
    when fewer than k of the i − 1 nearer points came before, which has the probability min(k, i)/i:

        s_n = 1[y_n = y]·min(k, n)/(k·n)
        s_i = s_{i+1} + (1[y_i = y] − 1[y_{i+1} = y])/k·min(k, i)/i

    Parameters
    ----------
    right
        (tests, points): whether a point has the label of the test point, the nearest first.
    k
        The number of neighbours.

    Examples
    --------
    >>> classification_values(np.array([[True, False, True]]), k=1).round(3)
    array([[ 0.833, -0.167,  0.333]])
    """
    n = right.shape[1]
    ranks = np.arange(1, n + 1)
    chance = np.minimum(k, ranks) / (ranks * float(k))
    steps = right * chance
    steps[:, :-1] -= right[:, 1:] * chance[:-1]
    return _sum_from_the_last(steps)


def regression_values(targets: NDArray[Any], tests: NDArray[Any], k: int) -> FloatArray:
    """Return the values for each test point, of training points sorted by distance.

    When i takes the place of i + 1 beside other neighbours with the sum R, the utility changes by
    (y_{i+1} − y_i)/k·((2R + y_i + y_{i+1})/k − 2y). A set S of others, drawn as in a random
    permutation, has fewer than k of the i − 1 points nearer than i with probability m/i,
    m = min(k, i); and a point l is one of the other neighbours

    - if nearer than i, with probability m(m − 1)/(2i(i − 1)): the number a of nearer points in S
      is uniform on 0, …, i − 1, and each is one of them with probability a/(i − 1);
    - if farther than i + 1, with probability r(r + 1)/(2(l − 1)(l − 2)), r = min(k − 1, l − 2): by
      the same count among the l − 2 others up to l, of which at most k − 1 may be in S.

    So E[R] is a prefix sum plus a suffix sum. The last point changes the utility of sets of
    fewer than k, by −y_n/k·((2R + y_n)/k − 2y).

    Parameters
    ----------
    targets
        (tests, points): the targets of the training points, the nearest first.
    tests
        (tests, 1): the targets of the test points.
    k
        The number of neighbours.

    Examples
    --------
    >>> regression_values(np.array([[1.0, 3.0]]), np.array([[2.0]]), k=1)  # v: −4, −1, −1, −1
    array([[1.5, 1.5]])
    """
    n = targets.shape[1]
    ranks = np.arange(1.0, n + 1)
    m = np.minimum(k, ranks)
    near = m * (m - 1) / np.maximum(2 * ranks * (ranks - 1), 1)
    r = np.minimum(k - 1, ranks - 2)
    far = np.where(ranks > 2, r * (r + 1) / np.maximum(2 * (ranks - 1) * (ranks - 2), 1), 0.0)
    # E[R], for the exchange of i and i + 1; the last point has no points behind it.
    expected = np.zeros(targets.shape)
    expected[:, 1:] = np.cumsum(targets[:, :-1], axis=1) * near[1:]
    expected[:, :-2] += _sum_from_the_last((targets * far)[:, 2:])
    following = np.zeros(targets.shape)
    following[:, :-1] = targets[:, 1:]
    chance = m / ranks
    steps = (targets + following) * (chance / k) + expected * (2 / k) - tests * (2 * chance)
    steps *= (following - targets) / k
    return _sum_from_the_last(steps)


def _sum_from_the_last(steps: FloatArray) -> FloatArray:
    """Return running sums along each row, from its end."""
    return np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]


def leave_one_out(
    game: Game, *, engine: EngineOption = None, journal: JournalOption = None
) -> FloatArray:
    """Return v(N) − v(N∖{i}) of each player, from n + 1 evaluations.

    The baseline that data valuation is compared with. It looks at one coalition where the Shapley
    value looks at all: two players that can replace each other, such as duplicated rows,
    both get nothing, and the values do not sum to v(N) − v(∅).

    Parameters
    ----------
    game
        A callable with `n_players` that maps a boolean array (m, n) to m utilities.
    engine
        Who computes the utilities, as in `estimate`; by default this process.
    journal
        A file that keeps every utility, shared with `estimate`: what it holds is not computed
        again.

    Returns
    -------
    FloatArray
        One value for each player.

    Examples
    --------
    >>> import fairshapley as fs
    >>> leave_one_out(fs.games.Airport([1.0, 2.0, 4.0]))
    array([0., 0., 2.])
    """
    facts = game_facts(game, needed=journal is not None)
    draw = Neighbourhoods(np.ones((1, facts.n_players), dtype=bool))
    with evaluating(game, facts, engine=engine, journal=journal) as evaluator:
        values = evaluator.evaluate(draw).values
    return values[0] - values[1:]


def leave_one_out_result(
    game: Game, *, engine: EngineOption = None, journal: JournalOption = None, xi: float = XI
) -> Result:
    """Return the values of `leave_one_out` as a result, to be saved, printed and reported.

    Examples
    --------
    >>> import fairshapley as fs
    >>> print(leave_one_out_result(fs.games.Airport([1.0, 2.0, 4.0])))
    Leave-one-out values of 3 players, exact
    ...
    """
    started = time.monotonic()
    values = leave_one_out(game, engine=engine, journal=journal)
    fields: dict[str, Any] = {"stopped": WITHOUT_EACH, "evaluations": len(values) + 1}
    method = {"name": "leave_one_out"}
    return exact_result(game, values, method, started, xi=xi, semivalue="leave-one-out", **fields)
