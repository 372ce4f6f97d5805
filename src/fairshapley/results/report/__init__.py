"""The HTML report of a result: one file that works offline, for people who must defend a number.

`players.py`, `drawing.py` and `provenance.py` find what the page shows; its words
are in the template, which `page.py` fills. Only a `Result` is read.
"""

from fairshapley.results.report.page import report_html

__all__ = ["report_html"]
