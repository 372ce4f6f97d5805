"""Metrics in units of the target, weights of rows, and splits that respect groups and time."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.tables import table_game

RNG = np.random.default_rng(11)
X = RNG.normal(size=80)
EUROS = 10_000 + 3000 * X + 500 * RNG.normal(size=80)
ROWS = pa.table({"x": X, "price": EUROS, "who": [f"s{number % 5}" for number in range(80)]})
TRAIN, TEST = ROWS.slice(0, 50), ROWS.slice(50)
ENDS = np.array([[False] * 5, [True] * 5])


@pytest.mark.parametrize(
    ("metric", "measure", "constant"),
    [
        ("rmse", root_mean_squared_error, np.mean),
        ("mae", mean_absolute_error, np.median),
        ("neg_mse", lambda y, z: root_mean_squared_error(y, z) ** 2, np.mean),
        ("neg_median_absolute_error", lambda y, z: np.median(np.abs(y - z)), None),
    ],
)
def test_errors_are_in_euros(metric, measure, constant):
    """The target was standardised in silence: an error of 500 euros was worth 0.16."""
    made = table_game(TRAIN, "price", test=TEST, group_by="who", metric=metric)
    nobody, everybody = made.game(ENDS)
    width = (X[:50] - X[:50].mean()) / X[:50].std()
    scaled = (X[50:] - X[:50].mean()) / X[:50].std()
    fitted = Ridge().fit(width[:, None], EUROS[:50]).predict(scaled[:, None])
    assert everybody == pytest.approx(-measure(EUROS[50:], fitted), rel=1e-9)
    if constant is not None:
        best = np.full(30, constant(EUROS[50:]))
        assert nobody == pytest.approx(-measure(EUROS[50:], best), rel=1e-9)
    assert made.game.vectorised == (metric != "neg_median_absolute_error")
    assert any(
        f"the score is {nobody:.6g}, that of the best constant" in note for note in made.notes
    )


def test_a_model_that_minds_the_size_of_the_target_is_given_one_of_spread_1():
    """A support vector machine of margin 0.1 and C = 1 learns nothing from euros."""
    made = table_game(TRAIN, "price", test=TEST, group_by="who", model="svc", metric="r2")
    assert made.game(ENDS)[1] > 0.9
    assert "TransformedTargetRegressor(" in made.notes[-1] + made.notes[-2]
    ridge = table_game(TRAIN, "price", test=TEST, group_by="who", metric="r2")
    tenfold = ROWS.set_column(1, "price", pa.array(EUROS / 1000))
    same = table_game(tenfold.slice(0, 50), "price", test=tenfold.slice(50), group_by="who")
    np.testing.assert_allclose(same.game(ENDS), ridge.game(ENDS), atol=1e-12)


def test_rows_count_with_their_weights():
    """A weight of 3 is as three rows, in training and in scoring."""
    weights = RNG.integers(1, 4, 80)
    heavy = ROWS.append_column("w", pa.array(weights))
    copied = ROWS.take(pa.array(np.repeat(np.arange(80), weights)))
    split = int(weights[:50].sum())
    for options in ({"metric": "rmse"}, {"metric": "mae"}, {"metric": "neg_median_absolute_error"}):
        asked = {"group_by": "who", "model": "sklearn.linear_model:LinearRegression", **options}
        weighed = table_game(
            heavy.slice(0, 50), "price", test=heavy.slice(50), weights="w", **asked
        )
        many = table_game(copied.slice(0, split), "price", test=copied.slice(split), **asked)
        coalitions = RNG.random((12, 5)) < 0.6
        got, wanted = weighed.game(coalitions), many.game(coalitions)
        # A median of rows with weights is not always that of copies.
        tolerance = 1e-9 if options["metric"] != "neg_median_absolute_error" else 0.2
        np.testing.assert_allclose(got, wanted, rtol=tolerance)
    alone = table_game(heavy.slice(0, 50), "price", test=TEST, weights="w")
    assert any("no weights 'w': they count alike" in note for note in alone.notes)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "f1", "auc"])
def test_weights_of_classes_are_copies_too(metric):
    y = np.where(X + 0.8 * RNG.normal(size=80) > 0.3, "yes", "no")
    x, weights = X[:, None], RNG.integers(1, 4, 80)
    copied = np.repeat(np.arange(50, 80), weights[50:])
    weighed, many = (
        fs.games.DataGame(LogisticRegression(), (x[:50], y[:50]), test, metric)
        for test in ((x[50:], y[50:], weights[50:]), (x[copied], y[copied]))
    )
    coalitions = np.vstack([np.zeros(50), RNG.random((20, 50)) < 0.4]).astype(bool)
    np.testing.assert_allclose(weighed(coalitions), many(coalitions), rtol=1e-9)


def test_groups_stay_on_one_side_of_a_split():
    patients = np.repeat(np.arange(20), 4)
    rows = ROWS.append_column("patient", pa.array(patients))
    for seed in range(5):
        made = table_game(rows, "price", split_by="patient", drop=["who"], split_seed=seed)
        valued = {int(name.split()[1]) - 1 for name in made.game.player_names}
        assert len(valued) == 64
        assert {patients[row] for row in valued}.isdisjoint(
            patients[row] for row in range(80) if row not in valued
        )
        assert any("whole groups by 'patient'" in note for note in made.notes)
    with pytest.raises(InputError, match="would get no value"):
        table_game(rows, "price", split_by="who", group_by="who")


def test_the_latest_rows_are_scored_on():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(int(one)) for one in RNG.permutation(80)]
    rows = ROWS.append_column("day", pa.array(days))
    made = table_game(rows, "price", split_time="day", drop=["who"], test_size=20)
    valued = [int(name.split()[1]) - 1 for name in made.game.player_names]
    assert len(valued) == 60
    assert max(days[row] for row in valued) < min(
        days[row] for row in range(80) if row not in valued
    )
    assert not any("day" in note for note in made.notes if "column" in note)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"split_by": "who", "split_time": "x"}, "two ways to split"),
        ({"split_time": "who"}, "column of dates"),
        ({"weights": "x"}, "below 0 in row"),
    ],
)
def test_what_cannot_be_split_or_weighed_is_said(options, said):
    with pytest.raises(InputError, match=said):
        table_game(ROWS, "price", **options)


def test_a_model_that_takes_no_weights_is_named():
    rows = ROWS.append_column("w", pa.array(np.ones(80)))
    with pytest.raises(InputError, match="KNeighborsRegressor takes no weights"):
        table_game(rows, "price", weights="w", model="knn")


def test_f1_and_auc_of_a_single_class_say_so():
    y = np.where(X > 0, "yes", "no")
    rows = pa.table({"x": X, "y": y})
    only = rows.filter(pa.array(y == "no"))
    for metric, said in (("f1", "second of both classes"), ("auc", "no AUC")):
        with pytest.raises(InputError, match=said):
            table_game(rows, "y", test=only, metric=metric)
    three = pa.table({"x": X, "y": np.where(X > 0.7, "zz", y)})
    made = table_game(three, "y", test=only, metric="f1")
    assert made.game(np.ones((1, 80), dtype=bool))[0] > 0.9
