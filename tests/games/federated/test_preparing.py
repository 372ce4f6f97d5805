"""Images, texts and the networks for them."""

import pickle

import numpy as np
import pytest
import torch

from fairshapley.datasets import load
from fairshapley.errors import InputError
from fairshapley.games import fingerprint
from fairshapley.games.federated import (
    Vocabulary,
    as_images,
    cifar_cnn,
    mnist_cnn,
    text_cnn,
    tokenise,
)
from tests.data_folder import needs


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
    assert Vocabulary(texts, most=1).words == ("b",)
    assert Vocabulary(texts, least_count=2).words == ("b", "a")
    vocabulary = Vocabulary(texts)
    assert len(vocabulary) == 5
    np.testing.assert_array_equal(vocabulary.encode(["a b z", ""]), [[3, 2, 1], [0, 0, 0]])
    np.testing.assert_array_equal(vocabulary.encode(["a b z", "c"], length=2), [[3, 2], [4, 0]])
    assert vocabulary.encode([]).shape == (0, 0)
    back = pickle.loads(pickle.dumps(vocabulary))  # noqa: S301
    np.testing.assert_array_equal(back.encode(texts), vocabulary.encode(texts))


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_images(np.zeros((3, 3))), "images must be numbers"),
        (lambda: as_images([["a"]]), "images must be numbers"),
        (lambda: as_images(np.zeros((1, 28, 28)), size=20), "cannot be padded to 20"),
        (lambda: as_images(np.zeros((1, 4, 4)), size="8"), "size must be a whole number"),
        (lambda: mnist_cnn(0), "n_classes must be a whole number of at least 1"),
        (lambda: mnist_cnn(channels=(8,)), "the same length"),
        (lambda: mnist_cnn(image=32), "image must be a list"),
        (lambda: mnist_cnn(channels=(8, True)), "channels must be a whole number"),
        (lambda: mnist_cnn(image=(1, 8, 8)), "too small for convolution 2"),
        (lambda: mnist_cnn(kernels=()), "kernels must be a list of at least one number"),
        (lambda: cifar_cnn(hidden=1.5), "hidden must be a whole number"),
        (lambda: cifar_cnn(seed="x"), "seed must be a whole number"),
        (lambda: text_cnn(0), "n_tokens must be a whole number"),
        (lambda: text_cnn(9, dropout=1.0), r"dropout must be a number of at least 0 and below 1"),
        (lambda: Vocabulary("abc"), "texts must be a list of str"),
        (lambda: Vocabulary([1, 2]), "a text must be a str, not a int"),
        (lambda: Vocabulary([]), "no words that are kept"),
        (lambda: Vocabulary(["a"], most=0), "most must be a whole number"),
        (lambda: Vocabulary(["a"], most=True), "most must be a whole number"),
        (lambda: Vocabulary(["a"]).encode(["a"], length=0), "length must be a whole number"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_sizes_may_be_numbers_of_numpy():
    """The number of classes is often labels.max() + 1."""
    two = np.int64(2)
    small = {"image": (1, 8, 8), "channels": (two, 2), "kernels": (2, 2), "hidden": 3}
    models = [mnist_cnn(classes, **small) for classes in (two, 2)]
    assert fingerprint(models[0]) == fingerprint(models[1])
    assert type(text_cnn(np.int64(9), two, embedding=4).outputs.out_features) is int
    vocabulary = Vocabulary(["a b", "a"], most=np.int64(1))
    assert vocabulary.encode(["a b"], length=two).tolist() == [[2, 1]]


@needs("mr")
def test_a_vocabulary_of_film_reviews():
    texts = load("mr").texts[:2000]
    vocabulary = Vocabulary(texts, least_count=2)
    assert vocabulary.words[0] in {"the", ",", "."}
    tokens = vocabulary.encode(texts, length=40)
    assert tokens.shape == (2000, 40)
    assert tokens.max() == len(vocabulary) - 1
    assert 0 < (tokens == 1).mean() < 0.2
