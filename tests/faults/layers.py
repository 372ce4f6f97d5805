"""The layers where a run can fail: lines of our code, SQLite's calls, its files, its memory."""

import _sqlite3
import contextlib
import ctypes
import functools
import resource
import sqlite3
import sys
from collections.abc import Callable, Iterator
from linecache import getline
from types import FrameType, ModuleType
from typing import Any

import pytest

from tests.faults.oracle import Fault, Points

# In the guard nothing can fail but by its own second signal, after which its handler does what
# Python's does; a file that cannot be removed is left to loky's tracker.
UNDISTURBED = ("InterruptGuard.__enter__", "InterruptGuard.__exit__", "_remove")


def failing_lines(error: type[BaseException], *modules: ModuleType) -> Fault:
    """An exception before a line of some modules; a package stands for all of its modules.

    Each of them must have lines that run: one that has none would go untested.

    Leaving a ``with`` block is no such line, though it is traced as one: Python lets no exception
    in between the end of the block and the call of ``__exit__``.
    """
    prefixes = tuple(module.__file__.removesuffix("__init__.py") for module in modules)

    @contextlib.contextmanager
    def fault(points: Points) -> Iterator[None]:
        def call(frame: FrameType, event: str, argument: object) -> Any:
            file = frame.f_code.co_filename
            if not file.startswith(prefixes) or frame.f_code.co_qualname in UNDISTURBED:
                return None
            previous = frame.f_lineno  # of a generator that goes on: where it stopped

            def line(frame: FrameType, event: str, argument: object) -> Any:
                nonlocal previous
                if event == "line":
                    back, previous = frame.f_lineno < previous, frame.f_lineno
                    leaving = back and getline(file, frame.f_lineno).lstrip().startswith("with ")
                    if not leaving and points.fails((file, frame.f_lineno)):
                        raise error(f"injected at {file}:{frame.f_lineno}")
                return line

            return line

        before = sys.gettrace()
        sys.settrace(call)
        try:
            yield
        finally:
            sys.settrace(before)
        if points.at is None:  # a run that nothing disturbed
            files = {file for file, _ in points.labels}
            for prefix in prefixes:
                assert any(file.startswith(prefix) for file in files), f"{prefix}: no line ran"

    return fault


def every_line(labels: list[Any], occurrences: int) -> list[int]:
    """Points that cover every line that was run, each some times: the first, the last, between."""
    places: dict[Any, list[int]] = {}
    for at, label in enumerate(labels):
        places.setdefault(label, []).append(at)
    chosen: set[int] = set()
    for found in places.values():
        step = max(1, (len(found) - 1) // max(1, occurrences - 1))
        chosen.update([*found[::step][: occurrences - 1], found[-1]])
    return sorted(chosen)


ERRORS = {
    "io": (sqlite3.SQLITE_IOERR, "disk I/O error"),
    "full": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "busy": (sqlite3.SQLITE_BUSY, "database is locked"),
}


def failing_statements(kind: str, *, after: bool) -> Fault:
    """A statement that SQLite refuses, or carries out and then reports as failed."""

    def failure() -> Exception:
        if kind == "memory":  # so Python reports SQLITE_NOMEM
            return MemoryError()
        code, message = ERRORS[kind]
        error = sqlite3.OperationalError(message)
        error.sqlite_errorcode = code
        return error

    @contextlib.contextmanager
    def fault(points: Points) -> Iterator[None]:
        class Connection(sqlite3.Connection):
            def _run(self, method: Callable[..., Any], statement: str, *rest: Any) -> Any:
                fails = points.fails(statement)
                if fails and not after:
                    raise failure()
                cursor = method(statement, *rest)
                if fails:
                    raise failure()
                return cursor

            def execute(self, statement: str, *rest: Any) -> Any:
                return self._run(super().execute, statement, *rest)

            def executemany(self, statement: str, *rest: Any) -> Any:
                return self._run(super().executemany, statement, *rest)

        connect = sqlite3.connect
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                sqlite3,
                "connect",
                lambda *given, **options: connect(*given, factory=Connection, **options),
            )
            yield

    return fault


class _Methods(ctypes.Structure):
    """The start of sqlite3_io_methods: what SQLite calls to use a file."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("close", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("write", ctypes.c_void_p),
        ("truncate", ctypes.c_void_p),
        ("sync", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 13),
    )


class _Vfs(ctypes.Structure):
    """The start of sqlite3_vfs: how SQLite opens files."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("open", ctypes.c_void_p),
        ("rest", ctypes.c_void_p * 14),
    )


_Pointer, _Int, _Long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_OPEN = ctypes.CFUNCTYPE(_Int, _Pointer, _Pointer, _Pointer, _Int, _Pointer)
_CALLS = {
    "write": ctypes.CFUNCTYPE(_Int, _Pointer, _Pointer, _Int, _Long),
    "truncate": ctypes.CFUNCTYPE(_Int, _Pointer, _Long),
    "sync": ctypes.CFUNCTYPE(_Int, _Pointer, _Int),
}

_CODES = {
    "write": sqlite3.SQLITE_IOERR_WRITE,
    "truncate": sqlite3.SQLITE_IOERR_TRUNCATE,
    "sync": sqlite3.SQLITE_IOERR_FSYNC,
}


def sqlite_library() -> ctypes.CDLL:
    """SQLite as Python uses it; the test is left out where it cannot be reached."""
    library = ctypes.CDLL(_sqlite3.__file__)
    if not hasattr(library, "sqlite3_vfs_find"):
        pytest.skip("this Python hides SQLite's functions")
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    library.sqlite3_vfs_register.argtypes = (ctypes.c_void_p, ctypes.c_int)
    library.sqlite3_vfs_unregister.argtypes = (ctypes.c_void_p,)
    return library


class FileLayer:
    """A file layer for SQLite of which writes, truncations and fsyncs can fail.

    The functions of SQLite's own layer are kept but for these, which come here first.
    """

    def __init__(self, points: Points, *, part: bool) -> None:
        self.points = points
        self.part = part
        self.library = sqlite_library()
        own = _Vfs.from_address(self.library.sqlite3_vfs_find(None))
        self._vfs = _Vfs.from_buffer_copy(own)
        self._vfs.name, self._vfs.next = b"faults", None
        self._open = _OPEN(own.open)
        self._opening = _OPEN(self._opened)
        self._vfs.open = ctypes.cast(self._opening, _Pointer).value
        self._tables: dict[int, _Methods] = {}
        self._calls: list[Any] = []
        self.address = ctypes.addressof(self._vfs)

    def _opened(self, vfs: int, name: int, file: int, flags: int, out: int) -> int:
        code = int(self._open(vfs, name, file, flags, out))
        first = _Pointer.from_address(file)  # a file begins with the address of its methods
        if first.value:
            first.value = ctypes.addressof(self._methods(first.value))
        return code

    def _methods(self, address: int) -> _Methods:
        if address not in self._tables:
            table = _Methods.from_buffer_copy(_Methods.from_address(address))
            for name, kind in _CALLS.items():
                original = kind(getattr(table, name))
                self._calls.append(kind(functools.partial(self._call, name, original)))
                setattr(table, name, ctypes.cast(self._calls[-1], _Pointer).value)
            self._tables[address] = table
        return self._tables[address]

    def _call(self, name: str, original: Any, file: int, *arguments: Any) -> int:
        if not self.points.fails(name):
            return int(original(file, *arguments))
        if self.part and name == "write":
            content, amount, offset = arguments
            original(file, content, amount // 2, offset)
        elif self.part:
            original(file, *arguments)  # it happens, and is reported as failed
        if name == "write" and self.points.for_good:
            return sqlite3.SQLITE_FULL
        return _CODES[name]


def failing_files(*, part: bool = False) -> Fault:
    """A write, truncation or fsync below SQLite that fails.

    `part` writes half of what it should, or truncates and syncs before it fails.
    """

    @contextlib.contextmanager
    def fault(points: Points) -> Iterator[None]:
        layer = FileLayer(points, part=part)
        KEPT.append(layer)  # a connection left open still uses it
        assert layer.library.sqlite3_vfs_register(layer.address, 1) == 0
        try:
            yield
        finally:
            layer.library.sqlite3_vfs_unregister(layer.address)

    return fault


KEPT: list[Any] = []


def small_files(step: int, largest: int) -> Fault:
    """No file may grow beyond `step` bytes, beyond twice as many, and so on: one size a point."""

    @contextlib.contextmanager
    def fault(points: Points) -> Iterator[None]:
        if points.at is None:
            yield
            points.labels = [f"{step * size} bytes" for size in range(largest // step)]
            return
        points.labels = [None] * (points.at + 1)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (step * points.at, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return fault
