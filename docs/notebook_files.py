"""Notebooks are written from scripts: ``python -m docs.notebook_files``.

A script in ``docs/notebooks/`` has cells that begin with ``# %%``, or ``# %% [markdown]`` with its
text in comments. Notebooks have no outputs: whoever runs one sees them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "notebooks"
CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n(?P<text>.*?)(?=^# %%|\Z)", re.M | re.S)


def cells(script: str) -> list[tuple[str, str]]:
    r"""The cells of a script: kind and text.

    Examples
    --------
    >>> cells("# %% [markdown]\n# # Title\n\n# %%\nx = 1\n")
    [('markdown', '# Title'), ('code', 'x = 1')]
    """
    found = []
    for cell in CELL.finditer(script):
        text = cell["text"].strip()
        if cell["kind"]:
            text = re.sub(r"^# ?", "", text, flags=re.M)
        found.append(("markdown" if cell["kind"] else "code", text))
    return found


def notebook(script: str) -> str:
    """The notebook of a script, as the text of its file."""
    made = []
    for number, (kind, text) in enumerate(cells(script)):
        cell = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all notebooks."""
    for script in FOLDER.glob("*.py"):
        text = notebook(script.read_text(encoding="utf-8"))
        script.with_suffix(".ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
