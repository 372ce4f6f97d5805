"""The commands that start from a result, and those with data of their own."""

import csv
import shlex
import subprocess
import sys
from decimal import Decimal

import pytest

import fairshapley as fs
from tests.cli.files import GROUPED, passed, printed, refused, run


def test_a_report_from_a_result_and_from_a_journal(saved):
    for source in ("values.json", "run.db"):
        passed("report", source, "--out", f"{source}.html", "--title", "<b>Three</b>")
        page = (saved / f"{source}.html").read_text(encoding="utf-8")
        assert "north" in page
        assert "<b>Three</b>" not in page
    passed("report", "values.json")
    assert (saved / "values.html").exists()


def test_a_payout_adds_up_in_all_forms(saved):
    shown = printed("payout", "values.json", "--pool", "1000", "--out", "amounts.csv")
    assert sum(Decimal(row["amount"]) for row in shown["players"]) == 1000
    with (saved / "amounts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["amount"] for row in rows] == [row["amount"] for row in shown["players"]]
    table = passed("payout", "run.db", "--pool", "1000")
    assert all(row["player"] in table.stdout for row in shown["players"])


def test_compare_audits_methods_against_exact_values(folder):
    arguments = ("--methods", "mc,owen", "--budget", 6, "--repeats", 4, "--seed", 3)
    shown = printed("compare", *GROUPED, *arguments, "--out", "methods.csv")
    assert [row["method"] for row in shown["methods"]] == ["mc", "owen"]
    assert any("truth is exact" in note for note in shown["notes"])
    assert (folder / "methods.csv").read_text().startswith("method,game,budget,evaluations,")
    assert "4 runs of each method" in run("compare", *GROUPED, *arguments).stdout


def test_compare_takes_a_file_for_the_truth(folder):
    rows = ("train.csv", "--target", "label", "--test", "test.csv", "--model", "ridge")
    common = ("--methods", "mc", "--budget", 60, "--repeats", 2, "--json", "--quiet")
    run("value", *rows, "--budget", 400, "--out", "truth.json", "--quiet")
    passed("compare", *rows, *common, "--truth", "truth.json")
    refused(run("compare", *GROUPED, *common, "--truth", "truth.json"))


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
    passed("value", *GROUPED, "--report", "r.html", "--pool", 900, "--quiet")
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert "900.00 divided among 3 players" in text
    done = run("value", *GROUPED, "--out", "v.json", "--quiet")
    assert "rows" in done.stdout, "how many rows each supplier has"
    assert "900.00 divided among" in run("value", *GROUPED, "--pool", 900).stdout
    refused(run("value", *GROUPED, "--report", "r.html", "--pool", "much"))
