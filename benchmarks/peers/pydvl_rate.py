"""pyDVL's permutation sampler on a scikit-learn model, in pyDVL's own environment.

Reads a task as JSON on standard input, writes the evaluations, the seconds and the variance of each
player's marginal contributions as JSON on standard output.
"""

import json
import logging
import sys
import time
import warnings

import numpy as np
from pydvl.valuation.dataset import Dataset
from pydvl.valuation.methods.shapley import ShapleyValuation
from pydvl.valuation.samplers import PermutationSampler
from pydvl.valuation.scorers import SupervisedScorer
from pydvl.valuation.stopping import MaxUpdates
from pydvl.valuation.utility import ModelUtility
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

logging.disable(logging.WARNING)


class WithBase(ClassifierMixin, BaseEstimator):
    """Logistic regression on the coalition and the points C₀ that are always there."""

    fits = 0

    def __init__(self, x, y, c):
        self.x, self.y, self.c = x, y, c

    def fit(self, x, y):
        WithBase.fits += 1
        self.model_ = LogisticRegression(solver="liblinear", C=self.c)
        self.model_.fit(np.concatenate([self.x, x]), np.concatenate([self.y, y]))
        self.classes_ = self.model_.classes_
        return self

    def predict(self, x):
        return self.model_.predict(x)

    def score(self, x, y):
        return self.model_.score(x, y)


def main():
    task = json.load(sys.stdin)
    train, test, base = (
        (np.array(task[part]["x"]), np.array(task[part]["y"])) for part in ("train", "test", "base")
    )
    model = WithBase(*base, task["c"])
    scorer = SupervisedScorer(model, Dataset(*test), default=task["empty"], range=(0, 1))
    utility = ModelUtility(model, scorer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        valuation = ShapleyValuation(
            utility,
            PermutationSampler(seed=task["seed"]),
            MaxUpdates(task["permutations"]),
            progress=False,
        )
        began = time.perf_counter()
        found = valuation.fit(Dataset(*train)).values()
        seconds = time.perf_counter() - began
    order = np.argsort(found.indices)
    print(
        json.dumps(
            {
                "evaluations": WithBase.fits,
                "seconds": seconds,
                "permutations": int(found.counts.min()),
                "values": found.values[order].tolist(),
                "variances": found.variances[order].tolist(),
            }
        )
    )


if __name__ == "__main__":
    main()
