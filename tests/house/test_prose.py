"""Patterns of sentences that readers stumble over become fewer, and never more."""

from collections import Counter

import pytest
from tests.house.prose import found, sentences, stumbles

# What is left of each pattern. Whoever removes some lowers the number.
LEFT = {
    "are none": 5,
    "as many as": 8,
    "fragment": 22,
    "has a say": 7,
    "it is none": 1,
    "it is one,": 2,
    "so many": 19,
    "those of": 58,
    "what is no": 1,
    "words": 40,
}


def test_no_pattern_becomes_more_frequent():
    lines = found()
    counts = Counter(line.split(": ")[1].lstrip("0123456789 ") for line in lines)
    more = {what for what, count in counts.items() if count > LEFT.get(what, 0)}
    assert not more, [line for line in lines if line.split(": ")[1].lstrip("0123456789 ") in more]


@pytest.mark.parametrize(
    ("sentence", "what"),
    [
        ("Its errors and those of the others are small.", "those of"),
        ("Or a game.", "fragment"),
        ("Which method should I use?", ""),
        ("word " * 36, "36 words"),
        ("A plain sentence has a subject and a verb.", ""),
    ],
)
def test_patterns_are_found(sentence, what):
    assert stumbles(sentence) == what


def test_sentences_end_at_stops_and_semicolons():
    assert list(sentences("One; two is `a.b`. three")) == ["One;", "two is a.b.", "three"]
