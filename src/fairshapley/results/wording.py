"""Numbers and names as people read them."""

from __future__ import annotations

import math


def isolated(name: str) -> str:
    r"""Return a name whose direction of writing does not turn that of its sentence.

    In HTML elements of their own, `<bdi>` does the same.

    Examples
    --------
    >>> ascii(isolated("a"))
    "'\\u2068a\\u2069'"
    """
    return f"\u2068{name}\u2069"


def number(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, a true minus sign, and words for the others.

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
    """Return a share in per cent.

    Examples
    --------
    >>> percent(0.9), percent(0.999)
    ('90 %', '99.9 %')
    """
    return f"{number(100 * share, 6)} %"


def unbroken(sentence: str) -> str:
    r"""Return a sentence whose numbers stay on one line with their signs.

    Examples
    --------
    >>> ascii(unbroken("within 50 % or ± 2"))
    "'within 50\\xa0% or \\xb1\\xa02'"
    """
    return sentence.replace(" %", "\u00a0%").replace("± ", "±\u00a0")
