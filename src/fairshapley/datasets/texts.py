"""Movie reviews, the Stanford Sentiment Treebank and hotel reviews."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import IntArray
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.datasets.files import DataError, check_found
from fairshapley.datasets.parsing import CellType, Columns, read_archive, read_lines, read_table

_SENTIMENTS = ("very negative", "negative", "neutral", "positive", "very positive")
_MR_COUNT = 5331
# Published counts of the root labels 0 to 4.
_SST_COUNTS = {
    "train": [1092, 2218, 1624, 2322, 1288],
    "dev": [139, 289, 229, 279, 165],
    "test": [279, 633, 389, 510, 399],
}
# Ratings 1 to 5: of all reviews, and of those with extracted features.
_RATINGS = [1421, 1793, 2184, 6039, 9054]
_FEATURE_RATINGS = [1273, 1597, 1958, 5392, 8125]
_FEATURES_NOTE = (
    "features from a network (GloVe, BiLSTM) that Xu et al. (2021) fitted to these rows; "
    "hotel_review_rows() lines them up with the texts"
)
# A leaf of a tree is "(label word)"; words hold no brackets, they are written -LRB- and -RRB-.
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")


# --- movie reviews ------------------------------------------------------------------------------


def read_mr(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """Sentences, positive or negative."""
    if wanted.kind == "compact":
        table = _read_tsv(files[0], {"label": "number", "text": "text"})
        texts, y = table["text"], table["label"].astype(np.int64)
    else:
        positive, negative = (read_lines(path, "latin-1") for path in files)
        check_found(files[0], "sentences", _MR_COUNT, len(positive))
        check_found(files[1], "sentences", _MR_COUNT, len(negative))
        texts = np.array(positive + negative, dtype=object)
        y = np.repeat([1, 0], [len(positive), len(negative)])
    return Dataset(wanted.name, texts, y, (), ("negative", "positive"), (0, 1))


def _read_tsv(path: Path, kinds: dict[str, CellType]) -> Columns:
    return read_table(path, kinds, delimiter="\t", quoted=False)


# --- Stanford Sentiment Treebank ----------------------------------------------------------------


def read_trees(path: Path) -> tuple[list[str], IntArray]:
    """The sentences of a file of labelled trees, one a line, and the labels of their roots."""
    lines = read_lines(path, "utf-8")
    texts = []
    for number, line in enumerate(lines, 1):
        words = _LEAF.findall(line)
        balanced = line.count("(") == line.count(")")
        if not (re.match(r"\([0-4] ", line) and words and balanced):
            raise DataError(
                f"{path}, tree {number}: not a labelled tree like (3 (2 It) (4 works)), it begins "
                f"{line[:30]!r}: the file is cut off or another, get the publisher's again"
            )
        texts.append(" ".join(words))
    return texts, np.array([int(line[1]) for line in lines], dtype=np.int64)


def read_sst5(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """Sentences in five shades, in the publisher's parts."""
    if wanted.kind == "compact":
        table = _read_tsv(files[0], {"split": "text", "label": "number", "text": "text"})
        texts, y, split = table["text"], table["label"].astype(np.int64), table["split"].astype(str)
    else:
        parts = [read_trees(path) for path in files]
        for path, expected, (_, labels) in zip(files, _SST_COUNTS.values(), parts, strict=True):
            found = np.bincount(labels, minlength=5).tolist()
            check_found(path, "sentences with the labels 0 to 4", expected, found)
        texts = np.array([text for some, _ in parts for text in some], dtype=object)
        y = np.concatenate([labels for _, labels in parts])
        split = np.repeat(list(_SST_COUNTS), [len(labels) for _, labels in parts])
    return Dataset(wanted.name, texts, y, (), _SENTIMENTS, tuple(range(5)), split=split)


# --- hotel reviews ------------------------------------------------------------------------------


def hotel_review_rows() -> IntArray:
    """For each row of the hotel reviews' features, the number of its review among the texts.

    The authors of the features kept a review when a draw from 0 to 99 exceeded 10, seed 42.

    Examples
    --------
    >>> rows = hotel_review_rows()
    >>> len(rows), int(rows[-1])
    (18345, 20490)
    """
    draws = random.Random(42)  # noqa: S311 - the draw to be repeated was made like this
    kept = [draws.randrange(0, 100) > 10 for _ in range(sum(_RATINGS))]
    return np.flatnonzero(kept)


def _check_ratings(path: Path, ratings: NDArray[Any], expected: list[int]) -> None:
    found = [int((ratings == stars).sum()) for stars in range(1, 6)]
    check_found(path, "reviews", sum(expected), len(ratings))
    check_found(path, "reviews with the ratings 1 to 5", expected, found)


def read_hotel_reviews(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """Features that a network extracted, or texts."""
    path = files[0]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    if wanted.variant == "features":
        features, y = read_archive(path, ("X", "y")).values()
        features, y = features.astype(np.float64), y.ravel()
        _check_ratings(path, y, _FEATURE_RATINGS)
        check_found(path, "features of shape", (len(y), 8), features.shape)
        names = tuple(f"unit{number}" for number in range(1, 9))
        notes = (_FEATURES_NOTE,)
    else:
        table = read_table(path, {"Review": "text", "Rating": "number"})
        features, y = table["Review"], table["Rating"]
        if wanted.kind == "original":
            _check_ratings(path, y, _RATINGS)
    stars = tuple(range(1, 6))
    classes = tuple(f"{number} of 5" for number in stars)
    return Dataset(wanted.name, features, y.astype(np.int64), names, classes, stars, notes=notes)
