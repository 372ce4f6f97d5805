"""Standard output that is a pipe, full, closed, or in another encoding; and models that print."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.files import GROUPED, passed, refused, run

LOUD = """
import os, sys
from sklearn.neighbors import KNeighborsClassifier
print("imported")
class Loud(KNeighborsClassifier):
    def fit(self, X, y):
        print("fitted")
        os.system("echo from a shell")
        return super().fit(X, y)
loud = Loud(1)
class Leaving(KNeighborsClassifier):
    def fit(self, X, y):
        sys.exit("no more")
leaving = Leaving(1)
"""


def fairshapley(*arguments, env=None, **options):
    command = [sys.executable, "-m", "fairshapley", *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(
        command, check=False, timeout=60, env={**os.environ, **(env or {})}, **options
    )


@pytest.fixture
def saved(folder):
    """values.json of three suppliers with names from several alphabets, and files.py."""
    text = Path("train.csv").read_text(encoding="utf-8").replace("north", "Łódź")
    Path("train.csv").write_text(text.replace("west", "西"), encoding="utf-8")
    passed("value", *GROUPED, "--quiet", "--out", "values.json")
    return folder


def test_a_full_standard_output_is_an_error_and_files_are_written(folder):
    with Path("/dev/full").open("wb") as full:
        done = fairshapley("value", *GROUPED, "--quiet", "--out", "v.csv", stdout=full)
    assert done.returncode == 4
    assert done.stderr.decode().splitlines() == [
        "values written to v.csv",
        "error: standard output cannot be written: No space left on device",
    ]
    assert (folder / "v.csv").exists()


def test_a_closed_standard_output_is_an_error_and_files_are_written(saved):
    shell = f"exec '{sys.executable}' -m fairshapley payout values.json --pool 10 --out a.csv >&-"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False, timeout=60)
    assert done.returncode == 4
    assert b"standard output cannot be written: it is closed" in done.stderr
    assert (saved / "a.csv").exists()


def test_a_reader_that_ends_is_no_error(saved):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        for arguments in (("payout", "values.json", "--pool", "10", "--out", "a.csv"), ("--help",)):
            done = fairshapley(*arguments, stdout=pipe)
            assert done.returncode == 141, done.stderr
            assert b"rror" not in done.stderr
    assert (saved / "a.csv").exists()


@pytest.mark.parametrize(("encoding", "words"), [("cp1252", "?ód?"), ("ascii", "??d?")])
def test_other_encodings(saved, encoding, words):
    arguments = ("value", *GROUPED, "--report", "report.html", "--out", "values.csv")
    done = fairshapley(*arguments, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert words in (done.stdout + done.stderr).decode(encoding)
    for file in ("report.html", "values.csv"):
        assert "Łódź" in (saved / file).read_text(encoding="utf-8")


def test_the_c_locale_and_help(folder):
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for environment in (bare, {"PYTHONIOENCODING": "cp1252"}):
        for arguments in (("--help",), ("value", "--help"), ("value", "ξ.csv", "--tagret", "φ")):
            done = fairshapley(*arguments, env=environment)
            assert b"Traceback" not in done.stderr
            assert done.returncode == (2 if "ξ.csv" in arguments else 0), done.stderr


def test_what_a_model_prints_goes_to_standard_error(folder):
    (folder / "loud_of_test_streams.py").write_text(LOUD)
    model = ("--model", "loud_of_test_streams:loud", "--json", "--quiet")
    done = fairshapley("value", *GROUPED, *model)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exact"]
    for words in (b"imported", b"fitted", b"from a shell"):
        assert words in done.stderr


def test_a_model_that_exits_is_refused(folder):
    (folder / "leaving_of_test_streams.py").write_text(LOUD)
    done = run("value", *GROUPED, "--model", "leaving_of_test_streams:leaving", "--json", "--quiet")
    refused(done, "SystemExit: no more", "coalition (")
    (folder / "gone_of_test_streams.py").write_text("raise SystemExit(0)")
    refused(run("value", *GROUPED, "--model", "gone_of_test_streams:x", "--quiet"), "SystemExit")


def test_a_program_that_is_ended_by_a_library_is_not_a_success(folder, monkeypatch):
    def leaving(*arguments, **options):
        raise SystemExit(0)

    monkeypatch.setattr("fairshapley.tables.read_table", leaving)
    refused(run("value", *GROUPED), "sys.exit(0)")
