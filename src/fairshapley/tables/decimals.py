"""Numbers written with commas, "3,14" or "1,234.5": recognised by column, and said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from fairshapley._basics.text import quoted
from fairshapley.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Decimal: TypeAlias = Literal["auto", ",", "."]
DECIMALS = get_args(Decimal)

# A whole part, plain or in groups of three, then the decimals.
_FORMS = {
    ",": r"^[+-]?((\d+|\d{1,3}(\.\d{3})+)(,\d+)?|,\d+)([eE][+-]?\d+)?$",
    ".": r"^[+-]?((\d+|\d{1,3}(,\d{3})+)(\.\d+)?|\.\d+)([eE][+-]?\d+)?$",
}
_WORDS = {
    ",": "numbers written with decimal commas",
    ".": "numbers written with commas between thousands",
}


def read_decimals(
    table: pa.Table, decimal: Decimal, file: object, texts: Sequence[str] = ()
) -> tuple[pa.Table, list[str]]:
    """The table with columns such as "3,14" as numbers, and a note on each way of writing.

    Parameters
    ----------
    table
        As a CSV file was read: such columns are texts.
    decimal
        The sign before the decimals. With "auto" each column tells: "3,14" has a decimal comma,
        "1,234.5" and "1,234,567" have commas between thousands. "1,234" may be either: the other
        columns of the file decide, and where they do not there is an InputError.
    file
        For messages.
    texts
        Columns to leave alone.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table, notes = read_decimals(pa.table({"a": ["3,14", "2"]}), "auto", "rows.csv")
    >>> table.to_pydict(), notes
    ({'a': [3.14, 2.0]}, ["numbers written with decimal commas: 'a'"])
    """
    import pyarrow as pa

    names, columns = table.column_names, table.columns
    fits = {
        place: _fitting(column, decimal)
        for place, column in enumerate(columns)
        if pa.types.is_string(column.type) and names[place] not in texts
    }
    known = {signs for signs in fits.values() if len(signs) == 1}
    if any(pa.types.is_floating(column.type) for column in columns):
        known.add(".")
    unclear = [names[place] for place, signs in fits.items() if len(signs) == 2]
    if unclear and len(known) != 1:
        raise InputError(
            f"column {unclear[0]!r:.60} of {file} holds numbers such as 1,234: give decimal=',' "
            "if the comma is before decimals, or decimal='.' if it is between thousands"
        )
    found: dict[str, list[str]] = {sign: [] for sign in _FORMS}
    for place, signs in fits.items():
        if signs:
            sign = signs if len(signs) == 1 else next(iter(known))
            columns[place] = _numbers(columns[place], sign)
            found[sign].append(names[place])
    notes = [f"{_WORDS[sign]}: {quoted(some)}" for sign, some in found.items() if some]
    return (pa.table(columns, names=names) if notes else table), notes


def _fitting(column: pa.ChunkedArray, decimal: Decimal) -> str:
    """The decimal signs by which all texts of a column are numbers, none where one is not."""
    from pyarrow import compute

    # Without a comma only one who says that decimals have one can mean numbers.
    marks = "[,.]" if decimal == "," else ","
    if not compute.any(compute.match_substring_regex(column, marks)).as_py():
        return ""
    texts = _trimmed(column)
    return "".join(
        sign
        for sign in (_FORMS if decimal == "auto" else decimal)
        if compute.all(compute.match_substring_regex(texts, _FORMS[sign])).as_py()
    )


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without blanks around the texts; a text of blanks is missing."""
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(column)
    return compute.if_else(compute.equal(texts, ""), None, texts)


def _numbers(column: pa.ChunkedArray, sign: str) -> pa.ChunkedArray:
    from pyarrow import compute

    plain = compute.replace_substring(_trimmed(column), "." if sign == "," else ",", "")
    return compute.replace_substring(plain, ",", ".").cast("float64")
