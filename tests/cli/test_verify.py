"""`fairshapley verify`, and the option that checks journals."""

import fairshapley as fs
from tests.cli.files import GROUPED, passed, printed, refused, run

FILES = ("values.json", "--journal", "run.db", "--report", "page.html")


def test_files_of_a_run_are_verified(saved):
    done = passed("verify", *FILES)
    assert "to the last bit" in done.stdout
    assert done.stdout.endswith("nothing was found to be changed\n")
    shown = printed("verify", *FILES, "--no-recompute")
    assert shown["holds"]
    assert [check["name"] for check in shown["checks"]][:2] == ["result", "report"]


def test_a_changed_file_has_an_exit_code_of_its_own(saved):
    text = (saved / "values.json").read_text()
    (saved / "values.json").write_text(text.replace("north", "North"))
    done = run("verify", *FILES)
    assert done.exit_code == 5
    assert "result: FAILED" in done.stdout
    assert "changed after it was written" in done.stdout
    assert run("verify", "none.json").exit_code == 5
    assert run("report", "values.json").exit_code == 2


def test_value_computes_journalled_utilities_again(saved, monkeypatch):
    again = ("value", *GROUPED, "--journal", "run.db", "--quiet")
    before = printed(*again)
    assert printed(*again, "--option", "verify=3")["values"] == before["values"]
    seen = []
    monkeypatch.setattr(
        "fairshapley.evaluation.evaluator.Evaluator.verify",
        lambda self, count, rng: seen.append(count),
    )
    run(*again, "--option", "verify=3")
    assert seen[-1] == 3
    alone = run("value", *GROUPED, "--option", "verify=3")
    refused(alone, "--option verify goes with --journal")
    assert fs.Result.load("values.json").run.journal_digest
