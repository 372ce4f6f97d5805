"""pyDVL's samplers, run in pyDVL's own environment (``python pydvl_worker.py``)."""

import logging
import warnings

import numpy as np
from pydvl.utils.status import Status
from pydvl.valuation.dataset import Dataset
from pydvl.valuation.methods.gt_shapley import GroupTestingShapleyValuation
from pydvl.valuation.methods.shapley import ShapleyValuation
from pydvl.valuation.samplers import (
    AntitheticPermutationSampler,
    OwenSampler,
    PermutationSampler,
    RandomIndexIteration,
    RelativeTruncation,
    UniformOwenStrategy,
)
from pydvl.valuation.stopping import StoppingCriterion
from pydvl.valuation.utility.base import UtilityBase
from wire import fitting_budget, rehearse, serve, timed

logging.disable(logging.WARNING)


class PipedUtility(UtilityBase):
    """The benchmark's game as a utility of pyDVL."""

    def __init__(self, oracle):
        self.oracle = oracle

    def __call__(self, sample):
        mask = np.zeros(self.oracle.n_players, dtype=bool)
        if sample is not None:
            mask[np.asarray(sample.subset, dtype=int)] = True
        return float(self.oracle(mask)[0])

    def __deepcopy__(self, memo):
        return self


class Distinct(StoppingCriterion):
    """Stop when a number of distinct coalitions were asked for."""

    def __init__(self, oracle, budget):
        super().__init__()
        self.oracle, self.budget = oracle, budget

    def _check(self, result):
        done = self.oracle.distinct >= self.budget
        self._converged = np.full(len(result), done)
        return Status.Converged if done else Status.Pending

    def completion(self):
        return min(1.0, self.oracle.distinct / self.budget)


SAMPLERS = {
    "permutation": lambda seed: PermutationSampler(seed=seed),
    "antithetic": lambda seed: AntitheticPermutationSampler(seed=seed),
    "TMC": lambda seed: PermutationSampler(
        truncation=RelativeTruncation(rtol=0.01, burn_in_fraction=0.4), seed=seed
    ),
    "Owen": lambda seed: OwenSampler(
        UniformOwenStrategy(1, seed=seed), 2, index_iteration=RandomIndexIteration, seed=seed
    ),
}


def solve(oracle, method, budget, seed):
    """The values after `budget` distinct evaluations."""
    n_players = oracle.n_players
    names = np.arange(n_players)
    data = Dataset(names[:, None].astype(float), names % 2, data_names=names.astype(str))

    def value(limit):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == "group testing":
                # Each sample is one evaluation; ∅ and N come besides.
                valuation = GroupTestingShapleyValuation(
                    PipedUtility(oracle), max(limit - 2, 1), 0.1, progress=False, seed=seed
                )
            else:
                valuation = ShapleyValuation(
                    PipedUtility(oracle),
                    SAMPLERS[method](seed),
                    Distinct(oracle, limit),
                    progress=False,
                )
            found = valuation.fit(data).values()
            return found.values[np.argsort(found.indices)]

    if method == "TMC":
        # A truncated walk leaves evaluations for further walks: rehearse more of them.
        rehearse(oracle, lambda: value(2 * budget))
        return timed(oracle, lambda: value(budget))
    nominal = fitting_budget(oracle, value, budget, (method, n_players, budget))
    return timed(oracle, lambda: value(nominal))


if __name__ == "__main__":
    serve(solve)
