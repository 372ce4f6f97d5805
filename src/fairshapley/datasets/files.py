"""Where data files lie, whether they are the right ones, and the errors that say what to do."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fairshapley._basics.files import WatchedStream
from fairshapley._basics.text import listed
from fairshapley.errors import InputError

ENVIRONMENT = "FAIRSHAPLEY_DATA"
# Unpacked; the largest published file has a third of it.
MOST_BYTES = 2**30


class DataError(InputError):
    """A data file that is damaged, or is not the file that its name promises."""


class MissingDataError(DataError):
    """A set whose files are not there; the message says where to get them and where to put them."""


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder of the data files: the one given, else the one that FAIRSHAPLEY_DATA names.

    None where neither is given; an InputError where it is not a folder.
    """
    chosen = os.environ.get(ENVIRONMENT) or None if folder is None else folder
    if chosen is None:
        return None
    origin = f"{ENVIRONMENT} names" if folder is None else "folder is"
    try:
        path = Path(chosen).expanduser()
        is_folder, exists = path.is_dir(), path.exists()
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        raise InputError(f"{origin} {chosen!r}, which cannot be a folder ({error})") from None
    if not is_folder:
        problem = "is a file, not a folder" if exists else "does not exist"
        raise InputError(
            f"{origin} {str(path)!r}, which {problem}: give the folder that holds the data files"
        )
    return path


def locate(folder: Path, name: str, file: str) -> Path | None:
    """A file of the set `name`: in the folder or in its subfolder `name`, plain or as .gz.

    A file that its publisher ships in a folder of its own (``trees/train.txt``) may also lie
    without it in the subfolder, but not in the data folder itself, where it might be another's.
    """
    bare = file.rpartition("/")[2]
    for place in (folder / file, folder / name / file, folder / name / bare):
        for path in (place, place.with_name(place.name + ".gz")):
            if path.is_file():
                return path
    return None


def sha256(path: Path) -> str:
    """The SHA-256 of a file as it lies on disk, in hexadecimal digits."""
    with reading(path), path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """A DataError unless the file has the checksum `expected`."""
    found = sha256(path)
    if found != expected:
        raise DataError(
            f"{path}: this is not the file that was published: its SHA-256 is {found}, expected "
            f"{expected}. It was changed or cut off on the way: copy it again"
        )


def check_found(path: Path, what: str, expected: object, found: object) -> None:
    """A DataError unless a published fact about a file holds."""
    if expected != found:
        raise DataError(
            f"{path}: expected {what} {expected}, found {found}. The file is cut off, or another "
            "edition of the data: get the publisher's file again"
        )


@contextmanager
def fetching(name: str, origin: str, instead: str) -> Iterator[None]:
    """Whatever goes wrong while scikit-learn fetches a set, as an error that says what to do."""
    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it tries again; the failure is reported below.
            warnings.simplefilter("ignore")
            yield
    except (OSError, ValueError) as error:
        raise MissingDataError(
            f"{name} could not be fetched {origin} ({error}): try again, or put {instead} in the "
            f"folder that {ENVIRONMENT} names"
        ) from None


@contextmanager
def reading(path: Path, kind: str = "what its name says") -> Iterator[None]:
    """Whatever goes wrong while a file of some kind is read, as a DataError that names the file."""
    try:
        yield
    except DataError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path}: the compressed file is cut off or damaged ({error}): copy it again"
        ) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not the text it should be ({error}): copy it again") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error}): check the file and its rights"
        ) from None
    except (csv.Error, ValueError, TypeError, AttributeError, MemoryError) as error:
        # np.load gives a bare array, not an archive, for a .npy file (TypeError).
        raise DataError(f"{path}: not {kind} ({str(error).strip()}): copy it again") from None


def check_names(path: Path, what: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """A DataError unless all wanted columns or arrays are among those of a file."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise DataError(
            f"{path}: expected the {what} {listed(list(wanted))}; {listed(missing)} not found "
            f"among {listed(list(found)) or 'none'}: this is another file, get the publisher's"
        )


def open_bytes(path: Path, *, most_bytes: int = MOST_BYTES) -> IO[bytes]:
    """A file for reading, unpacked where its name ends in .gz; a DataError after `most_bytes`."""
    stream = gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")
    count = 0

    def watch(block: bytes) -> None:
        nonlocal count
        count += len(block)
        check_size(path, count, most_bytes=most_bytes)

    return io.BufferedReader(WatchedStream(stream, watch), 2**20)


def check_size(path: Path, size: int, *, most_bytes: int = MOST_BYTES) -> None:
    """A DataError when a file holds more bytes, unpacked, than any of the published ones."""
    if size > most_bytes:
        raise DataError(
            f"{path}: it unpacks to more than {most_bytes // 2**20:,} MiB, so that it is not the "
            "file that was published: get the publisher's file again"
        )


def open_text(path: Path, encoding: str) -> IO[str]:
    """A text file for reading, as `open_bytes` does; line ends are left alone."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


def read_bytes(path: Path) -> bytes:
    """The whole content of a file, as `open_bytes` reads it."""
    with reading(path), open_bytes(path) as stream:
        return stream.read()
