"""What values are used for: finding noisy labels."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray
from fairshapley.errors import InputError


def noisy_label_f1(
    values: ArrayLike,
    noisy_mask: ArrayLike,
    *,
    rule: Literal["cluster", "below_centre"] = "cluster",
) -> float:
    """The F1 score of finding noisy labels by a low value.

    The values are split in two by k-means; F1 = 2·TP / (2·TP + FP + FN) of calling the lower
    cluster noisy. Appendix "Noisy Label Detection" of the paper.

    Parameters
    ----------
    values
        The value of each training point.
    noisy_mask
        Which labels are noisy, as a boolean array or as indices.
    rule
        "cluster" calls the whole lower cluster noisy; "below_centre" only the points below the
        lower cluster's centre, as the authors' code does.

    Examples
    --------
    >>> noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [True, True, False, False, False])
    1.0
    >>> round(noisy_label_f1([-1.0, -0.8, 0.9, 1.0, 1.1], [0, 1], rule="below_centre"), 4)
    0.6667
    """
    from sklearn.cluster import KMeans  # takes a second to import

    checks.choice("rule", rule, ("cluster", "below_centre"))
    phi = checks.vector(values, "the values")
    noisy = np.zeros(phi.size, dtype=np.bool_)
    noisy[checks.players(noisy_mask, phi.size)] = True
    if not noisy.any():
        raise InputError("no label is noisy, so there is nothing to find: mark the flipped labels")
    # Scale and origin do not matter to k-means; values in [0, 1] neither overflow nor underflow.
    low, span = float(phi.min()), float(np.ptp(phi))
    if span == 0:
        raise InputError("all values are equal, so they do not fall into two clusters: run longer")
    points = ((phi - low) / span)[:, None]
    fit = KMeans(n_clusters=2, n_init=10, random_state=0).fit(points)
    lower = int(np.argmin(fit.cluster_centers_[:, 0]))
    if rule == "cluster":
        called: BoolArray = fit.labels_ == lower
    else:
        called = points[:, 0] < fit.cluster_centers_[lower, 0]
    hits = int((called & noisy).sum())
    return 2 * hits / (int(called.sum()) + int(noisy.sum()))
