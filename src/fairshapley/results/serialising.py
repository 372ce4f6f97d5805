"""A result as a JSON file, and back; damage is told from age."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from fairshapley._basics.digests import content_digest
from fairshapley._basics.files import as_path, write_whole
from fairshapley.errors import InputError
from fairshapley.results.fields import checked, plain
from fairshapley.results.loading_checks import contradictions, wrong_parts

if TYPE_CHECKING:
    from fairshapley.results.result import Result

FORMAT = "fairshapley result"
FORMAT_VERSION = 1
# Beside the fields: what kind of file it is, and what tells that it was changed.
SAVED = "give a file that a result was saved to"
ABOUT = {"format", "version", "digest"}


Kind = TypeVar("Kind", bound="Stored")


class Stored:
    """What `Result` has for files."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data that JSON can hold; numbers that are not finite as strings."""
        kept = {item.name: plain(getattr(self, item.name)) for item in stored_fields(type(self))}
        return {"format": FORMAT, "version": FORMAT_VERSION, **kept}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` described."""
        return from_plain(cls, data)

    @property
    def digest(self) -> str:
        """What identifies the result: the SHA-256 of all its fields, to the last bit.

        Saved files and report pages carry it. It finds accidents, not forgeries: whoever changes a
        file on purpose can compute it anew. A key stops that too, see `save`.

        Examples
        --------
        >>> import fairshapley as fs
        >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
        >>> result.digest == fs.Result.from_dict(result.to_dict()).digest
        True
        """
        return digest_of(type(self), self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON; `load` gives it back bit for bit.

        Parameters
        ----------
        path
            The file, which appears whole or not at all.
        """
        try:
            content = as_bytes(sealed(self))
        except InputError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"cannot write {path}, the result is not plain: {error}") from error
        write_whole(as_path(path), content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result written by `save`; an InputError when it was changed since.

        Parameters
        ----------
        path
            The file.
        """
        return from_plain(cls, read_plain(as_path(path)))


def sealed(result: Stored) -> dict[str, Any]:
    """Return the plain data of a result with its digest."""
    data = result.to_dict()
    data["digest"] = digest_of(type(result), data)
    return data


def digest_of(kind: type[Any], data: Mapping[str, Any]) -> str:
    """The digest of a result as plain data.

    A field that has its default counts as one that is missing, so that a file keeps its digest when
    a later version adds fields.
    """
    given = {}
    for item in stored_fields(kind):
        if item.name in data and (_is_required(item) or data[item.name] != _default(item)):
            given[item.name] = data[item.name]
    return content_digest(given)


def from_plain(kind: type[Kind], data: Mapping[str, Any]) -> Kind:
    """The result of a kind that `to_dict` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError(
            "this is not a saved fairshapley result",
            remedy="give a file written by Result.save, or by value --out values.json",
        )
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise _damaged(", see version")
    if version > FORMAT_VERSION:
        raise InputError(
            f"the result was saved by a newer fairshapley (format {version}, this one "
            f"reads up to {FORMAT_VERSION}): upgrade fairshapley"
        )
    given = data.keys() - ABOUT
    known = {item.name: item for item in stored_fields(kind)}
    # A field with a default may be missing: it is newer than the file.
    needed = {name for name, item in known.items() if _is_required(item)}
    wrong = (needed - given) | (given - known.keys())
    if wrong:
        raise _damaged(f", see {', '.join(sorted(map(str, wrong)))}")
    try:
        result = kind(**{name: _read(known[name], data[name]) for name in given})
        made = cast("Result", result)
        for contradiction in wrong_parts(made):
            raise InputError(contradiction)
        if "digest" in data and data["digest"] != digest_of(kind, data):  # `to_dict` writes none
            raise InputError("its digest does not fit: it was changed after it was written")
        for contradiction in contradictions(made):
            raise InputError(contradiction)
    except (InputError, RecursionError, TypeError, ValueError) as error:
        raise _damaged(f" ({error})") from None
    return result


def as_bytes(data: Mapping[str, Any]) -> bytes:
    """The content of a file, from plain data."""
    text = json.dumps(data, allow_nan=False, indent=1, ensure_ascii=False)
    # A lone surrogate, which UTF-8 cannot hold, is escaped as in JSON.
    return text.encode("utf-8", "backslashreplace")


def read_plain(path: Path) -> dict[str, Any]:
    """The plain data in a file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a saved result ({error}): {SAVED}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a saved result, as it holds no JSON object: {SAVED}")
    return data


def stored_fields(kind: type[Any]) -> list[Field[Any]]:
    """The fields of a result that a file holds; the others follow from them."""
    return [item for item in fields(kind) if item.init]


def _read(item: Field[Any], value: Any) -> Any:
    """The value of a field from plain data."""
    try:
        return checked(str(item.type), value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{item.name} cannot be {value!r:.40}: {error}") from None


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _default(item: Field[Any]) -> Any:
    """The default of a field as plain data."""
    if item.default_factory is not MISSING:
        return plain(item.default_factory())
    return plain(item.default)


def _damaged(finding: str) -> InputError:
    return InputError(
        f"the saved result is damaged{finding}: use the original file, or save it again"
    )
