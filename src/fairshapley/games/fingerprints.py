"""A fingerprint of what a game computes: its data, its parameters and the code of its functions.

Two games have the same fingerprint when they hold equal content and run equal code, in whatever
process; line numbers and file names do not count.

- A non-empty string attribute ``fingerprint`` stands for the object that has it, and the ``key``
  of a `FunctionGame` for its function.
- An object is its class and its state, as `copy.copy` would take it, without the values of its
  `functools.cached_property`. A method ``__fingerprint_state__()`` gives the state instead.
- A function is its code, its defaults, and the values that it takes from its closure and from the
  globals of its own file. A class of the user is its source.
- A module is its name, and what is installed is its name and version.

Not seen, so that a change of it needs another ``key``: the source of a module that the code
imports, and what the code reads outside the process: files, databases, the clock. ``verify=``
computes some kept utilities again and finds such a change.

What cannot be hashed is a `FingerprintError` that names the path to it and the remedy, ``key=``.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import math
import pickle
import random
import struct
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

import numpy as np

from fairshapley import __version__
from fairshapley.errors import FingerprintError
from fairshapley.games.game import FunctionGame, Price, Random, TableGame

# What an object is made of: raw bytes, and other objects with the path that leads to them.
Parts: TypeAlias = Iterator[bytes | tuple[str, object]]

# Names and declared ranges tell a reader about these games; the utilities do not depend on them.
_FUNCTION = {"player_names", "value_range", "identical_players", "unit", "cost", "cost_unit"}
_LABELS = {FunctionGame: _FUNCTION, Random: _FUNCTION | {"random"}, TableGame: {"player_names"}}
_REMEDY = (
    "give `key=` to a FunctionGame, or the object a `fingerprint` attribute, "
    "a string that says what it computes"
)
# Byte code and the standard library belong to a version of Python.
_PYTHON = str(sys.implementation.cache_tag)
# The generators that a process shares are no one's content: functions of scipy refer to them.
_SHARED = (random.random.__self__, np.random.rand.__self__)  # type: ignore[attr-defined]


def fingerprint(game: object) -> str:
    """Return the fingerprint of what a game computes, 40 hexadecimal digits.

    Examples
    --------
    >>> from fairshapley.games import Additive
    >>> fingerprint(Additive([1.0, 2.0])) == fingerprint(Additive([1.0, 2.0]))
    True
    >>> fingerprint(Additive([1.0, 2.0])) == fingerprint(Additive([1.0, 2.5]))
    False
    """
    try:
        return _Walk().digest(game, "game").hex()
    except RecursionError:
        raise FingerprintError(f"game is nested too deeply to be hashed: {_REMEDY}") from None


class _Walk:
    """One pass over an object and all it refers to; an object within itself is its distance."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        # An object is kept with its digest: while it lives, its id is no other object's.
        self._done: dict[int, tuple[bytes, object]] = {}

    def digest(self, obj: object, path: str) -> bytes:
        atom = _atom(obj)
        if atom is not None:
            return _hash((type(obj).__name__.encode(), atom))
        if id(obj) in self._open:
            return _hash((b"cycle", str(len(self._open) - self._open[id(obj)]).encode()))
        if id(obj) not in self._done:
            self._open[id(obj)] = len(self._open)
            try:
                digest = _hash(
                    part if isinstance(part, bytes) else self.digest(part[1], part[0])
                    for part in _parts(obj, path)
                )
            except (FingerprintError, RecursionError):
                raise
            except (
                Exception
            ) as error:  # Anything may go wrong in the code of an object of the user.
                _refuse(obj, path, error)
            del self._open[id(obj)]
            self._done[id(obj)] = digest, obj
        return self._done[id(obj)][0]


def _hash(parts: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence of byte strings; lengths keep neighbours apart."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def _atom(obj: Any) -> bytes | None:
    """Return the content of a value without parts, None for anything else."""
    kind = type(obj)
    if obj is None or kind in (bool, int, range):
        # Hexadecimal: Python refuses to write very long integers in decimal.
        return hex(obj).encode() if kind is int else repr(obj).encode()
    if kind is float:
        return b"nan" if math.isnan(obj) else struct.pack("<d", obj)
    if kind is str:
        return bytes(obj.encode("utf-8", "surrogatepass"))
    return bytes(obj) if kind in (bytes, bytearray) else None


def _parts(obj: Any, path: str) -> Parts:
    """Yield what an object is made of, by the first rule that fits its type.

    The object itself is not asked: ``__getattr__`` and ``__class__`` may say anything.
    """
    kind = type(obj)
    if kind in _EXACT:
        return _EXACT[kind](obj, path)
    for kinds, rule in _RULES:
        if issubclass(kind, kinds):
            return rule(obj, path)
    # Looked up without `__getattr__`, which may say or raise anything about what is not there.
    absent = inspect.getattr_static(obj, "fingerprint", None) is None
    given = None if absent else getattr(obj, "fingerprint", None)
    if isinstance(given, str) and given:
        return iter((b"fingerprint", (path, given)))
    for attributes, rule in _LIBRARIES:
        if all(hasattr(kind, name) for name in attributes):
            return rule(obj, path)
    return _instance(obj, path)


def _refuse(obj: object, path: str, reason: object) -> NoReturn:
    kind = f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")
    cause = reason if isinstance(reason, Exception) else None
    text = f"{type(cause).__name__}: {cause}" if cause else reason
    raise FingerprintError(
        f"{path} is of type {kind} and cannot be hashed ({text}): {_REMEDY}"
    ) from cause


def _sequence(obj: Any, path: str) -> Parts:
    yield type(obj).__name__.encode()
    for index, item in enumerate(obj):
        yield f"{path}[{index}]", item


def _mapping(obj: Any, path: str) -> Parts:
    # Keys are hashed on their own walk, as their order must not matter; values follow in the
    # order of their keys' digests.
    yield b"mapping"
    digests = ((_Walk().digest(key, f"a key of {path}"), key) for key in obj)
    for digest, key in sorted(digests, key=lambda pair: pair[0]):
        yield digest
        yield f"{path}[{key!r:.40}]" if isinstance(key, str | int) else f"{path}[…]", obj[key]


def _set(obj: Iterable[object], path: str) -> Parts:
    yield type(obj).__name__.encode()
    yield from sorted(_Walk().digest(member, f"a member of {path}") for member in obj)


def _array(obj: Any, path: str) -> Parts:
    yield f"{type(obj).__name__} {obj.shape} {obj.dtype}".encode()
    if isinstance(obj, np.ma.MaskedArray):
        yield path, np.ma.getmaskarray(obj)
    array = np.asarray(obj)
    if array.dtype.kind in "OTV":  # the padding between fields has no meaning and no fixed value
        yield path, array.ravel().tolist()
    else:
        yield array.tobytes()


def _function(fn: types.FunctionType, path: str) -> Parts:
    """Yield the code of a function, its defaults and the data that its code takes."""
    if _release(str(fn.__globals__.get("__name__"))):
        yield from _named(fn)
    else:
        yield path, fn.__code__
        for name in sorted(_names(fn.__code__) & fn.__globals__.keys()):
            yield f"{path} global {name!r}", fn.__globals__[name]
    yield f"{path} default argument", (fn.__defaults__, fn.__kwdefaults__)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        yield f"{path} closure variable {name!r}", cell.cell_contents
    yield f"{path} attribute", vars(fn)


def _names(code: types.CodeType) -> set[str]:
    """Return the names that a code object and those within refer to."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code: types.CodeType, path: str) -> Parts:
    yield _PYTHON.encode()
    yield code.co_code
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield path, (counts, code.co_varnames, code.co_names, code.co_freevars, code.co_consts)


def _class(cls: type, path: str) -> Parts:
    yield from _named(cls)
    if not _release(cls.__module__):
        yield path, cls.__bases__
        with suppress(OSError, TypeError):  # it was not defined in a file or a notebook
            yield path, inspect.getsource(cls)


def _builtin(obj: Any, path: str) -> Parts:
    """Yield the name of a function written in C, and the object it is bound to, if any."""
    yield from _named(obj)
    owner = getattr(obj, "__self__", None)
    if not isinstance(owner, types.ModuleType | None):
        yield path, owner


def _named(obj: Any, _path: str = "") -> Parts:
    """Yield the name of an object, and the release of the distribution that defines it."""
    name = getattr(obj, "__qualname__", obj.__name__)
    module = obj.__name__ if isinstance(obj, types.ModuleType) else obj.__module__
    module = str(module or getattr(getattr(obj, "__self__", None), "__name__", ""))
    yield f"{'' if module == '__main__' else module}:{name} {_release(module)}".encode()


@functools.cache
def _release(module: str) -> str:
    """Return the release that defines an installed module; empty for code of the user."""
    top = module.partition(".")[0]
    if top == "fairshapley":  # also from a source tree
        return __version__
    if top == "__main__":  # the user's, also where an installed program such as pytest runs it
        return ""
    if top in sys.stdlib_module_names:
        return _PYTHON
    found = sys.modules.get(top)
    file = getattr(found, "__file__", None) or ""
    installed = "site-packages" in file or "dist-packages" in file
    return str(getattr(found, "__version__", "installed")) if installed else ""


def _sparse(obj: Any, path: str) -> Parts:
    # One order for all formats, and no flags that scipy sets while a matrix is used.
    entries = obj.tocoo(copy=True)
    entries.sum_duplicates()
    yield type(obj).__name__.encode()
    yield path, (entries.shape, entries.coords, entries.data)


def _frame(obj: Any, path: str) -> Parts:
    # Not its state: pandas rearranges its blocks while a frame is used.
    yield b"frame"
    yield path, (obj.index, obj.columns, [obj.iloc[:, at] for at in range(obj.shape[1])])


def _series(obj: Any, path: str) -> Parts:
    """Yield a series or an index of pandas."""
    yield str(obj.dtype).encode()
    yield path, (list(getattr(obj, "names", [obj.name])), getattr(obj, "index", None))
    yield path, (getattr(obj.dtype, "categories", None), np.asarray(obj))


def _plain_frame(obj: Any, path: str) -> Parts:
    # polars and Arrow: the same content in other chunks is the same table.
    yield str(obj.schema).encode()
    yield path, np.array(obj)


def _tensor(obj: Any, path: str) -> Parts:
    yield b"tensor"
    yield path, obj.detach().cpu().numpy()


def _neighbour_tree(obj: Any, path: str) -> Parts:
    # scikit-learn's KDTree and BallTree count their own calls, in entries 7 to 10 of their state.
    state = obj.__getstate__()
    yield type(obj).__qualname__.encode()
    yield path, (state[:7], state[11:])


def _instance(obj: Any, path: str) -> Parts:
    if isinstance(obj, FunctionGame) and obj.key is not None:
        yield b"key"
        yield path, (obj.key, obj.n_players)
    elif any(obj is shared for shared in _SHARED):
        yield b"shared generator"
    elif hasattr(type(obj), "__fingerprint_state__"):
        yield f"{path} of class {type(obj).__name__}", type(obj)
        yield path, obj.__fingerprint_state__()
    elif issubclass(type(obj), Iterator):
        _refuse(obj, path, "an iterator changes while it is used")
    else:
        yield from _reduced(obj, path)


def _reduced(obj: Any, path: str) -> Parts:
    """Yield the object as `copy.copy` would take it apart."""
    reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(obj))
    reduced = obj.__reduce_ex__(4) if reduce is None else reduce(obj)
    if isinstance(reduced, str):  # the object is a global of this name
        module = pickle.whichmodule(obj, reduced)  # type: ignore[attr-defined]
        if getattr(sys.modules.get(module), reduced, None) is not obj:
            _refuse(obj, path, f"no module has it under its name {reduced!r}")
        yield f"{reduced} {_release(module)}".encode()
        return
    constructor, arguments, state, items, entries, setter = (*reduced, *[None] * 4)[:6]
    yield path, (constructor, setter)
    for argument in arguments:
        is_class = isinstance(argument, type)
        yield f"{path} of class {argument.__name__}" if is_class else path, argument
    for attributes in state if isinstance(state, tuple) else (state,):
        yield from _attributes(obj, attributes, path)
    yield path, None if items is None else list(items)
    ordered = hasattr(type(obj), "move_to_end")
    yield path, entries if entries is None else (list if ordered else dict)(entries)


def _attributes(obj: object, state: object, path: str) -> Parts:
    """Yield the state of an object, without what it has only computed."""
    if type(state) is not dict or not all(isinstance(name, str) for name in state):
        yield path, state
        return
    yield b"attributes"
    labels = _LABELS.get(type(obj), set())
    if isinstance(state.get("cost"), Price):
        labels = labels | {"cost", "cost_unit"}
    for name in sorted(state.keys() - labels):
        if not isinstance(getattr(type(obj), name, None), functools.cached_property):
            yield name.encode()
            yield f"{path}.{name}", state[name]


def _method(obj: Any, path: str) -> Parts:
    yield b"method"
    yield path, (obj.__self__, obj.__func__)


Rule: TypeAlias = Callable[[Any, str], Parts]
# Classes derived from these may hold more.
_EXACT: dict[type, Rule] = {list: _sequence, tuple: _sequence, dict: _mapping}
_RULES: list[tuple[tuple[type, ...], Rule]] = [
    ((set, frozenset), _set),
    ((np.ndarray, np.generic), _array),
    ((types.FunctionType,), _function),
    ((types.CodeType,), _code),
    ((types.MethodType,), _method),
    ((functools._lru_cache_wrapper,), lambda obj, path: iter([(path, obj.__wrapped__)])),
    ((type,), _class),
    ((types.ModuleType,), _named),
    ((types.BuiltinFunctionType, types.MethodWrapperType), _builtin),
    ((np.random.Generator,), lambda obj, path: iter([(path, obj.bit_generator.state)])),
]
# Optional libraries, known by what their types define: none of them is imported here.
_LIBRARIES: list[tuple[tuple[str, ...], Rule]] = [
    (("tocoo", "nnz"), _sparse),
    (("iloc", "columns"), _frame),
    (("column_names", "schema"), _plain_frame),  # pyarrow.Table
    (("get_columns", "schema"), _plain_frame),  # polars.DataFrame
    (("iloc", "dtype"), _series),
    (("get_indexer", "dtype"), _series),  # an index of pandas
    (("detach", "cpu", "numpy"), _tensor),
    (("get_tree_stats", "reset_n_calls"), _neighbour_tree),
]
