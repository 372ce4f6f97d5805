"""Groups of test rows: a score without one group after the other shows what the test rows matter.

The jackknife by groups (Efron and Stein 1981): the spread of the scores without one of G groups,
times (G − 1), is the variance of the score over test sets of the same size. It needs no further
fit, and holds for scores that are no means too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.randomness import root_seed, side_generator

# With 40 groups a standard error is known to 11 %, which the quantile of Student's t allows for.
MOST_GROUPS = 40
# Below this many groups, or rows in each, the spread says little.
LEAST_GROUPS = 5
# Values without each group are kept in results: with many players there are fewer groups.
MOST_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class TestGroups:
    """A number from 0 to `count` − 1 for each test row."""

    __test__ = False  # no class of tests

    of_row: IntArray
    count: int

    @classmethod
    def drawn(cls, clusters: IntArray, n_players: int, most: int = MOST_GROUPS) -> TestGroups:
        """Groups drawn at random, since test rows may be sorted; none of too few rows.

        Parameters
        ----------
        clusters
            A number for each test row; rows with the same one stay together.
        n_players, most
            The number of players, and the most groups.

        Examples
        --------
        >>> TestGroups.drawn(np.arange(100), 10).count, TestGroups.drawn(np.arange(3), 10).count
        (40, 0)
        """
        n_clusters = int(clusters.max()) + 1
        count = min(n_clusters, most, max(LEAST_GROUPS, MOST_NUMBERS // n_players))
        if count < LEAST_GROUPS:
            return cls(np.zeros(len(clusters), dtype=np.int64), 0)
        order = side_generator(root_seed(0), "groups of test rows").permutation(n_clusters)
        return cls((order.astype(np.int64) % count)[clusters], count)

    def sums(self, numbers: FloatArray) -> FloatArray:
        """The sum of some numbers of the test rows over each group."""
        sums = np.bincount(self.of_row, weights=numbers, minlength=self.count)
        return sums.astype(np.float64)

    def weights(self, given: FloatArray | None) -> Iterator[FloatArray]:
        """The weights of the test rows without one group after the other."""
        all_rows = np.ones(len(self.of_row)) if given is None else given
        for group in range(self.count):
            yield np.where(self.of_row == group, 0.0, all_rows)
