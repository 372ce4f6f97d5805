"""What the catalogue knows about a set: what it is, and every way to get it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

SourceKind: TypeAlias = Literal["scikit-learn", "synthetic", "original", "compact", "download"]

# The part of a set that is not cut into parts, and the only way to ask for it.
WHOLE: Mapping[str, tuple[str, ...]] = {"all": ()}


@dataclass(frozen=True)
class Content:
    """What a reader found: the fields of a `Dataset` that come from the files."""

    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    classes: tuple[int, ...] | None = None
    groups: NDArray[Any] | None = None
    split: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """One way to get one variant of a set.

    Parameters
    ----------
    kind
        ``"scikit-learn"`` and ``"synthetic"`` are always there, ``"original"`` (the publisher's
        files) and ``"compact"`` (the small copies) come from the data folder, ``"download"`` is
        fetched by scikit-learn.
    read
        Reads the files of a part, in the order of `parts`, and gives their content.
    parts
        The parts that can be asked for, the default first, and the files of each.
    sha256
        The checksums of files, where they are known for certain.
    title
        What to call the source in `Dataset.source`; the files' names where it is empty.
    """

    kind: SourceKind
    read: Callable[[tuple[Path, ...], str], Content]
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(WHOLE))
    sha256: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True)
class Entry:
    """A set in the catalogue; its text says what it is, on what terms and where files go.

    Examples
    --------
    >>> from fairshapley.datasets import describe
    >>> describe("covertype").licence
    'CC BY 4.0 (UCI)'
    """

    name: str
    description: str
    page: str
    licence: str
    citation: str
    variants: Mapping[str, tuple[Source, ...]]
    paper: str = ""

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.description}"]
        if self.paper:
            lines.append(f"in the paper: {self.paper}")
        lines += [f"licence: {self.licence}", f"cite: {self.citation}", f"page: {self.page}"]
        for variant, sources in self.variants.items():
            lines += [f"variant {variant!r}, {_ways(source)}" for source in sources]
        return "\n".join(lines)


def _ways(source: Source) -> str:
    files = dict.fromkeys(file for names in source.parts.values() for file in names)
    where = source.title or ", ".join(files)
    parts = "" if tuple(source.parts) == ("all",) else f"; parts {', '.join(source.parts)}"
    return f"{source.kind}: {where}{parts}"
