"""Hostile and hopeless input: one or two lines on standard error, exit code 2, no traceback."""

import pytest

from tests.cli.files import refused, run

HEAD = "a,b,y\n"
GOOD = HEAD + "1,2,no\n2,1,yes\n3,0,no\n0,5,yes\n"


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """rows.csv in a current folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(GOOD)
    return tmp_path / "rows.csv"


FILES = {
    "blank lines": (b"\n\n\n", "is empty: give a line"),
    "a class for each row": (b"a,y\n1,p\n2,q\n3,r\n4,s\n5,t\n", "several rows of each class"),
    "one class": (b"a,b,y\n1,2,no\n2,1,no\n3,2,no\n4,1,no\n", "'no'"),
    "missing target": (b"a,b,y\n1,2,no\n2,1,\n3,2,yes\n", "missing in 1 of the 3"),
    "not utf-8": (b"a,b,y\n1,\xff\xfe\xe9,no\n2,1,yes\n", "encoding"),
    "the same name twice": (b"a,a,y\n1,2,no\n2,1,yes\n", "several columns called 'a'"),
    "a long row": (b"a,b,y\n1,2,no,7\n2,1,yes\n", "Expected 3 columns, got 4"),
    "infinite": (b"a,b,y\n1,2,no\n2,inf,yes\n3,1,no\n", "infinite in row 2"),
}


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
def test_files(rows, content, words):
    rows.write_bytes(content)
    refused(run("value", rows, "--target", "y"), words)


def test_files_that_are_none(tmp_path):
    refused(run("value", tmp_path / "none.csv", "--target", "y"), "cannot read", "No such file")
    refused(run("value", tmp_path, "--target", "y"), "is not a file")
    fake = tmp_path / "rows.parquet"
    fake.write_text(GOOD)
    refused(run("value", fake, "--target", "y"), "not a Parquet file")


OPTIONS = {
    "no target": ((), "--target"),
    "unknown option": (("--target", "y", "--nonsense"), "--nonsense"),
    "huge budget": (("--target", "y", "--budget", "9" * 40), "--budget"),
    "model not there": (("--target", "y", "--model", "sklearn.svm:Nothing"), "cannot import"),
    "metric for numbers": (("--target", "y", "--metric", "r2"), "r2 is for numbers"),
    "target as group": (("--target", "y", "--group-by", "y"), "another role"),
    "never certified": (
        ("--target", "y", "--method", "gae", "--epsilon1", "0.5", "--quiet"),
        "can never be certified",
    ),
    "delta alone": (("--target", "y", "--delta", "0.1"), "--epsilon1"),
    "xi": (("--target", "y", "--xi", "small"), "--xi"),
    "folder for out": (("--target", "y", "--out", "."), "cannot write"),
    "ending of out": (("--target", "y", "--out", "values.xls"), ".csv or .parquet or .json"),
    "ending of report": (("--target", "y", "--report", "r.pdf"), ".html"),
    "input as out": (("--target", "y", "--out", "rows.csv"), "overwritten"),
    "folder as journal": (("--target", "y", "--journal", "."), "journal . is a directory"),
}


@pytest.mark.parametrize(("options", "words"), OPTIONS.values(), ids=OPTIONS)
def test_options(rows, options, words):
    refused(run("value", "rows.csv", *options), words)
    assert rows.read_text() == GOOD


@pytest.mark.usefixtures("rows")
def test_an_output_is_checked_before_the_table_is_read():
    refused(run("value", "none.csv", "--target", "y", "--out", "no/v.csv"), "no/v.csv")


def test_a_journal_that_is_none(rows, tmp_path):
    (tmp_path / "run.db").write_text("not a database, but long enough to look at" * 100)
    refused(run("value", "rows.csv", "--target", "y", "--journal", "run.db"), "run.db")
    assert (tmp_path / "run.db").read_text().startswith("not a database")


TEST_FILES = {
    "no feature": ("a,y\n1,no\n", "no column 'b'"),
    "other classes": ("a,b,y\n1,2,maybe\n", "maybe"),
}


@pytest.mark.parametrize(("content", "words"), TEST_FILES.values(), ids=TEST_FILES)
def test_test_files(rows, tmp_path, content, words):
    (tmp_path / "test.csv").write_text(content)
    refused(run("value", "rows.csv", "--target", "y", "--test", "test.csv"), words)


def test_names_of_rows_must_differ_and_groups_must_be_known(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,who,y\n1,k,no\n2,k,yes\n3,l,no\n4,l,yes\n")
    refused(run("value", file, "--target", "y", "--id", "who"), "--group-by 'who'")
    file.write_text("a,who,y\n1,k,no\n2,,yes\n3,l,no\n4,,yes\n")
    refused(run("value", file, "--target", "y", "--group-by", "who"), "first in row 2")


def test_other_commands_refuse_alike(folder):
    refused(run("report", "none.json"), "cannot read")
    refused(run("report", "train.csv"), "not a saved result")
    refused(run("payout", "train.csv", "--pool", 5, "--negative", "steal"), "--negative")
    refused(run("demo", "--folder", "train.csv"), "folder")
    refused(run("compare", "train.csv", "--target", "label", "--methods", "mc,magic"), "magic")
    assert "give --truth" in run("compare", "train.csv", "--target", "label", "--quiet").stderr
    refused(run("paper", "run", "nonsense"), "nonsense")


def test_debug_shows_the_traceback_wherever_it_stands(tmp_path):
    for arguments in (("--debug", "value", "none.csv"), ("value", "none.csv", "--debug")):
        done = run(*arguments, "--target", "y")
        assert done.exit_code == 2
        assert "Traceback" in done.stderr
        assert "InputError" in done.stderr


def test_a_fault_of_ours_is_exit_code_1(folder, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("fairshapley.tables.read_table", broken)
    done = run("value", "train.csv", "--target", "label")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == "internal error: ZeroDivisionError: of all things"
    assert len(done.stderr.splitlines()) == 2


SAME = {
    "out and journal": ("--out", "v.json", "--journal", "v.json"),
    "out and journal by another name": ("--out", "v.json", "--journal", "sub/../v.json"),
    "out and test": ("--test", "test.csv", "--out", "test.csv"),
    "out and a hard link to the rows": ("--out", "hard.csv"),
    "journal and rows": ("--journal", "rows.csv"),
    "report and a link to the rows": ("--report", "rows.html"),
}


@pytest.mark.parametrize("given", SAME.values(), ids=SAME)
def test_a_file_has_one_use(rows, tmp_path, monkeypatch, given):
    (tmp_path / "sub").mkdir()
    (tmp_path / "test.csv").write_text(GOOD)
    (tmp_path / "hard.csv").hardlink_to(rows)
    (tmp_path / "rows.html").symlink_to(rows)
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("fairshapley.tables.read_table", None)  # nothing is read before
    refused(run("value", "rows.csv", "--target", "y", *given))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--target", "lable"), "did you mean 'label'?"),
        (("--target", "label", "--model", "logistics"), "did you mean 'logistic'?"),
        (("--target", "label", "--method", "adjustd"), "did you mean 'adjusted'?"),
        (("--taget", "label"), "--target"),
    ],
)
def test_what_was_mistyped_is_answered_with_what_was_meant(folder, given, words):
    refused(run("value", "train.csv", *given), words)
