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
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, given in inspect.signature(command).parameters.items():
        hint = hints[name]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            groups[name] = hint
            parameters += _fields(hint)
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(given.replace(annotation=hint, kind=kind))

    @wraps(command)
    def called(**options: Any) -> None:
        for name, group in groups.items():
            fields = {field.name for field in dataclasses.fields(group)} & options.keys()
            options[name] = group(**{field: options.pop(field) for field in fields})
        command(**options)

    signature = inspect.Signature(parameters, return_annotation=None)
    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called  # type: ignore[return-value]


def _fields(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if field.default is dataclasses.MISSING
            else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
    ]
