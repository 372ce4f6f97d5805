import re

import numpy as np
import pyarrow.parquet
import pytest

import fairshapley as fs
from tests.cli.files import DATA, GROUPED, example_rows, passed, printed, refused, run, write_csv


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
    shown = printed("value", *DATA, "--budget", 300, "--seed", 5, "--out", "v.json")
    saved = fs.Result.load("v.json")
    assert [row["value"] for row in shown["values"]] == saved.values.tolist()
    assert shown["seed"] == saved.seed == 5
    assert shown["files"] == {"values": "v.json"}
    assert saved.notes == tuple(shown["notes"])
    assert any("24 players; utility" in note for note in saved.notes)
    assert shown["certificate"]["holds"] is saved.certificate(0.5, 0.1).holds


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
    shown = printed("value", *GROUPED, "--quiet")
    assert [row["player"] for row in shown["values"]] == ["north", "south", "west"]
    assert shown["exact"]


def test_a_certificate_that_is_reached_and_one_that_is_not(folder):
    easy = passed("value", *DATA, "--epsilon1", 0.9, "--delta", 0.2, "--xi", 10, "--budget", 4000)
    assert "Certified with a probability of at least 0.8: each value differs" in easy.stdout
    hard = run("value", *DATA, "--epsilon1", 0.01, "--xi", 1e-6, "--budget", 400)
    assert hard.exit_code == 3
    assert "Not certified at ε1 = 0.01" in hard.stdout
    assert "(ε1 = 0.01) would take" in hard.stdout


def test_xi_by_share_and_by_default_of_regression(folder):
    regression = ("value", "train.csv", "--target", "income", "--quiet", "--budget", 200)
    shown, given = printed(*regression), printed(*regression, "--xi", "share")
    assert shown["xi"] == given["xi"]
    total = sum(row["value"] for row in shown["values"])
    assert shown["xi"] == pytest.approx(abs(total) / shown["n_players"])


def test_a_parquet_file_holds_what_is_printed(folder):
    rows = printed("value", *DATA, "--budget", 1000, "--out", "values.parquet")["values"]
    assert pyarrow.parquet.read_table("values.parquet").to_pylist() == rows
    assert [row["player"] for row in rows] == [f"row {number}" for number in range(1, 25)]


def test_long_tables_show_both_ends(folder):
    write_csv(folder / "long.csv", example_rows(70, seed=4))
    done = run("value", "long.csv", "--target", "label", "--budget", 300, "--model", "ridge")
    assert done.stdout.count("\nrow ") == 14
    assert re.search(r"\n\d+ more", done.stdout)
    assert len(done.stdout.splitlines()) <= 25


def test_a_journal_continues_and_gives_the_same_bits(folder):
    journal = ("--journal", "run.db", "--quiet")
    assert printed("value", *DATA, "--budget", 300, *journal)["evaluations"] <= 300
    longer = ("value", *DATA, "--budget", 600)
    assert printed(*longer, *journal)["values"] == printed(*longer, "--quiet")["values"]


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
    shown = printed("value", *DATA, "--budget", 1000, "--quiet")
    findings = shown["findings"]
    assert findings["doubts"] == []
    assert findings["sentences"][0].startswith("With a probability of at least 0.9")
    assert findings["needed_evaluations"] > shown["evaluations"]


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
