"""A result as a JSON file, and back; damage is told from age."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairshapley._basics.digests import content_digest, signature, signed_by
from fairshapley._basics.files import write_whole
from fairshapley.errors import InputError
from fairshapley.results.fields import checked, plain
from fairshapley.results.loading_checks import check_coherent, check_parts

if TYPE_CHECKING:
    from fairshapley.results.result import Result

FORMAT = "fairshapley result"
FORMAT_VERSION = 1
# Beside the fields: what kind of file it is, and what tells that it was changed.
ABOUT = {"format", "version", "digest", "signature"}


def as_plain(result: Result) -> dict[str, Any]:
    """Every field as data that JSON can hold."""
    data: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION}
    for item in stored_fields(type(result)):
        data[item.name] = plain(getattr(result, item.name))
    return data


def sealed(result: Result, key: bytes | None = None) -> dict[str, Any]:
    """The plain data of a result with its digest, and with a signature where there is a key."""
    data = as_plain(result)
    data["digest"] = digest_of(type(result), data)
    if key is not None:
        data["signature"] = signature(data["digest"], key)
    return data


def digest_of(kind: type[Result], data: Mapping[str, Any]) -> str:
    """The digest of a result as plain data.

    A field that has its default counts as one that is missing, so that a file keeps its digest when
    a later version adds fields.
    """
    given = {}
    for item in stored_fields(kind):
        if item.name in data and (_is_required(item) or data[item.name] != _default(item)):
            given[item.name] = data[item.name]
    return content_digest(given)


def from_plain(kind: type[Result], data: Mapping[str, Any], key: bytes | None = None) -> Result:
    """The result that `as_plain` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError("this is not a saved fairshapley result: save one with Result.save")
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
        check_parts(result)
        check_digest(kind, data, key)
        check_coherent(result)
    except (InputError, RecursionError, TypeError, ValueError) as error:
        raise _damaged(f" ({error})") from None
    return result


def check_digest(kind: type[Result], data: Mapping[str, Any], key: bytes | None = None) -> None:
    """An InputError when the data do not have the digest, or the key's signature, they came with.

    Data without a digest, from before there were any, pass; with a key they must be signed.
    """
    digest = digest_of(kind, data)
    if data.get("digest", digest) != digest:
        raise InputError("its digest does not fit: it was changed after it was written")
    if key is not None and not signed_by(key, digest, str(data.get("signature", ""))):
        fault = "another key signed it" if "signature" in data else "it is not signed"
        raise InputError(f"{fault}, or it was changed")


def as_bytes(data: Mapping[str, Any]) -> bytes:
    """The content of a file, from plain data."""
    text = json.dumps(data, allow_nan=False, indent=1, ensure_ascii=False)
    # A lone surrogate, which UTF-8 cannot hold, is escaped as in JSON.
    return text.encode("utf-8", "backslashreplace")


def write(result: Result, path: Path, key: bytes | None = None) -> None:
    """The file appears whole or not at all."""
    try:
        content = as_bytes(sealed(result, key))
    except InputError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"cannot write {path}, the result is not plain: {error}") from error
    write_whole(path, content)


def read(kind: type[Result], path: Path, key: bytes | None = None) -> Result:
    """The result in a file that `write` wrote."""
    return from_plain(kind, read_plain(path), key)


def read_plain(path: Path) -> dict[str, Any]:
    """The plain data in a file that `write` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a saved result: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a saved result: it holds no JSON object")
    return data


def stored_fields(kind: type[Result]) -> list[Field[Any]]:
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
