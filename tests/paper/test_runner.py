"""The runner: files, resuming, processes, and errors that list what there is."""

import pytest

import fairshapley_paper as paper
from fairshapley.errors import InputError
from fairshapley_paper import runner
from fairshapley_paper.report import Report

FAST = {"size": "tiny", "trials": 2, "only": ["diabetes-ridge"], "progress": False}
METHODS = ["mc", "gae-5", "kernel"]


def run(folder, name="xi", **options):
    chosen = {"methods": METHODS, **FAST, **options}
    return paper.run(name, out=folder, **chosen)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Report:
    return run(tmp_path_factory.mktemp("paper"))


def written(report) -> str:
    """The numbers as they are written; NaN does not equal itself."""
    return (report.folder / "numbers.csv").read_text(encoding="utf-8")


def test_summary(finished):
    text = finished.summary()
    assert text == (finished.folder / "README.md").read_text(encoding="utf-8")
    assert "The paper's accounting" in text
    assert "The honest accounting" in text
    assert "Who wins at equal evaluations" in text
    for line in text.splitlines():
        if line.startswith("| "):
            assert line.endswith(" |")


def test_finished_trials_are_not_repeated(tmp_path, monkeypatch):
    before = written(run(tmp_path))
    monkeypatch.setattr(runner, "do_all", lambda jobs, workers: iter([]) if not jobs else 1 / 0)
    again = run(tmp_path)
    assert written(again) == before
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, seed=1)
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, trials=3)


def test_what_was_done_before_an_interruption_is_kept(tmp_path, monkeypatch, finished):
    done = runner.do_all

    def interrupted(jobs, workers):
        for count, answer in enumerate(done(jobs, workers)):
            if count == 3:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(runner, "do_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    monkeypatch.setattr(runner, "do_all", done)
    seen = []
    again = run(tmp_path, progress=lambda so_far, _total, _last: seen.append(so_far))
    assert seen[0] == 3
    assert written(again) == written(finished)


def test_damaged_and_foreign_files_are_done_again(tmp_path, finished):
    run(tmp_path)
    files = sorted((tmp_path / "xi" / "trials").rglob("*.npz"))
    files[0].write_bytes(b"not a zip file")
    files[1].write_bytes(files[2].read_bytes())
    assert written(run(tmp_path)) == written(finished)


def test_processes_give_the_same(tmp_path, finished):
    many = run(tmp_path, engine="processes:2")
    assert written(many) == written(finished)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "nothing"}, "there are fidelity-ape, xi, symmetry"),
        ({"methods": ["magic"]}, "there are mc, owen, sobol"),
        ({"trials": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_answered_by_what_there_is(tmp_path, options, said):
    with pytest.raises(InputError, match=said):
        run(tmp_path, **options)
