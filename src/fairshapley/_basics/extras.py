"""Optional packages: imported where they are used, with advice where they are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

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
    fairshapley.errors.MissingExtraError: plot needs matplotlib: pip install ...
    """
    try:
        yield
    except ImportError:
        advice = f"{what}: {_installed_by(name)}"
        raise MissingExtraError(f"{advice}; {instead}" if instead else advice) from None


def _installed_by(name: str) -> str:
    """The command that installs what an extra brings.

    It names the packages, not the extra of this one: it is right wherever this package came from.
    """
    try:
        required = metadata.requires("fairshapley") or ()
    except metadata.PackageNotFoundError:
        required = ()
    packages = [
        f"'{entry.partition(';')[0].strip()}'"
        for entry in required
        if re.search(rf"extra == ['\"]{name}['\"]", entry)
    ]
    if not packages:
        return f"in a clone, pip install '.[{name}]'"
    return f"pip install {' '.join(packages)}"
