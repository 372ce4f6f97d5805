"""Whether a saved result, its journal and its report are what was written, and fit together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairshapley._basics.files import as_path, file_digest, page_is_whole, read_marks
from fairshapley._basics.text import listed, visible
from fairshapley.errors import FairShapleyError, InputError
from fairshapley.estimators import METHODS, Estimator
from fairshapley.evaluation.evaluator import ExhaustedError
from fairshapley.evaluation.journal import Journal, RunRecord
from fairshapley.results.loading_checks import contradictions
from fairshapley.results.result import Result
from fairshapley.results.serialising import (
    as_bytes,
    from_plain,
    plain,
    read_plain,
    result_digest,
    stored_fields,
    stored_values,
)
from fairshapley.runs.loop import Run
from fairshapley.runs.plan import Plan, RunLog, described, evaluating
from fairshapley.stopping import Budget

# Between machines sums are taken in another order, see docs/verify.md.
ROUNDING = 1e-9
# What a replay does not reproduce: the clock, where and from what the run was made, and who
# computed what. `notes` may hold remarks of the command line.
OF_THE_OCCASION = {
    *("seconds", "created", "command", "inputs", "versions", "notes", "player_names", "unit"),
    *("constant_value", "replicates", "row_counts", "parts", "copies", "cost"),
    *("remarks", "pairs", "pair_errors", "splits", "scenarios", "texts"),
    *("computed", "cache_hits", "journal_digest", "fingerprint"),
}
# What is left to compare of a run that the clock or Ctrl-C ended, perhaps inside a round.
OF_WHOLE_ROUNDS = {
    *("values", "standard_errors", "counts", "extremes", "marginals", "rounds", "endpoints"),
    *("configuration", "seed", "xi", "exact", "contribution_width"),
}


@dataclass(frozen=True)
class Check:
    """One check."""

    name: str
    passed: bool | None
    """None when it could not be checked"""
    sentence: str
    """What was found"""


@dataclass(frozen=True)
class Verification:
    """What `verify` found; printing it gives a line for each check."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    def __str__(self) -> str:
        words = {True: "ok", False: "FAILED", None: "not checked"}
        lines = [f"{check.name}: {words[check.passed]}, {check.sentence}" for check in self.checks]
        held = "nothing was found to be changed"
        if not self.holds:
            held = "something was changed, or these files do not belong together"
        return "\n".join([*lines, held])


def verify(
    result: Result | str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    method: Estimator[Any, Any] | None = None,
    recompute: bool = True,
) -> Verification:
    """Check a result, and its journal and report where given, without the game.

    The digests of all files are compared, and what the journal records of the run: names, unit,
    input files and command line. From its utilities values and errors are computed again. Whoever
    changes all files on purpose, the utilities in the journal with them, can make them fit: then
    only the game itself tells, see `estimate`'s ``verify``.

    Parameters
    ----------
    result
        A saved result, or one in memory.
    journal, report
        The journal of the run, and the page made from the result.
    method
        The estimator, when it is not one of this package.
    recompute
        Run the method again on the journal's utilities, which takes as long as it took in the run
        beside the utilities. Without it only digests are compared, which takes a second per GB.

    Returns
    -------
    Verification
        With `holds`, and a sentence for every check.

    Examples
    --------
    >>> import fairshapley as fs, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Path(folder) / "run.db"
    ...     result = fs.estimate(fs.games.Airport([1.0, 2.0, 4.0]), "mc", budget=8, journal=run)
    ...     result.save(Path(folder) / "result.json")
    ...     fs.verify(Path(folder) / "result.json", journal=run).holds
    True
    """
    checked: Result | None
    if isinstance(result, Result):
        contradiction = next(contradictions(result), "")
        sentence = contradiction or "its numbers fit each other"
        checks, checked = [Check("result", not contradiction, sentence)], result
    else:
        first, checked = _saved(as_path(result, "result"))
        checks = [first]
    if checked is not None:  # otherwise there is nothing to compare the other files with
        if report is not None:
            checks.append(Check("report", *_page(as_path(report, "report"), checked)))
        if journal is not None and checked.run.parts:
            unsupported = "the values are a total over rounds: estimate them again from the journal"
            checks.append(Check("journal", None, unsupported))
        elif journal is not None:
            checks += _journal(as_path(journal, "journal"), checked, method, recompute)
    return Verification(tuple(checks))


def _saved(path: Path) -> tuple[Check, Result | None]:
    """Return the check of a file with a result, and the result unless it cannot be read."""
    try:
        data = read_plain(path)
        result = from_plain(Result, data)
    except InputError as error:
        return Check("result", False, str(error)), None
    if "digest" not in data:
        return Check("result", None, "it was saved by a version that made no digests"), result
    if as_bytes(data) != path.read_bytes():
        changed = "its content has the digest it was saved with, but the text was written anew"
        return Check("result", False, changed), result
    return Check("result", True, f"it has the digest it was saved with, {data['digest']}"), result


Finding: TypeAlias = tuple[bool | None, str]
"""Whether a check passed, and what was found"""


def _page(path: Path, result: Result) -> Finding:
    try:
        page = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        page = ""
    if not page_is_whole(page):
        return False, "fairshapley did not write this page, or it was changed since: write it again"
    marks = read_marks(page)
    if marks["result"] != result_digest(result):
        return False, "the page was made from another result"
    return True, "the page is as it was written, from this result"


def _journal(
    path: Path, result: Result, method: Estimator[Any, Any] | None, recompute: bool
) -> Iterator[Check]:
    """Check a journal: its file, what it records of the run, and what its utilities give."""
    try:
        # Before SQLite opens the file, for what is in a damaged one may keep it from opening.
        found = file_digest(path)
        origin = described(
            result.evidence.player_names, result.game.unit, result.run.command, result.run.inputs
        )
        with Journal(path, readonly=True) as journal:
            record = _record(journal, result, origin)
            if record is None:
                missing = "it holds no run of this game with this method and seed"
                remedy = "give the journal that the run wrote, or none if it wrote none"
                yield Check("journal", False, f"{missing}: {remedy}")
                return
            yield Check("journal's file", *_file(journal, record, result, found))
            different = [name for name in origin if record.origin.get(name) != origin[name]]
            recorded = f"{'other' if different else 'the same'} {_listed(different or origin)}"
            yield Check("journal's run", not different, f"the run recorded {recorded}")
            yield Check("journal's result", *_recorded(record, result))
            if recompute:
                yield Check("recomputation", *_recomputed(journal, record, result, method))
    except FairShapleyError as error:
        yield Check("journal", False, str(error))


def _listed(names: Iterable[str]) -> str:
    return listed([name.replace("_", " ") for name in names])


def _record(journal: Journal, result: Result, origin: dict[str, Any]) -> RunRecord | None:
    """Return the newest run that recorded the result's values, or could have."""
    values = plain(result.values)
    known = result.game.fingerprint, result.seed, plain(result.run.configuration)
    runs = [
        run for run in journal.runs() if (run.fingerprint, run.seed, run.configuration) == known
    ]

    def likeness(run: RunRecord) -> tuple[bool, bool, int]:
        same = bool(run.result and run.result.get("values") == values)
        return same, run.origin == origin, run.id

    return max(runs, key=likeness, default=None)


def _file(journal: Journal, record: RunRecord, result: Result, found: str) -> Finding:
    if result.run.journal_digest is None:
        return None, "the result does not name the digest of its journal"
    if found == result.run.journal_digest:
        return True, "it is exactly the file that the run left"
    later = [run for run in journal.runs() if run.id > record.id]
    if later or journal.has_log():
        return None, f"it was used since by {len(later)} other runs, so its digest has changed"
    return False, "it is not the file that the run left, though no later run is recorded in it"


def _recorded(record: RunRecord, result: Result) -> Finding:
    """Compare with the result that the run has left in the journal."""
    if record.result is None:
        return None, "the run was killed, or is still running: it recorded none"
    recorded = Result.from_dict(record.result)  # its digest is compared here
    different = _different(recorded, result, OF_THE_OCCASION)
    if different and recorded.run.limits == result.run.limits:
        return False, f"the run recorded other {_listed(different)}"
    if different:
        return None, "the run was continued with other limits than those recorded"
    return True, "the run recorded the same result"


def _recomputed(
    journal: Journal, record: RunRecord, result: Result, method: Estimator[Any, Any] | None
) -> Finding:
    """Replay the run from the journal alone, and compare."""
    started = time.monotonic()
    if method is None and result.method not in METHODS:
        foreign = f"{visible(result.method)!r:.60} is no method of this package"
        return None, f"{foreign}: give the estimator to fs.verify(…, method=…)"
    try:
        again, skipped = _replay(journal, record, result, method)
    except ExhaustedError:
        return False, (
            "the journal lacks coalitions that the run used, so it was cut or is another's: give "
            "the one that the run wrote"
        )
    if again is None:
        return None, (
            "the clock or Ctrl-C ended the run before a round was done, or an older version did "
            "not record after which"
        )
    effort = f"from {result.evaluations:,} evaluations ({time.monotonic() - started:.1f} s)"
    if different := _different(again, result, skipped, rounded=True):
        return False, f"the journal gives other {_listed(different)}, {effort}"
    closeness = "to the last bit"
    if _different(again, result, skipped):
        then = ", ".join(f"{part} {known}" for part, known in result.run.versions.items())
        closeness = f"to rounding (the run was made with {then})"
    return True, f"values and errors come out the same {closeness}, {effort}"


def _replay(
    journal: Journal, record: RunRecord, result: Result, method: Estimator[Any, Any] | None
) -> tuple[Result | None, set[str]]:
    """Return the result that the journal gives, and the fields that cannot be compared."""
    plan = Plan.from_record(
        replace(record, limits=result.run.limits), budget=None, until=None, estimator=method
    )
    budget, skipped = plan.budget, OF_THE_OCCASION
    timed = not result.complete
    if timed or (budget and (budget.seconds or budget.cost)):
        timed, skipped = True, stored_fields(Result).keys() - OF_WHOLE_ROUNDS
        if result.run.rounds is None or result.game.endpoints is None:
            return None, skipped
        # The last round may have ended within a draw.
        plan = replace(plan, budget=Budget(evaluations=result.evaluations), until=None)
    facts = replace(plan.game, value_range=result.game.value_range)
    plan = replace(plan, game=facts)
    with evaluating(None, facts, journal=journal, on_error=plan.on_error) as evaluator:
        run = Run(plan, evaluator, RunLog(None, 0, record.seed), time.monotonic())
        return run.replay(result.run.rounds if timed else None), skipped


def _different(
    result: Result, reference: Result, skipped: set[str], *, rounded: bool = False
) -> list[str]:
    """Return the fields in which two results differ; certificates follow from the fields.

    Fields that `reference` lacks, as one of an older version may, are not compared.
    """
    values, expected = stored_values(result), stored_values(reference)
    return [
        name
        for name in values.keys() - skipped
        if expected[name] is not None
        # As texts −0.0 and 0.0 differ, and NaN is NaN.
        and len({_text(values[name]), _text(expected[name])}) > 1
        and not (rounded and _close(values[name], expected[name]))
    ]


def _text(value: Any) -> str:
    return json.dumps(plain(value), sort_keys=True, default=repr)


def _close(value: Any, expected: Any) -> bool:
    """Return whether numbers agree up to rounding."""
    values, reference = np.asarray(value), np.asarray(expected)
    if values.dtype.kind != "f" or values.shape != reference.shape:
        return False
    scale = float(np.nanmax(np.abs(reference), initial=0.0))
    return np.allclose(values, reference, rtol=ROUNDING, atol=ROUNDING * scale, equal_nan=True)
