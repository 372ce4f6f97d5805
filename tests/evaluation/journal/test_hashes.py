"""Hashes of rows: the same everywhere, and different for what differs."""

import itertools

import numpy as np
import pytest

from fairshapley.evaluation.journal.hashes import coalition_hashes, row_sum
from fairshapley.evaluation.journal.index import Index

ROWS = np.array([[i, i % 3] for i in range(40)], dtype=np.uint8)
VALUES = np.arange(40) / 7
# Journals on other machines must have the same sums.
PINNED = "4a5f169c40b3d011"


def test_the_sum_does_not_depend_on_parts_or_order():
    whole = row_sum(ROWS, VALUES)
    assert whole == sum(row_sum(ROWS[[at]], VALUES[[at]]) for at in range(40)) % (1 << 64)
    assert row_sum(ROWS[::-1], VALUES[::-1]) == whole
    long, longer = np.array([[1, 2]], dtype=np.uint8), np.array([[1, 2, 0]], dtype=np.uint8)
    assert row_sum(long, np.array([0.5])) == row_sum(longer, np.array([0.5]))
    assert f"{row_sum(np.arange(13, dtype=np.uint8)[None], np.array([0.1])):016x}" == PINNED


@pytest.mark.parametrize("n_players", [5, 64, 100, 128, 300])
def test_coalitions_that_differ_little_have_other_hashes(n_players):
    """Also those whose words differ in their highest bits alone, as players 63 and 127 do."""
    rng = np.random.default_rng(n_players)
    mask = rng.random(n_players) < 0.5
    masks = [mask]
    for few in itertools.chain.from_iterable(
        itertools.combinations(range(7, n_players, 8), size) for size in (1, 2)
    ):
        other = mask.copy()
        other[list(few)] ^= True
        masks.append(other)
    masks += list(np.tril(np.ones((n_players, n_players), dtype=bool)))
    packed = np.packbits(np.unique(masks, axis=0), axis=1, bitorder="little")
    found = coalition_hashes(packed)
    for column in range(2):
        assert len(np.unique(found[:, column])) == len(packed)
    np.testing.assert_array_equal(coalition_hashes(packed[3:]), found[3:])


def test_an_index_of_many_parts_finds_the_first_value():
    """Few different hashes, so that words agree by chance as well."""
    rng = np.random.default_rng(0)
    index, truth = Index(), {}
    for number in range(60):
        rows = rng.integers(0, 8, (rng.integers(1, 12), 2)).astype(np.uint64)
        values = rng.random(len(rows))
        index = index.added(number, rows, values)
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            truth.setdefault(tuple(row), value)
        asked = rng.integers(0, 9, (40, 2)).astype(np.uint64)
        expected = [truth.get(tuple(row), np.nan) for row in asked.tolist()]
        np.testing.assert_array_equal(index.find(asked), expected)
    sizes = [len(run.values) for run in index.runs]
    assert all(2 * small < large for large, small in itertools.pairwise(sizes))
    assert index.last == 59
