"""What cannot be hashed is named."""

import functools
import re
import sqlite3
import threading
import types
import weakref
from unittest.mock import MagicMock

import numpy as np
import pytest

from fairshapley.errors import FingerprintError
from fairshapley.games import (
    FunctionGame,
    fingerprint,
)
from tests.games.fingerprint_samples import AttrDict, Colour, Tensor, define, distinct, same


def raising(*names, error=RuntimeError):
    """An object whose class has properties that raise."""

    def fail(self, *_):
        raise error("not loaded yet")

    return type("Raising", (), dict.fromkeys(names, property(fail)))()


def method(name, answer):
    return type("Odd", (), {name: lambda self, *_: answer})()


class BadTextError(Exception):
    def __str__(self):
        raise ValueError

    __repr__ = __str__


UNHASHABLE = {
    "lock": threading.Lock,
    "connection": lambda: sqlite3.connect(":memory:"),
    "generator": lambda: (i for i in range(3)),
    "iterator": lambda: iter([1, 2]),
    "weak reference": lambda: weakref.ref(Colour),
    "opaque ufunc": lambda: np.frompyfunc(len, 1, 1),
    "mock": MagicMock,
    "fingerprint that raises": lambda: raising("fingerprint"),
    "state that raises": lambda: raising("__fingerprint_state__"),
    "state that is no state": lambda: raising("__reduce_ex__", error=BadTextError),
    "frame that raises": lambda: raising("iloc", "columns"),
    "sparse matrix that raises": lambda: raising("tocoo", "nnz", error=KeyError),
    "tensor without an array": lambda: Tensor(-1.0),
    "bad reduce": lambda: method("__reduce_ex__", 5),
    "short reduce": lambda: method("__reduce_ex__", (len,)),
    "name of nothing": lambda: method("__reduce_ex__", "nothing"),
}


@pytest.mark.parametrize("name", UNHASHABLE)
def test_what_cannot_be_hashed_is_named(name):
    thing = UNHASHABLE[name]()

    def fn(c):
        return thing

    message = r"game\.fn closure variable 'thing'.* is of type .*cannot be hashed"
    with pytest.raises(FingerprintError, match=message) as raised:
        fingerprint(FunctionGame(fn, 2))
    assert "`key=`" in str(raised.value)
    assert "`fingerprint` attribute" in str(raised.value)
    if hasattr(type(thing), "close"):
        thing.close()


def test_an_object_is_not_asked_what_it_is():
    """Only its type is: what `__getattr__` and `__class__` say is not."""
    assert distinct(AttrDict(iloc=1, columns=2), AttrDict(iloc=1, columns=3), {})
    assert same(AttrDict(fingerprint="a", b=1), AttrDict(b=1, fingerprint="a"))
    lazy = raising("columns")
    lazy.iloc = 1
    odd = type(
        "Odd", (), {"__repr__": lambda self: 1 / 0, "__class__": property(lambda self: list)}
    )
    assert distinct(lazy, {odd(): 1}, {odd(): 2}, raising("columns"))


def test_paths_name_globals_defaults_attributes_and_members():
    lock = threading.Lock()
    source = "def fn(c): return helper(c)\ndef helper(c): return connection"
    for obj, path in [
        (define(source, connection=lock), "game global 'helper' global 'connection'"),
        (define("def fn(c, k=lock): pass", lock=lock), "game default argument[0][0]"),
        (types.SimpleNamespace(inner=types.SimpleNamespace(lock=lock)), "game.inner.lock"),
        ({1, lock}, "a member of game"),
        ({"deep": [0, lock]}, "game['deep'][1] is of type"),
        (np.array([1, lock]), "game[1]"),
        (functools.partial(len, lock), "game"),
    ]:
        with pytest.raises(FingerprintError, match=re.escape(path)) as raised:
            fingerprint(obj)
        assert str(raised.value).startswith(path)
