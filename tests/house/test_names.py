"""A name means one thing, and says what it stands for."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGES = ("fairshapley", "fairshapley_paper")
# Words for anything and nothing.
VAGUE = {"one", "other", "some", "said", "own", "there"}
# Rooms in which no variable has these names.
SPOKEN = (
    *("_basics", "comparison", "explanations", "planning.py", "verification.py"),
    *("closed_forms.py", "demo.py", "approximator.py"),
)
# Functions and classes that share a name for now: each pair is to be told apart.
SHARED = {
    *("Part", "as_numbers", "check_classes", "describe", "described", "fit_kernel", "null_players"),
    *("number", "same_seed", "solve", "write"),
}


def modules() -> list[Path]:
    """Return all modules of the packages."""
    return sorted(SRC.rglob("*.py"))


def defined(module: Path) -> list[str]:
    """Return the functions and classes of a module."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node.name for node in body if isinstance(node, kinds)]


def variables(module: Path) -> set[str]:
    """Return what a module assigns and its functions take, but for the operators' arguments."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__"):
            skipped.update(id(argument) for argument in node.args.args)
    return {
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.arg) and id(node) not in skipped)
    }


def test_no_function_is_named_as_its_module():
    commands = SRC / "fairshapley" / "cli" / "commands"
    # A command of the shell is the file of its name.
    assert not [
        module
        for module in modules()
        if module.parent != commands and module.stem in defined(module)
    ]


def test_no_two_functions_or_classes_share_a_name():
    names = Counter(name for module in modules() for name in defined(module) if name[0] != "_")
    twice = {name for name, count in names.items() if count > 1}
    assert twice <= SHARED, f"rename one of each: {sorted(twice - SHARED)}"


def test_variables_say_what_they_stand_for():
    rooms = [SRC / "fairshapley" / room for room in SPOKEN]
    rooms.append(SRC / "fairshapley_paper")
    files = [file for room in rooms for file in (room.rglob("*.py") if room.is_dir() else [room])]
    assert len(files) > len(rooms)
    vague = {str(file.relative_to(SRC)): variables(file) & VAGUE for file in files}
    assert not {file: names for file, names in vague.items() if names}


def exists(name: str) -> bool:
    """Return whether a dotted path leads to a module, or to a name that a package offers."""
    place = SRC
    for part in name.split("."):
        if (place / part).is_dir():
            place /= part
        elif (place / f"{part}.py").is_file():
            return True
        else:
            words = re.findall(r"\w+", (place / "__init__.py").read_text(encoding="utf-8"))
            return part in words
    return True


def test_modules_that_are_named_exist():
    """In docstrings, comments and pages: a path such as `fairshapley.games.knn`."""
    path = re.compile(r"(?<![\w./-])fairshapley(?:_paper)?(?:\.[a-z_]+)+(?![\w/])")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    missing = {
        f"{text.relative_to(ROOT)}: {name}"
        for text in (*modules(), *pages)
        for name in path.findall(re.sub("(?s)```diff.*?```", "", text.read_text("utf-8")))
        if not exists(name)
    }
    assert not missing
    assert exists("fairshapley.games.knn")
    assert not exists("fairshapley.games.nothing")
