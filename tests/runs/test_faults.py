"""Runs that are killed, interrupted, resumed, or given the wrong journal."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from tests.engine_checks import plain

import fairshapley as fs
from fairshapley.results.serialising import with_fields

SLOW_RUN = textwrap.dedent("""
    import sys, time
    import numpy as np
    import fairshapley as fs

    def utility(coalition):
        time.sleep(0.002)
        with open(sys.argv[2], "a") as log:
            print(coalition, file=log)
        return float(np.sin(sum(x * x for x in coalition)))

    game = fs.games.FunctionGame(utility, 14, key="slow")
    result = fs.estimate(game, "mc", budget=700, seed=3, journal=sys.argv[1], progress=False)
    result.save(sys.argv[3])
""")


def start(tmp_path, journal, log, output="result.json"):
    arguments = [str(journal), str(log), str(tmp_path / output)]
    return subprocess.Popen([sys.executable, "-c", SLOW_RUN, *arguments])


def journalled(path):
    """Rows in the journal, or -1 while it does not exist."""
    if not path.exists():
        return -1
    try:
        with fs.Journal(path, readonly=True) as journal:
            return journal.count(1)
    except fs.errors.JournalError:
        return -1


def wait_for(condition, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.02)


def lines(path):
    return path.read_text().splitlines()


def test_a_killed_run_finishes_bit_identical_and_repeats_nothing(tmp_path):
    journal, log = tmp_path / "run.db", tmp_path / "calls.log"
    for kill_after in (60, 200):
        process = start(tmp_path, journal, log)
        wait_for(lambda after=kill_after: journalled(journal) >= after, process)
        process.kill()
        process.wait()
    paid = journalled(journal)
    assert 200 <= paid < 700
    before = len(lines(log))
    assert start(tmp_path, journal, log).wait() == 0
    resumed = fs.Result.load(tmp_path / "result.json")

    fresh_log = tmp_path / "fresh.log"
    assert start(tmp_path, tmp_path / "fresh.db", fresh_log, "fresh.json").wait() == 0
    fresh = fs.Result.load(tmp_path / "fresh.json")
    assert plain(with_fields(resumed, computed=fresh.run.computed)) == plain(fresh)
    again = len(lines(log)) - before
    assert again == resumed.run.computed == fresh.evaluations - paid
    # In all, only what was in flight when the process died was computed twice.
    assert set(lines(log)) == set(lines(fresh_log))
    in_flight = before - paid
    assert len(lines(log)) == fresh.evaluations + in_flight


FAST_RUN = textwrap.dedent("""
    import sys
    import fairshapley as fs
    started = []
    def utility(coalition):
        if not started:
            started.append(open(sys.argv[1], "w").close())
        return float(len(coalition)) ** 1.5
    game = fs.games.FunctionGame(utility, 40, key="i")
    result = fs.estimate(game, "mc", budget=10**9, seed=0, on_interrupt="return")
    result.save(sys.argv[2])
""")


def test_ctrl_c_in_a_fast_run_leaves_the_state_whole(tmp_path):
    ready, output = tmp_path / "ready", tmp_path / "result.json"
    process = subprocess.Popen([sys.executable, "-c", FAST_RUN, str(ready), str(output)])
    wait_for(ready.exists, process)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    result = fs.Result.load(output)
    assert result.stopped.startswith("interrupted after")
    assert not result.complete
    assert len(set(result.counts.tolist())) == 1
    assert result.values.sum() == pytest.approx(40**1.5)  # every told walk is efficient


def test_ctrl_c_before_the_first_round_gives_an_empty_result():
    def utility(coalition):
        os.kill(os.getpid(), signal.SIGINT)
        return 1.0

    game = fs.games.FunctionGame(utility, 5, key="x")
    result = fs.estimate(game, budget=32, on_interrupt="return")
    assert not result.complete
    assert np.isnan(result.values).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "j.db"


def squares(coalition):
    return float(len(coalition)) ** 2 + float(0 in coalition)


@pytest.fixture
def game():
    return fs.games.FunctionGame(squares, 12)


def test_without_a_seed_the_journal_continues_its_own_run(game, journal):
    first = fs.estimate(game, "mc", budget=400, journal=journal)
    longer = fs.estimate(game, "mc", budget=800, journal=journal)
    assert longer.seed == first.seed
    assert longer.run.computed == longer.evaluations - first.evaluations
    other = fs.estimate(game, "mc", budget=800, journal=journal, seed=first.seed + 1)
    assert other.values.tobytes() != longer.values.tobytes()
    assert other.run.computed < other.evaluations  # the utilities are shared by all runs


def test_a_run_is_continued_and_reported_from_the_file_alone(game, journal):
    whole = fs.estimate(game, "mc", budget=900, seed=2, xi=0.1, semivalue="banzhaf", verify=0)
    fs.estimate(game, "mc", budget=400, seed=2, xi=0.1, semivalue="banzhaf", journal=journal)
    reported = fs.resume(journal)
    assert reported.complete
    assert reported.evaluations <= 400
    continued = fs.resume(journal, game, budget=900)
    assert continued.values.tobytes() == whole.values.tobytes()
    assert continued.run.configuration == whole.run.configuration
    beyond = fs.resume(journal, budget=5000)
    assert not beyond.complete
    assert "no further utilities" in beyond.stopped
    # The round in which the budget ended is not known as a whole.
    assert 400 < beyond.evaluations <= whole.evaluations
    assert (beyond.counts <= whole.counts).all()


def test_resume_needs_the_right_file_game_and_run(game, journal):
    with fs.Journal(journal), pytest.raises(fs.errors.JournalError, match="no run"):
        fs.resume(journal, game)
    fs.estimate(game, "mc", budget=400, journal=journal)
    with pytest.raises(fs.errors.JournalError, match="another game"):
        fs.resume(journal, fs.games.Additive(np.ones(12)))


def test_a_game_without_fingerprint_may_run_but_not_be_journalled(journal):
    lock = __import__("threading").Lock()
    game = fs.games.FunctionGame(lambda s: float(len(s) + lock.locked()), 5)
    assert fs.estimate(game).game.fingerprint is None
    with pytest.raises(fs.errors.FingerprintError, match="lock"):
        fs.estimate(game, journal=journal)


def test_verify_finds_a_utility_that_changed(journal):
    factor = [1.0]
    game = fs.games.FunctionGame(lambda s: factor[0] * len(s), 12, key="same name")
    fs.estimate(game, "mc", budget=400, seed=1, journal=journal)
    checked = fs.estimate(game, "mc", budget=400, seed=1, journal=journal, verify=5)
    assert checked.run.computed == 5
    factor[0] = 1.001
    assert fs.estimate(game, "mc", budget=400, seed=1, journal=journal).complete
    with pytest.raises(fs.errors.JournalError, match=r"now and .* in the journal"):
        fs.estimate(game, "mc", budget=400, seed=1, journal=journal, verify=5)


def test_a_failed_run_keeps_what_was_paid_for(journal):
    calls = []

    def flaky(coalition):
        calls.append(coalition)
        if len(calls) == 300:
            raise ConnectionError("licence server lost")
        return float(len(coalition) ** 0.5)

    game = fs.games.FunctionGame(flaky, 14, key="flaky")
    engine = fs.SerialEngine(chunk_size=1, retries=0)
    with pytest.raises(fs.errors.GameError, match="licence server lost") as caught:
        fs.estimate(game, "mc", budget=700, seed=1, journal=journal, engine=engine)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert caught.value.partial.values.sum() == pytest.approx(14**0.5)
    with fs.Journal(journal) as opened:
        run = opened.runs()[0]
        assert run.status == "failed"
        assert run.result["values"] == caught.value.partial.values.tolist()
    resumed = fs.estimate(game, "mc", budget=700, seed=1, journal=journal, engine=engine)
    assert resumed.run.computed == resumed.evaluations - 299
    assert len(set(calls)) == resumed.evaluations


FULL_DISK = textwrap.dedent("""
    import resource, sys
    import fairshapley as fs
    game = fs.games.FunctionGame(lambda s: float(len(s)), 200, key="full")
    limit = 300_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        fs.estimate(game, "mc", budget=20_000, seed=0, journal=sys.argv[1])
    except fs.errors.JournalError as error:
        print(error)
        print(int(error.partial.counts[0]))
""")


def test_a_full_disk_stops_the_run_and_keeps_the_journal(journal):
    command = [sys.executable, "-c", FULL_DISK, str(journal)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    message, counts = run.stdout.splitlines()
    assert "what was journalled before is kept" in message
    assert int(counts) > 0
    with fs.Journal(journal) as opened:
        kept = opened.count(1)
    assert kept > 100
    game = fs.games.FunctionGame(lambda s: float(len(s)), 200, key="full")
    rest = fs.estimate(game, "mc", budget=20_000, seed=0, journal=journal).run.computed
    assert rest < 20_000 - kept


def nan_at_zero(coalition):
    return float("nan") if coalition == (0,) else float(len(coalition)) ** 1.5


def test_a_run_with_skipped_evaluations_is_reported_and_continued(journal):
    game = fs.games.FunctionGame(nan_at_zero, 12)
    options = {"method": "mc", "seed": 1, "on_error": "skip"}
    first = fs.estimate(game, budget=200, journal=journal, **options)
    assert first.run.skipped == 1
    assert fs.resume(journal).to_dict() == first.to_dict()
    whole = fs.estimate(game, budget=400, **options)
    replayed = fs.resume(journal, budget=200)
    assert replayed.values.tobytes() == first.values.tobytes()
    continued = fs.resume(journal, game, budget=400)
    assert continued.values.tobytes() == whole.values.tobytes()
    assert (continued.run.skipped, continued.evaluations) == (1, whole.evaluations)
    assert continued.run.computed == whole.evaluations - first.evaluations


def test_runs_are_only_ever_added(game, journal):
    long = fs.estimate(game, "mc", budget=900, seed=1, journal=journal)
    fs.estimate(game, "mc", budget=100, seed=1, journal=journal)
    with pytest.raises(ZeroDivisionError):
        fs.estimate(game, "mc", budget=900, seed=1, journal=journal, progress=lambda now: 1 / 0)
    with fs.Journal(journal) as opened:
        runs = opened.runs()
    assert [run.status for run in runs] == ["finished", "finished", "failed"]
    # A journal cannot hold its own digest, and by now it has another one.
    assert fs.resume(journal, run=1).to_dict() == with_fields(long, journal_digest=None).to_dict()


def test_an_estimator_of_ones_own_can_be_resumed(game, journal):
    class Mine(fs.MonteCarlo):
        pass

    first = fs.estimate(game, Mine(), budget=300, seed=1, journal=journal)
    assert first.method.endswith("Mine")
    with pytest.raises(fs.InputError, match="unknown method"):
        fs.resume(journal, game, budget=600)
    whole = fs.estimate(game, Mine(), budget=600, seed=1, verify=0)
    continued = fs.resume(journal, game, budget=600, method=Mine())
    assert continued.values.tobytes() == whole.values.tobytes()


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_that_the_utility_swallows_is_no_utility(tmp_path):
    def swallowing(coalition):
        if len(coalition) == 3:
            try:
                press_ctrl_c()
            except KeyboardInterrupt:
                return -999.0
        return float(len(coalition))

    game = fs.games.FunctionGame(swallowing, 10, key="s")
    engine = fs.SerialEngine(chunk_size=1)
    options = {"journal": tmp_path / "j.db", "engine": engine, "on_interrupt": "return"}
    result = fs.estimate(game, "mc", budget=500, seed=0, **options)
    assert result.stopped.startswith("interrupted")
    with fs.Journal(tmp_path / "j.db") as journal:
        sample = journal.sample(1, 1000, np.random.default_rng(0))
    assert sample
    assert min(value for _, value in sample) == 0.0


def test_an_interrupt_inside_an_inner_run_stops_the_outer_one():
    def nested(coalition):
        inner = fs.games.FunctionGame(lambda s: press_ctrl_c() or 1.0, 6, key="inner")
        return fs.estimate(inner, "mc", budget=40, seed=0).values[0]

    game = fs.games.FunctionGame(nested, 8, key="outer")
    result = fs.estimate(game, "mc", budget=100, seed=0, on_interrupt="return")
    assert result.stopped.startswith("interrupted after 0")


def test_an_interrupt_outside_the_utility_is_not_lost(game, journal):
    """In the progress function, and while everything comes from the journal."""
    pressed = []

    def once(now):
        if not pressed:
            pressed.append(now.evaluations)
            press_ctrl_c()

    whole = fs.estimate(game, "mc", budget=3000, seed=0, journal=journal)
    assert whole.complete
    options = {"journal": journal, "progress": once, "on_interrupt": "return"}
    replayed = fs.estimate(game, "mc", budget=3000, seed=0, **options)
    assert pressed
    assert not replayed.complete
    assert replayed.evaluations < whole.evaluations


def test_a_second_interrupt_is_passed_on(game):
    def twice(now):
        press_ctrl_c()
        press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        fs.estimate(game, "mc", budget=3000, seed=0, progress=twice)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_two_processes_share_a_journal(tmp_path):
    journal, log = tmp_path / "run.db", tmp_path / "calls.log"
    processes = [start(tmp_path, journal, log, f"{name}.json") for name in ("one", "two")]
    assert [process.wait() for process in processes] == [0, 0]
    one, two = (fs.Result.load(tmp_path / f"{name}.json") for name in ("one", "two"))
    assert one.values.tobytes() == two.values.tobytes()
