"""No test sets a module's constant: a move would leave the test as it is, testing nothing.

Limits are arguments of inner functions and classes, or attributes of a class, and tests set those.
"""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# A constant as the last part of a path, its name in two letters or more: X is data.
CONSTANT = r"_?[A-Z][A-Z0-9_]*[A-Z0-9]"
PATCH = re.compile(
    rf"""(?:setattr|delattr|patch|object)\([^()]*?(?:["'.]{CONSTANT}["']|\(?f["'])"""
    rf"|^\s*\w+(?:\.\w+)*\.{CONSTANT} [-+*]?= ",
    re.M,
)


def test_no_constant_is_patched():
    """Programs inside tests are looked at as well."""
    patched = {
        path.name: found.group()
        for path in TESTS.rglob("*.py")
        for found in PATCH.finditer(path.read_text(encoding="utf-8"))
        if path != Path(__file__)
    }
    assert not patched


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('monkeypatch.setattr("fairshapley.games.knn._BLOCK", 120)', True),
        ('patch.setattr(\n    knn, "BLOCK_2", 120\n)', True),
        ('CODE = """\n    from fairshapley.games import knn\n    knn.BLOCK = 120\n"""', True),
        ('monkeypatch.setattr(os, "fsync", full)', False),
        ("self.block = BLOCK = knn.BLOCK", False),
    ],
)
def test_a_patched_constant_is_found(source, found):
    assert bool(PATCH.search(source)) == found
