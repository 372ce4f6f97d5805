"""Digests of results, journals and report pages.

A digest tells a file that was changed by accident from the one that was written. It does not stop
a forger, who can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairshapley.errors import InputError

_NO_DIGEST = "0" * 64
_META = '<meta name="fairshapley-{}" content="{}">'
_META_READ = re.compile(r'<meta name="fairshapley-(\w+)" content="([0-9a-f]{64})">')


def content_digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of plain data: equal data have equal digests, in any order of their keys.

    Floats are written so that no bit of them is lost; what JSON cannot hold is described.

    Examples
    --------
    >>> content_digest({"b": 0.1, "a": 1}) == content_digest({"a": 1, "b": 0.1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def file_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of the bytes of a file."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {os.fspath(path)}: {error.strerror}") from error


def page_marks(result: str) -> str:
    """Return the lines for the head of a page: its result's digest, and room for its own."""
    return "\n".join([_META.format("result", result), _META.format("page", _NO_DIGEST)])


def with_page_digest(page: str) -> str:
    """The page with its own digest in its head: that of the page with zeros in its place.

    Examples
    --------
    >>> page = with_page_digest(page_marks(64 * "a"))
    >>> page_is_whole(page), page_is_whole(page.replace("a", "b"))
    (True, False)
    """
    digest = hashlib.sha256(page.encode("utf-8")).hexdigest()
    return page.replace(_META.format("page", _NO_DIGEST), _META.format("page", digest), 1)


def read_marks(page: str) -> dict[str, str]:
    """What `page_marks` and `with_page_digest` wrote, by name; the first of each."""
    marks: dict[str, str] = {}
    for name, mark in _META_READ.findall(page):
        marks.setdefault(name, mark)
    return marks


def page_is_whole(page: str) -> bool:
    """Whether a page has a digest, and is what it was when the digest was put in."""
    mark = read_marks(page).get("page")
    if mark is None:
        return False
    blank = page.replace(_META.format("page", mark), _META.format("page", _NO_DIGEST), 1)
    return hashlib.sha256(blank.encode("utf-8")).hexdigest() == mark
