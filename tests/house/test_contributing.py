"""CONTRIBUTING shows real changes: they apply, they work, and they take few files and concepts."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIFFS = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.S)
PROGRAM = """
import fairshapley as fs

game = fs.games.SumOfUnanimity(8, seed=1)
result = fs.estimate(game, "half-turns", budget=200, seed=0)
assert (abs(result.values - game.shapley_values) < 5 * result.standard_errors).all()
spawned = fs.estimate(game, "half-turns", budget=200, seed=0, engine="spawned")
assert (spawned.values == result.values).all()
page = result.report("page.html").read_text(encoding="utf-8")
assert "Half of all that is worth more than nothing belongs to" in page
"""


def concepts(diff):
    """What a change must know of the package: names it uses or writes, and files it extends."""
    added = "\n".join(line[1:] for line in diff.splitlines() if line[0] == "+" != line[1:2])
    imported = re.findall(r"^from (?:fairshapley|tests)\S* import (.+)", added, re.M)
    names = {name for line in imported for name in line.split(", ")}
    names |= set(re.findall(r"def (?!test_)(\w+)", added))
    for inner in re.findall(r"{[{%](.*?)[%}]}", added):
        names |= set(re.findall(r"[a-z]\w+", re.sub(r'"[^"]*"', "", inner)))
    extended = set(re.findall(r"^--- a/(.+)", diff, re.M))
    return names - set(re.findall(r"class (\w+)", added)) | extended


def files(diff):
    """The files that a change touches."""
    return re.findall(r"^\+\+\+ b/(.+)", diff, re.M)


@pytest.mark.parametrize(
    ("diff", "most_concepts", "most_files"), [*zip(DIFFS, (12, 8, 7), (4, 3, 3), strict=True)]
)
def test_a_method_an_engine_and_a_section_take_little(diff, most_concepts, most_files):
    assert 3 <= len(files(diff)) <= most_files
    assert 5 <= len(concepts(diff)) <= most_concepts


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the changes")
def test_the_changes_apply_and_work(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    for file in {file for diff in DIFFS for file in files(diff) if (ROOT / file).exists()}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for diff in DIFFS:
        subprocess.run(["git", "apply"], cwd=tmp_path, input=diff.encode(), check=True)
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=path, check=True)
