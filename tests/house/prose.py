"""Sentences that a reader stumbles over, found mechanically: ``python -m tests.house.prose``.

Looked at are the pages, the docstrings of the package, and its messages. `ALLOWED` lists the false
alarms, each by its words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_WORDS = 35
# Phrases without a noun, negations of nothing, and words that mean something else today.
STUMBLES = (
    "those of", "it is none", "it is one,", "so many", "by the way", "has a say", "what is no",
    "cannot be helped", "tells nothing", "tell nothing", "says nothing of", "is none of",
    "speak for themselves", "no path", "as many as", "and such", "with such.", "are none",
    "data set", "data frame",
)  # fmt: skip
# A sentence that begins so, and asks nothing, is usually a part of the one before.
FRAGMENT = re.compile(r"^(?:Of |Or |And |Nor |Which )(?!.*[?:]$)")
# Where a pattern is meant: words of the sentence, all small.
ALLOWED: dict[str, tuple[str, ...]] = {
    "fragment": (
        "which one", "which form the metric", "which method should i use", "which method when",
        "which of kinds a table is",
    ),
    "words": ("create table", "with recursive"),
    "as many as": ("as many as asked", "one of newton's is as many as"),
}  # fmt: skip

FENCE = re.compile(r"^(```+).*?^\1$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.i\.d\.)\s+|(?<=[:;])\s+")
MARKUP = re.compile(r"\]\([^)]*\)|[*`\[\]]|>>>.*")
WORD = re.compile(r"[^\W\d_][\w’'-]*")
SECTIONS = re.compile(r"^\s*(?:[-=]{3,}|Parameters|Returns|Raises|Examples|Notes)\s*$", re.M)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text without markup; items of lists and cells of tables apart.

    Examples
    --------
    >>> list(sentences("One is\\nhere; two is `a.b`. Two is\\nthere.\\n\\n- three"))
    ['One is here;', 'two is a.b.', 'Two is there.', 'three']
    """
    for part in re.split(r"\n\s*\n|\n\s*(?=[-#|]|\d+\.\s)|\s\|\s", text):
        for sentence in END.split(" ".join(MARKUP.sub("", part).split())):
            if cleaned := sentence.strip(" -#|"):
                yield cleaned


def page_text(page: Path) -> str:
    """A page without its code."""
    return COMMENT.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))


def module_texts(module: Path) -> Iterator[str]:
    """Docstrings without examples, and texts of three words or more."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values
            ]
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = re.split(r"\n\s*Examples\n\s*---", node.value)[0]
            if text.count(" ") > 2:
                yield SECTIONS.sub("\n\n", text)


def stumbles(sentence: str) -> str:
    """What is wrong with a sentence; empty when nothing is.

    Examples
    --------
    >>> stumbles("Its errors and those of others."), stumbles("All is well.")
    ('those of', '')
    >>> stumbles("Or a game."), stumbles("Which method should I use?"), stumbles("word " * 36)
    ('fragment', '', '36 words')
    """
    low = sentence.lower()
    for phrase in STUMBLES:
        if re.search(rf"\b{re.escape(phrase)}(?!\w)", low) and not allowed(phrase, low):
            return phrase
    if FRAGMENT.search(sentence) and not allowed("fragment", low):
        return "fragment"
    words = len(WORD.findall(sentence))
    if words > MOST_WORDS and not allowed("words", low):
        return f"{words} words"
    return ""


def allowed(pattern: str, sentence: str) -> bool:
    """Whether a false alarm is listed."""
    return any(words in sentence for words in ALLOWED.get(pattern, ()))


def places() -> Iterator[tuple[Path, str]]:
    """All texts that are looked at."""
    names = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    pages = [ROOT / name for name in names]
    pages += [
        page
        for page in ROOT.glob("docs/**/*.md")
        if "results" not in page.parts and page.name not in ("cli.md", "verdicts.md")
    ]
    for page in pages:
        yield page, page_text(page)
    for folder in ("src", "benchmarks"):
        for module in (ROOT / folder).rglob("*.py"):
            for text in module_texts(module):
                yield module, text


def found() -> list[str]:
    """A line for each stumble."""
    return sorted(
        {
            f"{path.relative_to(ROOT)}: {what}: {sentence[:160]}"
            for path, text in places()
            for sentence in sentences(text)
            if (what := stumbles(sentence))
        }
    )


def main() -> int:
    """Print the stumbles; 1 where there are some."""
    lines = found()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
