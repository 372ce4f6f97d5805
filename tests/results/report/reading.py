"""What a page says, read off its HTML."""

import html
import json
import re
from types import SimpleNamespace

from fairshapley.results.report.page import report_html
from fairshapley.results.report.players import PlayerTable


def players(result, labels=None, epsilon1=0.5, delta=0.1):
    return PlayerTable(result, epsilon1=epsilon1, delta=delta, labels=labels)


def inner(tag, text):
    """The texts of elements, entities resolved."""
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", text, re.S)
    return [html.unescape(re.sub(r"<[^>]*>", "", one)).replace("\u00a0", " ") for one in found]


def said(result, epsilon1=0.5, delta=0.1):
    """What stands at the top of the page."""
    page = report_html(result, epsilon1=epsilon1, delta=delta)
    kind, text = re.search(r'class="verdict (\w+)"(.*?)</section>', page, re.S).groups()
    return SimpleNamespace(
        kind=kind,
        stamp=inner("p", text)[0][2:],
        headline=inner("h2", text)[0],
        details=inner("li", text),
        statement=inner("p", text)[-1],
    )


def callouts(result, labels=None):
    """The cards of values worth checking."""
    page = report_html(result, labels=labels, epsilon1=0.5)
    return [
        SimpleNamespace(
            total=int(inner("span", text)[0].replace(",", "")),
            text=inner("p", text)[0],
            items=[
                (inner("bdi", one)[0], inner("span", one)[0])
                for one in re.findall(r"<li>.*?</li>", text, re.S)
            ],
        )
        for text in re.findall(r"<article.*?</article>", page, re.S)
    ]


def data_of(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text)


def text_of(page):
    """The page without its scripts and styles, entities resolved."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", bare)))
