"""Pieces as players: the words or sentences of texts, the patches or segments of images."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.expectation import MixedExpectation
from fairshapley.games.features.predictor import Predictor, as_function

Splitter = Callable[[str], Sequence[str]]

# A word with what stands before it; the pieces of a text, joined, are the text.
WORDS = r"\W*\w+(?:['’-]\w+)*"
SENTENCES = r"[^.!?]+[.!?]*\s*|[.!?]+\s*"
# Texts handed to predict at a time: what a model makes of them is far larger than they are.
MOST_TEXTS = 2048
# Patches on a side of an image, by default: 49 players.
GRID = 7


class Pieces(ABC):
    """Rows that fall into pieces; absent ones are replaced, and each mixture is predicted once."""

    shape: ClassVar[Literal["texts", "images"]]
    kind: ClassVar[str]
    """What predict is handed, in words"""
    notes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        predict: Any,
        items: Any,
        counts: IntArray,
        output_names: Sequence[str] | None,
        max_rows: int | None,
    ) -> None:
        self.items, self.counts, self.n_rows = items, counts, len(items)
        self.labels = range(np.asarray(items[0]).size)
        self.predictor = Predictor(as_function(predict), self, max_rows)  # type: ignore[arg-type]
        self.output_names = self.predictor.output_names(output_names)
        self.player_names = tuple(f"piece {place}" for place in range(int(counts.max())))

    def __len__(self) -> int:
        return self.n_rows

    def handed(self, rows: IntArray) -> Any:
        """Some of the texts or images, as predict is handed them."""
        if isinstance(self.items, np.ndarray):
            return self.items[rows]
        return [self.items[row] for row in rows]

    def expectation(self, rows: IntArray) -> PieceExpectation:
        """The utilities of rows that have the same number of players."""
        return PieceExpectation(self, rows)

    def shown(self, rows: IntArray) -> NDArray[Any]:
        """What each player of some rows shows; nothing where a row has fewer players."""
        shown = np.full((len(rows), len(self.player_names)), "", dtype=object)
        for place, row in enumerate(rows.tolist()):
            shown[place, : self.counts[row]] = self.data(row)
        return shown

    def data(self, row: int) -> Sequence[str]:
        """What each player of a row shows."""
        return self.player_names[: self.counts[row]]

    @abstractmethod
    def mixed(self, masks: BoolArray, rows: IntArray) -> Any:
        """Each row with the pieces of its mask."""


class PieceExpectation(MixedExpectation):
    """Utilities of some rows with the same number of pieces."""

    def __init__(self, pieces: Pieces, rows: IntArray) -> None:
        super().__init__(pieces.predictor, len(rows), 1)
        self.pieces, self.rows = pieces, rows

    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """Each row with the pieces of its coalition; no background is mixed in."""
        return self.pieces.mixed(coalitions, self.rows[rows])


class Texts(Pieces):
    """Texts whose words or sentences are the players.

    Parameters
    ----------
    predict
        A function of a list of texts, or a fitted model such as a pipeline with a vectoriser.
    texts
        What to explain.
    groups
        "words" (by default), "sentences", or a function that splits a text into pieces.
    background
        What stands for an absent piece; by default it is left out.
    output_names, max_rows
        As for a `FeatureGame`.

    Examples
    --------
    >>> texts = Texts(lambda texts: [len(text) for text in texts], ["good, very good!"])
    >>> texts.data(0)
    ['good', ', very', 'good!']
    >>> texts.mixed(np.array([[True, False, True]]), np.array([0]))
    ['good good!']
    """

    shape, kind = "texts", "a list of texts"

    def __init__(
        self,
        predict: Any,
        texts: Sequence[str],
        *,
        groups: str | Splitter | None = None,
        background: str | None = None,
        output_names: Sequence[str] | None = None,
        max_rows: int | None = None,
    ) -> None:
        texts, self.absent = list(texts), "" if background is None else background
        if not isinstance(self.absent, str):
            raise InputError(
                f"for texts, background is the text of an absent word, not {background!r}"
            )
        self._split = [_pieces(text, groups or "words") for text in texts]
        counts = np.array([len(split) for split in self._split])
        if not counts.all():
            raise InputError(f"text {counts.argmin()} has no words to explain: leave it out")
        super().__init__(predict, texts, counts, output_names, max_rows or MOST_TEXTS)

    def data(self, row: int) -> list[str]:
        """The pieces, without the space around them."""
        return [piece.strip() for piece in self._split[row]]

    def mixed(self, masks: BoolArray, rows: IntArray) -> list[str]:
        """Texts of the pieces that are present."""
        return [
            "".join(
                piece if present else self._gap(piece)
                for piece, present in zip(self._split[row], mask, strict=True)
            ).strip()
            for mask, row in zip(masks.tolist(), rows.tolist(), strict=True)
        ]

    def _gap(self, piece: str) -> str:
        """What stands for an absent piece, with the space around it."""
        return piece.replace(piece.strip(), self.absent) if self.absent and piece.strip() else ""


def _pieces(text: str, by: str | Splitter) -> list[str]:
    if not isinstance(text, str):
        raise InputError(f"X holds texts, but not only: {text!r:.40} is none")
    if callable(by):
        return list(by(text))
    patterns = {"words": WORDS, "sentences": SENTENCES}
    checks.choice("groups", by, tuple(patterns))
    pieces = re.findall(patterns[by], text)
    if pieces:
        pieces[-1] += text[sum(map(len, pieces)) :]
    return pieces


class Images(Pieces):
    """Images whose patches or segments are the players.

    Parameters
    ----------
    predict
        A function of an array of images, a fitted model, or a torch module.
    images
        (images, height, width), with channels behind or before these two.
    groups
        The patches on a side, or (down, across); or a segmentation: whole numbers of the shape
        (height, width), or (images, height, width) for one of each.
    background
        What is seen where a piece is absent: a number, an image, or images of which the mean is
        taken; by default the mean of `images`, of a single one its mean colour.
    output_names, max_rows
        As for a `FeatureGame`.

    Examples
    --------
    >>> images = Images(lambda x: x.sum(axis=(1, 2)), np.ones((1, 4, 4)), groups=2, background=0.0)
    >>> images.counts
    array([4])
    >>> float(images.mixed(np.array([[True, False, False, False]]), np.array([0])).sum())
    4.0
    """

    shape, kind = "images", "an array of images"

    def __init__(
        self,
        predict: Any,
        images: NDArray[Any],
        *,
        groups: Any = None,
        background: Any = None,
        output_names: Sequence[str] | None = None,
        max_rows: int | None = None,
    ) -> None:
        shape = images.shape[1:]
        # Of three axes the shortest is that of the channels.
        self.channels = None if len(shape) == 2 else (0 if shape[0] < shape[2] else 2)
        size = tuple(side for axis, side in enumerate(shape) if axis != self.channels)
        self.segments = _segments(GRID if groups is None else groups, len(images), size)
        counts = self.segments.reshape(len(images), -1).max(axis=1) + 1
        super().__init__(predict, images, counts, output_names, max_rows)
        self.absent = self._baseline(background)

    def _baseline(self, absent: Any) -> NDArray[Any]:
        images = self.items
        if absent is None:
            sides = tuple(axis for axis in range(1, images.ndim) if axis - 1 != self.channels)
            absent = images.mean(axis=0 if len(images) > 1 else (0, *sides), keepdims=True)[0]
        absent = np.asarray(absent, dtype=np.float64)
        if absent.ndim == images.ndim:
            absent = absent.mean(axis=0)
        try:
            filled: NDArray[Any] = np.broadcast_to(absent, images.shape[1:]).astype(images.dtype)
        except ValueError:
            raise InputError(
                f"background has the shape {absent.shape}, images have {images.shape[1:]}: give a "
                "number, an image or images"
            ) from None
        return filled

    def mixed(self, masks: BoolArray, rows: IntArray) -> NDArray[Any]:
        """Images with the pieces that are present."""
        flat = self.segments[rows].reshape(len(rows), -1)
        seen = np.take_along_axis(masks, flat, axis=1).reshape(self.segments[rows].shape)
        if self.channels is not None:
            seen = np.expand_dims(seen, self.channels + 1)
        return np.where(seen, self.items[rows], self.absent)


def _segments(by: Any, count: int, size: tuple[int, ...]) -> IntArray:
    """The piece of each pixel, numbered from 0, (images, height, width)."""
    given = np.asarray(by)
    if given.ndim < 2:
        parts = [
            checks.whole("patches of a side", n, most=side)
            for side, n in zip(size, np.broadcast_to(given, 2).tolist(), strict=True)
        ]
        row, column = (np.arange(side) * n // side for side, n in zip(size, parts, strict=True))
        given = row[:, None] * parts[1] + column
    if given.shape not in (size, (count, *size)) or given.dtype.kind not in "iu":
        raise InputError(
            f"a segmentation has a whole number for each pixel, {size} or {(count, *size)}; this "
            f"one has the shape {given.shape} and holds {given.dtype}"
        )
    each = np.broadcast_to(given, (count, *size))
    return np.stack([np.unique(one, return_inverse=True)[1].reshape(size) for one in each])
