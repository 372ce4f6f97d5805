import pytest

from tests.cli.files import write_examples


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with the files of `write_examples`."""
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
