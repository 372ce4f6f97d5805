"""What a result keeps besides values: checkpoints, utilities by coalition size, values by part."""

from __future__ import annotations

from typing import NamedTuple


class Checkpoint(NamedTuple):
    """The state of a run after some evaluations: an entry of `Result.history`."""

    evaluations: int
    min_fidelity: float
    """The lowest fidelity score of a player"""
    lower_fidelity: float
    """The lowest of the cautious estimates, see `Result.lower_fidelity`"""


class SizeBin(NamedTuple):
    """The utilities of coalitions of some sizes: an entry of `Result.profile`."""

    first: int
    """The smallest size in the bin"""
    last: int
    """The largest; the same where every size has a bin of its own"""
    coalitions: int
    """Coalitions asked for, those that were known already too"""
    size: float
    """Their mean size"""
    mean: float
    """Their mean utility"""
    deviation: float
    """The standard deviation of their utilities"""


class PartValues(NamedTuple):
    """The values in a part of a game that is a sum of parts: an entry of `Result.parts`."""

    name: str
    values: tuple[float, ...]
    """Of all players, those without a role in this part too"""
    endpoints: tuple[float, float]
    """The utility of nobody and of everybody in this part"""
