"""Exact values: textbook games, all permutations, axioms, and the limit."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley._basics import bits
from fairshapley.estimators import Problem
from fairshapley.estimators.exact import exact_values
from fairshapley.semivalues import parse_semivalue

tables = st.integers(1, 5).flatmap(
    lambda n: arrays(np.float64, 1 << n, elements=st.floats(-100, 100))
)


def by_permutations(table):
    """The paper's equation (1): the mean marginal contribution over all n! permutations."""
    n = int(np.log2(len(table)))
    values = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        mask = 0
        for player in order:
            values[player] += table[mask | 1 << player] - table[mask]
            mask |= 1 << player
    return values / len(orders)


@given(tables)
def test_shapley_values_are_the_mean_over_all_permutations(table):
    values = exact_values(table, fs.Shapley())
    np.testing.assert_allclose(values, by_permutations(table), rtol=1e-9, atol=1e-9)
    assert values.sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@given(tables)
def test_banzhaf_values_are_the_mean_over_all_coalitions(table):
    n = int(np.log2(len(table)))
    masks = np.arange(len(table))
    expected = [
        np.mean([table[mask | 1 << i] - table[mask] for mask in masks if not mask >> i & 1])
        for i in range(n)
    ]
    np.testing.assert_allclose(exact_values(table, fs.Banzhaf()), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("semivalue", ["shapley", "banzhaf"])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_blocks_add_up_to_the_whole_table(semivalue, device, monkeypatch):
    """A null player among the folded ones and one among the last get exactly nothing."""
    table = np.random.default_rng(0).normal(size=1 << 9)
    masks = bits.numbered(range(1 << 9), 9)
    for null in (2, 8):
        table = np.where(masks[:, null], table[np.arange(1 << 9) & ~(1 << null)], table)
    weights = parse_semivalue(semivalue)
    whole = exact_values(table, weights, 1)
    problem = Problem(10, weights, table[0], table[-1], 1e-3, n_nulls=1)
    method = fs.estimators.Exact()
    state = method.start(replace(problem, device=device))
    state.first = np.zeros(5)
    while (draw := method.ask(state, None)) is not None:
        values = table[draw.masks(0, len(draw))[:, :9] @ (1 << np.arange(9))]
        method.tell(state, draw, values if device is None else torch.as_tensor(values))
    assert len(state.left) == 16
    found = method.estimate(state)
    np.testing.assert_allclose(found.values, whole, atol=1e-12)
    np.testing.assert_array_equal(found.values[[2, 8, 9]], 0.0)


@pytest.mark.parametrize("n", [31, 10_000])
def test_over_the_limit_the_error_names_the_remedy(n):
    game = fs.games.Additive(np.ones(n))
    with pytest.raises(fs.InputError, match="give method='auto' or 'mc'"):
        fs.exact(game)


def test_a_budget_below_all_coalitions_is_refused():
    with pytest.raises(fs.errors.BudgetError, match=r"1,024 evaluations.*method='auto'"):
        fs.estimate(fs.games.Additive(np.ones(10)), "exact", budget=1000)
