"""Images and texts as the networks take them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics.types import IntArray

PADDING, UNKNOWN = 0, 1
"""The tokens that stand for no word and for a word outside the vocabulary"""

# A word with its inner apostrophes, or a single sign that is neither a letter nor a space.
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def as_images(images: ArrayLike, *, size: int | None = None) -> NDArray[np.float32]:
    """Floats (rows, channels, height, width), zero-padded evenly on both sides to `size`.

    Images are (rows, height, width), or have the channels last. Bytes are divided by 255.
    """
    array = np.asarray(images)
    floats = array.astype(np.float32)
    if array.dtype == np.uint8:
        floats /= np.float32(255)
    floats = floats[:, None] if array.ndim == 3 else np.moveaxis(floats, 3, 1)
    gaps = [0, 0] if size is None else [size - length for length in floats.shape[2:]]
    around = [(gap // 2, gap - gap // 2) for gap in gaps]
    return np.ascontiguousarray(np.pad(floats, [(0, 0), (0, 0), *around]))


def tokenise(text: str) -> list[str]:
    """The words and signs of a text, in lower case."""
    return _TOKEN.findall(text.lower())


class Vocabulary:
    """The words of a collection of texts, numbered from the most frequent.

    0 is padding, 1 a word outside the vocabulary.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter(token for text in texts for token in tokenise(text))
        # By count, then by the alphabet: the order of the texts makes no difference.
        self.words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
        self._tokens = {word: place + 2 for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        """The number of tokens, padding and unknown included: the rows of an embedding."""
        return len(self.words) + 2

    def encode(self, texts: Sequence[str], length: int) -> IntArray:
        """The tokens of each text, (texts, length): long ones are cut off, short ones padded."""
        tokens = np.full((len(texts), length), PADDING, dtype=np.int64)
        for row, text in enumerate(texts):
            found = [self._tokens.get(word, UNKNOWN) for word in tokenise(text)][:length]
            tokens[row, : len(found)] = found
        return tokens
