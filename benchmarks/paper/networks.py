"""The paper's networks for federated learning, of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import nn

from fairshapley.randomness import root_seed

Network = TypeVar("Network", bound=nn.Module)


def mnist_cnn(
    n_classes: int = 10,
    *,
    image: tuple[int, int, int] = (1, 32, 32),
    channels: Sequence[int] = (64, 16),
    kernels: Sequence[int] = (3, 7),
    hidden: int = 200,
    seed: int = 0,
) -> nn.Sequential:
    """The network for MNIST, zero-padded to 32×32: two convolutions with tanh and max-pool.

    An image has channels, height and width; each convolution has output channels and the width of
    its kernel; `hidden` are the units of the layer before the outputs, which are logits.
    """
    return _seeded(
        seed,
        lambda: _image_cnn(n_classes, image, channels, kernels, hidden, nn.Tanh, len(kernels)),
    )


def cifar_cnn(
    n_classes: int = 10,
    *,
    image: tuple[int, int, int] = (3, 32, 32),
    channels: Sequence[int] = (32, 64, 64),
    kernels: Sequence[int] = (3, 3, 3),
    hidden: int = 64,
    seed: int = 0,
) -> nn.Sequential:
    """The network for CIFAR-10: three convolutions with ReLU, max-pool after all but the last."""
    return _seeded(
        seed,
        lambda: _image_cnn(n_classes, image, channels, kernels, hidden, nn.ReLU, len(kernels) - 1),
    )


def text_cnn(
    n_tokens: int,
    n_classes: int = 2,
    *,
    embedding: int = 300,
    kernels: Sequence[int] = (3, 3, 3),
    filters: int = 128,
    dropout: float = 0.5,
    seed: int = 0,
) -> nn.Module:
    """The network for texts (Kim 2014): convolutions over learnt embeddings, max over time."""
    return _seeded(
        seed, lambda: _TextCNN(n_tokens, n_classes, embedding, kernels, filters, dropout)
    )


class _TextCNN(nn.Module):
    """Convolutions over word vectors, each followed by the maximum over the text."""

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
        """The logits of each text, of its tokens (texts, length)."""
        words = self.embedding(tokens).transpose(1, 2)
        features = [torch.relu(layer(words)).amax(dim=2) for layer in self.convolutions]
        return self.outputs(self.dropout(torch.cat(features, dim=1)))


def _image_cnn(
    n_classes: int,
    image: tuple[int, int, int],
    channels: Sequence[int],
    kernels: Sequence[int],
    hidden: int,
    activation: Callable[[], nn.Module],
    pooled: int,
) -> nn.Sequential:
    """Convolutions with an activation, the first `pooled` of them with a max-pool of 2."""
    inputs, *sides = image
    layers: list[nn.Module] = []
    for place, (outputs, kernel) in enumerate(zip(channels, kernels, strict=True)):
        pool = 2 if place < pooled else 1
        # The activations never decrease: pooled first they give the same with a quarter of the
        # work.
        layers.append(nn.Conv2d(inputs, outputs, kernel))
        layers += [nn.MaxPool2d(pool)] if pool > 1 else []
        layers.append(activation())
        inputs, sides = outputs, [(side - kernel + 1) // pool for side in sides]
    layers += [nn.Flatten(), nn.Linear(inputs * sides[0] * sides[1], hidden)]
    layers += [activation(), nn.Linear(hidden, n_classes)]
    return nn.Sequential(*layers)


def _seeded(seed: int, build: Callable[[], Network]) -> Network:
    """What `build` makes with torch's generator seeded, which is put back afterwards."""
    with torch.random.fork_rng(devices=[]):
        # torch takes 64 bits.
        torch.default_generator.manual_seed(root_seed(seed) % 2**63)
        return build()
