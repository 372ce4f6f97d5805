"""What MkDocs does not do by itself: pages whose text lives outside docs/, and links to them.

Links are written so that they work where a file lies in the repository. The README is the front
page of the site, and results of benchmarks are pages; here their links are made to fit.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
# The README is read outside the repository too: its links are whole addresses.
HOME = re.compile(
    r"https://(?:github\.com/fairshapley/fairshapley/blob|"
    r"raw\.githubusercontent\.com/fairshapley/fairshapley)/main/"
)
# Files at the top of the repository, and where they are in the site.
TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
SESSION = re.compile(r"^```python\n(>>> .*?)^```$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"\s*# doctest: \S+$")


def outside() -> dict[str, str]:
    """The files outside docs/ that the site shows: path in the repository, path in the site.

    Examples
    --------
    >>> outside()["README.md"], outside()["benchmarks/RESULTS.md"]
    ('index.md', 'benchmarks/RESULTS.md')
    """
    found = [*ROOT.glob("benchmarks/**/RESULTS.md"), *ROOT.glob("benchmarks/**/*.png")]
    found += ROOT.glob("benchmarks/explain/*.csv")  # pages link to them
    paths = [path.relative_to(ROOT).as_posix() for path in found]
    return TOP | {path: path for path in sorted(paths)}


def place_in_site(path: str) -> str:
    """Where a file of the repository is in the site.

    Examples
    --------
    >>> place_in_site("docs/methods.md"), place_in_site("README.md")
    ('methods.md', 'index.md')
    """
    return TOP.get(path) or path.removeprefix(DOCS)


def fit_links(markdown: str, path: str) -> str:
    """The text of a file of the repository, its links as the site needs them.

    Examples
    --------
    >>> fit_links("[how](docs/methods.md#audit), [what](https://example.org)", "README.md")
    '[how](methods.md#audit), [what](https://example.org)'
    >>> fit_links("[measured](../../benchmarks/RESULTS.md)", "docs/scenarios/knn.md")
    '[measured](../benchmarks/RESULTS.md)'
    """
    here, there = posixpath.dirname(path), posixpath.dirname(place_in_site(path))

    def fitted(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, link[2]))
        return link[1] + posixpath.relpath(place_in_site(target), there or ".") + link[3]

    return LINK.sub(fitted, HOME.sub("", markdown) if path == "README.md" else markdown)


def part_lists(markdown: str) -> str:
    r"""A blank line before each list that follows a line of text, as Python's Markdown wants it.

    Examples
    --------
    >>> part_lists("Kept\n- this\n- that")
    'Kept\n\n- this\n- that'
    """
    lines: list[str] = []
    fenced = False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        before = lines[-1] if lines else ""
        if not fenced and line.startswith("- ") and before and not before.startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def pasteable(session: str) -> str:
    r"""Code that can be pasted, from a session: no prompts, outputs as comments.

    Examples
    --------
    >>> print(pasteable(">>> for x in (1, 2):\n...     print(x)\n1\n2\n"))
    for x in (1, 2):
        print(x)
    # 1
    # 2
    """
    lines = []
    for line in session.rstrip().split("\n"):
        if line[:4] in (">>> ", "... ", "..."):
            lines.append(DIRECTIVE.sub("", line[4:]))
        else:
            lines.append(f"# {line}" if line else "")
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures whose files lie outside docs/."""
    for path, place in outside().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fit links and lists, and make sessions (>>>) code that can be pasted."""
    places = {place: path for path, place in outside().items()}
    uri = page.file.src_uri
    fitted = fit_links(part_lists(markdown), places.get(uri, DOCS + uri))
    return SESSION.sub(lambda found: f"```python\n{pasteable(found[1])}\n```", fitted)
