"""What code is made of, for fingerprints: functions, classes and modules.

A function is its code, defaults, closure, attributes and the globals that its code names; what an
installed distribution or Python itself defines is its name and version. Nothing is imported here: a
module that a function would import when it runs is its source.
"""

from __future__ import annotations

import ast
import dis
import functools
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from fairshapley import __version__

# What an object is made of: raw bytes, and other objects with the path that leads to them.
Parts: TypeAlias = Iterator[bytes | tuple[str, object]]

# Members of a class that do not change what its methods compute.
_CLASS_NOISE = """
    __module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __annotate_func__
    __annotations_cache__ __firstlineno__ __static_attributes__ __orig_bases__ __parameters__
    __abstractmethods__ _abc_impl __match_args__ __dataclass_fields__ __dataclass_params__
"""
# Byte code and the standard library belong to a version of Python.
_PYTHON = str(sys.implementation.cache_tag)
_STDLIB = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
_OWN = __name__.partition(".")[0]
_distributions = functools.cache(importlib.metadata.packages_distributions)


def function_parts(fn: types.FunctionType, path: str) -> Parts:
    """What a function is made of."""
    yield b"function"
    module = str(fn.__globals__.get("__name__", ""))
    if _installed(module):
        yield from named_parts(module, fn.__code__.co_qualname)
    else:
        yield path, fn.__code__
        yield from _globals(fn, path)
    yield f"{path} default argument", (fn.__defaults__, fn.__kwdefaults__)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield f"{path} closure variable {name!r}", cell.cell_contents
        except ValueError:
            yield b"a variable without a value yet"
    yield f"{path} attribute", vars(fn)


def code_parts(code: types.CodeType, path: str) -> Parts:
    """What compiled code is made of."""
    yield b"code"
    yield _PYTHON.encode()
    yield code.co_code
    yield code.co_exceptiontable
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_varnames, code.co_names, code.co_freevars, code.co_cellvars
    yield path, (counts, names)
    # Only constants that are loaded: a docstring is a constant as well.
    for index in sorted({op.arg or 0 for op in _instructions(code) if op.opcode in dis.hasconst}):
        yield str(index).encode()
        yield path, code.co_consts[index]


def _globals(fn: types.FunctionType, path: str) -> Parts:
    """The values of the global names and the modules that the code of a function refers to."""
    codes = list(_nested(fn.__code__))
    attributes = {name for code in codes for name in code.co_names}
    loads = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    loaded = {op.argval for code in codes for op in _instructions(code) if op.opname in loads}
    for name in sorted(loaded & fn.__globals__.keys()):
        yield name.encode()
        yield from _used(fn.__globals__[name], attributes, f"{path} global {name!r}", set())
    package = str(fn.__globals__.get("__package__") or "")
    imports = {name for code in codes for name in _imports(code, package)}
    yield from _imported(imports, attributes, path)


def _used(value: object, attributes: set[str], path: str, seen: set[int]) -> Parts:
    """A value; of a module that is not installed, its members among `attributes`."""
    if not isinstance(value, types.ModuleType) or _installed(value.__name__):
        yield path, value
    elif id(value) not in seen:
        seen.add(id(value))
        for name in sorted(attributes & vars(value).keys()):
            yield name.encode()
            yield from _used(vars(value)[name], attributes, f"{path}.{name}", seen)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions, lambdas and comprehensions within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _imports(code: types.CodeType, package: str) -> Iterator[str]:
    """The modules that a code object imports, and what it imports from them."""
    instructions = list(_instructions(code))
    for position, op in enumerate(instructions):
        if op.opname == "IMPORT_NAME":
            level, members = (before.argval for before in instructions[position - 2 : position])
            yield from _import_names("." * level + op.argval, members or (), package)


def _import_names(dotted: str, members: Iterable[str], package: str) -> Iterator[str]:
    """The module that an import names, its packages, and what may be modules within it."""
    try:
        name = importlib.util.resolve_name(dotted, package)
    except ImportError:
        return  # The code cannot import it either.
    if _installed(name):
        yield name
        return
    steps = name.split(".")
    yield from (".".join(steps[:length]) for length in range(1, len(steps) + 1))
    yield from (f"{name}.{member}" for member in members)


def _imported(names: set[str], attributes: set[str], path: str) -> Parts:
    """The modules that code imports when it runs, and all that these import, by their source.

    By source even when they are loaded: the fingerprint must be the same before and after a call.
    """
    sources: dict[str, bytes] = {}
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        spec = None if _installed(name) else _find(name)
        sources[name] = b""
        if spec is not None and spec.origin and spec.has_location:
            tree, sources[name] = _source(spec)
            waiting |= set(_tree_imports(tree, spec.parent or "")) - sources.keys()
    for name, source in sorted(sources.items()):
        if source:
            yield name.encode()
            yield source
        elif _installed(name):
            yield from named_parts(name, "")
        elif name in names and name in sys.modules:  # made by a program, from no file
            yield from _used(sys.modules[name], attributes, f"{path} import of {name!r}", set())


def _find(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module comes from, found without running its packages; None if there is none."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return getattr(loaded, "__spec__", None)
    parent, _, _ = name.rpartition(".")
    if not parent:
        return importlib.util.find_spec(name)
    package = _find(parent)
    if package is None or package.submodule_search_locations is None:
        return None  # An object within a module, or a module that is missing.
    return importlib.machinery.PathFinder.find_spec(name, package.submodule_search_locations)


def _source(spec: importlib.machinery.ModuleSpec) -> tuple[ast.Module, bytes]:
    """A file of code: its syntax, and what of it counts (the bytes of what Python cannot parse)."""
    read = getattr(spec.loader, "get_data", None)  # also of what lies in an archive
    content = read(spec.origin) if read is not None else Path(str(spec.origin)).read_bytes()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return ast.Module([], []), content
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree, f"{_PYTHON} {ast.dump(tree)}".encode()


def _tree_imports(tree: ast.Module, package: str) -> Iterator[str]:
    """The modules that a module imports anywhere in its source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _import_names(alias.name, (), package)
        elif isinstance(node, ast.ImportFrom):
            members = [alias.name for alias in node.names]
            yield from _import_names("." * node.level + (node.module or ""), members, package)


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    return (op for op in dis.get_instructions(code) if op.opname != "EXTENDED_ARG")


def class_parts(cls: type, path: str) -> Parts:
    """What a class is made of."""
    yield b"class"
    if _installed(cls.__module__):
        yield from named_parts(cls.__module__, cls.__qualname__)
        return
    yield cls.__qualname__.encode()
    yield path, (type(cls), cls.__bases__)
    for name in sorted(vars(cls).keys() - set(_CLASS_NOISE.split())):
        yield name.encode()
        yield f"{path}.{name}", vars(cls)[name]


def module_parts(module: types.ModuleType) -> Parts:
    """What a module is made of."""
    yield from named_parts(module.__name__, "")
    if not _installed(module.__name__) and getattr(module, "__file__", None):
        yield Path(str(module.__file__)).read_bytes()


def builtin_parts(obj: Any, path: str) -> Parts:
    """A function written in C, and the object it is bound to, if any."""
    owner = getattr(obj, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = obj.__module__ if owner is None else owner.__name__
        yield from named_parts(str(module), obj.__qualname__)
    else:
        yield obj.__name__.encode()
        yield path, owner


def _installed(module: str) -> bool:
    """Whether a module is Python's own, this package's, or where distributions are installed."""
    if not module or module == "__main__":
        return False
    if module.partition(".")[0] == _OWN:
        return True  # also from a source tree: a journal must not depend on how it was installed
    # A module that is not loaded is placed by its package, which is found without running it.
    spec = _find(module if module in sys.modules else module.partition(".")[0])
    if spec is None:
        return False
    places = [str(spec.origin), *(spec.submodule_search_locations or ())]
    return any(
        place in ("built-in", "frozen")
        or place.startswith(_STDLIB)
        or not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)
        for place in places
    )


@functools.cache
def _version(distribution: str) -> str:
    """The version of the code that runs: for a checkout, what is installed may be older."""
    return __version__ if distribution == _OWN else importlib.metadata.version(distribution)


def named_parts(module: str, qualname: str) -> Parts:
    """A name, and the versions of the distributions that may define it."""
    yield f"{module}:{qualname}".encode()
    top = module.partition(".")[0]
    found = {_OWN} if top == _OWN else set(_distributions().get(top, ()))
    versions = [f"{name} {_version(name)}" for name in sorted(found)]
    yield ", ".join(versions or [_PYTHON]).encode()
