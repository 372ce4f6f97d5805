"""Random sets among very many players."""

from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from fairshapley._basics.bits import complements
from fairshapley.draws.permutations import packed_sets


@pytest.mark.parametrize("n_players", [7, 11])
def test_sets_of_a_size_are_uniform(n_players):
    """Pearson's test over all sets of each size; false alarm in one of 10⁴ seeds a size."""
    rng = np.random.default_rng(n_players)
    for size in range(1, n_players):
        rows = packed_sets(rng, np.full(30 * comb(n_players, size), size), n_players)
        numbers = rows.astype(np.int64) @ (1 << 8 * np.arange(rows.shape[1]))
        counts = np.bincount(numbers)
        counts = counts[counts > 0]
        assert len(counts) == comb(n_players, size)
        statistic = np.square(counts - 30).sum() / 30
        assert statistic < chi2.ppf(1 - 1e-4, len(counts) - 1)


def test_a_complement_has_no_bits_behind_the_last_player():
    packed = packed_sets(np.random.default_rng(0), np.array([3, 0, 13]), 13)
    both = packed | complements(packed, 13)
    np.testing.assert_array_equal(both, [[255, 31]] * 3)
    assert not (packed & complements(packed, 13)).any()
