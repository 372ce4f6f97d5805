"""How options are declared: fields of dataclasses that commands share, or parameters of one."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from fairshapley.errors import InputError

Command = TypeVar("Command", bound=Callable[..., None])
METHOD_OPTIONS = "method_options"
"""The field of a group that takes each `--option` that is no advanced field"""
WORDS = {"yes": True, "no": False, "none": None}
KINDS = {bool: "yes or no", int: "a whole number", float: "a number", str: "a text"}
"""What the values of advanced options may be"""


def _declared(
    made: Any, default: Any, text: str, metavar: str | None = None, *, name: str = "", **more: Any
) -> Any:
    """Return a field of a group, or a parameter of a command, for `grouped` to read.

    Its default, ... without one; its help, and the word there for its value.
    """
    option = made(*([name] if name else []), help=text, metavar=metavar, **more)
    value = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=value, metadata={"option": option})


argument, option = partial(_declared, typer.Argument), partial(_declared, typer.Option)


def advanced(default: Any, text: str) -> Any:
    """Return a field of a group that is given by `--option NAME=VALUE`."""
    return dataclasses.field(default=default, metadata={"advanced": text})


def advanced_fields(group: Any) -> Iterator[dataclasses.Field[Any]]:
    """Yield the advanced fields of a group without the one for the method's options."""
    for field in dataclasses.fields(group):
        if "advanced" in field.metadata and field.name != METHOD_OPTIONS:
            yield field


def grouped(command: Command) -> Command:
    """Return a command whose parameters of a dataclass type are one option for each field.

    Typer reads the options of a command from its signature; this one has the fields in place of
    the dataclass, and puts them together again when the command is called. Advanced fields share
    one option, `--option NAME=VALUE`.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Place:
    ...     x: int
    ...     y: int = advanced(0, "How high.")
    >>> @grouped
    ... def show(place: Place, times: int = option(2, "How often.", "N")) -> None:
    ...     print(times * f"{place} ")
    >>> list(inspect.signature(show).parameters)
    ['x', 'times', 'option']
    >>> show(x=1, option=["y=3"], times=1)
    Place(x=1, y=3)
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    kinds: dict[str, Any] = {}
    for given in _parameters(command):
        group = given.annotation
        if dataclasses.is_dataclass(group):
            groups[given.name] = group
            parameters += _parameters(group)
            hints = get_type_hints(group)
            kinds |= {field.name: hints[field.name] for field in advanced_fields(group)}
        else:
            parameters.append(given)
    if kinds:
        of_method = any(METHOD_OPTIONS in group.__dataclass_fields__ for group in groups.values())
        method = ", or an option of the method, such as alpha=5 of gae" if of_method else ""
        text = f"One of {shown_names(kinds)}{method}; may be repeated."
        hint = Annotated[list[str] | None, typer.Option(help=text, metavar="NAME=VALUE")]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("option", keyword, default=None, annotation=hint))

    @wraps(command)
    def called(**options: Any) -> None:
        rest = read_options(options.pop("option", None) or ())
        for name in kinds.keys() & rest.keys():
            options[name] = _converted(name, rest.pop(name), kinds[name])
        for name, group in groups.items():
            names = {field.name for field in dataclasses.fields(group)}
            if METHOD_OPTIONS in names:
                options[METHOD_OPTIONS] = {key: as_value(text) for key, text in rest.items()}
                rest = {}
            options[name] = group(**{key: options.pop(key) for key in names & options.keys()})
        for name in rest:
            raise InputError(f"there is no --option {name}: use {shown_names(kinds)}")
        command(**options)

    signature = inspect.Signature(parameters, return_annotation=None)
    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {given.name: given.annotation for given in parameters}
    return called  # type: ignore[return-value]


def _parameters(called: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function or a dataclass, with types that Typer can read."""
    hints, found = get_type_hints(called, include_extras=True), []
    fields = getattr(called, "__dataclass_fields__", {})
    for name, given in inspect.signature(called).parameters.items():
        hint, default = hints[name], given.default
        declared = fields.get(name, default)
        if isinstance(declared, dataclasses.Field):
            if "advanced" in declared.metadata:
                continue
            if "option" in declared.metadata:
                hint = Annotated[hint, declared.metadata["option"]]
            required = declared.default is dataclasses.MISSING
            default = inspect.Parameter.empty if required else declared.default
        found.append(given.replace(annotation=hint, default=default, kind=given.KEYWORD_ONLY))
    return found


def shown_names(names: Iterable[str]) -> str:
    """Return names of advanced options as they are typed."""
    return ", ".join(sorted(name.replace("_", "-") for name in names))


def read_options(options: Sequence[str]) -> dict[str, str]:
    """Return the advanced options that were typed, by name.

    Examples
    --------
    >>> read_options(["alpha=5", "split-seed=1"])
    {'alpha': '5', 'split_seed': '1'}
    """
    found: dict[str, str] = {}
    for option in options:
        name, sign, text = option.partition("=")
        name, text = name.strip().replace("-", "_"), text.strip() or text
        if not sign or not name or not text:
            raise InputError(f"--option must be NAME=VALUE, such as alpha=5, not {option!r:.60}")
        if name in found:
            raise InputError(f"--option {name} is given twice: give it once")
        found[name] = text
    return found


def as_value(text: str) -> Any:
    """Return an option of a method as a value of Python.

    Examples
    --------
    >>> [as_value(text) for text in ("5", "yes", "pooled", "none")]
    [5, True, 'pooled', None]
    """
    try:
        return json.loads(text.lower())
    except ValueError:
        return WORDS.get(text.lower(), text)


def _converted(name: str, text: str, hint: Any) -> Any:
    """Return the value of an advanced option, of the type that its field has."""
    kind = next(kind for kind in KINDS if kind in (hint, *get_args(hint)))
    value = text if kind is str else as_value(text)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        shown = shown_names([name])
        raise InputError(f"--option {shown} must be {KINDS[kind]}, not {text!r:.40}")
    return value
