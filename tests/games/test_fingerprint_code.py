"""Fingerprints of functions and classes, and of the modules that they use."""

import logging
import math
import re

import numpy as np
import pytest
import scipy.sparse
import scipy.special
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC

from fairshapley.games import (
    fingerprint,
)
from tests.games.fingerprint_samples import define, distinct, same

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
