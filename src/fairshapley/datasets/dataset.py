"""A data set as it was loaded: arrays that cannot be written to, and where they come from."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics.text import listed, several
from fairshapley.errors import InputError

_ARRAYS = ("X", "y", "groups", "split")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: rows, targets, names and provenance. Its arrays are read-only.

    Parameters
    ----------
    name
        The name it is loaded by.
    X
        One row each: features (m, d), images (m, height, width[, colour]) as uint8, or texts (m,)
        as str objects.
    y
        The target of each row: a class (int64) or a number (float64).
    feature_names
        The names of the columns of X; empty for images and texts.
    target_names
        The names of the classes, in the order of `classes`; for a regression the target's name.
    classes
        The values of y, in increasing order; None for a regression.
    groups
        The natural provider of each row (the make of a used car), where there is one.
    split
        The part in which the publisher put each row, ``"train"``, ``"dev"`` or ``"test"``, where
        there are such parts.
    description, licence, citation
        What it is, on what terms, and whom to cite.
    source
        What was read: the library, or which files.
    notes
        What to know before using it, such as what a compact copy leaves out.
    files
        The SHA-256 of each file that was read, by name.

    Examples
    --------
    >>> from fairshapley.datasets import load
    >>> wine = load("wine")
    >>> wine
    <Dataset wine: 178 rows of 13 features, 3 classes>
    >>> wine.take([0, 100]).y
    array([0, 1])
    >>> wine.X[0, 0] = 1.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    classes: tuple[int, ...] | None = None
    groups: NDArray[Any] | None = None
    split: NDArray[Any] | None = None
    description: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is None and name in ("groups", "split"):
                continue
            array = np.asarray(array)
            if array.ndim == 0 or len(array) != len(np.asarray(self.X)):
                raise InputError(
                    f"{name} must have one entry per row of X, not the shape {array.shape}"
                )
            view = array.view()  # the array itself stays as its owner has it
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        if self.feature_names and self.X.shape[1:] != (len(self.feature_names),):
            raise InputError(
                f"{len(self.feature_names)} feature names for rows of shape {self.X.shape[1:]}: "
                "give one per column"
            )
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Made anew: pickles keep neither the write protection of arrays nor a mapping proxy.
        fields = [getattr(self, one.name) for one in dataclasses.fields(self)[:-1]]
        return Dataset, (*fields, dict(self.files))

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        shape = self.X.shape[1:]
        rows = several(len(self), "row")
        if self.X.dtype == object and not shape:
            kind = f"{rows} of text"
        elif self.feature_names:
            kind = f"{rows} of {len(self.feature_names)} features"
        else:
            kind = f"{rows} of shape {shape}"
        target = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return f"<Dataset {self.name}: {kind}, {target}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], self.description, f"source: {self.source}"]
        lines += [f"licence: {self.licence}", f"cite: {self.citation}"]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def texts(self) -> list[str]:
        """The texts as a list, for a set of texts."""
        if self.X.dtype != object or self.X.ndim != 1:
            raise InputError(f"{self.name} is not a set of texts: its rows are in X")
        return self.X.tolist()

    @property
    def train(self) -> Dataset:
        """The rows that the publisher put in the training part."""
        return self.select(split="train")

    @property
    def test(self) -> Dataset:
        """The rows that the publisher put in the test part."""
        return self.select(split="test")

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the providers, in the order of their first rows."""
        return () if self.groups is None else tuple(dict.fromkeys(self.groups.tolist()))

    def take(self, rows: ArrayLike | slice) -> Dataset:
        """The data set of some rows: their numbers, a slice, or a boolean mask.

        Examples
        --------
        >>> from fairshapley.datasets import load
        >>> load("iris").take(slice(0, 100)).X.shape
        (100, 4)
        """
        index = rows if isinstance(rows, slice) else self._index(np.asarray(rows))
        parts = {name: getattr(self, name) for name in _ARRAYS}
        taken: dict[str, Any] = {
            name: part[index] for name, part in parts.items() if part is not None
        }
        return dataclasses.replace(self, **taken)

    def select(self, *, split: str | None = None, group: str | None = None) -> Dataset:
        """The rows of one of the publisher's parts, or of one provider, or both.

        Examples
        --------
        >>> from fairshapley.datasets import Dataset
        >>> cars = Dataset("cars", [[1.0], [2.0]], [0, 1], groups=["audi", "bmw"])
        >>> cars.select(group="bmw").X
        array([[2.]])
        """
        keep = np.ones(len(self), dtype=bool)
        for option, wanted, labels in (("split", split, self.split), ("group", group, self.groups)):
            if wanted is None:
                continue
            if labels is None:
                raise InputError(f"{self.name} has no {option}s: leave {option} out")
            found = labels == wanted
            if not np.any(found):
                names = [str(name) for name in dict.fromkeys(labels.tolist())]
                raise InputError(
                    f"{self.name} has no {option} {wanted!r}: choose one of {listed(names)}"
                )
            keep &= found
        return self.take(keep)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content: X, y, groups and split, wherever they were read from.

        Examples
        --------
        >>> from fairshapley.datasets import load
        >>> load("iris").checksum == load("iris").checksum
        True
        >>> load("iris").checksum == load("iris").take(range(149)).checksum
        False
        """
        digest = hashlib.sha256()
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is None:
                continue
            # Texts by their characters: how wide numpy stores them is not their content.
            is_text = array.dtype.kind in "OU"
            kind = "objects" if is_text else array.dtype.newbyteorder("<").str
            digest.update(f"{name} {kind} {array.shape}".encode())
            if is_text:
                digest.update("\n".join(map(repr, array.ravel().tolist())).encode())
            else:
                digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
        return digest.hexdigest()

    def _index(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Row numbers or a mask, checked."""
        if rows.size == 0:
            return np.zeros(0, dtype=np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iub":
            raise InputError(
                "rows must be a list of row numbers, a slice or a boolean mask, not an array of "
                f"{rows.dtype} of shape {rows.shape}"
            )
        if rows.dtype == bool and len(rows) != len(self):
            raise InputError(f"the mask has {len(rows)} entries for {len(self)} rows")
        if rows.dtype != bool and not (-len(self) <= rows.min() and rows.max() < len(self)):
            raise InputError(
                f"rows from {rows.min()} to {rows.max()} are asked of {self.name}, which has "
                f"{len(self)}: take at most that many"
            )
        return rows
