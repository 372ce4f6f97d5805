"""Fingerprints of objects, models, games and code, in this process and in others."""

import dataclasses
import functools
import importlib
import logging
import math
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.special
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from fairshapley.errors import InputError
from fairshapley.games import Additive, FunctionGame, TableGame, fingerprint
from fairshapley.testing import Relabelled
from tests.games.fingerprint_samples import Tensor, define, distinct, same


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    names: tuple[str, ...] = ()


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
    "tensor": Tensor,
    "dataclass": lambda k: Settings(0.1 * k),
    "object": Model,
    "object with a cache": Cached,
    "method": lambda k: Model(k).__call__,
    "fingerprint attribute": Named,
    "closure": lambda k: lambda c: k * len(c),
    "recursive function": lambda k: define(
        "def make(k):\n  def f(c): return f(c - k)\n  return f\nfn = make(k)", k=k
    ),
    "attribute of a function": lambda k: define("def fn(c): return fn.k\nfn.k = k", k=k),
    "lru_cache": lambda k: functools.lru_cache(lambda c: k),
    "logistic regression": lambda k: LogisticRegression(C=k),
    "scorer": lambda k: make_scorer(accuracy_score, normalize=k == 1),
    "fitted forest": lambda k: fitted(RandomForestClassifier(2, random_state=0), k),
    "function game": lambda k: FunctionGame(lambda c: k * len(c), 2),
    "function game with a key": lambda k: FunctionGame(len, 2, key=str(k)),
    "relabelled": lambda k: Relabelled(Additive([k, 1.0]), [1, 0]),
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
    if name == "generator":
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


def test_a_fitted_model_of_neighbours_keeps_its_fingerprint_when_it_predicts():
    x, y = load_iris(return_X_y=True)
    for algorithm in ("kd_tree", "ball_tree"):
        model = KNeighborsClassifier(3, algorithm=algorithm).fit(x, y)
        before = fingerprint(FunctionGame(lambda s, model=model: float(len(s)), 3))
        model.predict(x)
        assert fingerprint(FunctionGame(lambda s, model=model: float(len(s)), 3)) == before
        other = KNeighborsClassifier(3, algorithm=algorithm).fit(x + (x == x[0]), y)
        assert fingerprint(FunctionGame(lambda s, model=other: float(len(s)), 3)) != before


# --- functions and classes ------------------------------------------------------------------------

FUNCTION = """
    def helper(c, power=2):
        return SCALE * len(c) ** power

    def fn(c, *, offset=0.5):
        return helper(c) + offset + sum(x for x in c if x in {1, 2}) + even(len(c))

    def even(k): return k == 0 or odd(k - 1)
    def odd(k): return k != 0 and even(k - 1)
"""
CHANGES = """
    offset=0.5 -> offset=0.25 | power=2 -> power=3 | SCALE * len -> SCALE + len | sum(x -> max(x
    return helper(c) + -> return helper(c) - | {1, 2} -> {1, 3} | if x in -> if x not in
    offset -> shift | k == 0 or -> k == 1 or
"""
NO_CHANGES = "def fn -> # Moved.NEWLINEdef fn | def fn(c, * -> def fn(c: tuple, *"
ALL_CHANGES = [
    (*change.strip().split(" -> "), counts)
    for text, counts in ((CHANGES, True), (NO_CHANGES, False))
    for change in re.split(r" \| |\n", text.strip())
]


def test_code_counts_but_not_its_place_and_annotations():
    before = define(FUNCTION, SCALE=1.0)
    for old, new, counts in ALL_CHANGES:
        assert old in FUNCTION
        changed = FUNCTION.replace(old, new.replace("NEWLINE", "\n    "))
        assert distinct(before, define(changed, SCALE=1.0)) == counts, old
    assert same(before, define(FUNCTION, SCALE=1.0))


def test_the_source_of_a_class_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file, prints = tmp_path / "a_module_of_games.py", []
    for factor in ("2", "2", "30"):
        file.write_text(f"class Game:\n    def __call__(self, rows): return {factor} * len(rows)\n")
        sys.modules.pop("a_module_of_games", None)
        prints.append(fingerprint(importlib.import_module("a_module_of_games").Game()))
    assert prints[0] == prints[1] != prints[2]


def test_a_change_of_a_global_changes_the_fingerprint():
    assert distinct(define(FUNCTION, SCALE=1.0), define(FUNCTION, SCALE=2.0), define(FUNCTION))
    assert same(define(FUNCTION, SCALE=1.0), define(FUNCTION, SCALE=1.0, OTHER=3))


def test_a_lambda_is_the_same_wherever_it_stands():
    here, there = (lambda k: lambda c: k * len(c)), [lambda k: lambda c: k * len(c)]
    assert same(here(2), here(2), there[0](2))
    assert distinct(here(2), here(3), lambda c: 2 * len(c))


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


# --- processes --------------------------------------------------------------------------------

SCRIPT = """
import enum, functools, dataclasses
import numpy as np, pandas as pd
from random import random
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from fairshapley.games import *
from fairshapley.testing import PlantedGame, Relabelled

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
    Relabelled(Airport([1.0, 2.0]), [1, 0]),
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
