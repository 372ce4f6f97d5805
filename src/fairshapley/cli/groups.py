"""Options that several commands share, kept in dataclasses instead of long signatures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

Command = TypeVar("Command", bound=Callable[..., None])


def grouped(command: Command) -> Command:
    """A command whose parameters of a dataclass type are given as one option for each field.

    Typer reads the options of a command from its signature; this one has the fields in place of
    the dataclass, and puts them together again when the command is called.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Place:
    ...     x: int
    ...     y: int = 0
    >>> @grouped
    ... def show(place: Place, loud: bool = False) -> None:
    ...     print(place)
    >>> print(inspect.signature(show))
    (*, x: int, y: int = 0, loud: bool = False) -> None
    >>> show(x=1)
    Place(x=1, y=0)
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for given in _parameters(command):
        if dataclasses.is_dataclass(given.annotation):
            groups[given.name] = given.annotation
            parameters += _parameters(given.annotation)
        else:
            parameters.append(given)

    @wraps(command)
    def called(**options: Any) -> None:
        for name, group in groups.items():
            names = {field.name for field in dataclasses.fields(group)} & options.keys()
            options[name] = group(**{one: options.pop(one) for one in names})
        command(**options)

    signature = inspect.Signature(parameters, return_annotation=None)
    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called  # type: ignore[return-value]


def _parameters(called: Any) -> list[inspect.Parameter]:
    """The parameters of a function or a dataclass, with types that Typer can read."""
    hints, kind = get_type_hints(called, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    given = inspect.signature(called).parameters.values()
    return [one.replace(annotation=hints[one.name], kind=kind) for one in given]
