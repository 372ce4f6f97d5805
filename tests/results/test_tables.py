import csv

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.results.serialising import with_fields
from fairshapley.results.tables import check_writable, values_columns, write_values

GAME = fs.games.SumOfUnanimity(6, seed=1)


def test_intervals_are_those_of_the_certificate_and_unknown_ones_empty():
    result = fs.estimate(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=600, seed=0)
    columns = values_columns(result, delta=0.2)
    widths = result.certificate(0.5, 0.2).half_widths
    assert np.isfinite(widths).all()
    assert np.allclose(columns["upper"], result.values + widths)
    few = fs.estimate(GAME, "mc", budget=30, seed=0)
    assert few.findings().doubts
    assert np.isnan(values_columns(few)["lower"]).all()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_name_begins_a_formula(tmp_path, start):
    names = (f"{start}1+1", f"  {start}=2", "good", "a=b", "", "x")
    result = with_fields(fs.exact(GAME), player_names=names)
    write_values(result, tmp_path / "v.csv")
    with (tmp_path / "v.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    assert [row[0] for row in rows] == ["'" + names[0], "'" + names[1], *names[2:]]
    assert [float(row[1]) for row in rows] == result.values.tolist()


def test_a_surrogate_in_a_name_can_be_written(tmp_path):
    result = with_fields(fs.exact(GAME), player_names=("\udc80", "b", "c", "d", "e", "f"))
    for ending in ("csv", "parquet", "json"):
        write_values(result, tmp_path / f"v.{ending}")
        assert (tmp_path / f"v.{ending}").stat().st_size


def test_nothing_is_left_behind_by_a_check(tmp_path):
    check_writable(tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.csv").write_text("kept")
    check_writable(tmp_path / "old.csv")
    assert (tmp_path / "old.csv").read_text() == "kept"


def test_inputs_are_not_overwritten_by_any_name(tmp_path):
    (tmp_path / "rows.csv").write_text("a")
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="overwritten"):
        check_writable(tmp_path / "link.csv", inputs=[tmp_path / "rows.csv"])
