"""How good an estimate is, in the paper's measures.

Every function takes arrays with one entry per player and gives one number (`ape`
gives an array). The defaults are the definitions in the text of the paper; where
the authors' public code, and so the published tables and figures, computed something else, an
option is named after the difference and the docstring says which call gives the published number.

Examples
--------
>>> truth, estimate = [2.0, 1.0, 3.0], [2.2, 1.0, 2.1]
>>> round(mape(estimate, truth), 4), inversions(estimate, truth)
(0.1333, 2)
"""

from fairshapley.metrics.accuracy import ape, fidelity_spearman, mape, mse
from fairshapley.metrics.axioms import deviation_ratio, nl_nsw, nullity_error, symmetry_violations
from fairshapley.metrics.order import inversion_error, inversions
from fairshapley.metrics.uses import noisy_label_f1

__all__ = [
    "ape",
    "deviation_ratio",
    "fidelity_spearman",
    "inversion_error",
    "inversions",
    "mape",
    "mse",
    "nl_nsw",
    "noisy_label_f1",
    "nullity_error",
    "symmetry_violations",
]
