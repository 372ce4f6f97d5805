"""P3, federated: configurations, tables on disk, and a small federation from end to end."""

import dataclasses
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.paper import federations as configured
from benchmarks.paper.federation import FederationTable, load_table
from benchmarks.paper.federations import FEDERATIONS, federation_of, find_table, table_path

import fairshapley as fs
import fairshapley_paper as paper
from fairshapley.errors import InputError
from fairshapley_paper.experiment import Ground, Outcome, ScenarioGame, Setting, Setup, Trial
from fairshapley_paper.jobs import Job, do
from fairshapley_paper.report import published_numbers
from fairshapley_paper.scenarios import federations
from tests.data_folder import needs
from tests.paper.small import tiny

TINY = federation_of("mnist-iid", "tiny")
ROUND = fs.games.SumOfUnanimity(5, seed=1)


def made_up(federation=TINY, tested=50):
    """A table as training might leave it."""
    rng = np.random.default_rng(0)
    rounds = len(federation.valued_rounds)
    correct = rng.integers(1, tested, size=(rounds, 1 << federation.n_agents))
    return FederationTable(
        correct, np.array(federation.valued_rounds), tested, federation.fingerprint, "made up"
    )


@pytest.mark.parametrize("name", FEDERATIONS)
def test_the_values_are_those_of_the_rounds_normalised_and_averaged(name):
    """The package has the table of each federation as it is configured."""
    table = load_table(Path(paper.__file__).parent / "trained" / f"{name}.npz", FEDERATIONS[name])
    by_round = []
    for correct in table.correct:
        accuracies = correct / table.tested
        accuracies[0] = 0.0
        values = fs.exact(fs.games.TableGame(accuracies)).values
        by_round.append(values / values.sum())
    played = federations.federation(Setup("full", 0), name)
    values = fs.exact(played.game).values
    spans = np.diff(table.rounds + 1, prepend=0)
    np.testing.assert_allclose(values, spans @ by_round / spans.sum(), rtol=0, atol=1e-12)
    assert (spans[:-1] == played.facts["spans"][:-1]).all()
    assert played.game.values[0] == 0
    assert played.game.values[-1] == 1
    assert any("data sha256" in note for note in played.notes)


def test_a_table_comes_back_from_its_file_for_its_configuration_alone(tmp_path):
    table, path = made_up(), tmp_path / "deep" / "table.npz"
    table.save(path)
    again = load_table(path, TINY)
    assert np.array_equal(again.correct, table.correct)
    assert (again.tested, again.description) == (50, "made up")
    assert [file.name for file in path.parent.iterdir()] == ["table.npz"]
    for change in ({"seed": 1}, {"version": 2}):
        other = dataclasses.replace(TINY, **change)
        assert other.fingerprint != TINY.fingerprint
        with pytest.raises(InputError, match="another configuration of mnist-iid"):
            load_table(path, other)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "table.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not a table of a federation"):
        load_table(path, TINY)
    table = made_up()
    dataclasses.replace(table, correct=table.correct[:, :8]).save(path)
    with pytest.raises(InputError, match="damaged"):
        load_table(path, TINY)


@needs("mnist", "sst5")
@pytest.mark.parametrize("name", ["mnist-powerlaw", "sst5"])
def test_a_federation_is_trained_once(name, tmp_path, monkeypatch):
    train, trained = configured.train_table, []

    def counted(*given, **options):
        trained.append(given)
        return train(*given, **options)

    monkeypatch.setattr(configured, "train_table", counted)
    federation = federation_of(name, "tiny")
    first = find_table(federation, tmp_path)
    assert table_path(tmp_path, federation).exists()
    again = find_table(federation, tmp_path)
    assert len(trained) == 1
    assert np.array_equal(first.correct, again.correct)
    assert "data sha256" in again.description


def test_estimators_run_on_a_table_alone(tmp_path, monkeypatch):
    """Neither data nor torch is needed."""
    monkeypatch.setenv("FAIRSHAPLEY_DATA", str(tmp_path))
    report = tiny("tab:fl-mr", tmp_path, ["mc", "gae-5", "exact"], "movie_reviews")
    assert report.value("movie_reviews", "exact", "mape") < 1e-12
    assert 0 < report.value("movie_reviews", "mc", "mape") < 2


def test_nl_nsw_of_the_rounds_has_the_constant_that_the_paper_prints():
    """T·log(T/n) where the scores of T rounds add up to n: 107.5, 230.3 and 737.8."""
    numbers = published_numbers("federations")
    measure = next(one for one in paper.EXPERIMENTS["federations-code"].measures if one.whole)
    outcome = Outcome(np.ones(2), np.ones(2), 0, None)
    for name in FEDERATIONS:
        played = federations.federation(Setup("full", 0), name)
        equal = Trial("mc", (outcome,) * (len(played.facts["rounds"]) + 1), outcome, 0.0)
        constant = measure.whole(equal, Ground(played, np.ones(2), 1e-3))
        published = numbers[name, "mc", "nl_nsw", None].value
        assert constant - 0.5 <= published <= constant + 1.7
        assert (constant > 100) == (name not in federations.WELL_STANDARDISED)


def test_rounds_have_the_same_draws_but_in_the_first_of_five_trials(tmp_path):
    """Values differ between equal rounds in trial 0 alone."""
    scenario = replace(
        paper.EXPERIMENTS["federations-code"].scenarios[0],
        build=lambda _setup: ScenarioGame(ROUND, {"rounds": [ROUND, ROUND], "spans": [1, 1]}),
    )
    setting = Setting(trials=6, marginals=200, bootstrap=5)
    for number in range(6):
        job = Job("", scenario, Setup("tiny", 0), setting, 1e-3, "mc-program", number)
        first, second, _ = do(job).path
        assert np.array_equal(first.values, second.values) == (number % 5 > 0)
