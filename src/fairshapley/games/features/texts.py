"""Texts whose words or sentences are the players."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.expectation import Expectation, Predictor, as_function

Splitter = Callable[[str], Sequence[str]]

# A word with what stands before it; the pieces of a text, joined, are the text.
WORDS = r"\W*\w+(?:['’-]\w+)*"
SENTENCES = r"[^.!?]+[.!?]*\s*|[.!?]+\s*"
# Texts predicted at a time: what a model makes of them is far larger than they are.
MAX_TEXTS = 2048


class Texts:
    """Texts whose words or sentences are the players; absent ones are left out or replaced.

    Parameters
    ----------
    predict
        A function of a list of texts, or a fitted model such as a pipeline with a vectoriser.
    texts
        What to explain.
    groups
        "words" (by default), "sentences", or a function that splits a text into pieces.
    background
        The text that replaces an absent piece; by default it is left out.
    output_names, max_rows
        As for a `FeatureGame`.

    Examples
    --------
    >>> texts = Texts(lambda texts: [len(text) for text in texts], ["good, very good!"])
    >>> texts.pieces(0)
    ['good', ', very', 'good!']
    >>> texts.mixed(np.array([[True, False, True]]), np.array([0]))
    ['good good!']
    """

    shape: ClassVar[Literal["texts"]] = "texts"
    kind = "a list of texts"
    notes: ClassVar[tuple[str, ...]] = ()
    labels = range(1)

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
        self.texts, self.absent = list(texts), "" if background is None else background
        if not isinstance(self.absent, str):
            raise InputError(
                f"for texts, background is the text of an absent word, not {background!r}"
            )
        self._split = [_pieces(text, groups or "words") for text in self.texts]
        self.counts = np.array([len(split) for split in self._split])
        if not self.counts.all():
            raise InputError(f"text {self.counts.argmin()} has no words to explain: leave it out")
        self.n_rows = len(self.texts)
        self.predictor = Predictor(as_function(predict), self, max_rows or MAX_TEXTS)  # type: ignore[arg-type]
        self.output_names = self.predictor.output_names(output_names)
        self.player_names = tuple(f"piece {place}" for place in range(int(self.counts.max())))

    def __len__(self) -> int:
        return self.n_rows

    def handed(self, rows: IntArray) -> list[str]:
        """Return some of the texts, as predict is given them."""
        return [self.texts[row] for row in rows]

    def expectation(self, rows: IntArray) -> TextExpectation:
        """Return the utilities of rows that have the same number of players."""
        return TextExpectation(self, rows)

    def shown(self, rows: IntArray) -> NDArray[Any]:
        """Return the pieces of some texts; nothing where a text has fewer players."""
        shown = np.full((len(rows), len(self.player_names)), "", dtype=object)
        for place, row in enumerate(rows.tolist()):
            shown[place, : self.counts[row]] = self.pieces(row)
        return shown

    def pieces(self, row: int) -> list[str]:
        """Return the pieces of a text, without the space around them."""
        return [piece.strip() for piece in self._split[row]]

    def mixed(self, masks: BoolArray, rows: IntArray) -> list[str]:
        """Return texts of the pieces that are present."""
        return [
            "".join(
                piece if present else self._gap(piece)
                for piece, present in zip(self._split[row], mask, strict=True)
            ).strip()
            for mask, row in zip(masks.tolist(), rows.tolist(), strict=True)
        ]

    def _gap(self, piece: str) -> str:
        """Return what replaces an absent piece, with the space around it."""
        return piece.replace(piece.strip(), self.absent) if self.absent and piece.strip() else ""


class TextExpectation(Expectation):
    """Utilities of some texts with the same number of pieces."""

    def __init__(self, texts: Texts, rows: IntArray) -> None:
        super().__init__(texts.predictor, len(rows), 1)
        self.texts, self.rows = texts, rows

    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> list[str]:
        """Return each text with the pieces of its coalition; no background is mixed in."""
        return self.texts.mixed(coalitions, self.rows[rows])


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
