"""A name means one thing: a module and a function in it do not share one."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"


def shared_names(module: Path) -> list[str]:
    """Functions of a module that are named as it is."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    functions = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [function.name for function in functions if function.name == module.stem]


def test_no_function_is_named_as_its_module():
    modules = sorted(SRC.rglob("*.py"))
    assert modules
    commands = SRC / "fairshapley" / "cli" / "commands"
    # A command of the shell is the file of its name.
    assert not {
        str(module.relative_to(SRC)): names
        for module in modules
        if module.parent != commands and (names := shared_names(module))
    }


@pytest.mark.parametrize(("name", "found"), [("page", ["page"]), ("pages", [])])
def test_it_would_be_found(tmp_path, name, found):
    module = tmp_path / f"{name}.py"
    module.write_text("def page() -> None: ...\n", encoding="utf-8")
    assert shared_names(module) == found
