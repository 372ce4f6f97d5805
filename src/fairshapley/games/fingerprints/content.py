"""A fingerprint of what a game computes: its data, its parameters, its code.

Two games have the same fingerprint when they hold equal content and run equal code, in whatever
process; line numbers, file names, annotations and the text of docstrings do not count.

- A non-empty string attribute ``fingerprint`` stands for the object that has it, and the ``key``
  of a `FunctionGame` for its function.
- An object is its class and its state, as `copy.copy` would take it (``__reduce_ex__``,
  ``__getstate__``), without the values of its `functools.cached_property`. A method
  ``__fingerprint_state__()`` gives the state instead, for an object that keeps other caches.
- A function is its code, defaults, closure, attributes and the globals that its code names; of
  a module that is not installed, the members that the code may name. A class is its name, its
  bases and its members.
- A module that a function imports while it runs is its source, and that of the modules it imports
  in turn, as parsed: it is found, never run, and the same before and after the first call.
- What an installed distribution or Python itself defines is its name and version.

What cannot be hashed, whatever goes wrong, is a `FingerprintError` that names the path to it.

Not seen, so that a change of it needs another ``key``: members of a module whose names are
computed (``getattr(module, "f" + "oo")``, ``importlib.import_module(name)``), what a program
changes in a module that is only imported inside a function, and what the code reads outside the
process: files, databases, the environment, the clock. Seen although it may not matter: a closure or
a global that changes with use, such as a counter of calls.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import hashlib
import inspect
import logging
import math
import pickle
import random
import struct
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from fairshapley.errors import FingerprintError
from fairshapley.games.fingerprints.code import (
    Parts,
    builtin_parts,
    class_parts,
    code_parts,
    function_parts,
    module_parts,
    named_parts,
)
from fairshapley.games.game import FunctionGame, Price, TableGame
from fairshapley.games.random import Random

# Names and declared ranges tell a reader about these games; the utilities do not depend on them.
_FUNCTION = {"player_names", "value_range", "identical_players", "unit", "cost", "cost_unit"}
_LABELS = {FunctionGame: _FUNCTION, Random: _FUNCTION | {"random"}, TableGame: {"player_names"}}
_REMEDY = (
    "give `key=` to a FunctionGame, or the object a `fingerprint` attribute, "
    "a string that says what it computes"
)


def fingerprint(game: object) -> str:
    """The fingerprint of what a game computes, 40 hexadecimal digits.

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
    """One pass over an object and all it refers to.

    Objects are numbered in the order in which they are met, as if a shared one were walked again
    each time, so that sharing makes no difference. An object within itself is then its number.
    """

    def __init__(self) -> None:
        self._met = 0
        self._open: dict[int, int] = {}
        # An object is kept with its digest: while it lives, its id is no other object's.
        self._done: dict[int, tuple[bytes, int, object]] = {}

    def digest(self, obj: object, path: str) -> bytes:
        atom = _atom(obj)
        if atom is not None:
            return _hash((type(obj).__name__.encode(), atom))
        if id(obj) in self._open:
            return _hash((b"cycle", str(self._open[id(obj)]).encode()))
        if id(obj) in self._done:
            digest, size, _ = self._done[id(obj)]
            self._met += size
            return digest
        number = self._open[id(obj)] = self._met
        self._met += 1
        try:
            digest = _hash(
                part if isinstance(part, bytes) else self.digest(part[1], part[0])
                for part in _parts(obj, path)
            )
        except (FingerprintError, RecursionError):
            raise
        except Exception as error:  # Anything may go wrong in the code of an object of the user.
            _refuse(obj, path, error)
        del self._open[id(obj)]
        self._done[id(obj)] = digest, self._met - number, obj
        return digest


def _hash(parts: Iterable[bytes]) -> bytes:
    """The digest of a sequence of byte strings; lengths keep neighbours apart."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


def _atom(obj: Any) -> bytes | None:
    """The content of a value without parts, None for anything else."""
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
    """What an object is made of, by the first rule that fits its type.

    The object itself is not asked: ``__getattr__`` and ``__class__`` may say anything.
    """
    if type(obj) in _EXACT:
        return _EXACT[type(obj)](obj, path)
    for kinds, rule in _KINDS:
        if issubclass(type(obj), kinds):
            return rule(obj, path)
    if given := _given(obj):
        return iter((b"fingerprint", (path, given)))
    for attributes, rule in _DUCKS:
        if all(_of_type(obj, name) for name in attributes):
            return rule(obj, path)
    return _instance(obj, path)


def _of_type(obj: object, name: str) -> bool:
    """Whether the type of an object defines an attribute."""
    return any(name in vars(cls) for cls in type(obj).__mro__)


def _given(obj: object) -> str:
    """The fingerprint that an object gives itself; empty when it gives none."""
    # Looked up without `__getattr__`, which may say or raise anything about what is not there.
    absent = inspect.getattr_static(obj, "fingerprint", None) is None
    given = None if absent else getattr(obj, "fingerprint", None)
    return given if isinstance(given, str) else ""


def _refuse(obj: object, path: str, reason: object) -> NoReturn:
    kind = f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")
    said = _text(reason, str)
    if isinstance(reason, Exception):
        said = f"{type(reason).__name__}: {said}"
    cause = reason if isinstance(reason, Exception) else None
    raise FingerprintError(
        f"{path} is of type {kind} and cannot be hashed ({said}): {_REMEDY}"
    ) from cause


def _text(obj: object, convert: Callable[[object], str]) -> str:
    """What `repr` or `str` makes of an object, or its type where that fails."""
    try:
        return convert(obj)
    except Exception:
        return f"<{type(obj).__name__}>"


# --- containers and data ------------------------------------------------------------------------


def _sequence(obj: Any, path: str) -> Parts:
    yield type(obj).__name__.encode()
    for index, item in enumerate(obj):
        yield f"{path}[{index}]", item


def _mapping(obj: Mapping[object, object], path: str) -> Parts:
    # Keys are hashed on their own walk: what was met before them must not matter, as their order
    # must not. Values follow in the order of their keys' digests.
    yield b"mapping"
    digests = ((_Walk().digest(key, f"a key of {path}"), key) for key in obj)
    for digest, key in sorted(digests, key=lambda pair: pair[0]):
        yield digest
        yield f"{path}[{_text(key, repr):.40}]", obj[key]


def _set(obj: Iterable[object], path: str) -> Parts:
    yield type(obj).__name__.encode()
    yield from sorted(_Walk().digest(member, f"a member of {path}") for member in obj)


def _array(obj: Any, path: str) -> Parts:
    array = np.asarray(obj)
    yield f"{type(obj).__name__} {array.shape}".encode()
    masked = issubclass(type(obj), np.ma.MaskedArray)
    if masked:
        yield path, (np.ma.getmaskarray(obj), obj.fill_value)
    if type(obj).__module__.partition(".")[0] != "numpy":
        # A class of others may compute with what it keeps beside the numbers, such as a unit.
        flags = vars(np.ma.array(0)).keys() if masked else ()
        yield f"{path} of class {type(obj).__name__}", type(obj)
        yield from _attributes(
            obj, {name: value for name, value in vars(obj).items() if name not in flags}, path
        )
    if array.dtype.names is not None:
        # Field by field: the padding between the fields has no meaning and no fixed value.
        for name in array.dtype.names:
            yield f"{path}[{name!r}]", np.asarray(array[name])
            yield name.encode()
    elif array.dtype.kind in "OT":
        yield path, array.ravel().tolist()
    else:
        yield array.dtype.str.encode()
        yield array.tobytes()


def _sparse(obj: Any, path: str) -> Parts:
    # One order for all formats, and no flags that scipy sets while a matrix is used.
    entries = obj.tocoo(copy=True)
    entries.sum_duplicates()
    yield type(obj).__name__.encode()
    yield path, (entries.shape, entries.coords, entries.data)


def _frame(obj: Any, path: str) -> Parts:
    # Not its state: pandas rearranges its blocks while a frame is used.
    yield b"frame"
    yield path, (obj.index, obj.columns)
    for position in range(obj.shape[1]):
        yield from _labelled(obj.iloc[:, position], path)


def _plain_frame(obj: Any, path: str) -> Parts:
    # polars and Arrow: the same content in other chunks is the same table.
    yield str(obj.schema).encode()
    yield path, np.array(obj)


def _neighbour_tree(obj: Any, path: str) -> Parts:
    # scikit-learn's KDTree and BallTree count their own calls, in entries 7 to 10 of their state.
    state = obj.__getstate__()
    yield type(obj).__qualname__.encode()
    yield path, (state[:7], state[11:])


def _labelled(obj: Any, path: str) -> Parts:
    yield str(obj.dtype).encode()
    yield path, list(getattr(obj, "names", [obj.name]))
    yield path, (getattr(obj, "index", None), getattr(obj.dtype, "categories", None))
    yield path, np.asarray(obj)


def _enum(obj: enum.Enum, path: str) -> Parts:
    # Not its class: a Flag adds members to it while it is used.
    yield path, [cls.__qualname__ for cls in type(obj).__mro__]
    yield path, (obj.name, obj.value)


def _random(obj: Any, path: str) -> Parts:
    # The generators that a process shares are no one's content: scipy's distributions and
    # `random.random` refer to them.
    shared = (random.random.__self__, np.random.rand.__self__)  # type: ignore[attr-defined]
    is_shared = any(obj is generator for generator in shared)
    return iter((b"shared generator",)) if is_shared else _reduced(obj, path)


def _state_of(*attributes: str) -> Callable[[Any, str], Parts]:
    """The rule for an object that is its class's name and the values of some attributes."""

    def rule(obj: Any, path: str) -> Parts:
        yield type(obj).__qualname__.encode()
        for name in attributes:
            yield f"{path}.{name}", getattr(obj, name)

    return rule


def _converted(tag: str, convert: Callable[[Any], object]) -> Callable[[Any, str], Parts]:
    """The rule for an object that is what `convert` makes of it."""
    return lambda obj, path: iter((tag.encode(), (path, convert(obj))))


# --- objects ------------------------------------------------------------------------------------


def _instance(obj: Any, path: str) -> Parts:
    if isinstance(obj, FunctionGame) and obj.key is not None:
        yield b"key"
        yield path, (obj.key, obj.n_players)
    elif _of_type(obj, "__fingerprint_state__"):
        yield f"{path} of class {type(obj).__name__}", type(obj)
        yield path, obj.__fingerprint_state__()
    elif issubclass(type(obj), Iterator):
        _refuse(obj, path, "an iterator changes while it is used")
    else:
        yield from _reduced(obj, path)


def _reduced(obj: Any, path: str) -> Parts:
    """The object as `copy.copy` would take it apart."""
    reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(obj))
    reduced = obj.__reduce_ex__(4) if reduce is None else reduce(obj)
    if isinstance(reduced, str):
        # The object is a global: under this name, in one of the loaded modules.
        module = pickle.whichmodule(obj, reduced)  # type: ignore[attr-defined]
        if getattr(sys.modules.get(module), reduced, None) is not obj:
            _refuse(obj, path, f"no module has it under its name {reduced!r}")
        yield from named_parts(module.partition(".")[0], reduced)
        return
    constructor, arguments, state, items, entries, setter = (*reduced, *[None] * 4)[:6]
    yield path, (constructor, setter)
    for argument in arguments:
        is_class = isinstance(argument, type)
        yield f"{path} of class {argument.__name__}" if is_class else path, argument
    for attributes in state if isinstance(state, tuple) else (state,):
        yield from _attributes(obj, attributes, path)
    yield path, None if items is None else list(items)
    if entries is not None:
        yield path, (list if isinstance(obj, OrderedDict) else dict)(entries)


def _attributes(obj: object, state: object, path: str) -> Parts:
    """The state of an object, without what it has only computed."""
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


_EXACT: dict[type, Callable[[Any, str], Parts]] = {
    **dict.fromkeys((tuple, list), _sequence),
    **dict.fromkeys((dict, types.MappingProxyType), _mapping),
    types.FunctionType: function_parts,
    types.CodeType: code_parts,
    types.MethodType: _state_of("__self__", "__func__"),
    property: _state_of("fget", "fset", "fdel"),
    **dict.fromkeys((staticmethod, classmethod), _state_of("__func__")),
    functools.cached_property: _state_of("func"),
    functools._lru_cache_wrapper: _state_of("__wrapped__"),
}
_KINDS: list[tuple[tuple[type, ...], Callable[[Any, str], Parts]]] = [
    ((type,), class_parts),
    ((types.ModuleType,), lambda module, _: module_parts(module)),
    ((set, frozenset), _set),
    ((np.ndarray,), _array),
    ((np.generic,), _converted("scalar", np.asarray)),
    ((enum.Enum,), _enum),
    ((logging.Logger,), _state_of("name")),
    ((random.Random, np.random.RandomState), _random),
    ((np.random.Generator,), _converted("generator", lambda obj: obj.bit_generator.state)),
    ((types.BuiltinFunctionType, types.MethodWrapperType), builtin_parts),
    (
        (
            types.MemberDescriptorType,
            types.GetSetDescriptorType,
            types.WrapperDescriptorType,
            types.MethodDescriptorType,
            types.ClassMethodDescriptorType,
        ),
        _state_of("__qualname__"),
    ),
]
# Optional libraries, known by what their types define: none of them is imported here.
_DUCKS: list[tuple[tuple[str, ...], Callable[[Any, str], Parts]]] = [
    (("tocoo", "nnz"), _sparse),
    (("iloc", "columns"), _frame),
    (("column_names", "schema"), _plain_frame),  # pyarrow.Table
    (("get_columns", "schema"), _plain_frame),  # polars.DataFrame
    (("iloc", "dtype"), _labelled),  # pandas.Series
    (("get_indexer", "dtype"), _labelled),  # pandas.Index
    (("detach", "cpu", "numpy"), _converted("tensor", lambda obj: obj.detach().cpu().numpy())),
    (("get_tree_stats", "reset_n_calls"), _neighbour_tree),
    (("inspect_llvm", "nopython_signatures"), _state_of("py_func", "targetoptions")),  # numba
]
