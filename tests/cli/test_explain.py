"""`fairshapley explain`: columns of a table as players."""

import csv

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from tests.cli.files import printed, refused, run

DATA = ("train.csv", "--target", "label", "--test", "test.csv", "--rows", "3", "--quiet")


def test_values_are_those_of_the_library(folder):
    found = printed("explain", *DATA, "--out", "columns.csv")
    assert list(found) == ["row", "age", "income", "town", "supplier"]
    made = fs.table_game("train.csv", "label", test="test.csv")
    model = LogisticRegression(max_iter=1000).fit(*made.game.train)
    chances = model.predict_proba(made.test_features[:3])[:, 1]
    base = model.predict_proba(made.features)[:, 1].mean()
    sums = np.sum([found[name] for name in list(found)[1:]], axis=0)
    np.testing.assert_allclose(sums, chances - base, atol=1e-9)
    with (folder / "columns.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [float(line["age"]) for line in lines] == pytest.approx(found["age"])


def test_sentences_and_refusals(folder):
    said = run("explain", *DATA)
    assert "values of 4 players for the predictions of 3 rows, exact" in said.stdout
    refused(run("explain", *DATA, "--out", "train.csv"), "overwritten")
    refused(run("explain", *DATA, "--seed", "-1"), "seed")


def test_rows_have_their_number_in_the_file(folder):
    """Without --test some rows are drawn, and the first of them is not the first of the file."""
    data = ("train.csv", "--target", "label", "--rows", "3", "--quiet")
    found = printed("explain", *data)
    made = fs.table_game("train.csv", "label")
    assert found["row"] == list(made.test_numbers[:3]) != [1, 2, 3]
    assert printed("explain", *DATA)["row"] == [1, 2, 3]


def test_three_classes_are_one_json_object(folder):
    lines = "".join(f"{at % 7},{at % 5},{'pqr'[at % 3]}\n" for at in range(60))
    (folder / "three.csv").write_text("a,b,label\n" + lines)
    found = printed("explain", "three.csv", "--target", "label", "--rows", "2", "--quiet")
    assert found["output"] == ["p", "q", "r"] * 2
    assert len(found["row"]) == 6
