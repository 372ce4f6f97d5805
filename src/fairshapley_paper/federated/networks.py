"""The paper's networks for federated learning, of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from fairshapley.errors import InputError
from fairshapley.randomness import root_seed


def mnist_cnn(
    n_classes: int = 10,
    *,
    image: tuple[int, int, int] = (1, 32, 32),
    channels: Sequence[int] = (64, 16),
    kernels: Sequence[int] = (3, 7),
    hidden: int = 200,
    seed: int = 0,
) -> torch.nn.Sequential:
    """Return the paper's network for MNIST, padded to 32×32: two convolutions, tanh, max-pool.

    Parameters
    ----------
    n_classes
        The number of outputs, which are logits.
    image
        Channels, height and width of an image.
    channels, kernels
        The output channels and the kernel width of each convolution.
    hidden
        The units of the layer before the outputs.
    seed
        Fixes the weights to start from; torch's own generator is left as it is.

    Examples
    --------
    >>> sum(entry.numel() for entry in mnist_cnn().parameters())
    104242
    >>> small = mnist_cnn(image=(1, 12, 12), channels=(8, 8), kernels=(3, 2), hidden=16)
    """
    return _image_cnn(n_classes, image, channels, kernels, hidden, seed, "Tanh", len(kernels))


def cifar_cnn(
    n_classes: int = 10,
    *,
    image: tuple[int, int, int] = (3, 32, 32),
    channels: Sequence[int] = (32, 64, 64),
    kernels: Sequence[int] = (3, 3, 3),
    hidden: int = 64,
    seed: int = 0,
) -> torch.nn.Sequential:
    """Return the paper's network for CIFAR-10: three convolutions with ReLU, two with max-pool.

    It has the parameters of `mnist_cnn`; every convolution but the last is pooled.

    Examples
    --------
    >>> sum(entry.numel() for entry in cifar_cnn().parameters())
    122570
    """
    return _image_cnn(n_classes, image, channels, kernels, hidden, seed, "ReLU", len(kernels) - 1)


def text_cnn(
    n_tokens: int,
    n_classes: int = 2,
    *,
    embedding: int = 300,
    kernels: Sequence[int] = (3, 3, 3),
    filters: int = 128,
    dropout: float = 0.5,
    seed: int = 0,
) -> torch.nn.Module:
    """Return the paper's network for texts (Kim 2014): convolutions over embeddings, max over time.

    Parameters
    ----------
    n_tokens
        The number of tokens, ``len(vocabulary)``.
    n_classes
        The number of outputs, which are logits.
    embedding
        The length of a word's vector.
    kernels, filters
        The width of each convolution in words, and its output channels.
    dropout
        The part of the features dropped in training.
    seed
        As for `mnist_cnn`.

    Examples
    --------
    >>> import torch
    >>> model = text_cnn(50, n_classes=5, embedding=8, kernels=(2, 3), filters=4)
    >>> model(torch.zeros((7, 6), dtype=torch.int64)).shape
    torch.Size([7, 5])
    """
    return _seeded(seed, lambda: TextCNN(n_tokens, n_classes, embedding, kernels, filters, dropout))


class TextCNN(nn.Module):
    """Convolutions over word vectors, each followed by the maximum over the text (Kim 2014).

    Made by `text_cnn`.
    """

    def __init__(
        self,
        n_tokens: int,
        n_classes: int,
        embedding: int,
        kernels: Sequence[int],
        filters: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, embedding, padding_idx=0)
        # Half of a kernel as padding: a text shorter than the kernel has a place as well.
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding, filters, kernel, padding=kernel // 2) for kernel in kernels
        )
        self.dropout = nn.Dropout(dropout)
        self.outputs = nn.Linear(filters * len(kernels), n_classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of each text, of its tokens (texts, length)."""
        words = self.embedding(tokens).transpose(1, 2)
        features = [torch.relu(layer(words)).amax(dim=2) for layer in self.convolutions]
        return self.outputs(self.dropout(torch.cat(features, dim=1)))


def _image_cnn(
    n_classes: int,
    image: tuple[int, int, int],
    channels: Sequence[int],
    kernels: Sequence[int],
    hidden: int,
    seed: int,
    activation: str,
    pooled: int,
) -> torch.nn.Sequential:
    """Return convolutions with an activation, the first `pooled` of them with a max-pool of 2."""

    def build() -> Any:
        inputs, *sides = image
        layers: list[Any] = []
        for place, (outputs, kernel) in enumerate(zip(channels, kernels, strict=True)):
            pool = 2 if place < pooled else 1
            # The activations never decrease: pooled first they give the same with a quarter of
            # the work.
            layers.append(nn.Conv2d(inputs, outputs, kernel))
            layers += [nn.MaxPool2d(pool)] if pool > 1 else []
            layers.append(getattr(nn, activation)())
            inputs, sides = outputs, [(side - kernel + 1) // pool for side in sides]
            if min(sides) < 1:
                raise InputError(
                    f"images of {image[1:]} are too small for convolution {place + 1}: take "
                    "smaller kernels, or pad the images (`as_images`)"
                )
        layers += [nn.Flatten(), nn.Linear(inputs * sides[0] * sides[1], hidden)]
        layers += [getattr(nn, activation)(), nn.Linear(hidden, n_classes)]
        return nn.Sequential(*layers)

    return _seeded(seed, build)


def _seeded(seed: int, build: Callable[[], Any]) -> Any:
    """Return what `build` makes with torch's generator seeded, which is put back afterwards."""
    with torch.random.fork_rng(devices=[]):
        # torch takes 64 bits.
        torch.default_generator.manual_seed(root_seed(seed) % 2**63)
        return build()
