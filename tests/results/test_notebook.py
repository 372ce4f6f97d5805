"""Notebooks: tables that are escaped and short, and a real kernel that shows them."""

import html
import sys
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import fairshapley as fs
from fairshapley._basics.text import escaped

HOSTILE = "<script>alert(1)</script>"


class Outline(HTMLParser):
    """The tags and the texts of a page; complains of tags that are not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def run():
    game = fs.games.SumOfUnanimity(12, seed=1)
    game.player_names = [HOSTILE, *"abcdefghijk"]
    return fs.estimate(game, "mc", budget=300, seed=0)


def shown(thing):
    page = thing._repr_html_()
    outline = Outline(page)
    assert "script" not in outline.tags
    # The colours of the theme, light or dark, and no others.
    assert "color" not in page.replace("color:inherit", "")
    assert "background" not in page
    return outline


def test_a_result(run):
    outline = shown(run)
    assert HOSTILE in outline.texts
    assert outline.texts[0] == str(run).splitlines()[0]
    assert outline.tags.count("tr") == 1 + 12
    best = int(np.argmax(run.values))
    row = outline.texts.index(run.names()[best])
    assert outline.texts[row + 1] == f"{run.values[best]:+.5g}"


def test_long_tables_are_cut_in_the_middle():
    large = fs.estimate(fs.games.Additive(np.arange(100.0)), "mc", budget=300, seed=0)
    outline = shown(large)
    assert outline.tags.count("tr") == 1 + 10 + 1 + 5
    assert "85 more" in outline.texts
    assert {"99", "90", "4", "0"} <= set(outline.texts)
    assert "89" not in outline.texts


def test_certificates(run):
    broken = shown(run.certificate(0.01, 0.1))
    assert broken.texts[0].startswith("Not certified: ε1 = 0.01, δ = 0.1")
    assert "What holds instead, with a probability of at least 0.9" in " ".join(broken.texts)
    worst = run.names()[run.certificate(0.01, 0.1).worst_players[0]]
    assert f"“{worst}” is known to" in " ".join(broken.texts)
    exact = fs.exact(fs.games.Additive([1.0, 2.0]))
    assert shown(exact.certificate(0.5, 0.1)).texts[0] == "Exact"
    nothing = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "gae", budget=300, seed=0)
    assert "table" not in shown(nothing.certificate(0.5, 0.1)).tags


def test_guarantee_comparison_and_payout(run):
    assert "minimum fidelity" in " ".join(shown(run.guarantee(0.5)).texts)
    methods = {HOSTILE: "mc", "b": "sobol"}
    comparison = fs.compare(fs.games.SumOfUnanimity(12, seed=1), methods, budgets=300, repeats=2)
    assert HOSTILE in shown(comparison).texts
    payout = run.payout(1000)
    outline = shown(payout)
    assert f"{max(payout.amounts):,f}" in outline.texts
    assert HOSTILE in outline.texts


def test_names_do_not_turn_or_break_the_table():
    assert escaped("\u202eabc\x00") == "<bdi>⟨U+202E⟩abc⟨U+0000⟩</bdi>"
    assert html.unescape(escaped("x" * 100)) == f"<bdi>{'x' * 79}…</bdi>"


CELL = """
import time
import fairshapley as fs
game = fs.games.FunctionGame(
    lambda s: time.sleep(0.001) or float(len(s) ** 1.5), 12, player_names=["<b>", *"abcdefghijk"]
)
fs.estimate(game, "mc", budget=200, seed=0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asyncio's loop there is not the kernel's")
def test_a_kernel_shows_progress_and_result(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    *lines, result = book.cells[0].outputs  # one stream, which comes in pieces
    assert {line.output_type for line in lines} == {"stream"}
    written = "".join(line.text for line in lines)
    assert "evaluations · " in written
    assert "min fidelity" in written  # written over since the start
    assert "\n" not in written
    assert result.output_type == "execute_result"
    assert "<table" in result.data["text/html"]
    assert "&lt;b&gt;" in result.data["text/html"]
