"""Coalitions that are drawn on a device, here with torch on the CPU."""

import numpy as np
import pytest
import torch

from fairshapley.draws.device import DeviceUnits, SizeLaw
from fairshapley.randomness import round_generator


def drawn(n_players, count, plan, paired=False):
    law = SizeLaw(n_players).near(plan)
    return law, DeviceUnits.draw(round_generator(3, 0), count, law, "cpu", paired=paired)


@pytest.mark.parametrize("n_players", [2, 3, 6, 70])
def test_sizes_follow_the_law_that_weights_are_taken_from(n_players):
    """Counts of 40 000 draws against their binomial errors: 5 of them once in 10⁶ sizes."""
    plan = np.random.default_rng(0).random(n_players - 1)
    law, draw = drawn(n_players, 40_000, plan / plan.sum())
    assert law.sizes.sum() == pytest.approx(1.0, abs=1e-12)
    counts = np.bincount(draw.unit_sizes.numpy(), minlength=n_players + 1)
    assert counts[0] == counts[-1] == 0
    expected = 40_000 * law.sizes
    errors = np.sqrt(np.maximum(expected * (1 - law.sizes), 1.0))
    assert np.abs((counts[1:-1] - expected) / errors).max() < 5
    np.testing.assert_array_equal(draw.units.sum(dim=0), draw.unit_sizes)


def test_coalitions_of_a_size_are_uniform():
    """Those of size 1 too, some of which were empty and got a member."""
    _, draw = drawn(5, 60_000, np.array([0.4, 0.1, 0.1, 0.4]))
    codes = (draw.units.long() * (2 ** torch.arange(5))[:, None]).sum(dim=0).numpy()
    for size, sets in ((1, 5), (2, 10), (4, 5)):
        of_size = codes[draw.unit_sizes.numpy() == size]
        counts = np.unique(of_size, return_counts=True)[1]
        assert len(counts) == sets
        # A chi-squared of at most 9 degrees of freedom is above 40 once in 10⁵.
        assert (np.square(counts - counts.mean()) / counts.mean()).sum() < 40


def test_a_plan_is_met_where_binomials_are_narrow():
    n_players = 2000
    sizes = np.arange(1.0, n_players)
    plan = 1.0 / np.sqrt(sizes * (n_players - sizes))
    plan /= plan.sum()
    law = SizeLaw(n_players).near(plan)
    np.testing.assert_allclose(law.sizes[50:-50], plan[50:-50], rtol=0.02)


def test_pairs_are_units_then_complements_and_can_be_cut():
    _, draw = drawn(7, 5, np.full(6, 1 / 6), paired=True)
    masks = draw.masks(0, 10)
    np.testing.assert_array_equal(masks[5:], ~masks[:5])
    np.testing.assert_array_equal(draw.masks(3, 8), masks[3:8])
    part = draw.cut(7)
    assert len(part) == 6
    np.testing.assert_array_equal(part.masks(0, 3), masks[:3])
    assert draw.cut(1) is None
