"""Models by the place they are imported from."""

import sys

import pytest

from fairshapley.errors import InputError
from fairshapley.tables.models import imported


def test_a_file_beside_the_data_takes_nobodys_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    (tmp_path / "jinja2.py").write_text("raise SystemExit('run')")
    (tmp_path / "own_model_here.py").write_text(
        "import importlib.util\nfrom sklearn.svm import SVC as Own\n"
        "FOUND = importlib.util.find_spec('jinja2').origin\n"
    )
    imported("sklearn.svm:SVC")
    assert str(tmp_path) not in sys.path
    imported("own_model_here:Own")
    assert sys.path == [*before, str(tmp_path)]
    assert str(tmp_path) not in sys.modules.pop("own_model_here").FOUND


def test_a_module_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match="installed or in this folder"):
        imported("no_such_module_at_all:Own")
