"""Free checks on loading: no result of a run is refused, contradictions are."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators import METHODS
from fairshapley.results.loading_checks import contradictions
from fairshapley.results.serialising import result_digest, with_fields

GAME = fs.games.SumOfUnanimity(8, seed=1)


class Bounded(fs.games.SumOfUnanimity):
    value_range = (-100.0, 100.0)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf"])
def test_results_of_runs_are_coherent(method, semivalue):
    for n_players in (1, 2, 5, 12):
        for scale in (1e-60, 1.0, 1e60):
            game = fs.testing.Affine(Bounded(n_players, seed=1), scale)
            for budget in (40, 200):
                try:
                    result = fs.estimate(game, method, budget=budget, semivalue=semivalue, seed=1)
                except fs.FairShapleyError:
                    continue
                assert list(contradictions(result)) == []
                assert result_digest(fs.Result.from_dict(result.to_dict())) == result_digest(result)


EXACT = fs.exact(Bounded(8, seed=1))
SAMPLED = fs.estimate(Bounded(14, seed=1), "mc", budget=200, seed=0)


@pytest.mark.parametrize(
    ("result", "changes", "words"),
    [
        (EXACT, {"values": EXACT.values + 1e-6}, "add up"),
        (EXACT, {"standard_errors": np.full(8, 1e-9)}, "standard_errors must be 0"),
        (SAMPLED, {"standard_errors": np.full(14, np.inf)}, "standard_errors must be finite"),
        (SAMPLED, {"values": np.full(14, np.inf)}, "values must be finite"),
        (SAMPLED, {"values": np.full(14, np.nan)}, "no number for a player"),
        (EXACT, {"identical_players": ((0, 8),)}, "not one of 8"),
        (EXACT, {"configuration": EXACT.run.configuration | {"null_players": 9}}, "null_players"),
    ],
)
def test_contradictions_are_refused(result, changes, words):
    changed = with_fields(result, **changes)
    with pytest.raises(fs.InputError, match=words):
        fs.Result.from_dict(changed.to_dict())
