"""Files that were changed are found, those that were not pass, and all that was written fits."""

import json
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.estimators import METHODS
from fairshapley.evaluation.journal import Journal
from fairshapley.results.origin import InputFile, recorded
from fairshapley.results.serialising import result_digest, stored_values, with_fields

GAME = fs.games.SumOfUnanimity(9, seed=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a result, its journal and its report."""
    folder = tmp_path_factory.mktemp("made")
    game = fs.games.SumOfUnanimity(20, seed=1)
    result = fs.estimate(game, "mc", budget=600, seed=0, journal=folder / "run.db")
    result.save(folder / "result.json")
    result.report(folder / "page.html")
    return folder


@pytest.fixture
def files(made, tmp_path):
    """Copies of those files."""
    return shutil.copytree(made, tmp_path / "files")


def failed(found):
    return {check.name for check in found.checks if check.passed is False}


def check(files, **more):
    given = {"journal": files / "run.db", "report": files / "page.html"} | more
    return fs.verify(files / "result.json", **given)


def test_what_was_not_changed_passes(files):
    before = {path: path.read_bytes() for path in files.iterdir()}
    found = check(files)
    assert found.holds, found
    assert [one.passed for one in found.checks] == [True] * 6
    assert "to the last bit" in str(found)
    assert {path: path.read_bytes() for path in before} == before


def comes_out_again(result, journal):
    found = fs.verify(result, journal=journal)
    assert found.holds, found
    assert all(one.passed for one in found.checks), found


# -- any changed bit -------------------------------------------------------------------------------


def mutations(path, trials, seed):
    """Flip one random bit of the file at a time, and put it back."""
    content, draw = path.read_bytes(), np.random.default_rng(seed)
    for place in draw.integers(8 * len(content), size=trials).tolist():
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        yield place
    path.write_bytes(content)


def overlooked(files, name, trials, seed, **options):
    """The flips that verification does not find."""
    given = {"journal": None, "report": None, "recompute": False} | options
    return [place for place in mutations(files / name, trials, seed) if check(files, **given).holds]


@pytest.mark.parametrize(
    "trials", [470, pytest.param(4900, marks=[pytest.mark.full, pytest.mark.timeout(900)])]
)
def test_any_changed_bit_is_found(files, trials):
    assert overlooked(files, "result.json", trials, seed=trials) == []
    assert overlooked(files, "run.db", trials, seed=trials, journal=files / "run.db") == []
    # A page is 5 MB, so that fewer are tried.
    pages = {"report": files / "page.html"}
    assert overlooked(files, "page.html", trials * 3 // 47, seed=trials, **pages) == []
    assert check(files, recompute=False).holds, "and what was put back passes"


def test_a_result_with_other_values_does_not_come_out_of_the_journal(files):
    result = fs.Result.load(files / "result.json")
    values = result.values.copy()
    values[:2] += [1e-9, -1e-9]  # the sum stays, and the digest is made anew
    with_fields(result, values=values, history=()).save(files / "result.json")
    found = check(files)
    assert failed(found) == {"report", "journal's result", "recomputation"}


@pytest.mark.parametrize(
    "other",
    [
        {"player_names": ("b", "a", "c")},
        {"unit": "dollars"},
        {"command": "fairshapley value other.csv"},
        {"inputs": (InputFile("rows.csv", "1" * 64, 9),)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_a_journal_records_of_a_run_is_compared(tmp_path, other):
    class Named(fs.games.TableGame):
        player_names, unit = ("a", "b", "c"), "euros"

    with recorded(command="fairshapley value rows.csv"):
        game = Named(np.sqrt(np.arange(8)))
        result = fs.estimate(game, budget=8, journal=tmp_path / "run.db")
    result.save(tmp_path / "result.json")
    assert fs.verify(tmp_path / "result.json", journal=tmp_path / "run.db").holds
    with_fields(result, **other).save(tmp_path / "other.json")
    found = fs.verify(tmp_path / "other.json", journal=tmp_path / "run.db")
    assert "journal's run" in failed(found)
    again = fs.resume(tmp_path / "run.db", budget=8)  # replayed from the file alone
    assert fs.verify(again, journal=tmp_path / "run.db").holds
    for name in other:
        assert stored_values(again)[name] == stored_values(result)[name]


def test_files_of_different_runs_do_not_fit(files, tmp_path):
    other = fs.estimate(
        fs.games.SumOfUnanimity(20, seed=1), "mc", budget=600, seed=9, journal=tmp_path / "o.db"
    )
    other.report(tmp_path / "o.html")
    assert failed(check(files, report=tmp_path / "o.html")) == {"report"}
    found = check(files, journal=tmp_path / "o.db")
    assert failed(found) == {"journal"}
    assert "give the journal that the run wrote" in str(found)
    assert str(found).endswith("or these files do not belong together")


def test_a_method_of_ones_own_has_to_be_given(tmp_path):
    class Own(fs.MonteCarlo):
        name = "own"

    result = fs.estimate(GAME, Own(), budget=200, seed=0, journal=tmp_path / "run.db")
    found = fs.verify(result, journal=tmp_path / "run.db")
    assert found.holds
    assert "recomputation: not checked, 'own' is no method of this package" in str(found)
    assert "method=" in str(found)
    given = fs.verify(result, journal=tmp_path / "run.db", method=Own())
    assert "recomputation: ok" in str(given)


def test_a_reformatted_result_is_loaded_but_not_verified(files):
    data = json.loads((files / "result.json").read_text())
    (files / "result.json").write_text(json.dumps(data))
    assert result_digest(fs.Result.load(files / "result.json")) == data["digest"]
    assert failed(check(files)) == {"result"}


def test_missing_rows_and_files_that_are_none(files):
    with closing(sqlite3.connect(files / "run.db")) as db:
        largest = "(SELECT max(coalition) FROM evaluations WHERE coalition < x'ffff')"
        db.execute(f"DELETE FROM evaluations WHERE coalition = {largest}")  # noqa: S608
        db.commit()
    assert failed(check(files)) == {"journal's file", "recomputation"}
    (files / "run.db").write_bytes(b"no database")
    assert failed(check(files)) == {"journal"}
    assert "give a file that a result was saved to" in str(fs.verify(files / "run.db"))
    (files / "page.html").write_bytes(b"\xff")
    assert "report" in failed(check(files))
    with pytest.raises(fs.InputError, match="cannot read"):
        check(files, report=files / "none.html")


# -- what may happen to a journal ------------------------------------------------------------------


def test_a_journal_that_was_used_since_still_gives_the_result(files):
    game = fs.games.SumOfUnanimity(20, seed=1)
    fs.estimate(game, "kernel", budget=300, seed=4, journal=files / "run.db")
    found = check(files)
    assert found.holds, found
    assert "used since by 1 other runs" in str(found)


def test_opening_a_journal_leaves_its_bytes(files):
    Journal(files / "run.db").close()
    Journal(files / "run.db", readonly=True).close()
    assert check(files, recompute=False).checks[2].passed


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_comes_out_again(method, tmp_path):
    budget = None if method == "exact" else 300
    result = fs.estimate(GAME, method, budget=budget, seed=5, journal=tmp_path / "run.db")
    result.save(tmp_path / "result.json")
    comes_out_again(tmp_path / "result.json", tmp_path / "run.db")


@pytest.mark.parametrize(
    "limits",
    [
        {"budget": fs.Budget(seconds=0.5)},
        {"until": fs.Fidelity(at_least=1e9), "budget": 200, "xi": 0.1},
        {"until": fs.Fair(epsilon1=0.9, delta=0.2, xi=0.5), "budget": 2000},
        {"budget": 120, "semivalue": "banzhaf", "xi": 0.25},
    ],
)
def test_every_way_to_stop_comes_out_again(limits, tmp_path):
    game = fs.games.SumOfUnanimity(16, seed=1)
    result = fs.estimate(game, "mc", seed=5, journal=tmp_path / "run.db", **limits)
    comes_out_again(result, tmp_path / "run.db")


def test_skipped_evaluations_come_out_again(tmp_path):
    def utility(coalition):
        return float("nan") if coalition == (1,) else float(len(coalition))

    game = fs.games.FunctionGame(utility, n_players=5, key="one fails")
    journal = tmp_path / "run.db"
    result = fs.estimate(game, "mc", budget=30, seed=0, journal=journal, on_error="skip")
    assert result.run.skipped == 1
    found = fs.verify(result, journal=journal)
    assert found.holds, found


@pytest.mark.parametrize("method", ["mc", "adjusted"])
def test_null_players_and_ranges_come_out_again(method, tmp_path):
    game = fs.testing.with_null_players(fs.games.TableGame(np.sqrt(np.arange(256))), 2)
    result = fs.estimate(game, method, budget=100, seed=0, journal=tmp_path / "run.db")
    comes_out_again(result, tmp_path / "run.db")


def test_an_interrupted_run_is_recomputed_as_far_as_it_came(tmp_path):
    calls = []

    class Stops(fs.games.SumOfUnanimity):
        def __call__(self, masks):
            calls.append(len(masks))
            if sum(calls) > 300:
                raise KeyboardInterrupt
            return super().__call__(masks)

    game, journal = Stops(16, seed=1), tmp_path / "run.db"
    try:
        result = fs.estimate(game, "mc", budget=5000, seed=5, journal=journal)
    except KeyboardInterrupt:
        result = fs.resume(journal)
    assert not result.complete
    found = fs.verify(result, journal=journal)
    assert found.holds, found


def test_other_rounding_is_said(files, monkeypatch):
    result = fs.Result.load(files / "result.json")
    values = result.values * (1 + 4e-16)
    assert values.tobytes() != result.values.tobytes()
    moved = with_fields(result, values=values, versions=result.run.versions | {"numpy": "1.0"})
    last = fs.verify(moved, journal=files / "run.db").checks[-1]
    assert last.passed
    assert "to rounding" in last.sentence
    assert "numpy 1.0" in last.sentence
