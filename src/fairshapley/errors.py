"""Every error of the package: one base class, and a message that says what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairshapley.results.result import Result


class FairShapleyError(Exception):
    """Base class of every error that fairshapley raises on purpose.

    Attributes
    ----------
    partial
        What the run had estimated before it stopped, where there is such a thing.
    """

    partial: Result | None = None


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

    def __init__(self, message: str, coalition: tuple[int, ...] | None = None) -> None:
        super().__init__(message)
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
