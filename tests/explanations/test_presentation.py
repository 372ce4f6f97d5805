"""Explanations as people see them: in a notebook, and as a page of their own."""

import base64
import dataclasses
import html
import re

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


@pytest.fixture(scope="module")
def pages():
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
    pytest.importorskip("jinja2", reason="the extra 'report' is not installed")


def pictures(page):
    coded = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    return [base64.b64decode(one).decode() for one in coded]


def test_a_page_has_all_rows_and_each_with_its_numbers(found, pages, tmp_path):
    path = found.report(tmp_path / "page.html", title="Loans & <b>")
    page = path.read_text(encoding="utf-8")
    drawn = pictures(page)
    assert len(drawn) == 2 + 20
    assert all(one.startswith("<?xml") for one in drawn)
    assert "Loans &amp; &lt;b&gt;" in page
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page
    assert "4 more rows were explained" in page
    assert "Absent features were replaced by kind=" in page
    assert "with 6 background rows drawn from X." in page
    assert page.count("⟨U+202E⟩") > 20
    sentence = str(found).splitlines()[1].removeprefix("row 0: ")
    assert html.escape(sentence).replace("± ", "±\u00a0") in page


def test_pages_of_outputs_and_texts(several, pages):
    page = several.to_html()
    assert "output <bdi>&lt;yes&gt;</bdi>" in page
    assert len(pictures(page)) == 2
    texts = fs.explain(lambda many: [one.count("good") for one in many], ["good <i>", "so good"])
    assert len(pictures(texts.to_html())) == 2
    assert "<i>" not in texts.to_html()


def test_pictures_of_the_same_values_have_the_same_bytes(several, pages):
    first, again = (pictures(several.to_html()) for _ in range(2))
    assert first == again
