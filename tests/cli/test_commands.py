"""The commands that start from a result, and those with data of their own."""

import csv
import json
import shlex
import subprocess
import sys
from decimal import Decimal

import pytest

import fairshapley as fs
from tests.cli.files import passed, refused, run

DATA = ("train.csv", "--target", "label", "--test", "test.csv", "--group-by", "supplier")


@pytest.fixture
def saved(folder):
    """values.json and run.db of the same run."""
    passed("value", *DATA, "--out", "values.json", "--journal", "run.db", "--quiet")
    return folder


def test_a_report_from_a_result_and_from_a_journal(saved):
    for source in ("values.json", "run.db"):
        passed("report", source, "--out", f"{source}.html", "--title", "<b>Three</b>")
        page = (saved / f"{source}.html").read_text(encoding="utf-8")
        assert "north" in page
        assert "<b>Three</b>" not in page
    passed("report", "values.json")
    assert (saved / "values.html").exists()


def test_a_payout_adds_up_in_all_forms(saved):
    done = passed("payout", "values.json", "--pool", "1000", "--out", "amounts.csv", "--json")
    printed = json.loads(done.stdout)
    assert sum(Decimal(row["amount"]) for row in printed["players"]) == 1000
    with (saved / "amounts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["amount"] for row in rows] == [row["amount"] for row in printed["players"]]
    table = passed("payout", "run.db", "--pool", "1000")
    assert all(row["player"] in table.stdout for row in printed["players"])


def test_compare_audits_methods_against_exact_values(folder):
    arguments = ("--methods", "mc,owen", "--budget", 6, "--repeats", 4, "--seed", 3)
    done = passed("compare", *DATA, *arguments, "--json", "--out", "methods.csv")
    printed = json.loads(done.stdout)
    assert [row["method"] for row in printed["methods"]] == ["mc", "owen"]
    assert any("truth is exact" in note for note in printed["notes"])
    assert (folder / "methods.csv").read_text().startswith("method,game,budget,evaluations,")
    shown = run("compare", *DATA, *arguments)
    assert "4 runs of each method" in shown.stdout


def test_compare_takes_a_file_for_the_truth(folder):
    rows = ("train.csv", "--target", "label", "--test", "test.csv", "--model", "ridge")
    common = ("--methods", "mc", "--budget", 60, "--repeats", 2, "--json", "--quiet")
    run("value", *rows, "--budget", 400, "--out", "truth.json", "--quiet")
    passed("compare", *rows, *common, "--truth", "truth.json")
    refused(run("compare", *DATA, *common, "--truth", "truth.json"))


@pytest.mark.usefixtures("a_minute")
def test_the_demo_answers_a_question_with_commands_that_can_be_repeated(folder):
    done = passed("demo")
    place = folder / "fairshapley-demo"
    values = fs.Result.load(place / "values.json")
    worth = dict(zip(values.names(), values.values.tolist(), strict=True))
    assert values.n_players == 14
    assert values.exact
    assert worth["Ashby"] == worth["Marlow"], "the copy"
    assert worth["Norton"] < 0, "random labels"
    with (place / "payout.csv").open(newline="") as stream:
        paid = {row["player"]: float(row["amount"]) for row in csv.DictReader(stream)}
    assert paid["Norton"] == 0
    assert sum(paid.values()) == pytest.approx(10_000)
    assert "Norton" in (place / "report.html").read_text(encoding="utf-8")
    commands = [line[2:] for line in done.stderr.splitlines() if line.startswith("$ ")]
    assert values.run.command == commands[0]
    passed(*shlex.split(commands[1])[1:])


def test_without_arguments_the_way_is_shown():
    done = passed()
    assert len(done.stdout.splitlines()) < 15
    for line in done.stdout.splitlines():
        if line.startswith("  fairshapley "):
            name = line.split()[1]
            helped = passed(name, "--help")
            assert all(word in helped.stdout for word in line.split() if word.startswith("--"))


def test_the_installed_command_runs():
    command = [sys.executable, "-m", "fairshapley", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"fairshapley {fs.__version__}\n"


def test_a_report_shows_what_each_gets_of_a_sum(folder):
    passed("value", *DATA, "--report", "r.html", "--pool", 900, "--quiet")
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert "900.00 divided among 3 players" in text
    done = run("value", *DATA, "--out", "v.json", "--quiet")
    assert "rows" in done.stdout, "how many rows each supplier has"
    assert "900.00 divided among" in run("value", *DATA, "--pool", 900).stdout
    refused(run("value", *DATA, "--report", "r.html", "--pool", "much"))
