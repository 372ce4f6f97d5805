"""Whether the probabilities of `fs.suspects` are right: planted mistakes of several kinds."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from benchmarks.bad_rows.data import SETS, load
from fairshapley.clean.cross_fitting import FOLDS, held_out
from fairshapley.clean.mistakes import true_classes

RESULTS = Path(__file__).parent / "calibration.csv"
KINDS = ("any 5 %", "any 10 %", "any 20 %", "class 20 %", "pair 10 %")
N_ROWS = 3000
CASES = [(name, kind, 0, N_ROWS) for name in SETS for kind in KINDS]
# Chance moves a tenth of 2,000 rows by 0.01 only.
CASES += [(name, "any 10 %", 1, 20_000) for name in ("adult", "covertype")]


def plant(
    labels: NDArray[np.int64], kind: str, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labels with mistakes: of any kind; of the most frequent class alone; each for the next."""
    name, share = kind.split()[0], float(kind.split()[1]) / 100 if " " in kind else 0.0
    n_classes = int(labels.max()) + 1
    hit = rng.random(len(labels)) < share
    if name == "class":
        hit &= labels == np.bincount(labels).argmax()
    shift = rng.integers(1, n_classes, size=len(labels))
    if name == "pair":
        shift[:] = 1
    return np.where(hit, (labels + shift) % n_classes, labels), hit


def run() -> None:
    """Do what is not done yet; a line for each set, kind and seed."""
    done = []
    if RESULTS.exists():
        with RESULTS.open() as stream:
            done = list(csv.DictReader(stream))
    known = {(row["set"], row["mistakes"], row["seed"]) for row in done}
    for name, kind, seed, n_rows in CASES:
        if (name, kind, str(seed)) in known:
            continue
        X, y = load(name)  # noqa: N806
        rng = np.random.default_rng([seed, *name.encode(), *kind.encode()])
        rows = rng.permutation(len(y))[:n_rows]
        labels, hit = plant(y[rows], kind, rng)
        done.append(
            {"set": name, "mistakes": kind, "seed": str(seed), **_gaps(X[rows], labels, hit)}
        )
        with RESULTS.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(done[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(done)


def _gaps(
    X: NDArray[np.float64],  # noqa: N803
    labels: NDArray[np.int64],
    hit: NDArray[np.bool_],
) -> dict[str, str]:
    """The largest distance of a tenth's mean probability from its share, and the shares."""
    kept = np.bincount(labels)[labels] >= FOLDS
    codes, hit = np.unique(labels[kept], return_inverse=True)[1], hit[kept]
    points = StandardScaler().fit_transform(X[kept])
    seen = held_out(points, codes, np.random.default_rng(0), int(codes.max()) + 1)
    own = np.arange(len(codes)), codes
    found, mistakes = true_classes(seen.chances, codes)
    known, _ = true_classes(seen.chances, codes, max(float(hit.mean()), 0.002))
    return {
        "rows": str(len(codes)),
        "wrong": f"{hit.mean():.3f}",
        "estimate": f"{mistakes.share:.3f}",
        "lower": f"{mistakes.lower:.3f}",
        "upper": f"{mistakes.upper:.3f}",
        "pattern": mistakes.pattern,
        "gap": f"{_gap(1 - found[own], hit):.3f}",
        "gap_share_given": f"{_gap(1 - known[own], hit):.3f}",
    }


def _gap(probability: NDArray[np.float64], hit: NDArray[np.bool_]) -> float:
    parts = np.array_split(np.argsort(probability, kind="stable"), 10)
    return max(abs(float(probability[part].mean() - hit[part].mean())) for part in parts)
