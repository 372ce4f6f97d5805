"""`load`: from a name to a data set, by the first source that is there."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from fairshapley.datasets import bundled, creditcard, images, texts, uci, vehicles
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import CATALOGUE, Entry, Reader, Source, SourceKind, Wanted
from fairshapley.datasets.files import (
    ENVIRONMENT,
    MissingDataError,
    check_sha256,
    data_folder,
    locate,
    sha256,
)
from fairshapley.errors import InputError

Folder: TypeAlias = str | os.PathLike[str] | None

_READERS: dict[str, Reader] = {
    "adult": uci.read_adult,
    "cifar10": images.read_cifar10,
    "covertype": uci.read_covertype,
    "creditcard": creditcard.read_creditcard,
    "gaussian": bundled.read_gaussian,
    "hotel_reviews": texts.read_hotel_reviews,
    "mnist": images.read_mnist,
    "mr": texts.read_mr,
    "sst5": texts.read_sst5,
    "uber_lyft": vehicles.read_uber_lyft,
    "used_cars": vehicles.read_used_cars,
}


def load(
    name: str,
    *,
    variant: str | None = None,
    part: str | None = None,
    source: Literal["auto"] | SourceKind = "auto",
    folder: Folder = None,
    download: bool = False,
) -> Dataset:
    """A data set by its name.

    Sets that come with scikit-learn, and the synthetic one, are always there. The others are read
    from a folder of data files: the publisher's original files or, where those are not all there,
    compact copies whose checksums are verified. `Dataset.source` says which were read. Nothing is
    downloaded unless asked for, nothing is stored, and nothing stands in for data that is not
    there.

    Parameters
    ----------
    name
        One of the names of `available()`.
    variant
        Which view of the set: ``"numeric"`` or ``"raw"`` (adult, uber_lyft, used_cars),
        ``"numeric"`` or ``"time_amount"`` (creditcard), ``"features"`` or ``"text"``
        (hotel_reviews). The first is the default.
    part
        Which rows, for a set that has parts (adult, covertype, creditcard); `describe` lists them.
        Unless given, the first one of the source that is read.
    source
        ``"original"``, ``"compact"`` or ``"download"`` to insist on one.
    folder
        The folder of the data files; unless given, the one that FAIRSHAPLEY_DATA names.
    download
        Whether scikit-learn may fetch a set that is not there (covertype, mnist) over the network.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.X.shape, iris.target_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    entry = describe(name)
    variant = _choice(name, "variant", variant, tuple(entry.variants))
    sources = _candidates(entry, variant, part, source)
    needs_folder = any(found.kind in ("original", "compact") for found in sources)
    place = data_folder(folder) if needs_folder or folder is not None else None
    notes: list[str] = []
    for candidate in sources:
        if candidate.kind == "download" and not download:
            continue
        chosen = next(iter(candidate.parts)) if part is None else part
        found = _find(candidate, name, chosen, place)
        if None not in found.values():
            files = {file: path for file, path in found.items() if path is not None}
            return _read(entry, candidate, variant, chosen, files, notes)
        absent = [file for file, path in found.items() if path is None]
        if len(absent) < len(found):
            notes.append(f"the original files are not all there: {', '.join(absent)} missing")
    raise MissingDataError(_advice(entry, sources, part, place, notes))


def available(folder: Folder = None) -> dict[str, tuple[SourceKind, ...]]:
    """Every name, and from what it could be loaded now without a download (first variant).

    Only the presence of the files is looked at; `load` checks what is in them.

    Examples
    --------
    >>> available()["iris"]
    ('scikit-learn',)
    >>> "mnist" in available()
    True
    """
    place = data_folder(folder)
    return {name: _present(entry, place) for name, entry in CATALOGUE.items()}


def describe(name: str) -> Entry:
    """What a set is, its licence and whom to cite, and which files it is read from.

    Examples
    --------
    >>> print(describe("mr"))
    mr: Movie review sentence polarity, v1.0: 10 662 sentences, half positive.
    in the paper: P3, federated learning
    licence: for research, cite the paper
    cite: Pang & Lee (2005), Seeing stars
    page: https://www.cs.cornell.edu/people/pabo/movie-review-data (rt-polaritydata.tar.gz)
    variant 'text', original: rt-polarity.pos, rt-polarity.neg
    variant 'text', compact: mr.tsv.gz
    """
    if not isinstance(name, str) or name not in CATALOGUE:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _present(entry: Entry, place: Path | None) -> tuple[SourceKind, ...]:
    sources = next(iter(entry.variants.values()))
    return tuple(
        source.kind
        for source in sources
        if source.kind != "download"
        and None not in _find(source, entry.name, next(iter(source.parts)), place).values()
    )


def _choice(name: str, option: str, wanted: str | None, allowed: Sequence[str]) -> str:
    """The option that was asked for, or the first; an InputError when there is no such one."""
    if wanted is None:
        return allowed[0]
    if wanted not in allowed:
        names = ", ".join(map(repr, allowed))
        raise InputError(f"{name} has no {option} {wanted!r}: choose {names}, or leave it out")
    return wanted


def _candidates(entry: Entry, variant: str, part: str | None, source: str) -> tuple[Source, ...]:
    """The sources that can answer, the best first."""
    sources = entry.variants[variant]
    kinds = [found.kind for found in sources]
    if _choice(entry.name, "source", source, ["auto", *kinds]) != "auto":
        sources = tuple(found for found in sources if found.kind == source)
    if part is not None:
        parts = list(dict.fromkeys(name for found in sources for name in found.parts))
        _choice(entry.name, "part", part, parts)
        sources = tuple(found for found in sources if part in found.parts)
    return sources


def _find(source: Source, name: str, part: str, place: Path | None) -> dict[str, Path | None]:
    """Each file of a part, and where it lies."""
    return {
        file: None if place is None else locate(place, name, file) for file in source.parts[part]
    }


def _read(
    entry: Entry,
    source: Source,
    variant: str,
    part: str,
    files: dict[str, Path],
    notes: Sequence[str],
) -> Dataset:
    for file, path in files.items():
        if file in source.sha256:
            check_sha256(path, source.sha256[file])
    reader = _READERS.get(entry.name, bundled.read_bundled)
    content = reader(tuple(files.values()), Wanted(entry.name, variant, source.kind, part))
    names = ", ".join(path.name for path in files.values())
    read = f"{source.kind}: {source.title or names}"
    if source.kind in ("scikit-learn", "download"):
        read += f" (scikit-learn {importlib.metadata.version('scikit-learn')})"
    read += f", variant {variant}" if len(entry.variants) > 1 else ""
    read += f", part {part}" if tuple(source.parts) != ("all",) else ""
    of_part = [source.part_notes[part]] if part in source.part_notes else []
    return dataclasses.replace(
        content,
        name=entry.name,
        description=entry.description,
        source=read,
        licence=entry.licence,
        citation=entry.citation,
        notes=(*of_part, *source.notes, *content.notes, *notes),
        files={path.name: sha256(path) for path in files.values()},
    )


def _advice(
    entry: Entry,
    sources: Sequence[Source],
    part: str | None,
    place: Path | None,
    notes: Sequence[str],
) -> str:
    """Which files are needed, where to get them and where to put them."""
    wanted = [
        f"the {source.kind} "
        + ", ".join(source.parts[next(iter(source.parts)) if part is None else part])
        for source in sources
        if source.kind in ("original", "compact")
    ]
    where = (
        f"a folder, and name it in the environment variable {ENVIRONMENT} or as folder="
        if place is None
        else f"{place}, or its subfolder {entry.name!r}"
    )
    sentences = [f"{entry.name} is not there"]
    if wanted:
        sentences[0] += f": it is read from {'; or from '.join(wanted)}"
        sentences += [
            f"Get the originals from {entry.page} and put them, plain or as .gz, in {where}",
            *notes,
        ]
    if any(source.kind == "download" for source in sources):
        sentences.append(f"{'Or let' if wanted else 'Let'} scikit-learn fetch it: download=True")
    return ". ".join(sentences)
