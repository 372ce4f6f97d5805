"""Tasks from files and values into files; this runs in the peers' environments too."""

import json
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np


def run(solve):
    """Do the tasks in the file that the command line names, those that are not done yet.

    A task has a case (a file), a method, and a place for its values. Processor time is counted, so
    that other work on the machine does not count.
    """
    warnings.simplefilter("ignore")
    for task in json.loads(Path(sys.argv[1]).read_text()):
        place = Path(task["values"])
        if place.exists():
            continue
        with np.load(task["case"]) as stored:
            case = dict(stored)
        began = time.process_time()
        try:
            values = np.asarray(solve(task["method"], case), dtype=float)
        except Exception:  # whatever a peer raises is its result
            print(task["method"], task["case"], file=sys.stderr)
            traceback.print_exc(limit=3)
            values = np.array([])
        seconds = time.process_time() - began
        # np.savez would add an ending of its own to another name.
        np.savez(place.with_suffix(".part.npz"), values=values, seconds=seconds)
        place.with_suffix(".part.npz").replace(place)
