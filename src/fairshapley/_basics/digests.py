"""Digests of results, journals and report pages, and signatures of results.

A digest tells a file that was changed by accident from the one that was written. It does not stop
a forger, who can compute it anew; a signature, made with a key that the forger does not have, does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairshapley.errors import InputError

# HMAC-SHA256 with a shorter key is easier to guess than to forge.
SHORTEST_KEY = 16
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


def signature(digest: str, key: bytes) -> str:
    """What only the holder of the key can compute from a digest: its HMAC-SHA256.

    Examples
    --------
    >>> signature("ab", b"sixteen bytes...") == signature("ab", b"sixteen bytes,,,")
    False
    """
    if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
        raise InputError(
            f"a key is at least {SHORTEST_KEY} random bytes: make one with "
            "python -c 'import secrets; print(secrets.token_hex())' > key"
        )
    return hmac.new(key, digest.encode("ascii"), "sha256").hexdigest()


def signed_by(key: bytes, digest: str, given: str) -> bool:
    """Whether a signature is that of the key; takes the same time for every wrong one."""
    return hmac.compare_digest(signature(digest, key).encode(), given.encode())


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file, without the white space around it."""
    try:
        key = Path(path).read_bytes().strip()
    except OSError as error:
        raise InputError(f"cannot read the key {os.fspath(path)}: {error.strerror}") from error
    signature("", key)  # a key that is too short is refused here
    return key


def page_marks(result: str, journal: str | None) -> str:
    """The lines in the head of a page that say from which result and journal it was made."""
    marks = {"result": result, "journal": journal, "page": _NO_DIGEST}
    return "\n".join(_META.format(name, mark) for name, mark in marks.items() if mark)


def with_page_digest(page: str) -> str:
    """The page with its own digest in its head: that of the page with zeros in its place.

    Examples
    --------
    >>> page = with_page_digest(page_marks(64 * "a", None))
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
