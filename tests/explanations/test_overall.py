"""What matters in all rows, and the plots."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fairshapley as fs

ROWS = np.random.default_rng(3).normal(size=(200, 12))
WEIGHTS = np.array([3.0, 2.0, 1.0] + [0.05] * 9)


def bent(rows):
    return rows @ WEIGHTS + 0.3 * rows[:, 0] * rows[:, 1]


@pytest.fixture(scope="module")
def found():
    return fs.explain(bent, ROWS, 20, rows=range(60), budget=100, seed=0)


# --- all rows -----------------------------------------------------------------------------------


def test_importance_has_the_errors_of_rows_and_coalitions(found):
    overall = found.overall()
    assert_allclose(overall.values, np.abs(found.values).mean(axis=0))
    rows_alone = np.abs(found.values).std(axis=0, ddof=1) / np.sqrt(60)
    assert (overall.standard_errors >= rows_alone).all()
    top = overall.decisions().top(3)
    assert top.settled
    assert sorted(top.certain) == [0, 1, 2]
    assert overall.decided(top=3)
    with pytest.raises(fs.InputError, match="at least two rows"):
        fs.explain(bent, ROWS, 5, rows=0, budget=60).overall()


# --- plots --------------------------------------------------------------------------------------


@pytest.fixture
def plt():
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed").use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_a_waterfall_ends_at_the_prediction(found, plt):
    axes = found.plot("waterfall", row=4, most=5)
    first = axes.patches[0]
    assert first.get_x() + first.get_width() == pytest.approx(found.predictions[4], abs=1e-9)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert len(labels) == 6
    assert labels[-1].startswith("7 others")
    assert any(label.startswith("x0 = ") for label in labels)


def test_bars_and_bees_show_all_rows(found, plt):
    bees = found.plot(most=3)
    assert len(bees.collections) == 3
    assert len(bees.collections[0].get_offsets()) == 60
    bars = found.plot("bar", axes=plt.subplots()[1])
    assert bars.get_yticklabels()[0].get_text() == "x0"
    assert bars.get_xlabel().startswith("mean |value| over the rows, 90 %")
    with pytest.raises(fs.InputError, match="row must be a whole number from -60 to 59, not 60"):
        found.plot("waterfall", row=60)
    with pytest.raises(fs.InputError, match="'waterfall', 'beeswarm', 'bar', not 'pie'"):
        found.plot("pie")


def test_outputs_are_chosen_for_a_plot(plt):
    both = fs.explain(lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1), ROWS[:, :2], 5, rows=[0, 1],
                      outputs="all")  # fmt: skip
    down = both.plot("waterfall", output=1).patches[0].get_width()
    assert both.plot("waterfall", output=0).patches[0].get_width() == pytest.approx(-down)
    with pytest.raises(fs.InputError, match="say which one"):
        both.plot()


def test_texts_are_drawn(plt):
    texts = fs.explain(lambda texts: [text.count("good") for text in texts], ["very $good$ film"])
    shown = [text.get_text() for text in texts.plot().texts]
    assert len(shown) == 3
    assert "\\$good" in shown[1]
