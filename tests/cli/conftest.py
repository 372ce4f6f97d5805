import pytest

from fairshapley.cli import running
from fairshapley.stopping import Budget
from tests.cli.files import GROUPED, passed, write_examples


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with the files of `write_examples`."""
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def saved(folder):
    """values.json, run.db and page.html of the same run."""
    outputs = ("--out", "values.json", "--journal", "run.db", "--report", "page.html")
    passed("value", *GROUPED, *outputs, "--quiet")
    return folder


@pytest.fixture
def a_minute():
    """A run without a budget takes what time allows, as it does outside of tests."""


@pytest.fixture(autouse=True)
def _no_minute(request, monkeypatch):
    """A run without a budget takes 100 evaluations per player, whatever the machine."""
    if "a_minute" not in request.fixturenames:
        monkeypatch.setattr(running, "exact_seconds", lambda *_: float("inf"))
        monkeypatch.setattr(running, "timed_budget", lambda run: Budget(seconds=run.seconds))
