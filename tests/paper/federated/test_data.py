"""Images, texts, networks for them, and how rows are dealt out to agents."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairshapley.errors import InputError
from fairshapley_paper.federated.data import (
    Vocabulary,
    as_images,
    powerlaw_sizes,
    split,
)
from fairshapley_paper.federated.networks import cifar_cnn, mnist_cnn, text_cnn

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 60))


@given(
    st.sampled_from(["iid", "powerlaw", "classimbalance"]),
    st.integers(1, 12),
    st.none() | st.integers(5, 15),
    st.integers(0, 5),
)
def test_every_row_is_used_at_most_once_and_sizes_are_as_asked(kind, n_agents, rows, seed):
    if kind == "classimbalance":
        rows = rows or 5
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


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((LABELS, 601), {}, "600 rows are not enough for 601 agents"),
        ((LABELS, 10), {"rows_per_agent": 61}, "at most 60 each"),
        ((LABELS[:9], 9, "powerlaw"), {}, "smallest of 9 power-law agents"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        split(*arguments, **options)


def test_images_are_padded_around_and_scaled():
    images = as_images(np.full((2, 3, 4), 51, dtype=np.uint8), size=6)
    assert images.shape == (2, 1, 6, 6)
    assert images.dtype == np.float32
    np.testing.assert_allclose(images[0, 0, 1:4, 1:5], 0.2)
    assert images.sum() == pytest.approx(0.2 * 24)
    colours = np.random.default_rng(0).random((2, 5, 4, 3))
    np.testing.assert_allclose(as_images(colours)[1, 2, 3, 1], colours[1, 3, 1, 2], rtol=1e-6)


def test_words_are_numbered_by_how_often_they_are_seen():
    texts = ["b a c", "B a", "b"]
    assert Vocabulary(texts).words == ("b", "a", "c")
    vocabulary = Vocabulary(texts)
    assert len(vocabulary) == 5
    np.testing.assert_array_equal(vocabulary.encode(["a b z", ""]), [[3, 2, 1], [0, 0, 0]])
    np.testing.assert_array_equal(vocabulary.encode(["a b z", "c"], length=2), [[3, 2], [4, 0]])
    assert vocabulary.encode([]).shape == (0, 0)


def test_sizes_of_the_papers_networks():
    """Convolutions: inputs·outputs·kernel² weights and a bias per output; layers likewise."""

    def count(model):
        return sum(entry.numel() for entry in model.parameters())

    mnist = (64 * 9 + 64) + (64 * 16 * 49 + 16) + (256 * 200 + 200) + (200 * 10 + 10)
    assert count(mnist_cnn()) == mnist
    cifar = (3 * 32 * 9 + 32) + (32 * 64 * 9 + 64) + (64 * 64 * 9 + 64)
    assert count(cifar_cnn()) == cifar + (1024 * 64 + 64) + (64 * 10 + 10)
    text = 1000 * 300 + 3 * (300 * 128 * 3 + 128) + (384 * 5 + 5)
    assert count(text_cnn(1000, 5)) == text
    with torch.no_grad():
        assert mnist_cnn()(torch.zeros(2, 1, 32, 32)).shape == (2, 10)
        assert cifar_cnn()(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
        # A text shorter than a kernel is one as well.
        assert text_cnn(9, 2, embedding=4)(torch.ones((1, 1), dtype=torch.int64)).shape == (1, 2)


@pytest.mark.parametrize("make", [mnist_cnn, cifar_cnn, lambda seed=0: text_cnn(20, seed=seed)])
def test_a_seed_fixes_the_start_and_leaves_torchs_generator_alone(make):
    before = torch.random.get_rng_state()
    states = [make(seed=seed).state_dict() for seed in (1, 1, 2)]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])
