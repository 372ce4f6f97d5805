"""The error of the test set: its size, its coverage, and where it is shown."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

import fairshapley as fs
from fairshapley.games.data.scoring import METRICS, TestGroups
from fairshapley.results.test_set import another_set, jackknife_errors

N_SUPPLIERS = 5


def draw(rng, n_rows, *, numbers=False):
    x = rng.normal(size=(n_rows, 3))
    score = x @ [1.0, 0.7, 0.0] + 0.8 * rng.normal(size=n_rows)
    return (x, score) if numbers else (x, (score > 0.5).astype(int))


def suppliers(seed=0, *, numbers=False):
    rng = np.random.default_rng(seed)
    x, y = draw(rng, 20 * N_SUPPLIERS, numbers=numbers)
    if not numbers:
        y[:20] = rng.integers(0, 2, 20)  # the first one guesses
    return x, y


def game(test, metric="accuracy", **options):
    numbers = metric in ("r2", "rmse", "mae", "neg_mse")
    model = LinearRegression() if numbers else LogisticRegression()
    groups = np.repeat(np.arange(N_SUPPLIERS), 20)
    return fs.games.DataGame(
        model, suppliers(numbers=numbers), test, metric, groups=groups, **options
    )


@pytest.mark.parametrize("metric", [*METRICS, "neg_log_loss", "balanced_accuracy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_replicates_are_the_utilities_without_each_group(metric, weighted):
    """As those of games on the test rows that are left."""
    rng = np.random.default_rng(1)
    numbers = metric in ("r2", "rmse", "mae", "neg_mse")
    x, y = draw(rng, 60, numbers=numbers)
    weights = rng.uniform(0.5, 2, 60) if weighted else None
    whole = game((x, y, weights), metric)
    coalitions = rng.random((8, N_SUPPLIERS)) < 0.6
    coalitions[0] = True
    found = whole.with_replicates(coalitions)
    np.testing.assert_allclose(found[:, 0], whole(coalitions), rtol=1e-12)
    groups = TestGroups.drawn(np.arange(60), N_SUPPLIERS, whole.n_replicates)
    assert found.shape == (8, 1 + groups.count)
    for group in (0, groups.count - 1):
        left = groups.of_row != group
        part = game((x[left], y[left], None if weights is None else weights[left]), metric)
        np.testing.assert_allclose(found[:, 1 + group], part(coalitions), rtol=1e-9)


def test_a_scorer_that_takes_no_weights_has_no_replicates():
    test = draw(np.random.default_rng(1), 60)
    own = game(test, lambda model, rows, truth: float(model.score(rows, truth)))
    assert own.n_replicates == 0
    result = fs.exact(own)
    assert result.test_errors is None
    assert "Test set" not in str(result.certificate(0.5, 0.1))
    assert fs.exact(fs.games.Airport([1.0, 2.0])).test_errors is None


def test_a_game_that_computes_other_utilities_has_no_replicates():
    class Doubled(fs.games.DataGame):
        def __call__(self, coalitions):
            return 2 * super().__call__(coalitions)

    x, y = suppliers()
    test = draw(np.random.default_rng(1), 60)
    doubled = Doubled(GaussianNB(), (x, y), test, groups=np.arange(100) % 3, value_range=(0.0, 2.0))
    plain = fs.games.DataGame(GaussianNB(), (x, y), test, groups=np.arange(100) % 3)
    result = fs.exact(doubled)
    np.testing.assert_allclose(result.values, 2 * fs.exact(plain).values)
    assert result.run.replicates is None


def test_the_error_is_that_of_a_mean_over_test_rows():
    """Of one player the value is a mean of differences, whose standard error is known."""
    x, y = suppliers()
    test = draw(np.random.default_rng(4), 2000)
    one = fs.games.DataGame(GaussianNB(), {"all": (x, y)}, test)
    result = fs.exact(one)
    right = GaussianNB().fit(x, y).predict(test[0]) == test[1]
    gains = right.astype(float) - (test[1] == np.bincount(test[1]).argmax())
    wanted = gains.std() / np.sqrt(2000)
    assert result.test_errors[0] == pytest.approx(wanted, rel=0.25)  # 40 groups: ± 11 %


@pytest.mark.parametrize(
    ("method", "semivalue"),
    [
        *[(method, "shapley") for method in ("mc", "adjusted", "owen", "stratified", "kernel")],
        ("mc", "banzhaf"),
    ],
)
def test_every_method_finds_nearly_the_error_of_exact_values(method, semivalue):
    rng = np.random.default_rng(6)
    x, y = draw(rng, 400)
    big = fs.games.DataGame(
        GaussianNB(), (x[:200], y[:200]), (x[200:], y[200:]), groups=np.arange(200) % 12
    )
    truth = fs.exact(big, semivalue=semivalue).test_errors
    found = fs.estimate(big, method, budget=1500, seed=3, semivalue=semivalue).test_errors
    assert np.median(found / truth) == pytest.approx(1.0, abs=0.15)
    assert (found / truth).min() > 0.6


def test_the_error_is_the_same_on_any_engine_and_from_a_journal(tmp_path):
    played = game(draw(np.random.default_rng(2), 100))
    plain = fs.exact(played)
    kept = {"method": "exact", "journal": tmp_path / "run.db"}
    first = fs.estimate(played, **kept, engine=fs.ProcessEngine(2))
    again = fs.estimate(played, **kept)
    assert again.run.computed == 0
    np.testing.assert_array_equal(first.run.replicates, plain.run.replicates)
    np.testing.assert_array_equal(again.run.replicates, plain.run.replicates)
    saved = fs.Result.from_dict(plain.to_dict())
    np.testing.assert_array_equal(saved.test_errors, plain.test_errors)


def test_both_errors_are_said_apart(tmp_path):
    result = fs.estimate(game(draw(np.random.default_rng(2), 100)), "mc", budget=30, seed=0)
    said = str(result.certificate(0.5, 0.1))
    assert "Estimation: standard errors up to" in said
    assert "Test set: standard errors up to" in said
    exact = fs.exact(game(draw(np.random.default_rng(2), 100)))
    assert "The values are exact for these test rows. Test set:" in str(exact.certificate(0.5, 0.1))
    page = exact.report(tmp_path / "page.html").read_text("utf-8")
    assert "Would another test set say the same?" in page
    paid = exact.payout(1000)
    assert any(note.startswith("estimation:") for note in paid.notes)
    assert any(note.startswith("test set:") for note in paid.notes)
    assert {"test_set_lower", "test_set_upper"} <= set(paid.to_dict()["players"][0])
    widths = [float(high - low) for low, high in zip(paid.test_lower, paid.test_upper, strict=True)]
    assert min(widths) > 1
    assert all(
        a <= b <= c for a, b, c in zip(paid.test_lower, paid.amounts, paid.test_upper, strict=True)
    )


def test_test_rows_that_come_in_groups_have_a_larger_error():
    """Ten copies of each test row are one row, and the error knows it when told."""
    x, y = draw(np.random.default_rng(3), 60)
    many, patients = (np.repeat(x, 10, axis=0), np.repeat(y, 10)), np.repeat(np.arange(60), 10)
    alone, told = fs.exact(game(many)), fs.exact(game(many, test_groups=patients))
    np.testing.assert_array_equal(alone.values, told.values)
    honest = fs.exact(game((x, y))).test_errors
    assert np.median(told.test_errors / honest) == pytest.approx(1.0, abs=0.25)
    assert np.median(told.test_errors / alone.test_errors) > 2
    with pytest.raises(fs.InputError, match="one label for each of the 60 test rows"):
        game((x, y), test_groups=[1, 2])


def test_many_coalitions_are_thinned_by_their_content():
    """All coalitions of 14 players in any order, of which a tenth has room."""
    from fairshapley._basics import bits
    from fairshapley.evaluation.cache import Replicates
    from fairshapley.runs.known_coalitions import replicated_values
    from fairshapley.semivalues import Shapley

    masks = np.random.default_rng(2).permutation(bits.numbered(range(1 << 14), 14))
    weights = np.random.default_rng(1).normal(size=(14, 6))
    kept = []
    for step in (100, 1 << 14):
        store = Replicates(14, 6, max_bytes=142 * 1600)
        for start in range(0, len(masks), step):
            part = masks[start : start + step]
            changes = (part @ weights).astype("<f4")
            rows = zip(bits.keys(part), changes, strict=True)
            store.add_packed({key: row.tobytes() for key, row in rows})
        assert 500 < len(store) <= store.room
        kept.append(store.sorted()[0])
        found = replicated_values(store, Shapley(), 14)
        np.testing.assert_allclose(found, weights, atol=1e-4)
    assert kept[0] == kept[1]


def test_equal_changes_have_no_spread():
    assert jackknife_errors(np.full((2, 7), 0.3)).tolist() == [0.0, 0.0]
    assert another_set(np.full((2, 7), 0.3), 0.1).tolist() == [0.0, 0.0]


def coverage(repeats, seed, n_rows=150, **options):
    """How often bands from one half of fresh test rows hold what the other half gives."""
    values = amounts = 0
    for number in range(repeats):
        x, y = draw(np.random.default_rng([seed, number]), 2 * n_rows)
        one, other = (
            fs.exact(game((x[part], y[part]), **options))
            for part in (slice(0, n_rows), slice(n_rows, None))
        )
        reach = another_set(one.run.replicates, 0.1)
        values += bool((np.abs(one.values - other.values) <= reach).all())
        paid, fresh = one.payout(10_000), other.payout(10_000).amounts
        bands = zip(paid.test_lower, fresh, paid.test_upper, strict=True)
        amounts += all(low <= amount <= high for low, amount, high in bands)
    return values / repeats, amounts / repeats


def test_the_bands_cover_what_fresh_test_rows_give():
    """90 % stated, all players together; below 78 % in 60 repeats has a probability of 0.4 %."""
    values, amounts = coverage(60, seed=1)
    assert values >= 0.78
    assert amounts >= 0.78


@pytest.mark.full
@pytest.mark.parametrize("metric", ["accuracy", "log_likelihood", "f1"])
def test_the_bands_cover_at_their_stated_rate(metric):
    """Of 400 repeats, fewer than 346 (86.5 %) have a probability of 1 % at 90 %."""
    values, amounts = coverage(400, seed=2, metric=metric)
    assert values >= 0.865
    assert amounts >= 0.865


def test_a_class_with_one_test_row_leaves_the_error_of_the_test_set_unknown():
    """Without this row there is no AUC; the run itself is not harmed."""
    x, y = draw(np.random.default_rng(1), 30)
    y[:] = 0
    y[3] = 1
    result = fs.exact(game((x, y), "auc"))
    assert result.test_errors is None
    assert np.isfinite(result.values).all()
