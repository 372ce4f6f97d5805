"""What a reader of the console stumbles over: the paper's terms, and advice for Python."""

import re

import pytest

import fairshapley as fs
from tests.cli.files import DATA, GROUPED, passed, run

PYTHON = re.compile(r"\bfs\.|\bResult\.|(?<!--option )(?<![\w-])[a-z_0-9]+=['\w]|\(\w+=\)")


def test_terms_of_the_paper_are_behind_verbose_and_explained_there(folder):
    plain = run("value", *DATA, "--budget", 300)
    assert "standard error" in plain.stdout
    for term in ("fidelity", "contributions", "A1"):
        assert term not in plain.stdout
    verbose = run("value", *DATA, "--budget", 300, "--verbose")
    assert "it limits what is certified near zero" in verbose.stderr
    for term in ("fidelity: ", "contributions: ", "ξ: ", "A1–A3: "):
        assert term in verbose.stdout


def test_exact_values_have_no_errors(folder):
    done = run("value", *GROUPED, "--xi", 100, "--out", "v.json", "--verbose")
    assert " standard error " not in done.stdout.splitlines()[2], "a heading"
    for words in ("inf", "fidelity", "ε1", "δ", "Warning", "very little"):
        assert words not in done.stdout, done.stdout
    assert "is exact" in done.stdout
    assert ">standard error<" not in fs.Result.load("v.json")._repr_html_(), "a heading"


@pytest.mark.parametrize(
    "arguments",
    [
        ("value", *DATA, "--method", "magic"),
        ("value", *DATA, "--method", "exact", "--budget", 10),
        ("value", *DATA, "--epsilon1", 0.5, "--option", "bound=bernstein", "--method", "adjusted"),
        ("value", *DATA, "--engine", "magic"),
        ("report", "train.csv"),
    ],
)
def test_no_advice_that_only_python_can_follow(folder, arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    error = done.stderr.splitlines()[-1]
    assert not PYTHON.search(error), error


def test_the_bound_of_a_certificate_can_be_chosen(folder):
    passed(
        "value", *GROUPED, "--method", "mc", "--option", "bound=bernstein",
        "--epsilon1", 0.9, "--xi", 10, "--out", "v.json",
    )  # fmt: skip
    assert fs.Result.load("v.json").run.limits["until"]["bound"] == "bernstein"
    assert run("value", *DATA, "--option", "bound=bernstein").exit_code == 2
    assert run("value", *DATA, "--epsilon1", 0.5, "--option", "bound=magic").exit_code == 2


def test_refusals_speak_of_options_and_files(folder):
    assert "top must be" in run("value", *DATA, "--until", "top=0").stderr
    engine = run("value", *DATA, "--engine", "nonsense").stderr
    assert "--engine must be 'serial', 'processes'" in engine
    assert "Client" not in engine
    passed("value", *DATA, "--budget", 60, "--journal", "run.db")
    other = run("value", *DATA, "--drop", "age", "--budget", 60, "--journal", "run.db").stderr
    assert "belongs to another game (other data, parameters or code" in other
    assert other.endswith("use another file\n")
