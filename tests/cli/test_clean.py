"""`fairshapley clean`, and `value` by methods that sample nothing."""

import csv
import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import fairshapley as fs
from tests.cli.files import DATA, example_rows, passed, printed, refused, run, write_csv


@pytest.fixture
def rows(folder):
    """A table with two wrong labels, in rows 11 and 21."""
    table = example_rows(120, seed=5)
    table[0][3] = "=supplier"
    ages = [abs(row[0]) if row[0] != "" else 0.0 for row in table[1:]]
    hit = np.argsort(ages)[-2:] + 1
    for place in hit:
        table[place][-1] = "no" if table[place][-1] == "yes" else "yes"
    write_csv(folder / "rows.csv", table)
    return {f"row {place}" for place in hit}


def test_clean_writes_suspects_and_a_page(rows, folder):
    done = passed("clean", "rows.csv", "--target", "label", "--out", "s.csv", "--report", "s.html")
    assert "probably wrong" in done.stdout.splitlines()[0]
    assert len(done.stdout.splitlines()) <= 25
    done = run("clean", "rows.csv", "--target", "label", "--verbose")
    assert "probably wrong" in done.stdout
    assert "labels wrong on purpose" in done.stdout
    with (folder / "s.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    assert len(found) == 120
    assert {found[0]["row"], found[1]["row"]} == rows
    assert "'=supplier" in found[0]
    assert "rows.csv" in (folder / "s.html").read_text()


def test_clean_counts_by_source_and_writes_a_cleaned_table(rows, folder):
    given = ("--group-by", "=supplier", "--apply", "cleaned.csv", "--precision", "0.3")
    done = passed("clean", "rows.csv", "--target", "label", "--no-checks", *given, "--quiet")
    assert "by =supplier" in done.stdout
    assert "review these" in done.stdout
    with (folder / "cleaned.changes.csv").open(newline="") as stream:
        changes = list(csv.DictReader(stream))
    assert {change["row"] for change in changes} >= rows
    found = printed("clean", "rows.csv", "--target", "label", "--no-checks", *given)
    assert sum(found["groups"]["suspects"]) == len(changes)


def test_cells_that_json_has_no_form_for_are_texts(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=int(day)) for day in range(60)]
    table = pa.table(
        {
            "x": x,
            "day": days,
            "price": [decimal.Decimal(f"{number:.2f}") for number in 10 + x],
            "label": np.where(x > 0, "yes", "no"),
        }
    )
    parquet.write_table(table, "rows.parquet")
    found = printed("clean", "rows.parquet", "--target", "label", "--no-checks", "--quiet")
    suspects = found["suspects"]
    place = int(suspects["row"][0].split()[1]) - 1
    assert suspects["day"][0] == str(days[place])
    assert suspects["price"][0] == f"{10 + x[place]:.2f}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--share", "0.9"), "--share must be"),
        (("--out", "rows.csv"), "the same file"),
        (("--id", "agee"), "did you mean 'age'"),
    ],
)
def test_clean_refuses(rows, given, words):
    refused(run("clean", "rows.csv", "--target", "label", *given), words)


def test_loo_is_leave_one_out(folder):
    done = passed("value", *DATA, "--method", "loo", "--out", "v.json", "--report", "r.html")
    result = fs.Result.load("v.json")
    game = fs.table_game("train.csv", "label", test="test.csv").game
    assert result.values.tolist() == fs.leave_one_out(game).tolist()
    assert result.semivalue == "leave-one-out"
    assert result.evaluations == 25
    assert "Leave-one-out values" in done.stdout
    assert "fs.leave_one_out(game)" in (folder / "r.html").read_text()


@pytest.mark.parametrize("given", [("--budget", 50), ("--option", "k=1")])
def test_loo_refuses_what_it_cannot_do(folder, given):
    refused(run("value", *DATA, "--method", "loo", *given), f"leave {given[0]}")
