"""The catalogue: what each set is, and every way to get it, as `catalogue.toml` says."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from fairshapley.datasets.dataset import Dataset

SourceKind: TypeAlias = Literal["scikit-learn", "synthetic", "original", "compact", "download"]


class Wanted(NamedTuple):
    """What a reader is asked for: a part of one variant of a set, from one kind of source."""

    name: str
    variant: str
    kind: SourceKind
    part: str


# From the files of a part, in their order in the catalogue, to what is in them.
Reader: TypeAlias = Callable[[tuple[Path, ...], Wanted], Dataset]


@dataclass(frozen=True)
class Source:
    """One way to get one variant of a set.

    Parameters
    ----------
    kind
        ``"scikit-learn"`` and ``"synthetic"`` are always there, ``"original"`` (the publisher's
        files) and ``"compact"`` (the small copies) come from the data folder, ``"download"`` is
        fetched by scikit-learn.
    parts
        The parts that can be asked for, the default first, and the files of each.
    sha256
        The checksums of files, where they are known for certain.
    title
        What to call the source in `Dataset.source`; the files' names where it is empty.
    notes, part_notes
        What to know before using it, or one part of it.
    """

    kind: SourceKind
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"all": ()})
    sha256: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()
    part_notes: Mapping[str, str] = field(default_factory=dict)


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


def _entry(name: str, *, variants: list[str], sources: list[dict[str, Any]], **about: str) -> Entry:
    found: dict[str, tuple[Source, ...]] = dict.fromkeys(variants, ())
    for fields in sources:
        its_own = fields.pop("variants", variants)
        for variant in its_own:
            found[variant] += (Source(**fields),)
    return Entry(name, variants=found, **about)


with Path(__file__).with_name("catalogue.toml").open("rb") as _stream:
    CATALOGUE = {name: _entry(name, **fields) for name, fields in tomllib.load(_stream).items()}
