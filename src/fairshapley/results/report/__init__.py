"""The HTML report of a result: one file that works offline, for people who must defend a number.

`players.py`, `fairness.py`, `charts.py` and `provenance.py` say what the page shows, as plain data
and sentences; `page.py` puts it into the templates. Only a `Result` is read.
"""

from fairshapley.results.report.page import write_report
from fairshapley.results.report.players import Labels

__all__ = ["Labels", "write_report"]
