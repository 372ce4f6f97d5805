"""A finished run is never thrown away: whatever fails afterwards, the rest is written."""

import csv
import math

import fairshapley as fs
from tests.cli.files import DATA, GROUPED, printed, run


def test_files_of_values_that_cannot_be_certified(folder):
    file = folder / "values.csv"
    shown = printed("value", *DATA, "--budget", 4, "--out", file, "--report", "r.html")
    assert not shown["certificate"]["holds"]
    assert shown["findings"]["doubts"]
    assert set(shown["files"]) == {"values", "report"}
    assert all(math.isnan(float(row["lower"])) for row in shown["values"])
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["value"]) for row in rows] == [row["value"] for row in shown["values"]]
    assert {row["lower"] for row in rows} == {"nan"}


def test_a_certificate_that_was_asked_for_and_cannot_be_given(folder):
    done = run("value", *DATA, "--budget", 4, "--epsilon1", 0.5, "--out", "values.csv")
    assert done.exit_code == 3
    assert "values written to values.csv" in done.stderr
    assert (folder / "values.csv").exists()


def test_a_table_that_cannot_be_written_is_still_shown(folder, monkeypatch):
    def full(*arguments):
        raise fs.InputError("cannot write: no space left")

    run("value", *GROUPED, "--quiet", "--out", "values.json")
    monkeypatch.setattr("fairshapley._basics.files.write_whole", full)
    monkeypatch.setattr(fs.results.payouts.Payout, "to_csv", full)
    arguments = ("--methods", "mc", "--budget", 6, "--repeats", 2, "--quiet", "--out", "m.csv")
    for done, words in (
        (run("compare", *GROUPED, *arguments), "2 runs of each method"),
        (run("payout", "values.json", "--pool", 100, "--out", "a.csv"), "north"),
    ):
        assert done.exit_code == 2
        assert words in done.stdout
        assert done.stderr == "error: cannot write: no space left\n"


def test_every_failure_is_said(folder, monkeypatch):
    def broken(what):
        def fail(*arguments, **options):
            raise fs.InputError(f"no {what}")

        return fail

    monkeypatch.setattr("fairshapley.cli.output.write_values", broken("values"))
    monkeypatch.setattr(fs.Result, "report", broken("report"))
    done = run("value", *GROUPED, "--quiet", "--out", "values.csv", "--report", "report.html")
    assert done.exit_code == 2
    assert set(done.stderr.splitlines()) == {"error: no values", "error: no report"}
    assert "exact" in done.stdout


def test_ctrl_c_while_the_report_is_made_skips_the_report_alone(folder, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(fs.Result, "report", interrupted)
    done = run("value", *GROUPED, "--quiet", "--out", "values.csv", "--report", "report.html")
    assert done.exit_code == 130
    assert "Shapley values of 3 players, exact" in done.stdout
    assert "values written to values.csv" in done.stderr
