"""Images, texts and the networks for them."""

import numpy as np
import pytest
import torch
from benchmarks.paper.inputs import Vocabulary, as_images, tokenise
from benchmarks.paper.networks import cifar_cnn, mnist_cnn, text_cnn
from tests.data_folder import needs

from fairshapley.datasets import load


def test_images_are_padded_around_and_scaled():
    images = as_images(np.full((2, 3, 4), 51, dtype=np.uint8), size=6)
    assert images.shape == (2, 1, 6, 6)
    assert images.dtype == np.float32
    np.testing.assert_allclose(images[0, 0, 1:4, 1:5], 0.2)
    assert images.sum() == pytest.approx(0.2 * 24)
    colours = RANDOM.random((2, 5, 4, 3))
    np.testing.assert_allclose(as_images(colours)[1, 2, 3, 1], colours[1, 3, 1, 2], rtol=1e-6)


RANDOM = np.random.default_rng(0)


def test_words_are_numbered_by_how_often_they_are_seen():
    texts = ["b a c", "B a", "b"]
    assert Vocabulary(texts).words == ("b", "a", "c")
    assert Vocabulary(texts[::-1]).words == ("b", "a", "c")
    vocabulary = Vocabulary(texts)
    assert len(vocabulary) == 5
    np.testing.assert_array_equal(vocabulary.encode(["a b z", ""], 3), [[3, 2, 1], [0, 0, 0]])
    np.testing.assert_array_equal(vocabulary.encode(["a b z", "c"], 2), [[3, 2], [4, 0]])


def test_tokens():
    assert tokenise("Ça va-t-il? 3.5") == ["ça", "va", "-", "t", "-", "il", "?", "3", ".", "5"]


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


@needs("mr")
def test_a_vocabulary_of_film_reviews():
    texts = load("mr").texts[:2000]
    vocabulary = Vocabulary(texts)
    assert vocabulary.words[0] in {"the", ",", "."}
    tokens = vocabulary.encode(texts, length=40)
    assert tokens.shape == (2000, 40)
    assert 1 < tokens.min() + 2 < tokens.max() <= len(vocabulary) - 1
