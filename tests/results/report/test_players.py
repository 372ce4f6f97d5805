"""Players in a report: who is called out, their groups and labels, the charts behind them."""

import numpy as np
import pytest
from tests.results.report.reading import callouts, data_of, players, said, text_of
from tests.results.report.samples import by_hand

import fairshapley as fs
from fairshapley.results.report.drawing import charts, tolerance_curves
from fairshapley.results.report.page import report_html


def test_the_players_at_both_ends_are_named():
    sure = by_hand(4, values=[3.0, 2.0, 1.0, 1.0], standard_errors=[0.3, 0.01, 0.01, 0.01])
    (order,) = [one for one in said(sure, 0.01).details if "order" in one]
    assert order == (
        "The order is decided for 5 of 6 pairs of players. The highest value is that of "
        "“\u2068customer 00000\u2069”, the lowest that of “\u2068customer 00002\u2069” or "
        "“\u2068customer 00003\u2069”."
    )


def test_curves_are_those_of_the_result():
    result = by_hand(standard_errors=np.full(60, 0.002))
    curves = tolerance_curves(result)
    certified = curves.pop("certified")
    assert {delta for _, delta in certified} >= {0.1, 0.01}
    for bound, points in curves.items():
        for epsilon1, delta in points:
            assert result.guarantee(epsilon1, bound=bound).delta == delta
    tolerances = [epsilon1 for epsilon1, _ in certified]
    assert tolerances == sorted(tolerances)  # the surer, the looser


def test_callouts_name_the_right_players():
    result = by_hand()
    negative, duplicates, nulls = callouts(result)
    signs = result.decisions(0.1).signs()
    assert negative.total == (signs < 0).sum() > 0
    assert negative.items[0][0] == result.names()[np.argmin(result.values)]
    assert "an unlikely reason" in negative.text or negative.total <= 15
    assert (duplicates.total, len(duplicates.items)) == (4, 2)
    assert [name for name, _ in nulls.items] == ["customer 00059"]


def test_without_intervals_nobody_is_called_out():
    result = by_hand(obstacle="a method of one's own")
    table = players(result)
    assert not table.bounded
    assert not table.signs.any()
    assert not table.nulls.any()
    assert np.isnan(table.upper).all()
    text = text_of(report_html(result))
    assert "No intervals are given" in text
    assert "two standard errors" not in text
    assert "a method of one's own" in said(result).headline


def test_there_is_a_label_for_each_player():
    result = by_hand(4)
    rows = players(result, ["a", "b", "a", "b"]).by_label()
    assert {label: list(found) for label, found in rows.items()} == {"a": [0, 2], "b": [1, 3]}
    for bad in (["a"], "abcd", dict.fromkeys("abcd", 1)):
        with pytest.raises(fs.InputError, match="labels"):
            players(result, bad)


def test_the_profile_gives_marginals():
    game = fs.games.FunctionGame(lambda s: float(len(s) ** 2), 12)
    result = fs.estimate(game, "mc", budget=300, seed=0)
    drawn = charts(result, players(result), 0.5, 0.1)
    np.testing.assert_allclose(drawn["marginals"].data["y"], 2 * np.arange(12) + 1.0)
    assert sum(drawn["requests"].data["y"]) == result.evaluations + result.run.cache_hits


def test_numbers_that_are_not_finite():
    values = np.linspace(0.5, -0.2, 60)
    values[3] = np.nan
    result = by_hand(values=values, standard_errors=np.where(np.isnan(values), np.nan, 0.0))
    columns = data_of(report_html(result))["players"]
    assert columns["value"][3] is None
    assert columns["fidelity"][0] == "inf"
