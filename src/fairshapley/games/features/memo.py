"""Utilities of all outputs, kept so that the game of another output need not predict again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairshapley._basics import bits
from fairshapley._basics.types import BoolArray, FloatArray

# Memory for what is kept; when it is full no more is, so that a second pass over the same
# coalitions still finds the first of them.
_BYTES = 256 * 2**20
# A Python bytes object with its place in a dictionary, and the head of a small array.
_OVERHEAD = 300


class Memo:
    """The utilities of the coalitions met so far, a vector of outputs for each."""

    def __init__(self, n_outputs: int) -> None:
        self._known: dict[bytes, FloatArray] = {}
        self._most = _BYTES // (8 * n_outputs + _OVERHEAD)

    def __getstate__(self) -> dict[str, Any]:
        """An empty memo: what was kept is useless elsewhere."""
        return {"_known": {}, "_most": self._most}

    def values(
        self, coalitions: BoolArray, compute: Callable[[BoolArray], FloatArray]
    ) -> FloatArray:
        """The utilities, (coalitions, outputs), of which only new ones are computed."""
        keys = bits.keys(coalitions)
        known = [self._known.get(key) for key in keys]
        new = [at for at, value in enumerate(known) if value is None]
        fresh = compute(coalitions[new])
        for at, value in zip(new, fresh, strict=True):
            known[at] = value
            if len(self._known) < self._most:
                self._known[keys[at]] = value.copy()
        if not len(fresh) and not known:
            return fresh
        return np.array(known)
