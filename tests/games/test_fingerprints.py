import collections
import copy
import dataclasses
import datetime
import dis
import enum
import functools
import importlib
import itertools
import logging
import math
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairshapley.errors import FingerprintError, InputError
from fairshapley.games import (
    Additive,
    Affine,
    FunctionGame,
    LinearCombination,
    PlantedGame,
    TableGame,
    WeightedVoting,
    fingerprint,
)


def define(source, **namespace):
    """What `source` calls `fn`, from a module of its own."""
    namespace.setdefault("__name__", "a_module_of_the_user")
    exec(textwrap.dedent(source), namespace)  # noqa: S102
    return namespace["fn"]


def same(*objects):
    return len({fingerprint(obj) for obj in objects}) == 1


def distinct(*objects):
    return len({fingerprint(obj) for obj in objects}) == len(objects)


# --- values -----------------------------------------------------------------------------------

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


class AttrDict(dict):
    """Raises KeyError for every attribute that is not there."""

    __getattr__ = dict.__getitem__


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


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
    assert distinct(masked(mask=[0, 1]), masked(mask=[0, 0]), masked(mask=[0, 1], fill_value=7))
    texts = functools.partial(np.array, dtype=object)
    assert same(texts(["a", "bc"]), texts(["a", "".join(["b", "c"])]))
    assert distinct(texts(["a", "bc"]), texts(["a", "b"]))
    variable = functools.partial(np.array, dtype=np.dtypes.StringDType())
    assert same(variable(["x" * 100]), variable(["x" * 99 + "x"]))
    assert distinct(variable(["x" * 100]), variable(["x" * 101]), np.array(["x" * 100]))


def test_padding_of_structured_arrays_has_no_meaning():
    dtype = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    one = np.frombuffer(bytes(range(16)), dtype=dtype)
    other = np.zeros(1, dtype=dtype)
    other["a"], other["b"] = one["a"], one["b"]
    assert one.tobytes() != other.tobytes()
    assert same(one, other)
    other["b"] += 1
    assert distinct(one, other)


@pytest.mark.parametrize("base", [np.ndarray, np.ma.MaskedArray])
def test_attributes_of_a_subclass_of_arrays_count(base, tmp_path):
    kind = type("Measured", (base,), {"__module__": "a_module_of_the_user"})

    def make(unit):
        array = np.arange(3.0).view(kind)
        array.unit = unit
        return array

    used = make("m")
    used.sum(), used[1:], used.copy()
    assert same(make("m"), make("m"), used)
    assert distinct(make("m"), make("km"), np.arange(3.0))
    # What numpy itself keeps beside the numbers does not.
    assert same(*(np.memmap(tmp_path / name, mode="w+", shape=3) for name in "ab"))


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


def test_the_module_does_not_import_pandas():
    code = "import sys, fairshapley.games; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- objects ----------------------------------------------------------------------------------


class Tensor:
    def __init__(self, number):
        self.array, self.version = np.array(number), object()

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        if self.array < 0:
            raise TypeError("unsupported ScalarType BFloat16")
        return self.array


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    names: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    rate: float


class Model:
    n_players = 2

    def __init__(self, k):
        self.k = k
        self.hook = self.__call__

    def __call__(self, coalitions):
        return self.total * len(coalitions)

    @functools.cached_property
    def total(self):
        return 2 * self.k


class Cached(Model):
    def __call__(self, coalitions):
        self.cache = object()

    def __fingerprint_state__(self):
        return self.k


class Named(Tensor):
    """What cannot be hashed, and says what it is."""

    def __init__(self, name):
        self.fingerprint, self.array = str(name), threading.Lock()


def fitted(model, k):
    X = np.random.default_rng(0).normal(size=(40, 3))  # noqa: N806
    return model.fit(X, X[:, k] > 0)


# What is equal when built again from the same number, other for another, and not changed by use.
FAMILIES = {
    "generator": np.random.default_rng,
    "random state": np.random.RandomState,
    "random": random.Random,
    "tensor": Tensor,
    "dataclass": lambda k: Settings(0.1 * k),
    "dataclass with a default": lambda k: Settings(0.1, ("a",) * k),
    "slots": Slotted,
    "object": Model,
    "object with a cache": Cached,
    "method": lambda k: Model(k).__call__,
    "fingerprint attribute": Named,
    "closure": lambda k: lambda c: k * len(c),
    "closure of a closure": lambda k: (lambda inner: lambda c: inner() + len(c))(lambda: k),
    "recursive function": lambda k: define(
        "def make(k):\n  def f(c): return f(c - k)\n  return f\nfn = make(k)", k=k
    ),
    "attribute of a function": lambda k: define("def fn(c): return fn.k\nfn.k = k", k=k),
    "partial": lambda k: functools.partial(len, k),
    "lru_cache": lambda k: functools.lru_cache(lambda c: k),
    "wrapped function": lambda k: functools.wraps(len)(lambda c: k),
    "decorator of a library": lambda k: np.errstate()(lambda c: k),
    "vectorize": lambda k: np.vectorize(lambda c: k),
    "logistic regression": lambda k: LogisticRegression(C=k),
    "scorer": lambda k: make_scorer(accuracy_score, normalize=k == 1),
    "fitted logistic regression": lambda k: fitted(LogisticRegression(), k),
    "fitted SVC": lambda k: fitted(SVC(), k),
    "fitted tree": lambda k: fitted(DecisionTreeClassifier(random_state=0), k),
    "fitted forest": lambda k: fitted(RandomForestClassifier(2, random_state=0), k),
    "additive": lambda k: Additive([1.0, k]),
    "voting": lambda k: WeightedVoting([4, 3, k], 5),
    "planted": lambda k: PlantedGame(6, seed=k),
    "table": lambda k: TableGame([0.0, 1.0, 2.0, k]),
    "function game": lambda k: FunctionGame(lambda c: k * len(c), 2),
    "function game with a key": lambda k: FunctionGame(len, 2, key=str(k)),
    "players": lambda k: FunctionGame(len, k),
    "affine": lambda k: Affine(Additive([1.0, 2.0]), scale=k),
    "combination": lambda k: LinearCombination([WeightedVoting([2, 1], 3), Additive([k, 1])]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_equal_content_is_equal_and_use_changes_nothing(name):
    make = FAMILIES[name]
    obj = make(1)
    before = fingerprint(obj)
    for _ in range(20 if hasattr(obj, "n_players") else 0):  # often: Python specialises byte code
        obj(np.ones((2, obj.n_players), dtype=bool))
    if name == "lru_cache":
        obj(())
    getattr(obj, "shapley_values", None)
    assert fingerprint(obj) == before == fingerprint(make(1))
    assert before != fingerprint(make(2))
    if name in ("generator", "random state", "random"):
        obj.random()
        assert fingerprint(obj) != before


def test_labels_of_plain_games_do_not_count_and_a_key_stands_for_the_function():
    assert same(TableGame([0, 1]), TableGame([0, 1], player_names=["a"]))
    labels = {"value_range": (0, 2), "player_names": ["a", "b"]}
    assert same(FunctionGame(len, 2), FunctionGame(len, 2, **labels))
    assert same(FunctionGame(len, 3, key="size"), FunctionGame(lambda c: len(c), 3, key="size"))
    assert distinct(FunctionGame(len, 3, key="size"), FunctionGame(len, 4, key="size"), len)
    for key in ("", 5, b"size", ["size"]):
        with pytest.raises(InputError, match="key must be a string"):
            FunctionGame(len, 3, key=key)


# --- code -------------------------------------------------------------------------------------

FUNCTION = """
    def helper(c, power=2):
        return SCALE * len(c) ** power

    def fn(c, *, offset=0.5):
        "The utility."
        return helper(c) + offset + sum(x for x in c if x in {1, 2}) + even(len(c))

    def even(k): return k == 0 or odd(k - 1)
    def odd(k): return k != 0 and even(k - 1)
"""
CLASS = """
    class Base:
        factor = 2
        def weigh(self, k): return self.factor * k

    class fn(Base):
        n_players = 3
        __slots__ = ("data",)
        def __init__(self, data): self.data = data
        @property
        def size(self): return len(self.data)
        @staticmethod
        def half(x): return x / 2
        @classmethod
        def build(cls): return cls([1])
        def __call__(self, coalitions): return self.weigh(coalitions.sum(axis=1)) + super().factor
"""
CHANGES = """
    offset=0.5 -> offset=0.25 | power=2 -> power=3 | SCALE * len -> SCALE + len | sum(x -> max(x
    return helper(c) + -> return helper(c) - | {1, 2} -> {1, 3} | if x in -> if x not in
    offset -> shift | k == 0 or -> k == 1 or | factor = 2 -> factor = 3 | * k -> + k
    x / 2 -> x / 3 | cls([1]) -> cls([2]) | len(self.data) -> len(self) | axis=1 -> axis=0
    n_players = 3 -> n_players = 4
"""
NO_CHANGES = """
    The utility. -> What a coalition is worth. | def fn -> # Moved.NEWLINEdef fn
    def fn(c, * -> def fn(c: tuple, *
"""
ALL_CHANGES = [
    (*change.strip().split(" -> "), counts)
    for text, counts in ((CHANGES, True), (NO_CHANGES, False))
    for change in re.split(r" \| |\n", text.strip())
]


@pytest.mark.parametrize(("old", "new", "counts"), ALL_CHANGES)
def test_code_counts_but_not_its_place_docstrings_and_annotations(old, new, counts):
    source = FUNCTION if old in FUNCTION else CLASS
    assert old in source
    changed = source.replace(old, new.replace("NEWLINE", "\n    "))
    one, again, other = (define(text, SCALE=1.0) for text in (source, source, changed))
    if source is CLASS:
        assert distinct(one([1]), one([2]))
        one, again, other = one([1]), again([1]), other([1])
    assert same(one, again)
    assert distinct(one, other) == counts


def test_a_change_of_a_global_changes_the_fingerprint():
    assert distinct(define(FUNCTION, SCALE=1.0), define(FUNCTION, SCALE=2.0), define(FUNCTION))
    assert same(define(FUNCTION, SCALE=1.0), define(FUNCTION, SCALE=1.0, OTHER=3))


def test_a_lambda_is_the_same_wherever_it_stands():
    here, there = (lambda k: lambda c: k * len(c)), [lambda k: lambda c: k * len(c)]
    assert same(here(2), here(2), there[0](2))
    assert distinct(here(2), here(3), lambda c: 2 * len(c))


def test_a_variable_without_a_value_yet():
    def fn(c):
        return later

    before = fingerprint(fn)
    later = 1
    assert fingerprint(fn) != before
    assert later == 1


def test_many_functions_that_call_each_other_are_hashed_quickly():
    names = [f"f{i}" for i in range(40)]
    source = "\n".join(f"def {name}(c): return [{', '.join(names)}]" for name in names)
    assert len(fingerprint(define(source + "\nfn = f0"))) == 40


def test_what_is_installed_is_its_name():
    assert same(np.sum, np.sum)
    assert distinct(
        *(np, math, np.sum, np.mean, np.add, math.sin, math.cos, len, max, "".join, [1].append),
        *(scipy.special.expit, scipy.special.erf, accuracy_score, LogisticRegression, SVC, int),
        *(dict.fromkeys, str.upper, np.linalg.norm, np.float64, np.dtype("f8"), np.dtype("f4")),
    )
    source = "def fn(c): return np.sum(c)"
    assert same(define(source, np=np), define(source, np=np))
    assert distinct(define(source, np=np), define(source, np=math))
    source = "def fn(c): log.info(c)"
    one, other = (define(source, log=logging.getLogger(name)) for name in ("a.b", "a.c"))
    before = fingerprint(one)
    logging.getLogger("a.b").isEnabledFor(10)
    assert fingerprint(one) == before != fingerprint(other)


# --- modules ----------------------------------------------------------------------------------


@pytest.fixture
def user_package(tmp_path, monkeypatch):
    """Writes a package of the user, `user_helpers`, and forgets it where it was loaded."""
    monkeypatch.syspath_prepend(tmp_path)

    def forget():
        for name in [name for name in sys.modules if name.startswith("user_helpers")]:
            del sys.modules[name]
        importlib.invalidate_caches()

    def write(**files):
        forget()
        for name, text in files.items():
            (tmp_path / "user_helpers").mkdir(exist_ok=True)
            (tmp_path / "user_helpers" / f"{name}.py").write_text(text)
        for file in tmp_path.rglob("*.pyc"):
            file.unlink()

    yield write
    forget()


SCORES = "def score(c): return factor * len(c)\nfactor = 1\ndef unused(): return 1\n"


@pytest.mark.parametrize(
    "source",
    [
        "import user_helpers.scores\ndef fn(c): return user_helpers.scores.score(c)",
        "from user_helpers import scores\ndef fn(c): return scores.score(c)",
        "from user_helpers.scores import score\ndef fn(c): return score(c)",
        "def fn(c):\n    import user_helpers.scores as s\n    return s.score(c)",
        "def fn(c):\n    from user_helpers.scores import score\n    return score(c)",
        "def fn(c):\n    from user_helpers import scores\n    return scores.score(c)",
        "def fn(c):\n    from .scores import score\n    return score(c)",
        "def fn(c):\n    import user_helpers\n    return user_helpers.scores.score(c)",
    ],
)
def test_the_users_own_modules_are_followed(user_package, source):
    inside = source.startswith("def")

    def look(scores):
        user_package(__init__="from user_helpers import scores\n", scores=scores)
        fn = define(source, __package__="user_helpers")
        found = fingerprint(fn)
        assert not inside or "user_helpers" not in sys.modules
        if "from ." not in source:
            fn((0,))
        assert fingerprint(fn) == found
        return found

    base = look(SCORES)
    assert base == look('"""Documented."""\n# Moved.\n' + SCORES)
    assert base != look(SCORES.replace("= 1", "= 3"))
    # What a function imports while it runs is all its source, for its module is not loaded.
    assert (base != look(SCORES.replace("return 1", "return 2"))) == inside


def test_modules_that_a_function_imports_are_never_run(user_package, capsys):
    def look(deep):
        bad = "print('run')\nfrom . import deep\nimport numpy, json as j\nraise RuntimeError"
        user_package(__init__="print('run')", bad=bad, deep=deep)
        return fingerprint(define("def fn(c):\n    from user_helpers.bad import x, y\n"))

    sources = ["x = 1", "x = 2", "not Python", "import user_helpers.bad"]
    assert len({look(source) for source in sources * 2}) == 4
    assert not any(name.startswith("user_helpers") for name in sys.modules)
    assert capsys.readouterr().out == ""


def test_a_module_from_no_file_is_its_members(monkeypatch):
    made = types.ModuleType("made_by_a_program")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    fn = define("def fn(c):\n    import made_by_a_program as m\n    return m.k")
    found = {fingerprint(fn) for made.k in (1, 2, 1)}
    assert len(found) == 2


@pytest.mark.parametrize("line", ["import no_such_x", "from . import no_such_x", "import numpy.x"])
def test_a_missing_import_is_no_error(line):
    assert len(fingerprint(define(f"def fn(c):\n    {line}"))) == 40


# --- refusals ---------------------------------------------------------------------------------


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
    "thread": threading.Thread,
    "connection": lambda: sqlite3.connect(":memory:"),
    "generator": lambda: (i for i in range(3)),
    "iterator": lambda: iter([1, 2]),
    "count": itertools.count,
    "weak reference": lambda: weakref.ref(Colour),
    "opaque ufunc": lambda: np.frompyfunc(len, 1, 1),
    "memoryview": lambda: memoryview(b"abc"),
    "socket": socket.socket,
    "file": lambda: Path(os.devnull).open(),  # noqa: SIM115
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
    bad = type("Bad", (), {"shared": lock, "__module__": "a_module_of_the_user"})
    source = "def fn(c): return helper(c)\ndef helper(c): return connection"
    for obj, path in [
        (define(source, connection=lock), "game global 'helper' global 'connection'"),
        (define("def fn(c, k=lock): pass", lock=lock), "game default argument[0][0]"),
        (types.SimpleNamespace(inner=types.SimpleNamespace(lock=lock)), "game.inner.lock"),
        (bad(), "game of class Bad.shared"),
        ({1, lock}, "a member of game"),
        ({"deep": [0, lock]}, "game['deep'][1] is of type"),
        (np.array([1, lock]), "game[1]"),
        (functools.partial(len, lock), "game"),
    ]:
        with pytest.raises(FingerprintError, match=re.escape(path)) as raised:
            fingerprint(obj)
        assert str(raised.value).startswith(path)


# --- processes --------------------------------------------------------------------------------

SCRIPT = """
import enum, functools, dataclasses
import numpy as np, pandas as pd
from random import random
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from fairshapley.games import *

WORDS = {"alpha", "beta", "gamma", "delta"}
TABLE = {word: len(word) for word in WORDS}

@dataclasses.dataclass
class Config:
    words: frozenset
    nested: dict

def helper(c):
    known = sum(TABLE[w] for w in WORDS if w in {"alpha", "beta", "gamma"})
    return known + even(len(c)) + norm.cdf(0.1) + random()

def even(k): return k == 0 or odd(k - 1)
def odd(k): return k != 0 and even(k - 1)

class Mine(Config):
    n_players = 3
    def __call__(self, coalitions):
        return np.array([helper(c) for c in coalitions])

model = RandomForestClassifier(3, random_state=0).fit(np.eye(4), [0, 1, 0, 1])
games = [
    FunctionGame(lambda c: helper(c), 3),
    FunctionGame(functools.partial(lambda c, f: f(c), f=helper), 3),
    Mine(frozenset(WORDS), {"fns": {helper, even, odd}, "frame": pd.DataFrame({"a": ["x", "y"]})}),
    PlantedGame(8, seed=1),
    LinearCombination([Additive([1.0, 2.0]), WeightedVoting([1, 2], 2)]),
    model,
]
print(*(fingerprint(game) for game in games))
"""


def test_fingerprints_do_not_depend_on_the_process(tmp_path):
    found = set()
    for seed, folder in (("1", "here"), ("2", "there")):
        path = tmp_path / folder / f"script_{seed}.py"
        path.parent.mkdir()
        path.write_text("\n" * int(seed) + SCRIPT)
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, str(path)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == 6


def test_a_fitted_model_of_neighbours_keeps_its_fingerprint_when_it_predicts():
    x, y = load_iris(return_X_y=True)
    for algorithm in ("kd_tree", "ball_tree"):
        model = KNeighborsClassifier(3, algorithm=algorithm).fit(x, y)
        before = fingerprint(FunctionGame(lambda s, model=model: float(len(s)), 3))
        model.predict(x)
        assert fingerprint(FunctionGame(lambda s, model=model: float(len(s)), 3)) == before
        other = KNeighborsClassifier(3, algorithm=algorithm).fit(x + (x == x[0]), y)
        assert fingerprint(FunctionGame(lambda s, model=other: float(len(s)), 3)) != before
