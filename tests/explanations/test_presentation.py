"""Explanations as people see them in a notebook."""

import dataclasses

import numpy as np
import pytest

import fairshapley as fs

ROWS = np.random.default_rng(0).normal(size=(24, 11))
NAMES = ["<script>x</script>", "a\u202eb", *(f"f{at}" for at in range(9))]


def predict(rows):
    return rows[:, 0] * rows[:, 1] + rows[:, 2]


@pytest.fixture(scope="module")
def found():
    return fs.explain(predict, ROWS, 6, feature_names=NAMES, budget=60, seed=0)


def test_a_notebook_shows_the_sentences_escaped(found):
    view = found._repr_html_()
    assert view.count("<br>") == 12  # ten rows, those left out, the means, and what ± is
    assert "&lt;script&gt;" in view
    assert "<script>" not in view
    assert "⟨U+202E⟩" in view
    assert "… 14 more rows" in view
    assert "±" in view
    assert found._repr_html_() == view


def test_rounding_is_shown_as_nothing(found):
    nothing = np.full_like(found.values, 1e-17)
    shown = dataclasses.replace(found, values=nothing, standard_errors=nothing + 0.003)
    assert "f0 +0 ± 0.003" in str(shown)
