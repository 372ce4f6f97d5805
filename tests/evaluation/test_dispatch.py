"""Chunks in flight: any order of answers and any deaths of workers give what a serial run gives."""

import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.test_evaluator import evaluate

import fairshapley as fs
from fairshapley._basics import bits
from fairshapley.errors import EngineError
from fairshapley.evaluation import Engine, Evaluator, SerialEngine
from fairshapley.evaluation.engines import parse_engine
from fairshapley.evaluation.engines.engine import Answer, WorkerLostError

ALL = np.array([[code >> i & 1 for i in range(6)] for code in range(64)], dtype=bool)


class Chaos(Engine):
    """An engine whose workers answer in random order, and die when told to.

    `deadly` says of a chunk whether it kills its worker, which takes all others with it. `dies`
    is how many workers die for no reason of the game.
    """

    def __init__(self, seed=0, workers=3, chunk_size=None, deadly=None, dies=0, hangs=None):
        super().__init__(chunk_size=chunk_size)
        self.rng = np.random.default_rng(seed)
        self.workers, self.ahead = workers, 2
        self.deadly = deadly or (lambda masks: False)
        self.hangs = hangs or (lambda masks: False)
        self.dies = dies
        self.computed = []
        self.answered = 0
        self.most_in_flight = 0
        self.renewed = self.closed = self.aborted = 0
        self.loads = True

    def open(self, game):
        self.game = game
        self.chunks = {}
        self.count = 0
        return self

    def submit(self, rows, *, alone=False):
        self.count += 1
        self.chunks[self.count] = bits.unpack(rows, self.game.n_active)
        self.most_in_flight = max(self.most_in_flight, len(self.chunks))
        assert not alone or len(self.chunks) == 1
        return self.count

    def wait(self, tickets, seconds=None):
        assert set(tickets) == set(self.chunks)
        begun = self.rng.permutation(tickets)[: self.workers].tolist()
        for ticket in begun:
            masks = self.chunks[ticket]
            if not len(masks):
                del self.chunks[ticket]
                lost = None if self.loads else WorkerLostError("gone")
                return [(ticket, Answer(np.empty(0), error=lost))]
            if self.hangs(masks):
                del self.chunks[ticket]
                return [(ticket, Answer(error=WorkerLostError("too long", timed_out=True)))]
            if self.deadly(masks) or self.dies:
                self.dies = max(0, self.dies - 1)
                self.chunks.clear()
                return [(other, Answer(error=WorkerLostError("it died"))) for other in tickets]
        done = begun[: int(self.rng.integers(1, len(begun) + 1))]
        return [(ticket, self.answer(self.chunks.pop(ticket))) for ticket in done]

    def answer(self, masks):
        self.computed.extend(map(tuple, masks.tolist()))
        try:
            values = self.game(bits.pack(masks))
        except Exception as error:
            return Answer(error=error)
        self.answered += len(masks)
        return Answer(values, 1e-3 * len(masks))

    def renew(self):
        self.renewed += 1

    def abort(self, tickets):
        self.aborted += 1
        done, rest = tickets[::2], tickets[1::2]
        answers = [(ticket, self.answer(self.chunks.pop(ticket))) for ticket in done]
        for ticket in rest:
            del self.chunks[ticket]
        return answers

    def close(self):
        self.closed += 1


def holds(*bad):
    """Whether a chunk has one of these coalitions."""
    rows = [np.isin(np.arange(6), coalition) for coalition in bad]
    return lambda masks: any((masks == row).all(axis=1).any() for row in rows)


@given(st.integers(0, 10**6), st.integers(1, 5), st.none() | st.integers(1, 20), st.integers(0, 3))
def test_any_order_and_any_deaths_give_the_same_bits_and_counts(seed, workers, chunk_size, dies):
    rng = np.random.default_rng(seed)
    rounds = [rng.random((int(rng.integers(0, 90)), 6)) < 0.5 for _ in range(3)]
    game = fs.games.SumOfUnanimity(6, n_terms=20, seed=1)
    engine = Chaos(seed, workers, chunk_size, dies=dies)
    plain, many = Evaluator(game, 6), Evaluator(game, 6, engine=engine)
    for masks in rounds:
        expected = evaluate(plain, masks)
        assert evaluate(many, masks).tobytes() == expected.tobytes()
    for name in ("evaluations", "computed", "cache_hits", "skipped"):
        assert getattr(many.tally, name) == getattr(plain.tally, name), name
    assert len(engine.computed) == len(set(engine.computed))  # nothing answered was asked again
    assert engine.most_in_flight <= 2 * workers


@pytest.mark.parametrize("chunk_size", [1, 8, 64])
@pytest.mark.parametrize("fault", ["deadly", "hangs"])
def test_a_coalition_that_ends_its_worker_is_found_and_named(fault, chunk_size):
    bad = (1, 3, 4)
    options = {fault: holds(bad), "workers": 2, "chunk_size": chunk_size}
    game = fs.games.Additive(np.arange(6.0))
    with pytest.raises(fs.errors.GameError, match=r"it died|too long") as caught:
        evaluate(Evaluator(game, 6, engine=Chaos(1, **options)), ALL)
    assert caught.value.coalition == bad
    assert caught.value.__cause__ is not None
    engine = Chaos(1, **options)
    skipping = Evaluator(game, 6, engine=engine, on_error="skip")
    values = evaluate(skipping, ALL)
    expected = game(ALL)
    expected[int(sum(1 << i for i in bad))] = np.nan
    np.testing.assert_array_equal(values, expected)
    assert skipping.tally.skipped == 1
    assert skipping.tally.lost > 0
    assert engine.renewed > 0
    assert len(engine.computed) == len(set(engine.computed)) == 63


def test_chunks_that_are_too_large_for_a_worker_are_halved():
    engine = Chaos(0, workers=2, deadly=lambda masks: len(masks) > 5)
    evaluator = Evaluator(fs.games.Additive(np.ones(6)), 6, engine=engine)
    np.testing.assert_array_equal(evaluate(evaluator, ALL), ALL.sum(axis=1))
    assert evaluator.tally.skipped == 0
    assert evaluator.tally.halved > 0


def test_workers_that_cannot_load_the_game_are_not_the_fault_of_a_coalition(tmp_path):
    engine = Chaos(0, workers=2, deadly=lambda masks: True)
    engine.loads = False
    game = fs.games.Additive(np.ones(6))
    with pytest.raises(EngineError, match=r"as soon as they load the game.*Give a journal"):
        fs.estimate(game, engine=engine, on_error="skip")
    with pytest.raises(EngineError, match=r"is in the journal .*j\.db: run again"):
        fs.estimate(game, engine=engine, journal=tmp_path / "j.db")


def test_the_first_failure_is_that_of_a_serial_run():
    """Whatever comes back first: the same coalition is named, in the same words."""

    def fn(masks):
        sizes = masks.sum(axis=1)
        if (sizes == 4).any():
            raise ValueError("four is a crowd")
        return np.where(sizes == 5, np.nan, sizes)

    class Game:
        n_players = 6
        __call__ = staticmethod(fn)

    order = ALL[np.random.default_rng(0).permutation(64)]
    with pytest.raises(fs.errors.GameError) as serial:
        evaluate(Evaluator(Game(), 6, engine=SerialEngine(7)), order)
    plain = Evaluator(Game(), 6, on_error="skip", engine=SerialEngine(7))
    expected = evaluate(plain, order)
    for seed in range(8):
        with pytest.raises(fs.errors.GameError) as caught:
            evaluate(Evaluator(Game(), 6, engine=Chaos(seed, 3, 5)), order)
        assert str(caught.value) == str(serial.value)
        assert caught.value.coalition == serial.value.coalition
        many = Evaluator(Game(), 6, engine=Chaos(seed, 3, 5), on_error="skip")
        np.testing.assert_array_equal(evaluate(many, order), expected)
        assert many.tally.first_failure == plain.tally.first_failure
        assert many.tally.skipped == plain.tally.skipped


def test_what_is_answered_when_a_run_fails_is_journalled(tmp_path):
    game = fs.games.FunctionGame(lambda s: 1 / 0 if s == (0, 1) else float(len(s)), 8, key="g")
    engine = Chaos(2, workers=4, chunk_size=4)
    with pytest.raises(fs.errors.GameError, match=r"\(0, 1\) failed: ZeroDivisionError"):
        fs.estimate(game, "exact", engine=engine, journal=tmp_path / "j.db")
    assert engine.aborted == 1
    with fs.Journal(tmp_path / "j.db") as journal:
        assert journal.count(1) == engine.answered > 4
        assert journal.runs()[0].status == "failed"


def test_out_of_time_finishes_what_is_in_flight_and_no_more(tmp_path):
    class Slow(Chaos):
        def wait(self, tickets, seconds=None):
            time.sleep(0.05)
            return super().wait(tickets, seconds)

    game = fs.games.Additive(np.ones(12))
    engine = Slow(0, workers=2, chunk_size=3)
    limit = fs.Budget(seconds=0.3)
    with pytest.raises(fs.errors.BudgetError):  # no round of 4096 coalitions in that time
        fs.estimate(game, "exact", budget=limit, engine=engine, journal=tmp_path / "j.db")
    with fs.Journal(tmp_path / "j.db") as journal:
        assert journal.count(1) == len(set(engine.computed)) < 500
    assert engine.aborted == 0
    assert not engine.chunks


def test_one_chunk_that_hangs_does_not_let_the_others_run_ahead_for_ever():
    class Stuck(Chaos):
        """The first chunk of the second round is answered only when nothing else is left."""

        def wait(self, tickets, seconds=None):
            others = [ticket for ticket in tickets if ticket != 1]
            ticket = others[0] if others else 1
            return [(ticket, self.answer(self.chunks.pop(ticket)))]

    engine = Stuck(0, workers=2, chunk_size=2)
    evaluator = Evaluator(fs.games.Additive(np.ones(12)), 12, engine=engine)
    masks = np.random.default_rng(0).random((3000, 12)) < 0.5
    np.testing.assert_array_equal(evaluate(evaluator, masks), masks.sum(axis=1))
    assert engine.most_in_flight <= 4


@pytest.mark.parametrize("option", ["", "processes:", "processes:-1", "dask://", SerialEngine])
def test_what_is_no_engine_is_refused(option):
    with pytest.raises(fs.InputError, match="engine must be 'serial'"):
        parse_engine(option)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (lambda: parse_engine("processes:99999"), "workers must be a whole number from 1 to"),
        (lambda: fs.evaluation.ProcessEngine(timeout=float("nan")), "timeout"),
        (lambda: fs.evaluation.DaskEngine(5), r"distributed\.Client or the address"),
        (lambda: fs.evaluation.RayEngine(cpus=0), "cpus"),
        (lambda: fs.ThreadEngine(per_second=0), "per_second"),
        (lambda: fs.ThreadEngine(transient=ConnectionError()), "transient must be a function"),
    ],
)
def test_bad_settings_are_named(option, words):
    with pytest.raises(fs.InputError, match=words):
        option()


def test_an_extra_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fs.errors.MissingExtraError, match=r"pip install .distributed"):
        parse_engine("dask://here:1")


def test_a_run_in_a_thread_needs_no_signals():
    results = []
    game = fs.games.Additive(np.ones(5))
    thread = threading.Thread(target=lambda: results.append(fs.estimate(game, engine=Chaos())))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0].values, 1.0)
