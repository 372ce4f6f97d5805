"""Runs of every method whose results are kept, so that a change of the code's shape shows no other.

``python -m tests.golden.runs write`` computes them anew, ``… compare`` tells every difference to
the last bit. Bits hold on one machine type only; what is compared elsewhere says `test_golden.py`.
"""

import gzip
import json
import platform
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from tests.laws.estimators import ESTIMATORS, MORE

KEPT = Path(__file__).with_name("results.json.gz")
SEEDS = (0, 1, 2)
# Below 2**12, so that no run ends by enumeration.
BUDGET = 700
FAIR = fs.Fair(epsilon1=0.5, delta=0.1, xi=0.05)
FIELDS = ("values", "standard_errors", "counts", "evaluations", "marginals", "stopped", "notes")


def games():
    """A game of known values, one with heavy tails, and points with a row that is there twice."""
    features, labels = load_breast_cancer(return_X_y=True)
    features = ((features - features.mean(axis=0)) / features.std(axis=0))[:, :4]
    rows = [*range(0, 120, 10), 0, 50]
    points = fs.games.DataGame(
        LogisticRegression(C=0.05),
        train=(features[rows], labels[rows]),
        test=(features[301:361], labels[301:361]),
        empty_value=0.5,
    )
    return {
        "unanimity": fs.games.SumOfUnanimity(12, seed=1),
        "airport": fs.games.Airport(np.arange(1.0, 14.0) ** 2),
        "points": points,
    }


def methods():
    """Every configuration that the laws know, by its name in the file."""
    return {str(method): method for method in [fs.estimators.Exact(), *ESTIMATORS, *MORE]}


def cases():
    """The names of all runs."""
    for method in methods():
        for game in games():
            for seed in SEEDS:
                yield f"{method} · {game} · {seed}"


def run(case):
    """What one run gave, as plain data."""
    method, game, seed = case.split(" · ")
    estimator, played = methods()[method], games()[game]
    if isinstance(estimator, fs.estimators.Exact):
        result = fs.estimate(played, estimator, seed=int(seed))
    else:
        # The last seed tests the rule of fairness, too.
        fair = int(seed) == SEEDS[-1] and estimator.traits.certifiable
        until = FAIR if fair else None
        result = fs.estimate(played, estimator, budget=BUDGET, until=until, seed=int(seed))
    plain = result.to_dict()
    return {name: plain[name] for name in FIELDS}


def machine():
    """What the last bits depend on."""
    features = np._core._multiarray_umath.__cpu_features__
    present = sorted(name for name, there in features.items() if there)
    return f"{platform.machine()}, numpy {np.__version__}, {' '.join(present)}"


def kept():
    """The machine and the results of the file."""
    with gzip.open(KEPT, "rt", encoding="utf-8") as file:
        return json.load(file)


def differences(old, new):
    """The fields that are not the same to the last bit."""
    fields = sorted(old.keys() | new.keys())
    return [name for name in fields if old.get(name) != new.get(name)]


def main(action):
    """Write the file, or tell what is different."""
    results = {case: run(case) for case in cases()}
    if action == "write":
        text = json.dumps({"machine": machine(), "results": results}, sort_keys=True)
        KEPT.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
        print(f"{len(results)} results, {KEPT.stat().st_size:,} bytes")
        return 0
    old = kept()["results"]
    told = 0
    for case in sorted(old.keys() | results.keys()):
        if wrong := differences(old.get(case, {}), results.get(case, {})):
            told += 1
            print(f"{case}: {', '.join(wrong)}")
    print(f"{len(results)} results, {told} different")
    return int(told > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
