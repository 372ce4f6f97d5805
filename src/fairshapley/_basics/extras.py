"""Optional packages: imported where they are used, with advice where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairshapley.errors import MissingExtraError


@contextmanager
def extra(name: str, what: str, instead: str = "") -> Iterator[None]:
    """Imports that an extra of this package brings; a MissingExtraError when they fail.

    Parameters
    ----------
    name
        The extra.
    what
        What needs which package.
    instead
        What works without it.

    Examples
    --------
    >>> with extra("report", "plot needs matplotlib"):
    ...     import no_such_package
    Traceback (most recent call last):
    fairshapley.errors.MissingExtraError: plot needs matplotlib: pip install 'fairshapley[report]'
    """
    try:
        yield
    except ImportError:
        advice = f"{what}: pip install 'fairshapley[{name}]'"
        raise MissingExtraError(f"{advice}; {instead}" if instead else advice) from None
