"""Results made by hand."""

import numpy as np

import fairshapley as fs
from fairshapley.results.serialising import assembled


def made(values, standard_errors, **other):
    """A result of Monte Carlo with these values and standard errors."""
    values = np.asarray(values, dtype=float)
    fields = {
        "values": values,
        "standard_errors": np.broadcast_to(np.asarray(standard_errors, dtype=float), values.shape),
        "counts": np.full(len(values), 1000),
        "evaluations": 500,
        "marginals": None,
        "stopped": "",
        "seed": 0,
        "configuration": {"method": {"name": "mc"}, "semivalue": "shapley", "xi": 1e-3},
        "xi": 1e-3,
    }
    return assembled(fs.Result, **(fields | other))
