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


@pytest.fixture(scope="module")
def several():
    return fs.explain(
        lambda x: np.stack([x[:, 0], -x[:, 1]], axis=1), ROWS[:, :3], 4, rows=[5], outputs="all",
        output_names=["<yes>", "no"],
    )  # fmt: skip


def test_a_notebook_shows_a_table_of_what_matters_most(found):
    view = found._repr_html_()
    assert view.count("<tr>") == 11  # a head and ten rows
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


def test_a_notebook_shows_words_on_their_colours():
    texts = ["a good <b>film</b>", "bad"]
    found = fs.explain(lambda many: [one.count("good") - one.count("bad") for one in many], texts)
    view = found._repr_html_()
    assert 'title="+1" style="background:rgba(0,114,178,0.60)"><bdi>good</bdi>' in view
    assert 'title="-1" style="background:rgba(230,159,0,0.60)"><bdi>bad</bdi>' in view
    assert "<b>" not in view


def test_a_notebook_shows_each_output(several):
    view = several._repr_html_()
    assert view.count("<table") == 2
    assert "output &lt;yes&gt;" in view
