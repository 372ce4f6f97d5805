"""Code and numbers of the documentation: what is shown runs, and is what was measured."""

import io
import re
import shlex
import tomllib
from contextlib import redirect_stdout

import pytest
import typer
import yaml

import fairshapley as fs
from fairshapley.cli.registry import app
from fairshapley.demo import write_clinics
from tests.cli.files import run
from tests.docs.outputs import same_output
from tests.docs.pages import ROOT, blocks, name_of, pages, text_of

PROJECT = tomllib.loads(text_of(ROOT / "pyproject.toml"))
INLINE_COMMAND = re.compile(r"`(fairshapley [a-z][^`…]*)`")
PLAIN = {name_of(page): [b for b in blocks(page) if b.language == "python"] for page in pages()}


def test_sessions_are_run_by_pytest():
    """Blocks with >>> are doctests where pytest looks for them."""
    settings = PROJECT["tool"]["pytest"]["ini_options"]
    assert "--doctest-glob=*.md" in settings["addopts"]
    seen = tuple(settings["testpaths"])
    sessions = [name for name, found in PLAIN.items() if any(">>>" in b.code for b in found)]
    assert len(sessions) > 10
    assert all(name.startswith(seen) for name in sessions)


@pytest.mark.parametrize(
    "name", [name for name, found in PLAIN.items() if any(">>>" not in b.code for b in found)]
)
def test_blocks_without_prompts_run_or_say_why_not(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # they may write files
    shared = {}
    found = blocks(ROOT / name)
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language != "python":
            continue
        if ">>>" in block.code:
            assert not block.marked, "a session is run, whatever the comment says"
            continue
        code = compile(block.code, name, "exec")
        if block.marked:
            continue
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, shared)  # noqa: S102 - the page is ours
        if after is not None and after.language == "text":
            assert same_output(after.code, printed.getvalue()), printed.getvalue()


def commands():
    """Every command line that a page shows."""
    # The changelog also speaks of what there was.
    for page in (page for page in pages() if page.name != "CHANGELOG.md"):
        found = INLINE_COMMAND.findall(text_of(page))
        for block in blocks(page):
            lines = [line.removeprefix("$ ") for line in block.code.splitlines()]
            found += [line for line in lines if line.startswith("fairshapley ")]
        yield from (pytest.param(line, id=f"{name_of(page)}: {line}") for line in found)


@pytest.mark.parametrize("line", list(commands()))
def test_commands_name_what_there_is(line):
    """The command and its options exist; options have their values, and arguments are there."""
    command, words = typer.main.get_command(app), shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands") and words:
        assert words[0] in command.commands, f"no command {words[0]}"
        command = command.commands[words.pop(0)]
    context = command.context_class(command, info_name=command.name)
    given, rest, _ = command.make_parser(context).parse_args(list(words))
    assert not rest
    if words and words != ["--help"]:
        required = [one.name for one in command.params if one.required]
        assert all(isinstance(given.get(name), str) for name in required), required


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_comparison_is_what_was_measured():
    """Every number of the table is in the file that its row links to."""
    page = ROOT / "docs" / "comparison.md"
    rows = [cells(line) for line in text_of(page).splitlines() if line.startswith("| ")]
    rows = [row for row in rows if "](" in row[-1]]  # without headings
    assert len(rows) >= 3
    for _, ours, theirs, source in rows:
        measured = text_of(page.parent / re.search(r"\]\(([^)#]+)", source)[1])
        present = set(re.findall(r"\d[\d,.]*\d|\d", measured))
        numbers = re.findall(r"\d[\d,.]*\d|\d", f"{ours} {theirs}")
        assert numbers
        assert not [number for number in numbers if number not in present], (ours, theirs)


def test_the_readme_says_what_was_measured():
    """Its one number of the comparison: the smallest and the largest ratio on the tables."""
    rows = re.findall("^[|] mean.*", text_of(ROOT / "docs" / "comparison.md"), re.M)
    ratios = [float(cells(row)[2].split()[0]) for row in rows]
    assert f"{int(min(ratios))} to {round(max(ratios))} times" in text_of(ROOT / "README.md")


def test_the_coverage_on_the_page_is_that_of_the_benchmark():
    results = text_of(ROOT / "benchmarks" / "efficiency" / "RESULTS.md")
    table = results.split("## Calibration")[1].split("\n## ")[0]
    heading, _, *rows = [cells(line) for line in table.splitlines() if line.startswith("|")]
    rows = [row for row in rows if int(row[heading.index("per player")]) >= 30]
    found = [row[heading.index("coverage of 95 % intervals")] for row in rows]
    lowest, highest = min(found, key=float), max(found, key=float)
    assert f"{lowest} to {highest}" in text_of(ROOT / "docs" / "comparison.md")


def test_the_readme_is_short_and_reads_outside_the_repository():
    readme = text_of(ROOT / "README.md")
    assert readme.count("\n") <= 150
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(targets) > 20
    assert all(target.startswith("https://") for target in targets)
    assert PROJECT["project"]["urls"]["Source"] in readme
    assert "..." not in readme


def test_the_citation_is_complete():
    citation = yaml.safe_load(text_of(ROOT / "CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == fs.__version__ == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    paper = citation["preferred-citation"]
    readme = text_of(ROOT / "README.md")
    assert paper["title"] in readme
    assert paper["doi"] in readme
    assert all(author["family-names"] in readme for author in paper["authors"])


def test_commands_of_the_readme_work_in_a_clone(tmp_path, monkeypatch):
    readme = text_of(ROOT / "README.md")
    first = readme.split("```console\n")[1].split("```")[0]
    make, own = [line.removeprefix("$ ") for line in first.splitlines()]
    rules = text_of(ROOT / "Makefile")
    assert make == "make demo"
    # What the demo needs, in an environment of its own: not the developers' tools.
    assert "\ndemo: $(DEMO)/.installed\n\t$(DEMO)/bin/fairshapley demo\n" in rules
    assert "'.[demo]'" in rules
    program, *arguments = shlex.split(own)
    assert program == ".venv-demo/bin/fairshapley"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairshapley-demo").mkdir()
    write_clinics(tmp_path / "fairshapley-demo")
    done = run(*arguments, "--quiet", "--budget", 200)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "report.html").exists()


def test_nothing_assumes_a_published_package():
    sources = (ROOT / "src").rglob("*.py")
    for file in (*pages(), *sources):
        assert not re.search(r"pip install [^\n]*fairshapley", text_of(file)), file


def test_there_are_ten_snippets_of_at_most_five_lines():
    page = ROOT / "docs/snippets.md"
    headings = re.findall(r"^## (\d+)\. I have .+ want ", text_of(page), re.M)
    assert headings == [str(number) for number in range(1, 11)]
    common, *snippets = PLAIN[name_of(page)]
    assert len(snippets) == 10
    assert not any(block.marked for block in (common, *snippets))
    assert all(sum(map(bool, block.code.splitlines())) <= 5 for block in snippets)
