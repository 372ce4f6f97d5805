"""A result as a JSON file, and back; damage is told from age."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairshapley.errors import InputError
from fairshapley.result_fields import plain
from fairshapley.whole_file import write_whole

if TYPE_CHECKING:
    from fairshapley.result import Result

FORMAT = "fairshapley result"
FORMAT_VERSION = 1


def as_plain(result: Result) -> dict[str, Any]:
    """Every field as data that JSON can hold."""
    data: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION}
    for item in fields(result):
        data[item.name] = plain(getattr(result, item.name))
    return data


def from_plain(kind: type[Result], data: Mapping[str, Any]) -> Result:
    """The result that `as_plain` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError("this is not a saved fairshapley result: save one with Result.save")
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise _damaged(", see version")
    if version > FORMAT_VERSION:
        raise InputError(
            f"the result was saved by a newer fairshapley (format {version}, this one "
            f"reads up to {FORMAT_VERSION}): upgrade with pip install -U fairshapley"
        )
    given = data.keys() - {"format", "version"}
    known = {item.name for item in fields(kind)}
    # A field with a default may be missing: it is newer than the file.
    needed = {item.name for item in fields(kind) if _is_required(item)}
    wrong = (needed - given) | (given - known)
    if wrong:
        raise _damaged(f", see {', '.join(sorted(map(str, wrong)))}")
    try:
        return kind(**{name: data[name] for name in known & given})
    except (InputError, RecursionError) as error:
        raise _damaged(f" ({error})") from None


def write(result: Result, path: Path) -> None:
    """The file appears whole or not at all."""
    try:
        text = json.dumps(as_plain(result), allow_nan=False, indent=1, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"cannot write {path}, the result is not plain: {error}") from error
    # A lone surrogate, which UTF-8 cannot hold, is escaped as in JSON.
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def read(kind: type[Result], path: Path) -> Result:
    """The result in a file that `write` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a saved result: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a saved result: it holds no JSON object")
    return from_plain(kind, data)


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _damaged(finding: str) -> InputError:
    return InputError(f"the saved result is damaged{finding}: save it again")
