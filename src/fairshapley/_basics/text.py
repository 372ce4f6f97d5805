"""Texts in sentences, texts from the data made safe to show, and HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import groupby
from unicodedata import category

# Joiners inside words of some scripts and inside emoji; all other invisible letters are shown.
JOINERS = "\u200c\u200d"
HIDDEN = ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
MARKS = ("Mn", "Me")
# Marks stacked on one letter: scripts in use need up to four, and more climb over other lines.
MOST_MARKS = 4
# A cell that begins with one of these is a formula to a spreadsheet, also behind white space.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def several(count: int, singular: str, many: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> several(1, "player"), several(1200, "player")
    ('1 player', '1,200 players')
    """
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"


def listed(items: Sequence[str], most: int = 10) -> str:
    """Return items as in a sentence: all of a few, or the first ones and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    >>> listed(["a", "b", "c"], most=1)
    'a and 2 more'
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most:,} more"
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def quoted(names: Sequence[str]) -> str:
    """Return names from the data as in a sentence, each in quotes.

    Examples
    --------
    >>> quoted(["a", "b"])
    "'a' and 'b'"
    """
    return listed([f"{name!r:.60}" for name in names], most=6)


def near_miss(name: str, known: Sequence[str]) -> str:
    """A question for who mistyped a name, as the end of a sentence; empty where nothing is near.

    Examples
    --------
    >>> near_miss("inkome", ["age", "income"])
    "; did you mean 'income'?"
    >>> near_miss("Income ", ["age", "income"]), near_miss("x", ["age"])
    ("; did you mean 'income'?", '')
    """
    plain = {candidate.strip().casefold(): candidate for candidate in known}
    found = get_close_matches(name.strip().casefold()[:100], plain, n=1)
    return f"; did you mean {plain[found[0]]!r:.60}?" if found else ""


def common_rows(share: float, *, near: bool, counts: Sequence[int]) -> str:
    """Return how much players share: the rows that each has in common with another.

    Examples
    --------
    >>> common_rows(1.0, near=False, counts=[20, 20]), common_rows(0.9, near=True, counts=[1, 20])
    ('have the same rows', "overlap: 90 % of the rows of one are also another's, or nearly so")
    """
    if share == 1 and len(set(counts)) == 1:
        return f"have {'nearly ' * near}the same rows"
    part = "all rows" if share == 1 else f"{100 * share:.0f} % of the rows"
    return f"overlap: {part} of one are also another's{', or nearly so' * near}"


def visible(text: str) -> str:
    r"""Return a text from the data, with letters that hide, reorder or cover others made visible.

    Control characters, marks of direction and lone surrogates appear as their code points. The
    first four combining marks on one letter are kept and the others counted. Nothing else is
    left out. The text is still to be escaped where it goes into HTML.

    Examples
    --------
    >>> visible("a\u202eb\x00")
    'a⟨U+202E⟩b⟨U+0000⟩'
    >>> visible("e" + 9 * "\u0301").endswith("⟨and 5 more marks⟩")
    True
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    for marks, run in groupby(text, lambda letter: category(letter) in MARKS):
        letters = [
            letter
            if category(letter) not in HIDDEN or letter in JOINERS
            else f"⟨U+{ord(letter):04X}⟩"
            for letter in run
        ]
        if marks:
            more = len(letters) - MOST_MARKS
            # A mark without a letter of its own would sit on what stands before the text.
            letters = [*([] if shown else ["◌"]), *letters[:MOST_MARKS]]
            if more > 0:
                letters.append(f"⟨and {more:,} more marks⟩")
        shown += letters
    return "".join(shown)


def one_line(text: str, longest: int) -> str:
    r"""A text from the data as `visible` shows it, in one line that is cut where it is too long.

    Examples
    --------
    >>> one_line("a\n  b\x07", 80), one_line("abcdef", 4)
    ('a b⟨U+0007⟩', 'abc…')
    """
    # Cut before too: a name may have millions of letters.
    shown = visible(" ".join(text[: 4 * longest].split()))
    cut = len(shown) > longest or len(text) > 4 * longest
    return f"{shown[: longest - 1]}…" if cut else shown


def plain_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that looks so gets a leading apostrophe.

    Numbers are not to be passed through this: −5 is a number, not a formula.

    Examples
    --------
    >>> plain_cell("=cmd()"), plain_cell("ordinary")
    ("'=cmd()", 'ordinary')
    """
    suspect = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if suspect else text


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> duration(0.0042), duration(12.3), duration(700)
    ('4.2 ms', '12 s', '12 min')
    >>> duration(19_000), duration(7_316_100), duration(1e10)
    ('5.3 hours', '85 days', '317 years')
    """
    if seconds < 1:
        return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    if hours < 48:
        return f"{hours:.2g} hours"
    days = hours / 24
    return f"{days:.0f} days" if days < 730 else f"{days / 365:,.0f} years"


LONGEST_TEXT = 80

_CELL = "padding:0.15em 0.8em;text-align:right;font-variant-numeric:tabular-nums"
_FIRST = "padding:0.15em 0.8em 0.15em 0;text-align:left"


def escaped(text: str) -> str:
    """A text from the data: it stays text, is not too long, and turns no neighbour's direction.

    Examples
    --------
    >>> escaped("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{html.escape(one_line(text, LONGEST_TEXT))}</bdi>"


def names_table_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first cells are names from the data; other cells are HTML already.

    Without names of columns it has no head.
    """
    head = "".join(
        f'<th scope="col" style="{_CELL if place else _FIRST}">{html.escape(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = "".join(
        f'<tr><th scope="row" style="{_FIRST};font-weight:normal">{escaped(first)}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    # Some pages let tables keep black text where all else is light.
    style = "border-collapse:collapse;color:inherit;font-size:inherit;margin:0.3em 0"
    return f'<table style="{style}">{head}<tbody>{body}</tbody></table>'


def block_html(title: str, *parts: str) -> str:
    """Return a title over parts, which are HTML already."""
    heading = f'<p style="margin:0.3em 0"><strong>{html.escape(title)}</strong></p>'
    return f'<div class="fairshapley">{heading}{"".join(parts)}</div>'


def sentences_html(sentences: Iterable[str]) -> str:
    """Return each sentence in a line of its own."""
    lines = "<br>".join(html.escape(sentence) for sentence in sentences)
    return f'<p style="margin:0.3em 0;max-width:60em">{lines}</p>' if lines else ""
