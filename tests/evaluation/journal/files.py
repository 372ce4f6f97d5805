"""Journals to test with, and what refuses them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from fairshapley.errors import JournalError
from fairshapley.evaluation.journal import Journal

NOBODY = 65534


def keys_of(count: int, n_players: int = 100, seed: int = 0) -> list[bytes]:
    """Different random coalitions as the journal stores them."""
    masks = np.random.default_rng(seed).random((count, n_players)) < 0.5
    rows = np.packbits(masks, axis=1, bitorder="little")
    return list(dict.fromkeys(row.tobytes() for row in rows))


def filled(path: Path, count: int = 2000) -> Path:
    """A closed journal of several pages."""
    keys = keys_of(count)
    with Journal(path) as journal:
        journal.append(journal.open_game("a", 100), keys, [float(i) for i in range(len(keys))])
    return path


@contextmanager
def public_folder():
    """A folder that any user may enter; pytest's own are closed to all but their owner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)


@contextmanager
def ordinary_user():
    """Root may write anywhere: act as nobody where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def refuses(path: Path, match: str, **options) -> None:
    """Opening fails with one readable message that names the file and leaves it alone."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(JournalError, match=match) as caught:
        Journal(path, **options)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def changed(path: Path, statement: str, *arguments: object) -> None:
    """Change a journal as something else than fairshapley would."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement, arguments)
        db.commit()
