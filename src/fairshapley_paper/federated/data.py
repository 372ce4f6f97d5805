"""Images, texts and the rows of each agent, as the paper's federations take them; without torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator

PADDING, UNKNOWN = 0, 1
"""The tokens that stand for no word and for a word outside the vocabulary"""

# A word with its inner apostrophes, or a single sign that is neither a letter nor a space.
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def as_images(images: ArrayLike, *, size: int | None = None) -> NDArray[np.float32]:
    """Return images as a network takes them: floats (rows, channels, height, width), zero-padded.

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
    floats = array.astype(np.float32)
    if array.dtype == np.uint8:
        floats /= np.float32(255)
    floats = floats[:, None] if array.ndim == 3 else np.moveaxis(floats, 3, 1)
    if size is None:
        return np.ascontiguousarray(floats)
    missing = [size - length for length in floats.shape[2:]]
    pads = [(0, 0), (0, 0), *((gap // 2, gap - gap // 2) for gap in missing)]
    return np.ascontiguousarray(np.pad(floats, pads))


def tokenise(text: str) -> list[str]:
    """Return the words and signs of a text, in lower case.

    Examples
    --------
    >>> tokenise("It's good, isn't it?")
    ["it's", 'good', ',', "isn't", 'it', '?']
    """
    return _TOKEN.findall(text.lower())


class Vocabulary:
    """The words of a collection of texts, numbered from the most frequent.

    Parameters
    ----------
    texts
        The agents' texts, whose words are learnt; not the test's.

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

    def __init__(self, texts: Iterable[str]) -> None:
        counts = Counter(token for text in texts for token in tokenise(text))
        # By count, then by the alphabet: the order of the texts makes no difference.
        self.words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
        self._tokens = {word: place + 2 for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        """Return the number of tokens, padding and unknown included: the rows of an embedding."""
        return len(self.words) + 2

    def encode(self, texts: Iterable[str], length: int | None = None) -> IntArray:
        """Return the tokens of each text, shape (texts, length).

        Longer texts are cut off, shorter ones padded; `length` is that of the longest unless given.
        """
        rows = [[self._tokens.get(word, UNKNOWN) for word in tokenise(text)] for text in texts]
        longest = max((len(row) for row in rows), default=0)
        width = longest if length is None else length
        tokens = np.full((len(rows), width), PADDING, dtype=np.int64)
        for row, found in enumerate(rows):
            tokens[row, : min(len(found), width)] = found[:width]
        return tokens


SplitKind: TypeAlias = Literal["iid", "powerlaw", "classimbalance"]

# Sizes follow the density ∝ x^(a−1) on [0, 1], whose quantile function is u^(1/a); the exponent
# and the two quantiles between which the agents are placed are the paper's.
_POWERLAW_EXPONENT = 1.659
_POWERLAW_ENDS = (0.01, 0.99)


def split(
    labels: ArrayLike,
    n_agents: int,
    kind: SplitKind = "iid",
    *,
    rows_per_agent: int | None = None,
    seed: int = 0,
) -> list[IntArray]:
    """Deal the rows of a dataset out to agents.

    Parameters
    ----------
    labels
        The class of each row; only "classimbalance" looks at them.
    n_agents
        The number of agents.
    kind
        "iid": equal sizes, at random. "powerlaw": at random, sizes proportional to evenly spaced
        points between the 1 % and the 99 % quantile of the power law with exponent 1.659.
        "classimbalance": equal sizes, agent k of n holds the first k classes, in equal parts;
        when there are not as many agents as classes, the numbers of classes are n evenly spaced
        ones from 1 to all, rounded; a single agent holds all. One that has fewer rows than
        classes holds as many of the first classes as it has rows.
    rows_per_agent
        The rows of an agent, for "powerlaw" of the average agent. By default all rows are used,
        but "classimbalance" needs it.
    seed
        Fixes which rows an agent gets.

    Returns
    -------
    list of arrays
        For each agent the indices of its rows, in increasing order.

    Examples
    --------
    >>> labels = np.repeat([0, 1, 2], 40)
    >>> [len(rows) for rows in split(labels, 4, "powerlaw")]
    [4, 21, 39, 56]
    >>> parts = split(labels, 3, "classimbalance", rows_per_agent=12)
    >>> [np.bincount(labels[rows], minlength=3).tolist() for rows in parts]
    [[12, 0, 0], [6, 6, 0], [4, 4, 4]]
    """
    y = np.asarray(labels)
    if y.ndim != 1 or not y.size:
        raise InputError(f"labels must be one per row, at least one, not of the shape {y.shape}")
    checks.choice("kind", kind, get_args(SplitKind))
    agents = checks.whole("n_agents", n_agents)
    if agents > y.size:
        raise InputError(f"{y.size} rows are not enough for {agents} agents: take fewer agents")
    generator = side_generator(root_seed(seed), f"federated split {kind}")
    if kind == "classimbalance":
        each = checks.whole("rows_per_agent", rows_per_agent)
        return _by_class(y, agents, each, generator)
    rows = None if rows_per_agent is None else checks.whole("rows_per_agent", rows_per_agent)
    if rows is not None and rows * agents > y.size:
        raise InputError(
            f"{agents} agents with {rows} rows each need {rows * agents} of {y.size} rows: "
            f"at most {y.size // agents} each are there"
        )
    if kind == "iid":
        sizes = np.full(agents, y.size // agents if rows is None else rows)
    else:
        sizes = powerlaw_sizes(agents, y.size if rows is None else rows * agents)
    order = generator.permutation(y.size)
    starts = np.cumsum(sizes) - sizes
    return [np.sort(order[start : start + size]) for start, size in zip(starts, sizes, strict=True)]


def powerlaw_sizes(n_agents: int, total: int) -> IntArray:
    """Return whole sizes that add up to `total`, proportional to the power law's points.

    Examples
    --------
    >>> powerlaw_sizes(3, 300)
    array([ 12, 100, 188])
    """
    low, high = np.array(_POWERLAW_ENDS) ** (1 / _POWERLAW_EXPONENT)
    points: FloatArray = np.linspace(low, high, checks.whole("n_agents", n_agents))
    total = checks.whole("total", total)
    shares = total * points / points.sum()
    sizes: IntArray = np.floor(shares).astype(np.int64)
    # Largest remainders: what rounding down left over goes to those who lost most.
    left = total - int(sizes.sum())
    sizes[np.argsort(sizes - shares, kind="stable")[:left]] += 1
    if sizes.min() < 1:
        raise InputError(
            f"{total} rows leave the smallest of {n_agents} power-law agents without any: "
            "take more rows or fewer agents"
        )
    return sizes


def _by_class(
    y: NDArray[np.generic], n_agents: int, rows: int, generator: np.random.Generator
) -> list[IntArray]:
    """Agent k holds the first k classes, the same number of rows of each, up to one."""
    classes, codes = np.unique(y, return_inverse=True)
    available = np.bincount(codes, minlength=len(classes))
    spread = np.linspace(1, len(classes), n_agents) if n_agents > 1 else np.array([len(classes)])
    counts = _class_counts(rows, np.floor(spread + 0.5).astype(np.int64), len(classes))
    if (counts.sum(axis=0) > available).any():
        raise InputError(
            f"{n_agents} agents, of whom the first hold few classes, cannot have {rows} rows each: "
            f"the classes have {available.tolist()} rows; take fewer rows"
        )
    queues = [generator.permutation(np.flatnonzero(codes == code)) for code in range(len(classes))]
    taken = np.zeros(len(classes), dtype=np.int64)
    parts = []
    for count in counts:
        chosen = [
            queue[start : start + size]
            for queue, start, size in zip(queues, taken, count, strict=True)
        ]
        taken += count
        parts.append(np.sort(np.concatenate(chosen)))
    return parts


def _class_counts(rows: int, held: IntArray, n_classes: int) -> IntArray:
    """Return the rows of each class (columns) that each agent (rows) gets."""
    places = np.arange(n_classes)
    even, extra = rows // held[:, None], rows % held[:, None]
    return np.where(places < held[:, None], even + (places < extra), 0)
