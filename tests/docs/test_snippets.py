"""Ten snippets of five lines: that they run is tested with the other pages."""

import re

from tests.docs.pages import ROOT, blocks, text_of

PAGE = ROOT / "docs/snippets.md"


def test_there_are_ten_of_at_most_five_lines():
    headings = re.findall(r"^## (\d+)\. I have .+ want ", text_of(PAGE), re.M)
    assert headings == [str(number) for number in range(1, 11)]
    common, *snippets = [block for block in blocks(PAGE) if block.language == "python"]
    assert not common.marked
    assert len(snippets) == 10
    for block in snippets:
        assert not block.marked
        assert sum(map(bool, block.code.splitlines())) <= 5
