import re
from dataclasses import replace

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.cli.groups import read_options
from fairshapley.cli.options import RunOptions
from fairshapley.cli.running import SHORTER_ROWS, announce
from fairshapley.errors import InputError
from fairshapley.planning import Forecast
from fairshapley.results.console import money
from tests.cli.files import DATA, GROUPED, example_rows, passed, printed, refused, run, write_csv

HOPELESS = Forecast(16_000, 2_000_000, 3.66)


def priced(*options):
    return tuple(part for option in options for part in ("--option", option))


def test_plans_of_rows_say_what_else_there_is(folder, monkeypatch):
    monkeypatch.setattr("fairshapley.cli.running.forecast", lambda *_, **__: HOPELESS)
    done = run("value", *DATA, "--budget", 60)
    for words in ("85 days", "--group-by", "--sample", "--method knn", "clean"):
        assert words in done.stderr
    grouped = run("value", *GROUPED)
    assert "--group-by" not in grouped.stderr, "groups are not advised to be groups"


@pytest.mark.parametrize(
    ("planned", "lines", "words"),
    [
        (Forecast(20, 2000, 0.001), 0, ""),
        (Forecast(2000, 200_000, 0.01), 5, "--seconds 60 stops"),
        (replace(HOPELESS, time_limit=600.0), 5, "163 evaluations, what 10 min allow"),
        (Forecast(20, 10**15, 0.01, 1, 60.0, True), 1, "5,000 evaluations, what 60 s allow"),
    ],
)
def test_longer_runs_are_announced(capsys, planned, lines, words):
    announce(planned, RunOptions(), quiet=False, shorter=SHORTER_ROWS)
    text = capsys.readouterr().err
    assert text.count("\n") == lines
    assert words in text
    assert planned.time_limit is None or "--seconds 60 stops" not in text
    announce(planned, RunOptions(), quiet=True, shorter=SHORTER_ROWS)
    assert capsys.readouterr().err == ""


def test_seconds_end_a_run(folder):
    passed("value", *DATA, "--seconds", 600, "--budget", 400, "--out", "v.json", "--quiet")
    assert fs.Result.load("v.json").run.limits["budget"]["seconds"] == 600
    refused(run("value", *DATA, "--seconds", "nan"))


def test_options_that_no_method_has_are_named(folder):
    wrong = run("value", *DATA, "--method", "mc", "--option", "alpha=2")
    assert "method 'mc' has no parameter 'alpha': it takes antithetic, walk" in wrong.stderr
    with pytest.raises(InputError, match="NAME=VALUE"):
        read_options(["alpha="])
    assert "did you mean 'split-seed'" in run("value", *DATA, *priced("splitseed=1")).stderr
    assert "there is no --option alpha" in run("explain", *DATA, *priced("alpha=1")).stderr


def test_nearest_neighbours_value_every_row_in_closed_form(folder):
    done = passed(
        "value", *DATA, "--method", "knn", "--option", "k=3", "--out", "v.json", "--verbose"
    )
    result = fs.Result.load("v.json")
    assert result.exact
    assert result.method == "knn_shapley"
    assert result.n_players == 24
    assert "in place of the model" in done.stderr
    assert "no rows are worth 0\n" in done.stderr
    game = fs.table_game("train.csv", "label", test="test.csv").game
    same = fs.knn_shapley(*game.train, *game.test, k=3)
    assert np.array_equal(same.values, result.values)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--group-by", "supplier"), "--group-by"),
        (("--option", "k=0"), "at least 1"),
        (("--option", "neighbours=3"), "leave --option neighbours out"),
    ],
)
def test_what_the_closed_form_cannot_do_is_said(folder, given, words):
    refused(run("value", *DATA, "--method", "knn", *given), words)


def test_a_plan_is_made_from_a_pilot_that_is_kept(folder):
    given = (*DATA, "--until", "top=1", "--xi", 10, "--journal", "run.db", "--quiet")
    planned = printed("plan", *given)
    assert planned["needed"] >= 48
    done = printed("value", *given)
    assert done["evaluations"] <= planned["needed"]
    words = run("plan", *DATA, "--budget", 2000, "--method", "mc").stdout
    assert "then each value should be known to" in words
    assert "predicted from a pilot of" in words


def test_prices_are_in_the_plan_the_result_and_the_report(folder):
    prices = priced("price=0.14", "price-unit=euros")
    planned = run("plan", *DATA, *prices, "--budget", 300, "--quiet")
    assert "about 42 euros" in planned.stdout
    common = ("--method", "mc", "--journal", "run.db")
    limited = (*prices, *priced("budget-cost=100"), *common)
    done = passed("value", *DATA, *limited, "--report", "r.html", "--out", "v.json", "--verbose")
    assert "plan: " in done.stderr, "who pays is told before"
    result = fs.Result.load("v.json")
    assert result.run.cost <= 100
    assert f", for {money(result, result.evaluations)}; seed 0" in done.stdout
    assert "This would cost about" in done.stdout
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert f", for {money(result, result.evaluations)}<" in page


def test_prices_that_make_no_sense_are_refused(folder):
    alone = run("value", *DATA, *priced("budget-cost=3"), "--quiet")
    refused(alone, "goes with --option price")
    low = run("value", *DATA, *priced("price=1", "budget-cost=0.5"), "--quiet")
    refused(low, "alone cost 2, the budget is 0.5")


@pytest.mark.usefixtures("a_minute", "folder")
def test_what_is_quickly_exact_is_exact():
    assert printed("value", *GROUPED, "--quiet")["exact"]


@pytest.mark.usefixtures("a_minute", "folder")
def test_seconds_buy_evaluations_that_a_budget_repeats():
    done = run("value", *DATA, "--seconds", 1.5, "--out", "a.json", "--method", "mc")
    assert "plan: " in done.stderr
    first = fs.Result.load("a.json")
    allowed = int(re.search(r"a budget of (\d+) repeats", first.stopped).group(1))
    run("value", *DATA, "--budget", allowed, "--method", "mc", "--out", "b.json")
    again = fs.Result.load("b.json")
    assert again.evaluations == first.evaluations > 24
    np.testing.assert_array_equal(again.values, first.values)
    np.testing.assert_array_equal(again.standard_errors, first.standard_errors)


@pytest.mark.usefixtures("a_minute")
def test_too_many_rows_for_a_minute_are_valued_by_neighbours(folder, monkeypatch):
    slow = Forecast(1600, 10**15, 0.02, 1, 60.0, True)
    write_csv(folder / "train.csv", example_rows(500, seed=1))
    monkeypatch.setattr("fairshapley.cli.running.forecast", lambda *_, **__: slow)
    done = passed("value", *DATA, "--out", "v.json")
    for words in ("3,000 evaluations of the model, too few for 500 rows", "--group-by", "clean"):
        assert words in done.stderr.replace("\n", " "), words
    assert fs.Result.load("v.json").exact
    asked = run("value", *DATA, "--budget", 2)
    assert "too few for" not in asked.stderr
