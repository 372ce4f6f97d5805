"""Fingerprints of plain values, containers, arrays and tables; what cannot be hashed is named."""

import collections
import copy
import datetime
import dis
import enum
import functools
import itertools
import math
import re
import sqlite3
import threading
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from fairshapley.errors import FingerprintError
from fairshapley.games import FunctionGame, fingerprint
from tests.games.fingerprint_samples import AttrDict, Colour, Tensor, define, distinct, same

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3)
)
HASHABLE = st.recursive(
    ATOMS.filter(lambda x: x == x), lambda inner: st.lists(inner, max_size=3).map(tuple)
)
NESTED = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
    ),
    max_leaves=8,
)


def canonical(obj):
    """A text that is equal exactly when types and contents are, whatever the order of a set."""
    if isinstance(obj, dict):
        return f"dict{sorted((canonical(k), canonical(v)) for k, v in obj.items())}"
    if isinstance(obj, frozenset):
        return f"frozenset{sorted(map(canonical, obj))}"
    if isinstance(obj, list | tuple):
        return f"{type(obj).__name__}{[canonical(item) for item in obj]}"
    return f"{type(obj).__name__} {obj!r}"


def rebuilt(obj):
    """An equal object that shares no container with the first; dictionaries in another order."""
    if isinstance(obj, dict):
        return {rebuilt(key): rebuilt(obj[key]) for key in reversed(obj)}
    if isinstance(obj, frozenset):
        return frozenset(sorted(map(rebuilt, obj), key=repr))
    if isinstance(obj, list | tuple):
        return type(obj)(rebuilt(item) for item in obj)
    return copy.copy(obj)


@given(NESTED)
def test_equal_containers_have_equal_fingerprints(obj):
    assert fingerprint(obj) == fingerprint(rebuilt(obj))


@given(NESTED, NESTED)
def test_fingerprints_are_equal_only_when_contents_are(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (canonical(one) == canonical(other))


def test_values_of_other_types_are_other_values():
    values = [
        *(None, False, 0, 0.0, -0.0, 0j, "0", b"0", bytearray(b"0"), math.nan, math.inf, 10**5000),
        *([], (), {}, set(), frozenset(), range(0), range(1), slice(1), slice(0, 1), ...),
        *(np.float64(0), np.float32(0), np.int64(0), np.array(0.0), np.array([0.0]), np.bool_(0)),
        *("", "\ud800", [[]], [[], []], [0], (0,), {0}, {0: 0}, {0: None}, np.datetime64(0, "s")),
        *(datetime.date(2020, 1, 1), Path("a"), Path("b"), collections.deque([0]), re.compile("a")),
        *(types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), NotImplemented, dis.Bytecode),
    ]
    assert distinct(*values)
    assert all(len(fingerprint(value)) == 40 for value in values)
    assert same(math.nan, -math.nan, float("nan"))


def test_sharing_and_cycles():
    def ring(length):
        nodes = [types.SimpleNamespace() for _ in range(length)]
        for node, after in itertools.pairwise([*nodes, nodes[0]]):
            node.after = after
        return nodes[0]

    item, cycle, mapping = [1, 2], [], {}
    cycle.append(cycle)
    mapping["self"] = mapping
    assert same([item, item], [item, [1, 2]])
    assert same([item, item, cycle], [item, [1, 2], cycle])
    assert same(ring(3), ring(3))
    assert distinct(*map(ring, range(1, 5)), mapping, {"self": {}})


def test_what_is_too_deep_is_refused():
    nested = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(FingerprintError, match="too deeply"):
        fingerprint(nested)


def test_subclasses_of_containers_and_enums():
    mine = type("mine", (dict,), {})
    ordered, point = collections.OrderedDict, collections.namedtuple("point", "x y")
    assert distinct(ordered(a=1, b=2), ordered(b=2, a=1), {"a": 1, "b": 2}, mine(a=1, b=2))
    assert same(mine(a=1, b=2), mine(b=2, a=1))
    assert same(collections.Counter("abb"), collections.Counter("bba"))
    assert same(collections.defaultdict(list, a=[1]), collections.defaultdict(list, a=[1]))
    assert distinct(point(1, 2), point(2, 1), (1, 2))
    assert same(Colour.RED, Colour(1))
    assert distinct(Colour.RED, Colour.BLUE, 1, enum.IntEnum("Colour", "RED").RED)


# --- arrays and tables ------------------------------------------------------------------------


def test_arrays_are_their_content():
    array = np.arange(24.0).reshape(4, 6)
    changed = array.copy()
    changed[2, 3] += 1e-12
    assert same(array, array.copy(), np.asfortranarray(array), np.repeat(array, 2, axis=0)[::2])
    assert distinct(array, changed, array.T, array.reshape(6, 4), array.astype(np.float32))
    assert distinct(np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(0, dtype=np.int64))
    masked = functools.partial(np.ma.array, [1, 2])
    assert distinct(masked(mask=[0, 1]), masked(mask=[0, 0]))
    texts = functools.partial(np.array, dtype=object)
    assert same(texts(["a", "bc"]), texts(["a", "".join(["b", "c"])]))
    assert distinct(texts(["a", "bc"]), texts(["a", "b"]))
    variable = functools.partial(np.array, dtype=np.dtypes.StringDType())
    assert same(variable(["x" * 100]), variable(["x" * 99 + "x"]))
    assert distinct(variable(["x" * 100]), variable(["x" * 101]), np.array(["x" * 100]))


def test_sparse_matrices():
    dense = np.array([[0, 1.0], [2.0, 0]])
    matrix = scipy.sparse.csr_array(dense)
    before = fingerprint(matrix)
    matrix.sum_duplicates()
    assert fingerprint(matrix) == before == fingerprint(scipy.sparse.csr_array(dense))
    assert distinct(matrix, scipy.sparse.csr_array(2 * dense), scipy.sparse.csr_array(dense.T))


def test_pandas():
    def frame(**changes):
        return pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, math.nan]} | changes)

    used = frame()
    used["d"] = 1
    del used["d"]
    assert same(frame(), frame(), used)
    assert distinct(
        *(frame(), frame(a=[1, 3]), frame(b=["x", "z"]), frame(c=[0.5, 1.0]), frame(a=[1.0, 2.0])),
        *(frame().rename(columns={"a": "e"}), frame().set_axis([5, 6]), frame()[["b", "a", "c"]]),
        *(frame(a=pd.Categorical([1, 2], categories=order)) for order in ([1, 2], [2, 1])),
    )
    assert distinct(pd.Series([1, 2]), pd.Series([1, 2], name="s"), pd.Series([1, 2], index=[1, 0]))
    assert distinct(pd.Index([1, 2]), pd.Index([1, 3]), pd.MultiIndex.from_tuples([(1, 2)]))


# --- what cannot be hashed ------------------------------------------------------------------------


def raising(*names, error=RuntimeError):
    """An object whose class has properties that raise."""

    def fail(self, *_):
        raise error("not loaded yet")

    return type("Raising", (), dict.fromkeys(names, property(fail)))()


def method(name, answer):
    return type("Odd", (), {name: lambda self, *_: answer})()


UNHASHABLE = {
    "lock": threading.Lock,
    "connection": lambda: sqlite3.connect(":memory:"),
    "generator": lambda: (i for i in range(3)),
    "fingerprint that raises": lambda: raising("fingerprint"),
    "tensor without an array": lambda: Tensor(-1.0),
    "bad reduce": lambda: method("__reduce_ex__", 5),
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
