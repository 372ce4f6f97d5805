"""Movie reviews, the Stanford Sentiment Treebank and hotel reviews."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import IntArray
from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.datasets.files import DataError, check_found
from fairshapley.datasets.parsing import read_archive, read_lines, read_table

_POLARITY = ("negative", "positive")
_SENTIMENTS = ("very negative", "negative", "neutral", "positive", "very positive")
_SPLITS = ("train", "dev", "test")
_MR_COUNT = 5331
# Published counts of the root labels 0 to 4.
_SST_COUNTS = {
    "train": [1092, 2218, 1624, 2322, 1288],
    "dev": [139, 289, 229, 279, 165],
    "test": [279, 633, 389, 510, 399],
}
_STARS = tuple(f"{stars} of 5" for stars in range(1, 6))
# Ratings 1 to 5: of all reviews, and of those with extracted features.
_RATINGS = [1421, 1793, 2184, 6039, 9054]
_FEATURE_RATINGS = [1273, 1597, 1958, 5392, 8125]
# A leaf of a tree is "(label word)"; words hold no brackets, they are written -LRB- and -RRB-.
_LEAF = re.compile(r"\([0-4] ([^()]+)\)")


def _objects(texts: list[str]) -> NDArray[Any]:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


# --- movie reviews ------------------------------------------------------------------------------


def _mr_original(files: tuple[Path, ...], _part: str) -> Content:
    positive, negative = (read_lines(path, "latin-1") for path in files)
    check_found(files[0], "sentences", _MR_COUNT, len(positive))
    check_found(files[1], "sentences", _MR_COUNT, len(negative))
    y = np.repeat([1, 0], [len(positive), len(negative)])
    return Content(_objects(positive + negative), y, (), _POLARITY, (0, 1))


def _mr_compact(files: tuple[Path, ...], _part: str) -> Content:
    table = read_table(files[0], {"label": "number", "text": "text"}, delimiter="\t", quoted=False)
    return Content(table["text"], table["label"].astype(np.int64), (), _POLARITY, (0, 1))


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


def _sst5(texts: NDArray[Any], y: IntArray, split: NDArray[Any]) -> Content:
    return Content(texts, y, (), _SENTIMENTS, tuple(range(5)), split=split)


def _sst5_original(files: tuple[Path, ...], _part: str) -> Content:
    parts = [read_trees(path) for path in files]
    for path, name, (_, labels) in zip(files, _SPLITS, parts, strict=True):
        found = np.bincount(labels, minlength=5).tolist()
        check_found(path, "sentences with the labels 0 to 4", _SST_COUNTS[name], found)
    sizes = [len(labels) for _, labels in parts]
    return _sst5(
        _objects([text for texts, _ in parts for text in texts]),
        np.concatenate([labels for _, labels in parts]),
        np.repeat(list(_SPLITS), sizes),
    )


def _sst5_compact(files: tuple[Path, ...], _part: str) -> Content:
    table = read_table(
        files[0],
        {"split": "text", "label": "number", "text": "text"},
        delimiter="\t",
        quoted=False,
    )
    return _sst5(table["text"], table["label"].astype(np.int64), table["split"].astype(np.str_))


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


def _hotel_features(files: tuple[Path, ...], _part: str) -> Content:
    data = read_archive(files[0], ("X", "y"))
    ratings = data["y"].ravel()
    _check_ratings(files[0], ratings, _FEATURE_RATINGS)
    check_found(files[0], "features of shape", (len(ratings), 8), data["X"].shape)
    return Content(
        data["X"].astype(np.float64),
        ratings.astype(np.int64),
        tuple(f"unit{number}" for number in range(1, 9)),
        _STARS,
        tuple(range(1, 6)),
        notes=(
            "features from a network (GloVe, BiLSTM) that Xu et al. (2021) fitted to these rows; "
            "hotel_review_rows() lines them up with the texts",
        ),
    )


def _hotel_texts(path: Path, *notes: str) -> Content:
    table = read_table(path, {"Review": "text", "Rating": "number"})
    y = table["Rating"].astype(np.int64)
    return Content(table["Review"], y, (), _STARS, tuple(range(1, 6)), notes=notes)


def _hotel_texts_original(files: tuple[Path, ...], _part: str) -> Content:
    content = _hotel_texts(files[0])
    _check_ratings(files[0], content.y, _RATINGS)
    return content


def _hotel_texts_compact(files: tuple[Path, ...], _part: str) -> Content:
    return _hotel_texts(files[0], "compact copy: the first 2,000 of the 20,491 reviews")


ENTRIES = (
    Entry(
        name="hotel_reviews",
        description="Trip Advisor hotel reviews with ratings from 1 to 5: 18 345 rows of 8 "
        "features extracted by a network, or 20 491 texts.",
        page="https://www.kaggle.com/datasets/andrewmvd/trip-advisor-hotel-reviews; the features: "
        "https://github.com/ZhaoxuanWu/VolumeBased-DataValuation",
        licence="reviews CC BY-NC 4.0 (non-commercial); the features have none of their own",
        citation="Alam, Ryu & Lee (2016), Joint multi-grain topic sentiment; features: Xu, Wu, Foo "
        "& Low (2021), Validation free and replication robust volume-based data valuation",
        variants={
            "features": (
                Source("original", _hotel_features, {"all": ("extracted_features.npz",)}),
                Source(
                    "compact",
                    _hotel_features,
                    {"all": ("hotel_reviews_features.npz",)},
                    {
                        "hotel_reviews_features.npz": "06fcc898433f52c0e89bc8af2153e938"
                        "447a70b4ecfc06cacd38524ba0dd1fbc"
                    },
                ),
            ),
            "text": (
                Source(
                    "original", _hotel_texts_original, {"all": ("tripadvisor_hotel_reviews.csv",)}
                ),
                Source(
                    "compact",
                    _hotel_texts_compact,
                    {"all": ("hotel_reviews_text_2k.csv.gz",)},
                    {
                        "hotel_reviews_text_2k.csv.gz": "dae6864b45b0b48cd511b3b8cd758b7b"
                        "1ea47218713ff44a126c0cb64752042e"
                    },
                ),
            ),
        },
        paper="P3, collaborative learning, the features",
    ),
    Entry(
        name="mr",
        description="Movie review sentence polarity, v1.0: 10 662 sentences, half positive.",
        page="https://www.cs.cornell.edu/people/pabo/movie-review-data (rt-polaritydata.tar.gz)",
        licence="for research, cite the paper",
        citation="Pang & Lee (2005), Seeing stars",
        variants={
            "text": (
                Source("original", _mr_original, {"all": ("rt-polarity.pos", "rt-polarity.neg")}),
                Source(
                    "compact",
                    _mr_compact,
                    {"all": ("mr.tsv.gz",)},
                    {
                        "mr.tsv.gz": "b6a1bcf975e17cdd009514f05c0f4565"
                        "84a40931847e685e4b9dfd36a9568859"
                    },
                ),
            )
        },
        paper="P3, federated learning",
    ),
    Entry(
        name="sst5",
        description="Stanford Sentiment Treebank, fine grained: 11 855 sentences, 5 classes.",
        page="https://nlp.stanford.edu/sentiment (trainDevTestTrees_PTB.zip)",
        licence="for research, cite the paper",
        citation="Socher et al. (2013), Recursive deep models for semantic compositionality",
        variants={
            "text": (
                Source(
                    "original",
                    _sst5_original,
                    {"all": tuple(f"trees/{split}.txt" for split in _SPLITS)},
                ),
                Source(
                    "compact",
                    _sst5_compact,
                    {"all": ("sst5.tsv.gz",)},
                    {
                        "sst5.tsv.gz": "4672df5d24c614a30a7cde596e00589a"
                        "5b7c2eeeb62c1903a71960a83c4ea3fb"
                    },
                ),
            )
        },
        paper="P3, federated learning",
    ),
)
