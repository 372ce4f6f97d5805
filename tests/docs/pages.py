"""The documentation as data: pages, their links, their code."""

import re
from dataclasses import dataclass
from pathlib import Path

from docs.site_hooks import HOME
from markdown.extensions.toc import slugify

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<mark>```+)(?P<language>\w*)\n(?P<code>.*?)^(?P=mark)$", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: [^>]+ -->\s*\Z")
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    marked: bool
    """Whether a comment above says that, and why, it is not run"""


def pages():
    """Every page that readers see, those outside docs/ included."""
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    found = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
    return sorted([*top, *found])


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(page):
    """The text without code, in which brackets may mean anything."""
    return INLINE_CODE.sub("", FENCE.sub("", text_of(page)))


def blocks(page):
    text = text_of(page)
    return [
        Block(found["language"], found["code"], bool(NOT_RUN.search(text[: found.start()])))
        for found in FENCE.finditer(text)
    ]


def links(page):
    """The targets of links and images that are not addresses in the web."""
    prose = HOME.sub("", prose_of(page)) if page.name == "README.md" else prose_of(page)
    return [target for target in LINK.findall(prose) if not target.startswith("http")]


def anchors(page):
    """The anchors of the headings of a page."""
    headings = HEADING.findall(FENCE.sub("", text_of(page)))
    return {slugify(re.sub(r"[`*]", "", heading), "-") for heading in headings}
