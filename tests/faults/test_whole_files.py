"""A result that cannot be saved: the file holds all of the old one or all of the new one."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairshapley as fs
from fairshapley._basics import files
from tests.faults.layers import failing_lines, small_files
from tests.faults.oracle import Fault, Points, holdings

OLD = fs.estimate(fs.games.SumOfUnanimity(8, seed=0), "mc", budget=40, seed=0)
NEW = fs.estimate(fs.games.SumOfUnanimity(8, seed=0), "mc", budget=60, seed=1)


@contextlib.contextmanager
def failing_calls(points: Points) -> Iterator[None]:
    """An fsync, an opening or a renaming that fails, before or after it has happened."""

    def failing(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*given: Any) -> Any:
            if points.fails(name):
                raise OSError(errno.EIO, "Input/output error")
            done = original(*given)
            if name != "open" and points.fails(name):
                raise OSError(errno.EIO, "Input/output error")
            return done

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "open", "replace"):
            patch.setattr(os, name, failing(name))
        yield


@pytest.mark.parametrize(
    ("fault", "least"),
    [
        (failing_calls, 5),
        (failing_lines(MemoryError, files), 15),
        (failing_lines(KeyboardInterrupt, files), 15),
        (small_files(200, 6000), 30),
    ],
    ids=["calls", "memory", "interrupt", "size"],
)
def test_a_result_is_saved_whole_or_not_at_all(fault: Fault, least: int, tmp_path: Path) -> None:
    path, dry = tmp_path / "result.json", Points()
    with fault(dry):
        NEW.save(path)
    assert len(dry.labels) >= least
    right = {"old": OLD.to_dict(), "new": NEW.to_dict()}
    raised = 0
    for at in range(len(dry.labels)):
        OLD.save(path)
        before = holdings(tmp_path)
        with fault(Points(at)):
            try:
                NEW.save(path)
            except (fs.FairShapleyError, MemoryError, KeyboardInterrupt):
                raised += 1
                allowed = ("old", "new")  # a renaming may be reported as failed and have happened
            else:
                allowed = ("new",)
        found = fs.Result.load(path).to_dict()
        assert found in [right[name] for name in allowed], dry.labels[at]
        left = {file.name for file in tmp_path.iterdir()} - {"result.json"}
        assert not left, f"left behind by a failure at {dry.labels[at]}"
        assert holdings(tmp_path) <= before
    assert raised
