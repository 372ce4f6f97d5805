"""A result says when it was made, by which command, from which files."""

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley.results.origin import input_file, recorded


def test_a_run_knows_its_date_and_the_machine():
    result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
    made = datetime.strptime(result.run.created, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert timedelta(seconds=-1) < datetime.now(UTC) - made < timedelta(minutes=1)
    assert {"python", "numpy", "scipy", "scikit-learn", "fairshapley", "machine"} <= set(
        result.run.versions
    )
    assert (result.run.command, result.run.inputs) == ("", ())


def test_what_is_recorded_is_kept_in_files_and_journals(tmp_path):
    data = tmp_path / "rows.csv"
    data.write_bytes(b"a,b\n1,2\n")
    file = input_file(data)
    assert file == (str(data), hashlib.sha256(b"a,b\n1,2\n").hexdigest(), 8)
    with recorded(command="fairshapley value rows.csv", inputs=(file,), notes=("first",)):
        result = fs.estimate(fs.games.Airport([1.0, 2.0]), journal=tmp_path / "run.db", budget=9)
    assert result.run.command == "fairshapley value rows.csv"
    assert result.run.inputs == (file,)
    assert result.notes[0] == "first"
    result.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").run.inputs == (file,)
    assert fs.resume(tmp_path / "run.db").to_dict() == result.to_dict()
    assert fs.exact(fs.games.Airport([1.0])).run.inputs == ()


def test_old_results_still_load():
    data = fs.exact(fs.games.Airport([1.0, 2.0])).to_dict()
    new = {"created", "command", "inputs", "unit"}
    assert fs.Result.from_dict({k: v for k, v in data.items() if k not in new}).run.created == ""


@pytest.mark.parametrize("bad", [[["a", 0, 1]], [["a", "0" * 64, -1]], [["a", "0" * 64]]])
def test_damaged_inputs_are_refused(bad):
    data = fs.exact(fs.games.Airport([1.0])).to_dict()
    with pytest.raises(fs.InputError, match="inputs"):
        fs.Result.from_dict(data | {"inputs": bad})


def test_games_name_the_unit_of_their_utility():
    rows, classes = np.arange(8.0)[:, None], np.arange(8) % 2
    game = fs.games.DataGame(LogisticRegression(), (rows, classes), (rows[:6], classes[:6]))
    assert fs.estimate(game, budget=300).game.unit == "accuracy on 6 test rows"
    euros = fs.games.FunctionGame(len, 3, unit="euros")
    assert fs.exact(euros).game.unit == "euros"
    # What it is called does not change what it is.
    assert fs.games.fingerprint(euros) == fs.games.fingerprint(fs.games.FunctionGame(len, 3))
