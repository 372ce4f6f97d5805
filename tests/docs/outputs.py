"""Outputs that pages show: the true ones, numbers within a tolerance, lines folded at will."""

import re

NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[e][-−]?\d+)?")
# Another processor rounds in another way, and a run may then stop a round earlier.
SHARE, SMALL = 0.25, 0.01
FILLING = re.compile(r"[\s─━┏┓┗┛┡┩│┃┳╇┴└┘╭╮╰╯]+")


def parts(text):
    """The words between numbers, without lines and spaces, and the numbers."""
    numbers = [
        float(found.replace(",", "").replace("−", "-").replace("+", ""))
        for found in NUMBER.findall(text)
    ]
    return [FILLING.sub("", words) for words in NUMBER.split(text)], numbers


def same_output(shown, printed):
    """Whether a page shows what was printed."""
    words, numbers = parts(shown)
    printed_words, printed_numbers = parts(printed)
    return words == printed_words and all(
        abs(one - other) <= max(SHARE * abs(other), SMALL)
        for one, other in zip(numbers, printed_numbers, strict=True)
    )
