"""How options are declared: fields of dataclasses that commands share, or parameters of one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

Command = TypeVar("Command", bound=Callable[..., None])


def _declared(
    made: Any, default: Any, text: str, metavar: str | None = None, *, name: str = "", **more: Any
) -> Any:
    """A field of a group, a parameter of a command or a note on a type, for `grouped` to read.

    Its default, ... without one; its help, and the word there for its value.
    """
    option = made(*([name] if name else []), help=text, metavar=metavar, **more)
    value = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=value, metadata={"option": option})


argument, option = partial(_declared, typer.Argument), partial(_declared, typer.Option)


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

    An option of its own is declared where its default would stand, as it is in a dataclass.

    >>> @grouped
    ... def greet(times: int = option(2, "How often.", "N")) -> None:
    ...     print("hello " * times)
    >>> inspect.signature(greet).parameters["times"].default
    2
    >>> greet(times=1)
    hello
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
    hints, found = get_type_hints(called, include_extras=True), []
    fields = getattr(called, "__dataclass_fields__", {})
    for name, given in inspect.signature(called).parameters.items():
        hint, default = hints[name], given.default
        for one in (*getattr(hint, "__metadata__", ()), fields.get(name), default):
            if isinstance(one, dataclasses.Field) and "option" in one.metadata:
                hint = Annotated[getattr(hint, "__origin__", hint), one.metadata["option"]]
        if isinstance(default, dataclasses.Field):
            required = default.default is dataclasses.MISSING
            default = inspect.Parameter.empty if required else default.default
        found.append(given.replace(annotation=hint, default=default, kind=given.KEYWORD_ONLY))
    return found
