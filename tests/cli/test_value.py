import json
import re

import numpy as np
import pyarrow.parquet
import pytest

import fairshapley as fs
from tests.cli.files import example_rows, passed, refused, run, write_csv

DATA = ("train.csv", "--target", "label", "--test", "test.csv")


def test_values_certificate_and_notes_each_in_their_place(folder):
    short = passed("value", *DATA, "--budget", 300)
    assert short.stderr == ""
    first, second, *_ = short.stdout.splitlines()
    assert "has the highest value (" in first
    certain = ("Nothing is certified: ", "With a probability of at least 0.9, ", "Judged for all")
    assert second.startswith(certain)
    assert len(short.stdout.splitlines()) <= 25
    done = run("value", *DATA, "--budget", 300, "--verbose")
    for words in ("Shapley values", "row 1", "fidelity", "standard error"):
        assert words in done.stdout
    for words in (
        "target 'label' was taken for classes",
        "24 players; utility: accuracy of LogisticRegression",
        "ξ = 0.001, the default",
    ):
        assert words in done.stderr
        assert words not in done.stdout


def test_json_is_one_object_with_the_values_of_the_library(folder):
    done = run("value", *DATA, "--budget", 300, "--json", "--seed", 5, "--out", "v.json")
    printed = json.loads(done.stdout)
    saved = fs.Result.load("v.json")
    assert [row["value"] for row in printed["values"]] == saved.values.tolist()
    assert printed["seed"] == saved.seed == 5
    assert printed["files"] == {"values": "v.json"}
    assert saved.notes == tuple(printed["notes"])
    assert any("24 players; utility" in note for note in saved.notes)
    assert printed["certificate"]["holds"] is saved.certificate(0.5, 0.1).holds


def test_a_table_names_unions_and_the_shell_values_them(folder):
    header, *rows = example_rows(24, seed=1)
    rows = [[*row, "sea" if row[3] == "north" else "land"] for row in rows]
    write_csv(folder / "unions.csv", [[*header, "company"], *rows])
    options = ("--target", "label", "--test", "test.csv", "--group-by", "supplier", "--quiet")
    done = passed("value", "unions.csv", *options, "--union-by", "company", "--out", "v.json")
    assert "Owen values" in done.stdout
    named = {"group_by": "supplier", "union_by": "company"}
    made = fs.table_game("unions.csv", "label", test="test.csv", **named)
    assert set(made.unions) == {"sea", "land"}
    assert "company" not in " ".join(made.feature_names)
    expected = fs.exact(made.game, unions=made.unions).values
    np.testing.assert_allclose(fs.Result.load("v.json").values, expected, atol=1e-12)
    rows[0][-1] = "air"
    write_csv(folder / "unions.csv", [[*header, "company"], *rows])
    done = run("value", "unions.csv", *options, "--union-by", "company")
    refused(done, "name one union for each player")


def test_groups_are_the_players_and_few_of_them_are_exact(folder):
    done = run("value", *DATA, "--group-by", "supplier", "--json", "--quiet")
    printed = json.loads(done.stdout)
    assert [row["player"] for row in printed["values"]] == ["north", "south", "west"]
    assert printed["exact"]


def test_a_certificate_that_is_reached_and_one_that_is_not(folder):
    easy = passed("value", *DATA, "--epsilon1", 0.9, "--delta", 0.2, "--xi", 10, "--budget", 4000)
    assert "Certified with a probability of at least 0.8: each value differs" in easy.stdout
    hard = run("value", *DATA, "--epsilon1", 0.01, "--xi", 1e-6, "--budget", 400)
    assert hard.exit_code == 3
    assert "Not certified at ε1 = 0.01" in hard.stdout
    assert "(ε1 = 0.01) would take" in hard.stdout


def test_xi_by_share_and_by_default_of_regression(folder):
    regression = ("value", "train.csv", "--target", "income", "--json", "--quiet", "--budget", 200)
    printed = json.loads(run(*regression).stdout)
    given = json.loads(run(*regression, "--xi", "share").stdout)
    assert printed["xi"] == given["xi"]
    total = sum(row["value"] for row in printed["values"])
    assert printed["xi"] == pytest.approx(abs(total) / printed["n_players"])


def test_a_parquet_file_holds_what_is_printed(folder):
    done = run("value", *DATA, "--budget", 1000, "--out", "values.parquet", "--json")
    rows = json.loads(done.stdout)["values"]
    assert pyarrow.parquet.read_table("values.parquet").to_pylist() == rows
    assert [row["player"] for row in rows] == [f"row {number}" for number in range(1, 25)]


def test_long_tables_show_both_ends(folder):
    write_csv(folder / "long.csv", example_rows(70, seed=4))
    done = run("value", "long.csv", "--target", "label", "--budget", 300, "--model", "ridge")
    assert done.stdout.count("\nrow ") == 14
    assert re.search(r"\n\d+ more", done.stdout)
    assert len(done.stdout.splitlines()) <= 25


def test_a_journal_continues_and_gives_the_same_bits(folder):
    first = run("value", *DATA, "--budget", 300, "--journal", "run.db", "--json", "--quiet")
    longer = ("value", *DATA, "--budget", 600, "--journal", "run.db", "--json", "--quiet")
    second = run(*longer)
    fresh = run(*longer[:-4], "--json", "--quiet")
    assert json.loads(first.stdout)["evaluations"] <= 300
    assert json.loads(second.stdout)["values"] == json.loads(fresh.stdout)["values"]


def test_an_interrupted_run_says_how_to_go_on(folder, monkeypatch):
    from fairshapley.games.data.data_game import DataGame

    calls = []
    plain = DataGame._utilities

    def interrupted(self, coalitions, **options):
        calls.append(len(coalitions))
        if len(calls) > 3:
            raise KeyboardInterrupt
        return plain(self, coalitions, **options)

    monkeypatch.setattr(DataGame, "_utilities", interrupted)
    done = run("value", *DATA, "--budget", 300)
    assert done.exit_code == 130
    assert "--journal" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_holds_is_said_although_nobody_asked(folder):
    assert "Not certified" not in run("value", *DATA, "--budget", 1000).stdout
    more = run("value", *DATA, "--budget", 1000, "--verbose").stdout
    assert "signs:" in more
    assert "(ε1 = 0.5) would take" in more
    printed = json.loads(run("value", *DATA, "--budget", 1000, "--json", "--quiet").stdout)
    findings = printed["findings"]
    assert findings["doubts"] == []
    assert findings["sentences"][0].startswith("With a probability of at least 0.9")
    assert findings["positive"] + findings["negative"] <= 24
    assert findings["needed_evaluations"] > printed["evaluations"]


def test_a_decision_is_an_aim(folder):
    easy = passed("value", *DATA, "--until", "top=1", "--xi", 10, "--budget", 4000, "--delta", 0.2)
    assert "decided at δ = 0.2: the highest player: “row" in easy.stdout
    hard = run("value", *DATA, "--until", "order", "--xi", 1e-9, "--budget", 300)
    assert hard.exit_code == 3
    assert "would take" in hard.stdout
    for arguments, words in (
        (("--until", "top=24"), "give a number below 24"),
        (("--until", "best"), "--until must be signs, order, top=K or bottom=K, not 'best'"),
        (("--until", "top=2", "--epsilon1", 0.5), "two aims"),
    ):
        refused(run("value", *DATA, *arguments), words)
