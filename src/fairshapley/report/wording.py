"""Numbers and names as people read them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

LONGEST_NAME = 200
LONGEST_SENTENCE = 5000
# Joiners inside words of some scripts and inside emoji; all other invisible letters are shown.
_JOINERS = "\u200c\u200d"


def visible(text: str, longest: int = LONGEST_NAME) -> str:
    r"""A text from the data, with letters that hide or reorder others made visible.

    Control characters, marks of direction and lone surrogates appear as their code points. It is
    still to be escaped where it goes into HTML.

    Examples
    --------
    >>> visible("a\u202eb\x00")
    'a⟨U+202E⟩b⟨U+0000⟩'
    """
    shown = [_letter(letter) for letter in text[: longest + 1]]
    return "".join(shown[:longest]) + ("…" if len(shown) > longest else "")


def _letter(letter: str) -> str:
    hidden = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
    return f"⟨U+{ord(letter):04X}⟩" if hidden and letter not in _JOINERS else letter


def number(value: float, digits: int = 3) -> str:
    """A number with some significant digits, a true minus sign, and words for the others.

    Examples
    --------
    >>> number(-0.012345), number(1234567.0), number(float("inf")), number(float("nan"))
    ('−0.0123', '1,230,000', '∞', 'not known')
    >>> number(1.5e-7), number(0.0), number(-0.00021)
    ('1.5e−7', '0', '−0.00021')
    """
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    if 1e-4 <= abs(rounded) < 1e9:
        places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
        text = f"{rounded:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.9), percent(0.999)
    ('90 %', '99.9 %')
    """
    return f"{number(100 * share, 6)} %"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> duration(0.0042), duration(12.3), duration(700)
    ('4.2 ms', '12 s', '12 min')
    """
    if seconds < 1:
        return f"{number(1000 * seconds, 2)} ms"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def several(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> several(1, "player"), several(1200, "player")
    ('1 player', '1,200 players')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(items: Sequence[str]) -> str:
    """Items as in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
