"""A live line in a notebook: what IPython can display and update without any widget."""

from __future__ import annotations

import html
import sys
from typing import Any


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, where output is displayed, not printed."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return hasattr(shell, "kernel")


class NotebookLine:
    """A bar with its status, displayed once and then updated in place.

    Parameters
    ----------
    method
        What is run.
    total
        The evaluations of the budget; without one the bar shows activity only.
    transient
        Whether the line is removed at the end.
    """

    def __init__(self, method: str, total: int | None, *, transient: bool) -> None:
        self._method = method
        self._total = total
        self._transient = transient
        self._handle: Any = None

    def start(self) -> None:
        """Show the line."""
        from IPython import display as notebook

        display: Any = notebook.display  # it has no types
        self._handle = display(self._bundle(0, "starting"), raw=True, display_id=True)

    def update(self, evaluations: int, status: str) -> None:
        """Show how far the run is."""
        if self._handle is not None:
            self._handle.update(self._bundle(evaluations, status), raw=True)

    def stop(self) -> None:
        """Take the line away where it is transient."""
        if self._handle is not None and self._transient:
            self._handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _bundle(self, evaluations: int, status: str) -> dict[str, str]:
        """The line as HTML, and as text for those who show none."""
        of = "" if self._total is None else f"/{self._total:,}"
        text = f"{self._method} {evaluations:,}{of} evaluations · {status}"
        extent = "" if self._total is None else f' value="{evaluations}" max="{self._total}"'
        bar = f'<progress aria-label="progress of the run"{extent}></progress>'
        return {"text/html": f"<div>{bar} {html.escape(text)}</div>", "text/plain": text}
