"""The referee in its smallest form: a made-up table, methods of known quality, no peers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.referee import board, pages, process, report, runner, scores
from benchmarks.referee import methods as contenders
from benchmarks.referee.games import TABLES, Glove, SpanningTree, tables
from benchmarks.referee.methods import CONTROL, DEFAULT
from benchmarks.referee.voting import WeightedVoting
from scipy.sparse.csgraph import minimum_spanning_tree

import fairshapley as fs
from benchmarks import judging


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Three games of ten players: sums of unanimity games."""
    folder = tmp_path_factory.mktemp("games")
    masks = np.arange(1 << 10)[:, None] >> np.arange(10) & 1 == 1
    rows = [fs.games.SumOfUnanimity(10, n_terms=12, seed=seed)(masks) for seed in range(3)]
    np.savez(folder / "small-10.npz", utilities=np.array(rows))
    return tables(folder)


@pytest.fixture(scope="module")
def kept(families, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    plan = runner.Plan((DEFAULT, CONTROL, "mc"), repeats=5, limit=60, budgets=(10.0,), kept=folder)
    runner.run(families, plan)
    return folder


def test_tables_have_exact_truths(families):
    (family,) = families
    played = family.load()
    assert (family.name, family.part, len(played)) == ("small-10", TABLES, 3)
    truth = fs.games.SumOfUnanimity(10, n_terms=12, seed=1).shapley_values
    np.testing.assert_allclose(played[1].truth, truth)
    assert played[0].budget(3.2) == 32
    assert played[0].budget(60) is None  # more than half of all coalitions


def test_a_small_contest(families, kept):
    board, _ = scores.collect(families, contenders.methods(), kept=kept)
    found = {one.method: one for one in scores.scores(board)}
    assert found.keys() == {DEFAULT, "mc"}
    assert [found[name].runs for name in found] == [15, 15]
    assert all(0.8 < one.spent <= 1 for one in found.values())
    # Walks are several times worse on such games.
    assert found["mc"].worse
    assert not found["mc"].better
    low, high = np.exp(found["mc"].ratio.interval())
    assert 1.5 < low < found["mc"].mse / found[DEFAULT].mse < high


def test_kept_runs_are_not_repeated_unless_the_code_changed(families, kept, monkeypatch):
    def forbidden(*_):
        raise AssertionError("run again")

    monkeypatch.setattr(runner, "_one", forbidden)
    plan = runner.Plan((DEFAULT, "mc"), repeats=5, limit=60, budgets=(10.0,), kept=kept)
    runner.run(families, plan)
    with pytest.raises(AssertionError, match="run again"):
        runner.run(families, replace(plan, repeats=6))
    method = contenders.methods()["mc"]
    assert len(runner.Store(kept, "small-10", method).runs) == 15
    assert not runner.Store(kept, "small-10", replace(method, version="another")).runs


def test_a_run_that_was_cut_short_is_run_again(tmp_path):
    method = contenders.methods()["mc"]
    store = runner.Store(tmp_path, "family", method)
    store.add(runner.Run(method.version, "game", 10.0, 0, 100, 0.1, (1.0, 2.0)))
    store.add(runner.Run(method.version, "game", 10.0, 1, 100, 0.1, (1.0, 2.0)))
    text = store.path.read_text()
    store.path.write_text(text[:-20])
    assert list(runner.Store(tmp_path, "family", method).runs) == [("game", 10.0, 0)]


def test_who_spends_more_than_allowed_is_left_out(families):
    played = families[0].load()[0]

    def greedy(task):
        values = np.zeros(10)
        return contenders.Outcome(values, None, None, task.budget + 1, 0.0)

    run = runner._one(played, 10.0, 100, 0, greedy, "1")
    assert run.left_out == "spends 101 evaluations of 100"
    assert not run.values


def made_up(rng, *, factor=1.0, games=20, repeats=10, shared=None):
    """Errors of a method of known quality: each seed of each game has luck of its own."""
    squares = {}
    for game in range(games):
        noise = rng.normal(size=(repeats, 8)) if shared is None else shared[str(game)]
        squares[str(game)] = factor * np.square(noise)
    return scores.Trials(squares, dict.fromkeys(squares, 1.0), 1.0, 0.0)


def test_controls_find_what_is_to_be_found():
    """A method made a tenth worse is found out, a copy is not; with fixed seeds."""
    rng = np.random.default_rng(1)
    board = {
        ("family", float(per)): {
            DEFAULT: made_up(rng, games=40),
            CONTROL: made_up(rng, games=40),
        }
        for per in range(4)
    }
    copy, worse, scaled = scores.controls(board)
    assert not copy.expected
    assert copy.passed
    assert worse.expected
    assert worse.passed
    assert scaled.passed
    assert np.exp(scaled.ratio.mean) == pytest.approx(1.1)
    low, high = np.exp(worse.ratio.interval())
    assert low < 1.1 < high


def test_copies_are_told_apart_as_rarely_as_promised():
    """Of 200 pairs of equal methods 5 % have p < 0.05; more than 21 have a chance below 0.1 %."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(200):
        ratio = scores.ratio(made_up(rng, games=4, repeats=3), made_up(rng, games=4, repeats=3))
        alarms += ratio.p_value < 0.05
    assert alarms <= 21


def test_holm_against_a_plain_loop():
    p = [0.001, 0.2, 0.012, 0.03, 0.9]
    expected, worst = {}, 0.0
    for rank, index in enumerate(np.argsort(p)):
        worst = max(worst, min(1.0, p[index] * (len(p) - rank)))
        expected[int(index)] = worst
    np.testing.assert_allclose(judging.holm(p), [expected[i] for i in range(len(p))])


def test_verdicts_are_corrected_for_all_comparisons():
    """Sixty copies of the default: none is called better or worse."""
    rng = np.random.default_rng(2)
    names = [f"copy {number}" for number in range(60)]
    trials = {name: made_up(rng, games=4, repeats=4) for name in (DEFAULT, *names)}
    found = scores.scores({("family", 10.0): trials})
    raw = [scores.ratio(trials[name], trials[DEFAULT]).p_value for name in names]
    corrected = [one.p_value for one in found if one.method != DEFAULT]
    np.testing.assert_allclose(corrected, judging.holm(raw))
    assert not any(one.better or one.worse for one in found)


def test_the_audited_minimum_is_that_of_an_audit():
    game = fs.games.SumOfUnanimity(8, n_terms=12, seed=1)
    audit = fs.audit(game, "mc", budget=100, repeats=40, xi=0.05)
    squares = np.square(audit.values - audit.truth)
    found = judging.audited(squares, audit.truth, 0.05)
    assert np.exp(found.mean) == pytest.approx(audit.min_true_fidelity)
    relative = audit.min_true_fidelity_error / audit.min_true_fidelity
    assert found.error == pytest.approx(relative, rel=0.25)
    half = judging.compare_audited(4 * squares, squares, audit.truth, 0.05)
    assert np.exp(half.mean) == pytest.approx(0.25)
    assert half.error == pytest.approx(0)


def test_the_report(families, kept, tmp_path):
    """Pages get the parts between their markers, and keep the rest."""
    (tmp_path / "benchmarks" / "referee").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    page = f"# Methods\n\n{pages.BEGIN}\nold\n{pages.END}\n\nafter\n"
    (tmp_path / "docs" / "methods.md").write_text(page)
    report.main(families, kept=kept, root=tmp_path)
    results = (tmp_path / "benchmarks" / "referee" / "RESULTS.md").read_text()
    assert "## Controls" in results
    assert "| small-10 |" in results
    assert (tmp_path / "benchmarks" / "referee" / "tables.png").stat().st_size > 1000
    lines = (tmp_path / "benchmarks" / "referee" / "results.csv").read_text().splitlines()
    assert lines[0] == ",".join(report.COLUMNS)
    assert len(lines) == 3
    methods_page = (tmp_path / "docs" / "methods.md").read_text()
    assert "old" not in methods_page
    assert "| small-10 | default |" in methods_page
    assert methods_page.startswith("# Methods\n")
    assert methods_page.endswith("\nafter\n")


def test_the_board_has_all_results_and_an_estimator_of_ones_own(families, tmp_path, monkeypatch):
    """It is one file; an estimator stands on it with a ratio to the default on the same runs."""
    (tmp_path / "board_own.py").write_text("import fairshapley as fs\nwalks = fs.MonteCarlo()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(board, "families", lambda: families)
    out = tmp_path / "board.html"
    given = ["--own", "board_own:walks", "--repeats", "3", "--budgets", "10", "--out", str(out)]
    board.main(given)
    text = out.read_text(encoding="utf-8")
    shown = json.loads(text.partition("const rows = ")[2].partition(";\n")[0])
    (mine,) = [row for row in shown if row[:4] == ["board_own:walks", "yours", "small-10", 10.0]]
    assert mine[6] < mine[5] < mine[7]
    assert mine[5] > 1.5
    written = (board.HERE / "results.csv").read_text(encoding="utf-8").splitlines()
    averages = [row for row in shown if row[2].startswith(board.ALL)]
    assert len(shown) == len(written) - 1 + 1 + len(averages)
    assert "http" not in text.partition("<body>")[2]


def test_the_process_spends_its_budget_and_finds_an_additive_game():
    weights = np.array([1.0, 2.0, -1.0, 0.5, 3.0, 0.0])
    asked = []

    class Weights:
        n_players = 6

        def __call__(self, coalitions):
            asked.extend(row.tobytes() for row in coalitions)
            return coalitions @ weights

    values = process.estimate(Weights(), 21, seed=0)
    assert len(set(asked)) == len(asked) == 20
    np.testing.assert_allclose(values, weights, atol=1e-3)


def test_gloves_and_spanning_trees():
    glove = Glove(3, 4)
    np.testing.assert_allclose(glove.shapley_values, fs.exact(glove).values)
    tree = SpanningTree(7, seed=0)
    rows = np.random.default_rng(0).random((20, 7)) < 0.5
    for row, length in zip(rows, tree(rows), strict=True):
        places = np.append(row, True)
        plain = minimum_spanning_tree(tree.lengths[np.ix_(places, places)]).sum()
        assert length == pytest.approx(plain)


@pytest.mark.parametrize(
    ("weights", "quota", "power"),
    [
        ([3, 2, 1, 1], 4, [1 / 2, 1 / 6, 1 / 6, 1 / 6]),
        # The Council of the EEC of 1958, in which Luxembourg had no power.
        ([4, 4, 4, 2, 2, 1], 12, [14 / 60, 14 / 60, 14 / 60, 9 / 60, 9 / 60, 0]),
        # The UN Security Council: five vetoes of 7 votes, ten others of 1.
        ([7] * 5 + [1] * 10, 39, [421 / 2145] * 5 + [4 / 2145] * 10),
    ],
)
def test_the_power_of_voters(weights, quota, power):
    np.testing.assert_allclose(WeightedVoting(weights, quota).shapley_values, power, rtol=1e-12)
