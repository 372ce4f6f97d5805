"""Every error of the package: one base class, and a message that says what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A parameter in a remedy, and the value to give it: "{seed}", "{seed:0}".
_PARAMETER = re.compile(r"\{(\w+)(?::([^{}]*))?\}")


class FairShapleyError(Exception):
    """Base class of every error that fairshapley raises on purpose.

    Parameters
    ----------
    message
        What is wrong. Where a parameter is named, the message continues its name.
    parameter
        The parameter that cannot be used.
    received
        What it was; the message then ends with it.
    remedy
        What to do, or several ways; {seed} in it stands for a parameter, {seed:0} for one with a
        value.

    Attributes
    ----------
    partial
        What the run had estimated before it stopped, where there is such a thing.
    """

    partial: Result | None = None

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        received: Any = ...,
        remedy: str | Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.received = received
        self.remedy = (remedy,) if isinstance(remedy, str) else tuple(remedy)

    def __str__(self) -> str:
        return self.worded(lambda name, value: f"{name}={value or ''}")

    def worded(self, named: Callable[[str, str | None], str]) -> str:
        """Return the message with parameters as they are called elsewhere, as in the shell.

        Parameters
        ----------
        named
            Returns how a parameter, with a value or None, is given. Remedies with a parameter for
            which it raises a LookupError are left out.

        Examples
        --------
        >>> error = InputError("is negative", parameter="seed", remedy="give {seed:0}")
        >>> str(error)
        'seed is negative: give seed=0'
        >>> error.worded(lambda name, value: f"--{name} {value or ''}".strip())
        '--seed is negative: give --seed 0'
        """
        text = str(self.args[0])
        if self.parameter is not None:
            lead = self.parameter
            with suppress(LookupError):
                lead = named(lead, None).rstrip("=")
            text = f"{lead} {text}"
        if self.received is not ...:
            text = f"{text}, not {self.received!r:.60}"
        ways = []
        for remedy in self.remedy:
            with suppress(LookupError):
                ways.append(_PARAMETER.sub(lambda found: named(found[1], found[2]), remedy))
        return f"{text}: {', or '.join(ways)}" if ways else text


class InputError(FairShapleyError, ValueError):
    """An argument that cannot be used; the message names the remedy."""


class BudgetError(InputError):
    """A budget that does not pay for one round of the method."""


class GameError(FairShapleyError, RuntimeError):
    """A utility that raised, or answered with something that is not a finite number.

    Attributes
    ----------
    coalition
        The players of the coalition that failed, where one coalition can be named.
    """

    def __init__(
        self, message: str = "", coalition: tuple[int, ...] | None = None, **fields: Any
    ) -> None:
        super().__init__(message, **fields)
        self.coalition = coalition


class FingerprintError(FairShapleyError, TypeError):
    """A game whose content cannot be hashed, so that a journal cannot tell it from another."""


class JournalError(FairShapleyError, OSError):
    """A journal that cannot be read, written or used for this game."""


class EngineError(FairShapleyError, RuntimeError):
    """Workers or a cluster that cannot compute any more; what they had computed is kept."""


class MissingExtraError(FairShapleyError, ImportError):
    """A feature that needs an optional dependency; the message names the extra to install."""


class ContractError(FairShapleyError, AssertionError):
    """A game or an estimator that breaks a rule checked by `fairshapley.testing`."""
