"""Finished trials on disk, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

from fairshapley._basics.files import write_whole
from fairshapley_paper.experiment import Outcome, Trial
from fairshapley_paper.jobs import Job

# Goes into every key: a new number when a change of the code makes old files wrong.
FORMAT = 1
COLUMNS = ("values", "variances", "evaluations", "marginals")
"""What is kept of the outcomes of a trial"""


class Store:
    """A folder with one small file per trial; what does not fit its configuration is ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        """Return where the trial of a job lies."""
        return (
            self.folder / job.scenario.name / f"{job.method.replace(':', '_')}-{job.number:03d}.npz"
        )

    def find(self, job: Job) -> Trial | None:
        """Return the trial of a job; None if it is missing, damaged or of another setting."""
        try:
            with np.load(self.path(job), allow_pickle=False) as file:
                if str(file["key"]) != _key(job):
                    return None
                columns = [file[name] for name in COLUMNS]
                seconds = float(file["seconds"])
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None
        *path, honest = (
            Outcome(values, variances, int(evaluations), None if marginals < 0 else int(marginals))
            for values, variances, evaluations, marginals in zip(*columns, strict=True)
        )
        return Trial(job.method, tuple(path), honest, seconds)

    def keep(self, job: Job, trial: Trial) -> None:
        """Write a trial; the file appears whole or not at all."""
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            (end.values, end.variances, end.evaluations, _or_minus_one(end.marginals))
            for end in (*trial.path, trial.honest)
        ]
        arrays = dict(zip(COLUMNS, map(np.array, zip(*rows, strict=True)), strict=True))
        content = io.BytesIO()
        np.savez(content, key=_key(job), seconds=trial.seconds, **arrays)  # type: ignore[arg-type]
        write_whole(path, content.getvalue())


def _or_minus_one(count: int | None) -> int:
    return -1 if count is None else count


def _key(job: Job) -> str:
    text = json.dumps({"format": FORMAT, **job.configuration()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
