"""Figures: what the artists hold, on axes of one's own or new ones; nothing is ever shown."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import t as student

import fairshapley as fs
from fairshapley.fairness.guarantees import lower_fidelity
from fairshapley.results.plots.canvas import literal

mpl.use("Agg")

NAMES = tuple(f"${player}$ <b>" for player in range(12))


@pytest.fixture(autouse=True)
def _nothing_is_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    game = fs.games.SumOfUnanimity(12, seed=1)
    game.player_names = NAMES
    return fs.estimate(game, "mc", budget=600, seed=0)


def bars(axes):
    """Values and half-widths of an error bar plot."""
    (container,) = axes.containers
    (lines,) = container[2]
    ends = np.array(lines.get_segments())[:, :, 0]
    return np.asarray(container[0].get_xdata()), (ends[:, 1] - ends[:, 0]) / 2


def labels(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("kind", ["values", "fidelity", "convergence"])
def test_axes_are_taken_and_returned(run, kind):
    axes = plt.subplots()[1]
    assert run.plot(kind, axes) is axes
    before = plt.get_fignums()
    own = run.plot(kind)
    assert len(plt.get_fignums()) == len(before) + 1
    assert own.figure.get_layout_engine() is not None  # constrained
    own.figure.canvas.draw()
    with pytest.raises(fs.InputError, match="one of plt"):
        run.plot(kind, own.figure)


def test_values_are_sorted_with_their_own_intervals(run):
    axes = run.plot()
    order = np.argsort(-run.values, kind="stable")
    values, widths = bars(axes)
    np.testing.assert_allclose(values, run.values[order])
    single = run.findings(delta=0.1).single_widths(0.1)
    np.testing.assert_allclose(widths, single[order])
    # Rare and skewed contributions widen them beyond Student's t.
    assert (widths >= student.isf(0.05, run.counts[order] - 1) * run.standard_errors[order]).all()
    assert labels(axes) == [rf"\${player}\$ <b>" for player in order]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the highest on top
    assert axes.get_xlabel() == "Shapley value, 90 % intervals each on its own"
    doubtful = altered(run, obstacle="the method chose its samples").plot()
    assert doubtful.get_xlabel() == (
        "Shapley value, ± 1 standard error\nno intervals: the method chose its samples"
    )
    np.testing.assert_allclose(bars(doubtful)[1], run.standard_errors[order])


def test_simultaneous_intervals_are_those_of_the_certificate(run):
    axes = run.plot(simultaneous=True, delta=0.05)
    order = np.argsort(-run.values, kind="stable")
    widths = run.certificate(0.5, 0.05).half_widths
    np.testing.assert_allclose(bars(axes)[1], widths[order])
    assert "95 % intervals all together" in axes.get_xlabel()


def test_of_many_players_the_highest_and_the_lowest_are_drawn(run):
    axes = run.plot(most=5)
    order = np.argsort(-run.values, kind="stable")
    np.testing.assert_allclose(bars(axes)[0], run.values[[*order[:3], *order[-2:]]])
    assert "highest and lowest 5 of 12 players" in axes.get_xlabel()


def altered(run, **fields):
    return fs.Result.from_dict(run.to_dict() | fields)


def test_unknown_values_and_intervals_are_told_apart(run):
    values, counts = run.values.tolist(), run.counts.tolist()
    errors = run.standard_errors.tolist()
    values[3], errors[3], errors[4], counts[4] = "nan", "nan", "nan", 1
    changed = {"values": values, "standard_errors": errors, "counts": counts}
    axes = altered(run, **changed, complete=False, history=[]).plot()
    assert len(bars(axes)[0]) == 10
    hollow = [line for line in axes.get_lines() if line.get_fillstyle() == "none"]
    np.testing.assert_allclose(hollow[0].get_xdata(), [run.values[4]])
    assert "1 players have no value yet" in axes.get_xlabel()
    with pytest.raises(fs.InputError, match="no player has a value"):
        altered(run, values=["nan"] * 12, complete=False, history=[]).plot()


def test_exact_values_have_no_spread():
    exact = fs.exact(fs.games.Additive([1.0, -2.0]))
    values, widths = bars(exact.plot())
    np.testing.assert_array_equal(values, [1, -2])
    np.testing.assert_array_equal(widths, [0, 0])
    axes = exact.plot("fidelity")
    assert texts(axes)[0] == "infinite (proven)"
    assert len(axes.get_lines()[0].get_xdata()) == 2
    with pytest.raises(fs.InputError, match="the values are exact"):
        exact.plot("convergence")


def test_the_fidelity_profile_has_the_line_to_reach(run):
    axes = run.plot("fidelity", epsilon1=0.3, delta=0.2)
    scores, line = axes.get_lines()
    np.testing.assert_allclose(scores.get_ydata(), np.sort(run.fidelity()))
    needed = fs.fairness.required_fidelity(12, 0.3, 0.2, independent=False, bound="normal")
    assert line.get_ydata()[0] == pytest.approx(needed)
    assert axes.get_yscale() == "log"
    assert texts(axes)[-1] == "needed for ε1 = 0.3, δ = 0.2"
    unknown = altered(run, standard_errors=["nan", *run.standard_errors.tolist()[1:]])
    with pytest.raises(fs.InputError, match="1 players is not known"):
        unknown.plot("fidelity")


def test_convergence_ends_where_the_run_did(run):
    axes = run.plot("convergence")
    lowest, low = axes.get_lines()[:2]
    assert lowest.get_xdata()[-1] == run.evaluations
    assert lowest.get_ydata()[-1] == pytest.approx(run.min_fidelity)
    assert low.get_ydata()[-1] == pytest.approx(
        lower_fidelity(run.values, run.evidence.variances, run.xi).min()
    )
    with pytest.raises(fs.InputError, match="holds no history"):
        altered(run, history=()).plot("convergence")


def test_bad_input_is_refused(run):
    with pytest.raises(fs.InputError, match="'convergence'"):
        run.plot("pie")
    with pytest.raises(fs.InputError, match="at least 2"):
        run.plot(most=1)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("$x$", r"\$x\$"),
        ("a\nb\x00c", "a b⟨U+0000⟩c"),
        ("x" * 50, "x" * 39 + "…"),
        ("\u202ex", "⟨U+202E⟩x"),
    ],
)
def test_names_are_drawn_as_they_are(name, shown):
    assert literal(name) == shown
