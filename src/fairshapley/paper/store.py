"""Finished trials on disk, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

from fairshapley._files import write_whole
from fairshapley.paper.experiment import Outcome, Trial
from fairshapley.paper.jobs import Answer, Job, TruthPart

# Goes into every key: a new number when a change of the code makes old files wrong.
FORMAT = 1


class Store:
    """A folder with one small file per trial; what does not fit its configuration is ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, job: Job) -> Path:
        """Where the answer to a job lies."""
        return self.folder / job.scenario.name / f"{job.method}-{job.number:03d}.npz"

    def find(self, job: Job) -> Answer | None:
        """The answer to a job, or None when it is not there, damaged or of another setting."""
        try:
            with np.load(self.path(job), allow_pickle=False) as file:
                if str(file["key"]) != _key(job):
                    return None
                found = {name: file[name] for name in file.files}
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None
        seconds = float(found["seconds"])
        if "exact" in found:
            return TruthPart(found["values"], bool(found["exact"]), seconds)
        outcomes = [
            Outcome(values, variances, int(evaluations), None if marginals < 0 else int(marginals))
            for values, variances, evaluations, marginals in zip(
                found["values"],
                found["variances"],
                found["evaluations"],
                found["marginals"],
                strict=True,
            )
        ]
        *path, honest = outcomes
        return Trial(job.method, tuple(path), honest, seconds)

    def keep(self, job: Job, answer: Answer) -> None:
        """Write an answer; the file appears whole or not at all."""
        path = self.path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {"key": np.array(_key(job)), "seconds": np.array(answer.seconds)}
        if isinstance(answer, TruthPart):
            arrays |= {"values": answer.values, "exact": np.array(answer.exact)}
        else:
            outcomes = (*answer.path, answer.honest)
            arrays |= {
                "values": np.stack([one.values for one in outcomes]),
                "variances": np.stack([one.variances for one in outcomes]),
                "evaluations": np.array([one.evaluations for one in outcomes]),
                "marginals": np.array(
                    [-1 if one.marginals is None else one.marginals for one in outcomes]
                ),
            }
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        write_whole(path, content.getvalue())


def _key(job: Job) -> str:
    text = json.dumps({"format": FORMAT, **job.configuration()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
