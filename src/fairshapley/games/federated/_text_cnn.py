"""The network for texts. A module of its own, since a class of torch needs torch to be defined."""

from __future__ import annotations

import torch
from torch import nn


class TextCNN(nn.Module):
    """Convolutions over word vectors, each followed by the maximum over the text (Kim 2014).

    Made by `fairshapley.games.federated.text_cnn`.
    """

    def __init__(
        self,
        n_tokens: int,
        n_classes: int,
        embedding: int,
        kernels: tuple[int, ...],
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
