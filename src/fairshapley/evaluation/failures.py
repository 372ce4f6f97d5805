"""How a coalition whose utility failed, or has changed, is named."""

from __future__ import annotations

from fairshapley._basics.types import BoolArray
from fairshapley.errors import GameError, JournalError
from fairshapley.evaluation.engines.engine import RemoteError, WorkerLostError
from fairshapley.games.game import members


def reason_of(error: Exception | None) -> str:
    """What went wrong, in the words that a serial run would use.

    Examples
    --------
    >>> reason_of(ValueError("singular"))
    'ValueError: singular'
    """
    if isinstance(error, GameError | WorkerLostError):
        return str(error)
    name = error.name if isinstance(error, RemoteError) else type(error).__name__
    return f"{name}: {error}"


def failure(mask: BoolArray, reason: str) -> GameError:
    """The error that names a coalition and the remedies."""
    coalition = members(mask)
    return GameError(
        f"the utility of coalition {shorten(coalition)} failed: {reason}",
        coalition,
        remedy=(
            "make the utility return a finite number for every coalition",
            "leave such coalitions out with {on_error:'skip'} (no certificate is issued then)",
        ),
    )


def changed(mask: BoolArray, value: float, journalled: float, path: object) -> JournalError:
    """The error of a utility that is not what the journal holds."""
    return JournalError(
        f"the utility of coalition {shorten(members(mask))} is {value!r} now and {journalled!r} "
        f"in the journal {path}: the game has changed or is random. Use a new journal, fix its "
        "random seed, or give the game another key; where the expected utility is meant, say "
        "random=True or use fs.games.Random"
    )


def shorten(coalition: tuple[int, ...]) -> str:
    """The members, cut in the middle when there are very many.

    Examples
    --------
    >>> shorten((0, 2))
    '(0, 2)'
    """
    if len(coalition) <= 30:
        return str(coalition)
    head, tail = ", ".join(map(str, coalition[:12])), ", ".join(map(str, coalition[-3:]))
    return f"({head}, …, {tail}) of {len(coalition)} players"
