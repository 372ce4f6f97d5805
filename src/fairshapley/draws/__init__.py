"""Pure sampling: permutations, sizes and levels, and the coalitions that follow from them."""

from fairshapley.draws.coalitions import (
    AllCoalitions,
    DivisibleDraw,
    Draw,
    FreshCoalitions,
    ListedCoalitions,
    Neighbourhoods,
    SingleMarginals,
    Walks,
    packed_rows,
)
from fairshapley.draws.permutations import RankArray, random_ranks, random_sets, random_sizes

__all__ = [
    "AllCoalitions",
    "DivisibleDraw",
    "Draw",
    "FreshCoalitions",
    "ListedCoalitions",
    "Neighbourhoods",
    "RankArray",
    "SingleMarginals",
    "Walks",
    "packed_rows",
    "random_ranks",
    "random_sets",
    "random_sizes",
]
