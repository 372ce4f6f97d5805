"""Images and texts as the models take them; numpy and Python alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError

PADDING, UNKNOWN = 0, 1
"""The tokens that stand for no word and for a word outside the vocabulary"""

# A word with its inner apostrophes, or a single sign that is neither a letter nor a space.
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def as_images(images: ArrayLike, *, size: int | None = None) -> NDArray[np.float32]:
    """Images as a network takes them: floats (rows, channels, height, width), zero-padded.

    Parameters
    ----------
    images
        Shape (rows, height, width), or with the channels last. Bytes are divided by 255, floats
        stay as they are.
    size
        The height and width to pad to with zeros, evenly on both sides; the paper pads MNIST to 32.

    Examples
    --------
    >>> as_images(np.full((5, 28, 28), 255, dtype=np.uint8), size=32).shape
    (5, 1, 32, 32)
    """
    array = np.asarray(images)
    if array.ndim not in (3, 4) or array.dtype.kind not in "fiu":
        raise InputError(
            f"images must be numbers of the shape (rows, height, width) or with channels last, "
            f"not {array.dtype} of the shape {array.shape}"
        )
    floats = array.astype(np.float32)
    if array.dtype == np.uint8:
        floats /= np.float32(255)
    floats = floats[:, None] if array.ndim == 3 else np.moveaxis(floats, 3, 1)
    if size is None:
        return np.ascontiguousarray(floats)
    size = checks.whole("size", size)
    missing = [size - length for length in floats.shape[2:]]
    if min(missing) < 0:
        raise InputError(f"images of {floats.shape[2:]} cannot be padded to {size}: take it larger")
    pads = [(0, 0), (0, 0), *((gap // 2, gap - gap // 2) for gap in missing)]
    return np.ascontiguousarray(np.pad(floats, pads))


def tokenise(text: str) -> list[str]:
    """The words and signs of a text, in lower case.

    Examples
    --------
    >>> tokenise("It's good, isn't it?")
    ["it's", 'good', ',', "isn't", 'it', '?']
    """
    if not isinstance(text, str):
        raise InputError(f"a text must be a str, not a {type(text).__name__}")
    return _TOKEN.findall(text.lower())


class Vocabulary:
    """The words of a collection of texts, numbered from the most frequent.

    Parameters
    ----------
    texts
        The texts to learn the words of; those of the agents, not of the test.
    most
        The most words to keep; all unless given.
    least_count
        Words seen less often are unknown.

    Attributes
    ----------
    words
        The words in their order; word k has the token k + 2, after padding (0) and unknown (1).

    Examples
    --------
    >>> vocabulary = Vocabulary(["a fine film", "a film"])
    >>> len(vocabulary), vocabulary.words
    (5, ('a', 'film', 'fine'))
    >>> vocabulary.encode(["A fine, fine film!", "film"])
    array([[2, 4, 1, 4, 3, 1],
           [3, 0, 0, 0, 0, 0]])
    """

    def __init__(
        self, texts: Iterable[str], *, most: int | None = None, least_count: int = 1
    ) -> None:
        most = None if most is None else checks.whole("most", most)
        least_count = checks.whole("least_count", least_count)
        counts = Counter(token for text in _check_texts(texts) for token in tokenise(text))
        frequent = [item for item in counts.items() if item[1] >= least_count]
        # By count, then by the alphabet: the order of the texts makes no difference.
        frequent.sort(key=lambda item: (-item[1], item[0]))
        self.words = tuple(word for word, _ in frequent[:most])
        if not self.words:
            raise InputError("the texts have no words that are kept: give more, or least_count=1")
        self._tokens = {word: place + 2 for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        """The number of tokens, padding and unknown included: the rows of an embedding."""
        return len(self.words) + 2

    def encode(self, texts: Iterable[str], length: int | None = None) -> IntArray:
        """The tokens of each text, shape (texts, length).

        Longer texts are cut off, shorter ones padded; `length` is that of the longest unless given.
        """
        rows = [
            [self._tokens.get(word, UNKNOWN) for word in tokenise(text)]
            for text in _check_texts(texts)
        ]
        longest = max((len(row) for row in rows), default=0)
        width = longest if length is None else checks.whole("length", length)
        tokens = np.full((len(rows), width), PADDING, dtype=np.int64)
        for row, found in enumerate(rows):
            tokens[row, : min(len(found), width)] = found[:width]
        return tokens


def _check_texts(texts: Iterable[str]) -> Sequence[Any]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be a list of str, not a {type(texts).__name__}")
    return list(texts)
