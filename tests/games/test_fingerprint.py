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

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairshapley.errors import FingerprintError
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


def test_sharing_makes_no_difference():
    item = [1, 2]
    cycle = []
    cycle.append(cycle)
    assert same([item, item], [item, [1, 2]])
    assert same([item, item, cycle], [item, [1, 2], cycle])


def test_cycles():
    def ring(length):
        nodes = [types.SimpleNamespace() for _ in range(length)]
        for node, after in itertools.pairwise([*nodes, nodes[0]]):
            node.after = after
        return nodes[0]

    assert same(ring(3), ring(3))
    assert distinct(*map(ring, range(1, 5)))
    mapping = {}
    mapping["self"] = mapping
    assert fingerprint(mapping) != fingerprint({"self": {}})


def test_what_is_too_deep_is_refused():
    nested = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(FingerprintError, match="too deeply"):
        fingerprint(nested)


def test_subclasses_of_containers():
    class Mine(dict):
        pass

    point = collections.namedtuple("point", "x y")
    assert same(collections.Counter("abb"), collections.Counter("bba"))
    ordered = collections.OrderedDict
    assert distinct(ordered(a=1, b=2), ordered(b=2, a=1), {"a": 1, "b": 2}, Mine(a=1, b=2))
    assert same(Mine(a=1, b=2), Mine(b=2, a=1))
    assert distinct(point(1, 2), point(2, 1), (1, 2))
    assert same(collections.defaultdict(list, a=[1]), collections.defaultdict(list, a=[1]))


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_enums():
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
    assert distinct(np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 0]))


def test_arrays_of_objects_and_strings():
    texts = ["a", "".join(["b", "c"])]
    assert same(np.array(texts, dtype=object), np.array(["a", "bc"], dtype=object))
    assert distinct(np.array(texts, dtype=object), np.array(["a", "b"], dtype=object))
    variable = np.dtypes.StringDType()
    long = "x" * 100
    assert same(np.array([long], variable), np.array(["x" * 99 + "x"], variable))
    assert distinct(np.array([long], variable), np.array([long + "y"], variable), np.array([long]))


def test_padding_of_structured_arrays_has_no_meaning():
    dtype = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    one = np.frombuffer(bytes(range(16)), dtype=dtype)
    other = np.zeros(1, dtype=dtype)
    other["a"], other["b"] = one["a"], one["b"]
    assert one.tobytes() != other.tobytes()
    assert same(one, other)
    other["b"] += 1
    assert distinct(one, other)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_random_generators_are_their_state(make):
    used = make(1)
    used.random()
    assert same(make(1), make(1))
    assert distinct(make(1), make(2), used)


def test_sparse_matrices():
    dense = np.array([[0, 1.0], [2.0, 0]])
    matrix = scipy.sparse.csr_array(dense)
    shuffled = scipy.sparse.csr_array(matrix)
    before = fingerprint(matrix)
    matrix.sum_duplicates()
    assert fingerprint(matrix) == before == fingerprint(shuffled)
    assert distinct(matrix, scipy.sparse.csr_array(2 * dense), scipy.sparse.csr_array(dense.T))


def test_pandas():
    def frame(**changes):
        data = {"a": [1, 2], "b": ["x", "y"], "c": [0.5, math.nan]} | changes
        return pd.DataFrame(data)

    used = frame()
    used["d"] = 1
    del used["d"]
    assert same(frame(), frame(), used)
    assert distinct(
        frame(),
        frame(a=[1, 3]),
        frame(b=["x", "z"]),
        frame(c=[0.5, 1.0]),
        frame(a=[1.0, 2.0]),
        frame().rename(columns={"a": "e"}),
        frame().set_axis([5, 6]),
        frame()[["b", "a", "c"]],
        frame(a=pd.Categorical([1, 2], categories=[1, 2])),
        frame(a=pd.Categorical([1, 2], categories=[2, 1])),
    )
    assert distinct(pd.Series([1, 2]), pd.Series([1, 2], name="s"), pd.Series([1, 2], index=[1, 0]))
    assert distinct(pd.Index([1, 2]), pd.Index([1, 3]), pd.MultiIndex.from_tuples([(1, 2)]))


def test_the_module_does_not_import_pandas():
    code = "import sys, fairshapley.games; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tensors_are_their_array():
    class Tensor:
        def __init__(self, array):
            self.array, self.version = np.array(array), object()

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self.array

    assert same(Tensor([1.0]), Tensor([1.0]))
    assert distinct(Tensor([1.0]), Tensor([2.0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda c: LogisticRegression(C=c),
        lambda c: SVC(C=c),
        lambda c: RandomForestClassifier(
            n_estimators=2, random_state=0, max_samples=0.3 + 0.01 * c
        ),
        lambda c: DecisionTreeClassifier(random_state=0, min_impurity_decrease=0.01 * c),
    ],
)
def test_estimators(make):
    X = np.random.default_rng(0).normal(size=(40, 3))  # noqa: N806
    y = (X[:, 0] > 0).astype(int)
    assert same(make(1.0), make(1.0))
    assert distinct(make(1.0), make(2.0), make(1.0).fit(X, y), make(1.0).fit(X, 1 - y))
    assert same(make(1.0).fit(X, y), make(1.0).fit(X, y))


def test_scorers():
    assert same(make_scorer(accuracy_score), make_scorer(accuracy_score))
    assert distinct(
        make_scorer(accuracy_score), make_scorer(accuracy_score, normalize=False), accuracy_score
    )


# --- functions --------------------------------------------------------------------------------

BASE = """
    def helper(c, power=2):
        return SCALE * len(c) ** power

    def fn(c, *, offset=0.5):
        "The utility."
        return helper(c) + offset + sum(x for x in c if x in {1, 2})
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("offset=0.5", "offset=0.25"),
        ("power=2", "power=3"),
        ("SCALE * len", "SCALE + len"),
        ("return helper(c) +", "return helper(c) -"),
        ("{1, 2}", "{1, 3}"),
        ("if x in", "if x not in"),
        ("sum(", "max("),
        ("offset", "shift"),
    ],
)
def test_a_change_of_code_changes_the_fingerprint(old, new):
    assert old in BASE
    assert distinct(define(BASE, SCALE=1.0), define(BASE.replace(old, new), SCALE=1.0))


def test_a_change_of_a_global_changes_the_fingerprint():
    assert distinct(define(BASE, SCALE=1.0), define(BASE, SCALE=2.0), define(BASE))
    assert same(define(BASE, SCALE=1.0), define(BASE, SCALE=1.0, OTHER=3))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The utility.", "What a coalition is worth."),
        ("def fn", "\n\n\n    # Moved down.\n    def fn"),
        ("def fn(c, *", "def fn(c: tuple, *"),
    ],
)
def test_places_docstrings_and_annotations_do_not_count(old, new):
    assert old in BASE
    assert same(define(BASE, SCALE=1.0), define(BASE.replace(old, new), SCALE=1.0))


def test_a_lambda_is_the_same_wherever_it_stands():
    def here(k):
        return lambda c: k * len(c)

    class Elsewhere:
        @staticmethod
        def there(k):
            return lambda c: k * len(c)

    assert same(here(2), here(2), Elsewhere.there(2))
    assert distinct(here(2), here(3), lambda c: 2 * len(c))
    assert same(FunctionGame(lambda c: len(c) ** 2, 3), FunctionGame(lambda c: len(c) ** 2, 3))


def test_closures_of_closures():
    def make(data):
        def inner():
            return data.sum()

        return lambda c: inner() + len(c)

    assert same(make(np.ones(3)), make(np.ones(3)))
    assert distinct(make(np.ones(3)), make(np.zeros(3)))


def test_recursive_functions():
    source = """
        def even(k): return k == 0 or odd(k - 1)
        def odd(k): return k != 0 and even(k - 1)
        def fn(c): return float(even(len(c))) + fact(len(c))
        def fact(k): return 1 if k == 0 else k * fact(k - 1)
    """
    assert same(define(source), define(source))
    assert distinct(define(source), define(source.replace("k == 0 or", "k == 1 or")))

    def make(step):
        def count(k):
            return 0 if k <= 0 else 1 + count(k - step)

        return count

    assert same(make(1), make(1))
    assert distinct(make(1), make(2))


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


def test_wrappers():
    def fn(c, k):
        return k * len(c)

    def other(c, k):
        return k + len(c)

    partial = functools.partial
    assert same(partial(fn, k=2), partial(fn, k=2))
    assert distinct(partial(fn, k=2), partial(fn, k=3), partial(other, k=2), fn)
    cached = functools.lru_cache(fn)
    before = fingerprint(cached)
    cached((), 1)
    assert fingerprint(cached) == before
    assert distinct(cached, functools.lru_cache(other))

    def decorate(inner):
        @functools.wraps(inner)
        def wrapper(*args):
            return inner(*args)

        return wrapper

    assert distinct(decorate(fn), decorate(other), fn)


def test_attributes_of_a_function_count():
    def fn(c):
        return fn.scale * len(c)

    fn.scale = 1
    before = fingerprint(fn)
    fn.scale = 2
    assert fingerprint(fn) != before


def test_methods():
    class Model:
        def __init__(self, k):
            self.k = k

        def utility(self, c):
            return self.k * len(c)

        def other(self, c):
            return self.k * len(c)

    assert same(Model(1).utility, Model(1).utility)
    assert distinct(Model(1).utility, Model(2).utility, Model(1))
    model = Model(1)
    model.hook = model.utility
    assert len(fingerprint(model)) == 40


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


def test_a_function_of_a_library_that_holds_one_of_ours():
    def fn(c):
        return 1.0

    def other(c):
        return 2.0

    # The inner function of a library's decorator is the library's name and its closure.
    wrap = functools.partial(functools.singledispatchmethod, fn)
    assert distinct(np.vectorize(fn), np.vectorize(other), wrap)
    assert distinct(np.errstate()(fn), np.errstate()(other), np.errstate(all="ignore")(fn))
    assert same(np.errstate()(fn), np.errstate()(fn))


@pytest.fixture
def helper_module(tmp_path, monkeypatch):
    """Writes and loads a module of the user, called `user_helpers`."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(source):
        for name in [name for name in sys.modules if name.startswith("user_helpers")]:
            del sys.modules[name]
        package = tmp_path / "user_helpers"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("from user_helpers import scores\n")
        (package / "scores.py").write_text(source)
        cache = package / "__pycache__"
        for file in cache.glob("*") if cache.exists() else ():
            file.unlink()
        importlib.invalidate_caches()

    yield write
    for name in [name for name in sys.modules if name.startswith("user_helpers")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "source",
    [
        "import user_helpers.scores\ndef fn(c): return user_helpers.scores.score(c)",
        "from user_helpers import scores\ndef fn(c): return scores.score(c)",
        "from user_helpers.scores import score\ndef fn(c): return score(c)",
        "def fn(c):\n    import user_helpers.scores as s\n    return s.score(c)",
        "def fn(c):\n    from user_helpers.scores import score\n    return score(c)",
        "def fn(c):\n    from user_helpers import scores\n    return scores.score(c)",
    ],
)
def test_the_users_own_modules_are_followed(helper_module, source):
    module = "def score(c): return factor * len(c)\nfactor = 1\ndef unused(): return {}\n"
    found = []
    for text in (module.format(1), module.format(2), module.replace("= 1", "= 3").format(1)):
        helper_module(text)
        fn = define(source)
        found.append(fingerprint(fn))
        fn((0,))
        assert fingerprint(fn) == found[-1]
    assert found[0] == found[1] != found[2]


def test_a_missing_import_is_no_error():
    assert len(fingerprint(define("def fn(c):\n    import no_such_module_x"))) == 40
    assert len(fingerprint(define("def fn(c):\n    from . import no_such_module_x"))) == 40


def test_loggers_are_their_name():
    source = "def fn(c): log.info(c)"
    one, other = (define(source, log=logging.getLogger(name)) for name in ("a.b", "a.c"))
    before = fingerprint(one)
    logging.getLogger("a.b").isEnabledFor(10)
    assert fingerprint(one) == before != fingerprint(other)


# --- objects and classes ----------------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("factor = 2", "factor = 3"),
        ("* k", "+ k"),
        ("x / 2", "x / 3"),
        ("cls([1])", "cls([2])"),
        ("len(self.data)", "len(self.data) + 1"),
        ("axis=1", "axis=0"),
        ("n_players = 3", "n_players = 4"),
    ],
)
def test_a_change_of_a_class_changes_the_fingerprint(old, new):
    assert old in CLASS
    one, again, other = define(CLASS), define(CLASS), define(CLASS.replace(old, new))
    assert same(one([1]), again([1]))
    assert distinct(one([1]), other([1]), one([2]))


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    names: tuple[str, ...] = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    rate: float


def test_dataclasses():
    assert same(Settings(0.1, ("a",)), Settings(0.1, ("a",)))
    assert distinct(Settings(0.1), Settings(0.2), Settings(0.1, ("a",)), Slotted(0.1), Slotted(0.2))


class Lazy:
    """A game with a cached property, and one that keeps a cache by hand."""

    n_players = 2

    def __init__(self, weights):
        self.weights = np.array(weights)
        self._cache = {}

    @functools.cached_property
    def total(self):
        return self.weights.sum()

    def __fingerprint_state__(self):
        return self.weights

    def __call__(self, coalitions):
        self._cache[len(coalitions)] = self.total
        return coalitions @ self.weights


@pytest.mark.parametrize(
    "make",
    [
        lambda k: Lazy([1.0, k]),
        lambda k: Additive([1.0, k]),
        lambda k: WeightedVoting([4, 3, int(k)], 5),
        lambda k: PlantedGame(6, seed=int(k)),
        lambda k: TableGame([0.0, 1.0, 2.0, k]),
        lambda k: FunctionGame(lambda c: k * len(c), 2),
        lambda k: Affine(Additive([1.0, 2.0]), scale=k),
        lambda k: LinearCombination([WeightedVoting([2, 1, 1], 3), Additive([k, 1, 2])]),
    ],
)
def test_using_a_game_does_not_change_its_fingerprint(make):
    game = make(2.0)
    before = fingerprint(game)
    for _ in range(20):  # Python specialises byte code that runs often.
        game(np.ones((2, game.n_players), dtype=bool))
    getattr(game, "shapley_values", None)
    getattr(game, "total", None)
    assert fingerprint(game) == before == fingerprint(make(2.0))
    assert before != fingerprint(make(3.0))


def test_cached_properties_are_left_out_without_a_hook():
    class Game:
        def __init__(self, k):
            self.k = k

        @functools.cached_property
        def double(self):
            return 2 * self.k

    game = Game(1)
    before = fingerprint(game)
    assert game.double == 2
    assert fingerprint(game) == before != fingerprint(Game(2))


def test_labels_of_plain_games_do_not_count():
    assert same(TableGame([0, 1]), TableGame([0, 1], player_names=["a"]))
    assert same(FunctionGame(len, 2), FunctionGame(len, 2, value_range=(0, 2), player_names="ab"))
    assert distinct(FunctionGame(len, 2), FunctionGame(len, 3))


def test_a_key_stands_for_the_function():
    assert same(FunctionGame(len, 3, key="size"), FunctionGame(lambda c: len(c), 3, key="size"))
    assert distinct(
        FunctionGame(len, 3, key="size"),
        FunctionGame(len, 3, key="other"),
        FunctionGame(len, 4, key="size"),
        FunctionGame(len, 3),
    )


def test_a_fingerprint_attribute_stands_for_the_object():
    class Remote:
        def __init__(self, name):
            self.fingerprint, self.connection = name, threading.Lock()

    assert same(Remote("a"), Remote("a"))
    assert distinct(Remote("a"), Remote("b"), [Remote("a")])


# --- refusals ---------------------------------------------------------------------------------


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
}


@pytest.mark.parametrize("name", UNHASHABLE)
def test_what_cannot_be_hashed_is_named(name):
    thing = UNHASHABLE[name]()

    def fn(c):
        return thing

    with pytest.raises(FingerprintError, match=r"game\.fn closure variable 'thing'") as raised:
        fingerprint(FunctionGame(fn, 2))
    assert "`key=`" in str(raised.value)
    assert "`fingerprint` attribute" in str(raised.value)


def test_open_files_and_sockets_are_refused(tmp_path):
    with (tmp_path / "file").open("w") as file, socket.socket() as connection:
        for thing in (file, connection):
            with pytest.raises(FingerprintError, match=re.escape("game['deep'][1] is of type")):
                fingerprint({"deep": [0, thing]})


def test_paths_name_globals_defaults_attributes_and_members():
    lock = threading.Lock()

    class Holder:
        def __init__(self, lock):
            self.inner = types.SimpleNamespace(lock=lock)

    class Bad:
        shared = lock

    source = "def fn(c): return helper(c)\ndef helper(c): return connection"
    for obj, path in [
        (define(source, connection=lock), "game global 'helper' global 'connection'"),
        (define("def fn(c, k=lock): pass", lock=lock), "game default argument[0][0]"),
        (Holder(lock), "game.inner.lock"),
        (Bad(), "game of class Bad.shared"),
        ({1, lock}, "a member of game"),
        (np.array([1, lock]), "game[1]"),
        (functools.partial(len, lock), "game"),
    ]:
        with pytest.raises(FingerprintError, match=re.escape(f"{path}")) as raised:
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
