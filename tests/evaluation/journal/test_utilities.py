"""Utilities come back as they were written, each coalition with its first one."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.journal.files import keys_of

from fairshapley.errors import JournalError
from fairshapley.evaluation import journal
from fairshapley.evaluation.journal import Journal


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)))
def test_every_finite_value_comes_back_to_the_bit(values):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        keys = [index.to_bytes(2, "little") for index in range(len(values))]
        with Journal(path) as journal:
            game = journal.open_game("a", 16)
            journal.append(game, keys, values)
            live = journal.lookup(game, keys)
        with Journal(path) as journal:
            assert journal.lookup(journal.open_game("a", 16), keys) == live
            stored = [live[key] for key in keys]
            assert np.array(stored).tobytes() == np.array(values, dtype=float).tobytes()


def test_a_long_lookup_finds_exactly_what_is_there(tmp_path):
    keys = keys_of(100_000)
    known, unknown = keys[:70_000], keys[70_000:]
    values = np.random.default_rng(1).normal(size=len(known)).tolist()
    truth = dict(zip(known, values, strict=True))
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 100)
        for start in range(0, len(known), 6_600):
            journal.append(game, known[start : start + 6_600], values[start : start + 6_600])
            if start == 33_000:  # so that there are rows before and after the first look
                assert journal.lookup(game, known[:9]) == dict(list(truth.items())[:9])
        assert journal.lookup(game, keys) == truth
        assert journal.lookup(game, unknown) == {}
        assert journal.count(game) == len(known)
    with Journal(tmp_path / "j") as journal:
        assert journal.lookup(journal.open_game("a", 100), keys) == truth


def test_the_first_value_of_a_coalition_stays(tmp_path):
    key = b"\x01"
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append(game, [key, key], [1.0, 2.0])
        journal.append(game, [key], [3.0])
        assert journal.lookup(game, [key]) == {key: 1.0}
        journal.append(game, [key, b"\x02"], [4.0, 5.0])
        assert journal.count(game) == 2
        assert journal.lookup(game, [key, b"\x02"]) == {key: 1.0, b"\x02": 5.0}
        assert journal.count(game) == 2


def test_a_batch_is_written_whole_or_not_at_all(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        for wrong in ([1.0], [1.0, float("nan")], [float("inf"), 1.0]):
            with pytest.raises(JournalError, match="finite utility for each coalition"):
                journal.append(game, [b"\x01", b"\x02"], wrong)
        assert journal.count(game) == 0
        assert journal.lookup(game, [b"\x01"]) == {}


@pytest.mark.parametrize("size", [1, 7, 60])
def test_a_sample_is_uniform_over_coalitions(tmp_path, size):
    keys = [bytes([0, i]) for i in range(50)] + [bytes([200, i]) for i in range(10)]
    with Journal(tmp_path / "j", shared=True) as journal:
        journal.append(journal.open_game("other", 16), keys[:7], [-1.0] * 7)
        game = journal.open_game("a", 16)
        for start in range(0, 60, size):
            part = slice(start, start + size)
            journal.append(game, keys[part], np.arange(60.0)[part])
        journal.append(game, keys[20:40], [99.0] * 20)  # of another writer, and later
        rng = np.random.default_rng(0)
        hits = np.zeros(60)
        for _ in range(600):
            rows = journal.sample(game, 6, rng)
            assert len({key for key, _ in rows}) == 6
            assert all(keys[int(value)] == key for key, value in rows)
            hits[[int(value) for _, value in rows]] += 1
        # Binomial(600, 0.1): 5 standard deviations for 60 rows, false alarm below 1e-4.
        assert np.abs(hits - 60).max() < 5 * np.sqrt(600 * 0.1 * 0.9)
        assert sorted(journal.sample(game, 99, rng)) == sorted(
            (key, float(index)) for index, key in enumerate(keys)
        )


def test_failures_are_kept_apart_from_values(tmp_path):
    with Journal(tmp_path / "j") as journal:
        game = journal.open_game("a", 3)
        journal.append_failure(game, b"\x01", "first")
        journal.append_failure(game, b"\x01", "singular \udcff matrix")
        assert journal.failures(game) == {b"\x01": "singular \\udcff matrix"}
        assert journal.failures(game + 1) == {}
        assert journal.lookup(game, [b"\x01"]) == {}
        journal.append(game, [b"\x01"], [1.0])
        assert journal.lookup(game, [b"\x01"]) == {b"\x01": 1.0}
        assert journal.failures(game) == {}, "it has a utility by now"


def test_statements_hold_no_numbered_placeholders():
    """Python 3.12 warns of ``?1`` with a sequence of arguments, and Python 3.14 refuses it."""
    statements = [text for text in vars(journal).values() if isinstance(text, str)]
    assert any("?" in text for text in statements)
    assert not [text for text in statements if re.search(r"\?\d", text)]
