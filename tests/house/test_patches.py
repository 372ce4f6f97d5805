"""No test sets a module's constant: a move would leave the test as it is, testing nothing.

Limits are arguments of inner functions and classes, or attributes of a class, and tests set those.
"""

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PYTEST = ("setattr", "delattr", "patch", "object")


def is_constant(name: str) -> bool:
    """Whether a name, or the last part of a path, is written as constants are."""
    last = name.rpartition(".")[2]
    return last.isupper() and last.isidentifier() and len(last) > 1  # X is data


def patches(source: str) -> Iterator[str]:
    """The statements that set a constant, also inside programs that tests run."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in PYTEST and any(map(_names_constant, node.args[:2])):
                yield ast.unparse(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Attribute) and is_constant(one.attr) for one in targets):
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and "import " in str(node.value):
            yield from _inner_patches(str(node.value))


def _names_constant(argument: ast.expr) -> bool:
    """Whether an argument names a constant, or a path of which only a part is written here."""
    if isinstance(argument, ast.JoinedStr):
        return True
    return (
        isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and is_constant(argument.value)
    )


def _inner_patches(text: str) -> Iterator[str]:
    try:
        yield from patches(textwrap.dedent(text))
    except SyntaxError:
        return


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_no_constant_is_patched(path):
    if path != Path(__file__):
        assert list(patches(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('monkeypatch.setattr("fairshapley.games.knn._BLOCK", 120)', True),
        ('monkeypatch.setattr(f"{module}._BLOCK", 120)', True),
        ('patch.setattr(knn, "BLOCK_2", 120)', True),
        ('mock.patch.object(knn, "BLOCK", 120)', True),
        ('CODE = """\n    from fairshapley.games import knn\n    knn.BLOCK = 120\n"""', True),
        ('monkeypatch.setattr(os, "fsync", full)', False),
        ('monkeypatch.setenv("FAIRSHAPLEY_DATA", folder)', False),
        ("self.block = BLOCK = knn.BLOCK", False),
    ],
)
def test_a_patched_constant_is_found(source, found):
    assert bool(list(patches(source))) == found
