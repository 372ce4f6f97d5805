"""Results for the tests of reports, made by hand so that every kind of player is there."""

import numpy as np
from tests.results.making import made

import fairshapley as fs
from fairshapley.results.records import Checkpoint, SizeBin

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<img src=x onerror=alert(3)>",
    "\u2028line\u2029\x00\x1b[31m",
    "\u202eevil\u2066",
    "lone \udcff surrogate",
    "{{ 7 * 7 }}{% raw %}",
    "=cmd()|' /C calc'!A0",
    "<a href='javascript:alert(4)'>x</a><b>bold</b>&amp;",
    "x" * 5000,
    "Z" + 80 * "\u0301" + "algo",
    "שלום 12 (x)",
]


def by_hand(n_players=60, *, names=None, **changes):
    """A result with positive, negative, open and null values, and two pairs of duplicates."""
    values = np.linspace(0.5, -0.2, n_players)
    errors = np.full(n_players, 0.01)
    values[-1], errors[-1] = 0.0005, 1e-4  # null for all practical purposes
    fields = {
        "values": values,
        "standard_errors": errors,
        "counts": np.arange(500, 500 + n_players),
        "evaluations": 12_345,
        "marginals": 30_000,
        "stopped": "the budget of 12,345 evaluations is spent",
        "seed": 7,
        "configuration": {"method": {"name": "mc"}, "semivalue": "shapley", "xi": 0.01},
        "limits": {"budget": {"evaluations": 12_345, "marginals": None, "seconds": None}},
        "xi": 0.01,
        "player_names": names or [f"customer {player:05d}" for player in range(n_players)],
        "identical_players": ((0, 1), (4, 7)) if n_players > 7 else (),
        "fingerprint": "0123456789abcdef",
        "versions": {"fairshapley": fs.__version__},
        "history": tuple(Checkpoint(100 * 2**k, 0.5 * 2**k, 0.25 * 2**k) for k in range(8)),
        "profile": tuple(
            SizeBin(size, size, 100 + size, float(size), size**0.5, 0.1)
            for size in range(n_players + 1 if n_players < 100 else 100)
        ),
    }
    return made(**(fields | changes))
