import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairshapley.errors import InputError
from fairshapley.games.federated import powerlaw_sizes, split

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 60))


@given(
    st.sampled_from(["iid", "powerlaw", "classimbalance"]),
    st.integers(1, 12),
    st.none() | st.integers(5, 15),
    st.integers(0, 5),
)
def test_every_row_is_used_at_most_once_and_sizes_are_as_asked(kind, n_agents, rows, seed):
    parts = split(LABELS, n_agents, kind, rows_per_agent=rows, seed=seed)
    used = np.concatenate(parts)
    assert len(np.unique(used)) == len(used)
    assert used.min() >= 0
    assert used.max() < len(LABELS)
    sizes = [len(part) for part in parts]
    if kind == "powerlaw":
        assert sum(sizes) == (len(LABELS) if rows is None else rows * n_agents)
        assert sizes == sorted(sizes)
    else:
        assert len(set(sizes)) == 1
        assert rows is None or sizes[0] == rows
    if kind == "iid" and rows is None:
        assert len(used) > len(LABELS) - n_agents


@given(st.integers(1, 40))
def test_powerlaw_sizes_are_scipys(n_agents):
    law = stats.powerlaw(1.659)
    points = np.linspace(law.ppf(0.01), law.ppf(0.99), n_agents)
    sizes = powerlaw_sizes(n_agents, 10_000)
    assert sizes.sum() == 10_000
    assert np.abs(sizes - 10_000 * points / points.sum()).max() < 1


def test_agent_k_holds_the_first_k_classes():
    parts = split(LABELS, 10, "classimbalance", rows_per_agent=15)
    for agent, rows in enumerate(parts):
        counts = np.bincount(LABELS[rows], minlength=10)
        held = agent + 1
        assert (counts[:held] > 0).all()
        assert counts[held:].sum() == 0
        assert counts[:held].max() - counts[:held].min() <= 1


@pytest.mark.parametrize(("n_agents", "held"), [(1, [2]), (2, [1, 2]), (5, [1, 1, 2, 2, 2])])
def test_numbers_of_classes_are_spread_evenly_over_other_numbers_of_agents(n_agents, held):
    labels = np.repeat(["neg", "pos"], 50)
    parts = split(labels, n_agents, "classimbalance", rows_per_agent=10)
    assert [len(np.unique(labels[rows])) for rows in parts] == held


def test_without_a_size_the_scarcest_class_decides():
    """Three agents take r, r/2 and r/3 rows of class 0, which has 60: r = 32 asks for 59."""
    labels = np.repeat([0, 1, 2], 60)
    parts = split(labels, 3, "classimbalance")
    assert [len(part) for part in parts] == [32, 32, 32]
    with pytest.raises(InputError, match="enough for 32 each"):
        split(labels, 3, "classimbalance", rows_per_agent=33)


def test_a_seed_fixes_the_split():
    first, again, other = (split(LABELS, 4, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_fewer_rows_than_classes_are_of_the_first_classes():
    parts = split(LABELS, 10, "classimbalance", rows_per_agent=3)
    assert [np.unique(LABELS[rows]).tolist() for rows in parts[:2]] == [[0], [0, 1]]
    assert all(np.unique(LABELS[rows]).tolist() == [0, 1, 2] for rows in parts[2:])


@pytest.mark.parametrize("total", ["many", 30.5, True, 0])
def test_a_total_of_rows_is_a_whole_number(total):
    with pytest.raises(InputError, match="total must be"):
        powerlaw_sizes(3, total)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((LABELS, 0), {}, "n_agents must be a whole number of at least 1"),
        ((LABELS, 2.5), {}, "n_agents must be a whole number"),
        ((LABELS, 601), {}, "600 rows are not enough for 601 agents"),
        ((LABELS, 3, "dirichlet"), {}, "kind must be one of 'iid', 'powerlaw', 'classimbalance'"),
        ((LABELS, 10), {"rows_per_agent": 61}, "at most 60 each"),
        ((LABELS, 2), {"rows_per_agent": 0}, "rows_per_agent must be a whole number of at least 1"),
        ((LABELS[:9], 9, "powerlaw"), {}, "smallest of 9 power-law agents"),
        ((np.zeros((3, 2)), 2), {}, "one per row"),
        (([], 2), {}, "at least one"),
        ((np.arange(5), 5, "classimbalance"), {}, "cannot have 1 rows each"),
        ((LABELS, 2), {"seed": -1}, "seed must not be negative"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        split(*arguments, **options)
