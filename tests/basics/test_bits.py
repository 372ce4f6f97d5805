"""Coalitions as bits: there and back, and by their ranks."""

import math
from itertools import combinations

import numpy as np
import pytest

from fairshapley._basics import bits
from fairshapley._basics.bits import unrank


@pytest.mark.parametrize("n_players", [1, 7, 8, 9, 64, 100])
def test_coalitions_there_and_back(n_players):
    masks = np.random.default_rng(n_players).random((20, n_players)) < 0.5
    packed = bits.pack(masks)
    assert (bits.unpack(packed, n_players) == masks).all()
    assert (bits.from_keys(bits.keys(masks), n_players) == masks).all()
    assert (bits.sizes(packed) == masks.sum(axis=1)).all()
    assert (bits.unpack(bits.complements(packed, n_players), n_players) == ~masks).all()
    assert (bits.unpack(bits.with_complements(packed, n_players)[1::2], n_players) == ~masks).all()


@pytest.mark.parametrize("shape", [(50, 13), (3, 40), (1, 1), (0, 2)])
def test_rows_of_any_shape_have_keys_and_sizes(shape):
    packed = np.random.default_rng(0).integers(256, size=(2 * shape[0], shape[1]), dtype=np.uint8)
    packed[:, -1] = 0
    rows = packed[::2]  # not one behind the other in memory
    assert bits.packed_keys(rows) == [row.tobytes() for row in rows]
    assert bits.sizes(rows).tolist() == np.unpackbits(rows, axis=1).sum(axis=1).tolist()


@pytest.mark.parametrize(("n", "size"), [(5, 1), (6, 3), (7, 4), (7, 7)])
def test_unrank_lists_every_coalition_once(n, size):
    masks = unrank(np.arange(math.comb(n, size)), n, size)
    found = {tuple(np.flatnonzero(mask)) for mask in masks}
    assert found == set(combinations(range(n), size))
    without_last = masks[: math.comb(n - 1, size)]
    assert not without_last[:, -1].any()


def test_unrank_beyond_machine_integers():
    """C(200, 100) is far above 2**63, but no rank goes there."""
    mask = unrank(np.array([0, 5_000]), 200, 100)
    np.testing.assert_array_equal(mask.sum(axis=1), 100)
    np.testing.assert_array_equal(np.flatnonzero(mask[0]), np.arange(100))
