"""Notebooks are what their scripts say, and the scripts run from top to bottom."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import pytest
from docs.notebook_files import FOLDER, cells, notebook

SCRIPTS = sorted(FOLDER.glob("*.py"))
# What the text of a notebook promises.
SAID = {
    "bad_rows": "rows to review were made wrong",
    "from_shap": "(40, 10)",
    "passages": "annual report",
    "suppliers": "'Ann' and 'Hal' have the same rows",
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_is_its_script_and_runs(script, tmp_path, monkeypatch, capsys):
    mpl.use("Agg")
    text = script.read_text(encoding="utf-8")
    kept = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert kept == notebook(text), "python -m docs.notebook_files"
    nbformat.validate(nbformat.reads(kept, as_version=4))
    monkeypatch.chdir(tmp_path)
    shared = {"__name__": script.stem}
    for kind, code in cells(text):
        if kind == "code":
            exec(compile(code, script.name, "exec"), shared)  # noqa: S102 - the page is ours
    plt.close("all")
    assert SAID[script.stem] in capsys.readouterr().out


def test_there_are_four():
    assert [script.stem for script in SCRIPTS] == sorted(SAID)
