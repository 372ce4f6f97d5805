"""Moments from two numbers for each unit, against contributions one by one."""

import numpy as np

from fairshapley.estimators.adjusted.two_valued import TwoValued
from fairshapley.estimators.moments import Moments


def test_moments_are_those_of_the_contributions():
    rng = np.random.default_rng(0)
    found, expected = Moments(7), Moments(7)
    common = rng.normal(size=7)
    for count in (5, 1, 40, 400):
        masks = (rng.random((count, 7)) < 0.4).astype(np.float32)
        inside, outside = rng.standard_t(3, size=(2, count))
        sizes = masks.sum(axis=1).astype(np.int64)
        TwoValued.of(sizes, inside, outside).add_to(found, masks, common)
        expected.add(np.where(masks > 0, inside[:, None], outside[:, None]) + common)
    np.testing.assert_array_equal(found.counts, expected.counts)
    for name in ("means", "squares", "lowest", "highest"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
