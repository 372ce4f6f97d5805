"""One case: every method at every budget, with the same seeds, held against the truth."""

from __future__ import annotations

import csv
import math
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders import LeftOutError, Outcome, Solve, Task
from benchmarks.efficiency.cases import Case
from benchmarks.efficiency.truths import TRUTHS, Truth, truth_of
from benchmarks.judging import bootstrap_weights, fidelities
from fairshapley.games import Game

Floats = NDArray[np.float64]
KEPT = Path(__file__).parents[2] / ".benchmarks" / "runs"
REFERENCE = "adjusted"


@dataclass(frozen=True)
class Line:
    """What one method did on one game at one budget; the columns of the results."""

    case: str
    per_player: int
    method: str
    repeats: int
    evaluations: float = np.nan
    mse: float = np.nan
    """Mean squared error over players and repeats, in units of the mean φ²"""
    mse_ratio: float = np.nan
    """This method's mean squared error over that of `adjusted`, with its 95 % interval: above 1
    says that `adjusted` is better"""
    mse_ratio_low: float = np.nan
    mse_ratio_high: float = np.nan
    worst: float = np.nan
    """Root of the largest mean squared error of a player, in units of the mean |φ|"""
    min_fidelity: float = np.nan
    """The audited minimum, (|φ_i| + ξ)²/MSE_i"""
    fidelity_ratio: float = np.nan
    """That of `adjusted` over this method's, with its 95 % interval: above 1, `adjusted` wins"""
    fidelity_ratio_low: float = np.nan
    fidelity_ratio_high: float = np.nan
    coverage: float = np.nan
    """The coverage of 95 % intervals"""
    reported_over_true: float = np.nan
    """Median over players of the reported over the audited fidelity"""
    seconds: float = np.nan
    """The method's own time for a run, in units of that of `adjusted`"""
    note: str = ""


@dataclass(eq=False)
class Runs:
    """The repeats of one method; kept in a file, so that methods can be run one by one."""

    outcomes: list[Outcome]
    note: str = ""

    @property
    def values(self) -> Floats:
        return np.array([one.values for one in self.outcomes])

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {
            f"{index}/{field.name}": getattr(outcome, field.name)
            for index, outcome in enumerate(self.outcomes)
            for field in fields(Outcome)
            if getattr(outcome, field.name) is not None
        }
        np.savez_compressed(path, note=self.note, count=len(self.outcomes), **arrays)

    @classmethod
    def load(cls, path: Path) -> Runs:
        with np.load(path, allow_pickle=False) as kept:

            def outcome(index: int) -> Outcome:
                parts = {field.name: kept.get(f"{index}/{field.name}") for field in fields(Outcome)}
                return Outcome(
                    parts["values"],
                    parts["half_widths"],
                    parts["reported"],
                    int(parts["evaluations"]),
                    float(parts["seconds"]),
                )

            return cls([outcome(index) for index in range(int(kept["count"]))], str(kept["note"]))


def run_case(
    case: Case,
    solvers: dict[str, Solve],
    *,
    repeats: int,
    limit: float,
    per_player: Sequence[int] | None = None,
    renew: Collection[str] = (),
    kept_only: bool = False,
    kept: Path = KEPT,
    truths: Path = TRUTHS,
) -> Iterator[Line]:
    """The lines of one case; a method that would take longer than `limit` seconds is left out.

    Runs that are kept are not repeated, but for the methods in `renew`; with `kept_only` nothing
    is run at all. `kept` and `truths` are the folders of runs and of true values.
    """
    game = case.make()
    truth = truth_of(case, game, folder=truths)
    xi = case.xi if case.xi is not None else 0.1 * float(np.abs(truth.values).mean())
    for per in per_player or case.per_player:
        budget = per * game.n_players
        if game.n_players < 60 and budget > 2**game.n_players // 4:
            continue
        runs = {}
        for name, solve in solvers.items():
            path = kept / case.name / f"{per}-{repeats}" / f"{name}.npz"
            if name not in renew and path.exists():
                runs[name] = Runs.load(path)
                continue
            if kept_only:
                runs[name] = Runs([], "not run")
                continue
            runs[name] = repeat(name, solve, case, game, budget, xi, repeats=repeats, limit=limit)
            runs[name].save(path)
        yield from lines_of(case, per, runs, truth, xi)


def repeat(
    name: str,
    solve: Solve,
    case: Case,
    game: Game,
    budget: int,
    xi: float,
    *,
    repeats: int,
    limit: float,
) -> Runs:
    """Run a method with the seeds 0, 1, …; the same for every method."""
    runs = Runs([])
    began = time.perf_counter()
    for seed in range(repeats):
        try:
            runs.outcomes.append(solve(Task(game, case.name, budget, seed, xi)))
        except LeftOutError as reason:
            runs.note = str(reason)
            break
        spent = time.perf_counter() - began
        if seed < 3 and spent / (seed + 1) * repeats > limit:
            runs.note = f"left out: a run takes {spent / (seed + 1):.0f} s"
            break
    seconds = time.perf_counter() - began
    what = f"{case.name} {budget} {name}"
    print(f"  {what}: {seconds:.1f} s {runs.note}", file=sys.stderr, flush=True)
    if len(runs.outcomes) < repeats:
        runs.outcomes.clear()
    return runs


def lines_of(
    case: Case, per: int, runs: dict[str, Runs], truth: Truth, xi: float
) -> Iterator[Line]:
    """Compare the methods with the truth and with `adjusted`."""
    reference = runs.get(REFERENCE)
    phi = truth.values
    for name, one in runs.items():
        if not one.outcomes:
            yield Line(case.name, per, name, 0, note=one.note)
            continue
        squares = np.square(one.values - phi)
        mse = squares.mean(axis=0)
        fidelity = fidelities(mse, phi, xi)
        ratios = (
            _paired(squares, np.square(reference.values - phi), phi, xi)
            if reference is not None and reference.outcomes
            else {}
        )
        own = float(np.median([run.seconds for run in one.outcomes]))
        of_reference = (
            float(np.median([run.seconds for run in reference.outcomes]))
            if reference is not None and reference.outcomes
            else np.nan
        )
        yield Line(
            case.name,
            per,
            name,
            len(one.outcomes),
            evaluations=float(np.mean([run.evaluations for run in one.outcomes])),
            mse=float(mse.mean() / np.square(phi).mean()),
            worst=float(np.sqrt(mse.max()) / np.abs(phi).mean()),
            min_fidelity=float(fidelity.min()),
            coverage=_coverage(one.outcomes, phi),
            reported_over_true=_reported(one.outcomes, fidelity),
            seconds=own / of_reference,
            note=_truth_note(truth, mse),
            **ratios,
        )


def _paired(squares: Floats, reference: Floats, phi: Floats, xi: float) -> dict[str, float]:
    """Ratios to the reference with 95 % intervals: a bootstrap over the repeats, seed by seed.

    The minimum over players of an audited fidelity is itself noisy with few repeats: the interval
    says how much.
    """
    weights = bootstrap_weights(len(squares))
    own, other = weights @ squares, weights @ reference
    errors = own.mean(axis=1) / other.mean(axis=1)
    minima = fidelities(other, phi, xi).min(axis=1) / fidelities(own, phi, xi).min(axis=1)
    now = squares.mean(axis=0), reference.mean(axis=0)
    audited = [float(fidelities(one, phi, xi).min()) for one in now]
    low, high = np.quantile(errors, [0.025, 0.975])
    lowest, highest = np.quantile(minima, [0.025, 0.975])
    return {
        "mse_ratio": float(now[0].mean() / now[1].mean()),
        "mse_ratio_low": float(low),
        "mse_ratio_high": float(high),
        "fidelity_ratio": audited[1] / audited[0],
        "fidelity_ratio_low": float(lowest),
        "fidelity_ratio_high": float(highest),
    }


def _coverage(outcomes: Sequence[Outcome], phi: Floats) -> float:
    if outcomes[0].half_widths is None:
        return float("nan")
    covered = [np.abs(run.values - phi) <= run.half_widths for run in outcomes]
    return float(np.mean(covered))


def _reported(outcomes: Sequence[Outcome], fidelity: Floats) -> float:
    if outcomes[0].reported is None:
        return float("nan")
    reported = np.median(np.array([run.reported for run in outcomes]), axis=0)
    return float(np.median(reported / fidelity))


def _truth_note(truth: Truth, mse: Floats) -> str:
    """Say so where the truth is not known ten times better than what is compared."""
    error = float(np.square(truth.standard_errors).mean())
    ratio = math.sqrt(float(mse.mean()) / error) if error else math.inf
    return f"the truth is only {ratio:.1f} times better known" if ratio < 10 else ""


def write(lines: Sequence[Line], path: Path) -> None:
    """The lines as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Line)])
        writer.writeheader()
        for line in lines:
            row = asdict(line).items()
            writer.writerow(
                {key: f"{item:.4g}" if isinstance(item, float) else item for key, item in row}
            )


def read(path: Path) -> list[Line]:
    """Return the lines of a CSV that `write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Line(
                **{
                    field.name: {"str": str, "int": int, "float": float}[str(field.type)](
                        row[field.name]
                    )
                    for field in fields(Line)
                }
            )
            for row in csv.DictReader(file)
        ]
