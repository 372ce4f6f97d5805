"""The evaluator: each distinct coalition once, in any chunks, with every failure named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley.draws import ListedCoalitions
from fairshapley.evaluation import Evaluator, SerialEngine
from fairshapley.evaluation.dispatch import CHUNK_SECONDS, Pace


def evaluate(evaluator, masks):
    """One round of these coalitions."""
    draw = ListedCoalitions.of(np.asarray(masks, dtype=bool))
    return evaluator.evaluate(draw).values


class Recorder:
    """A game that remembers every coalition it was asked for."""

    def __init__(self, n_players):
        self.n_players = n_players
        self.asked = []

    def __call__(self, masks):
        self.asked.extend(map(tuple, masks.tolist()))
        return masks @ (1.5 ** np.arange(self.n_players))


masks_of_five = arrays(bool, st.tuples(st.integers(0, 40), st.just(5)))


@given(masks_of_five, masks_of_five, st.integers(1, 50))
def test_each_distinct_coalition_is_computed_once(one, other, chunk_size):
    game = Recorder(5)
    evaluator = Evaluator(game, 5, engine=SerialEngine(chunk_size))
    weights = 1.5 ** np.arange(5)
    for masks in (one, other, one):
        np.testing.assert_array_equal(evaluate(evaluator, masks), masks @ weights)
    distinct = {tuple(row) for row in np.vstack([one, other]).tolist()}
    assert len(game.asked) == len(set(game.asked)) == len(distinct)
    assert evaluator.tally.evaluations == evaluator.tally.computed == len(distinct)
    assert evaluator.tally.cache_hits == 2 * len(one) + len(other) - len(distinct)


@given(masks_of_five, masks_of_five, st.integers(0, 30))
def test_what_is_affordable_of_a_draw_is_what_adds_no_more_than_is_left(one, other, left):
    def added(rows):
        evaluator = Evaluator(Recorder(5), 5)
        evaluate(evaluator, one)
        before = evaluator.tally.evaluations
        rows = evaluator.affordable(ListedCoalitions.of(other), left) if rows is None else rows
        evaluate(evaluator, other[:rows])
        return rows, evaluator.tally.evaluations - before

    rows, cost = added(None)
    assert cost <= left
    assert rows == len(other) or added(rows + 1)[1] > left


def test_the_cache_is_bounded_and_the_count_is_what_was_computed():
    counts = set()
    for chunk_size in (1, 7, 1000):
        game = Recorder(12)
        engine = SerialEngine(chunk_size)
        evaluator = Evaluator(game, 12, engine=engine, cache_bytes=2 * 100 * 120)
        ends = evaluator.endpoints()
        rng = np.random.default_rng(0)
        for _ in range(60):
            evaluate(evaluator, rng.random((30, 12)) < 0.5)
            assert len(evaluator.cache) <= evaluator.cache.longest_round + 60
        assert evaluator.tally.evaluations == evaluator.tally.computed == len(game.asked)
        assert len(set(game.asked)) < len(game.asked)  # some were forgotten and paid for again
        assert game.asked.count((False,) * 12) == game.asked.count((True,) * 12) == 1
        assert evaluator.endpoints() == ends
        counts.add(evaluator.tally.evaluations)
    assert len(counts) == 1


@pytest.mark.parametrize("chunk_size", [1, 7, 1000])
def test_a_round_larger_than_the_cache_is_not_remembered(chunk_size):
    game = Recorder(6)
    evaluator = Evaluator(game, 6, engine=SerialEngine(chunk_size), cache_bytes=2 * 10 * 120)
    masks = np.random.default_rng(0).random((50, 6)) < 0.5
    np.testing.assert_array_equal(evaluate(evaluator, masks), masks @ (1.5 ** np.arange(6)))
    assert evaluator.tally.evaluations == len(np.unique(masks, axis=0))  # whatever the chunks
    assert len(evaluator.cache) == 0


def test_chunks_follow_the_speed_of_the_game():
    pace = Pace(None, 100)
    assert pace.size() == 64
    for _ in range(8):
        pace.observe(pace.size(), 1e-6 * pace.size())
    assert pace.size() == 335_544  # 32 MiB of masks; half a second would be 500 000
    pace.observe(1, CHUNK_SECONDS / 2)
    assert pace.size() == 2
    pace.failed(100)
    assert pace.size() == 50
    assert Pace(None, 10**9).size() == 1


def test_every_worker_gets_work_unless_the_way_is_longer():
    pace = Pace(None, 100)
    assert [pace.size(missing, 2) for missing in (1, 4, 99, 1000)] == [1, 1, 25, 64]
    pace.observe(64, 64 * 5e-3)
    assert pace.size(8, 2) == 4  # 20 ms of work are worth sending
    assert pace.capacity(3, 2) == 6
    pace.observe(1, 10.0)
    assert pace.capacity(3, 2) == 3  # none waits ten seconds behind another


def failing(bad, answer):
    """A vectorised game whose batch fails when it holds the coalition `bad`."""

    def fn(masks):
        values = masks.sum(axis=1).astype(float)
        hit = (masks == bad).all(axis=1)
        if hit.any():
            if isinstance(answer, Exception):
                raise answer
            values[hit] = answer
        return values

    class Game:
        n_players = len(bad)
        __call__ = staticmethod(fn)

    return Game()


BAD = np.array([True, False, True, True, False])
ALL = np.array([[code >> i & 1 for i in range(5)] for code in range(32)], dtype=bool)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ValueError("singular matrix"), "ValueError: singular matrix"),
        (np.nan, "returned nan"),
        (-np.inf, "returned -inf"),
        (1e200, "divide all utilities"),
    ],
)
@pytest.mark.parametrize("chunk_size", [1, 10, 32])
def test_a_utility_that_fails_is_named_and_the_rest_is_kept(answer, words, chunk_size):
    evaluator = Evaluator(failing(BAD, answer), 5, engine=SerialEngine(chunk_size))
    with pytest.raises(fs.errors.GameError, match=words) as caught:
        evaluate(evaluator, ALL)
    assert caught.value.coalition == (0, 2, 3)
    assert "(0, 2, 3)" in str(caught.value)
    assert "on_error='skip'" in str(caught.value)
    at = int(BAD @ (1 << np.arange(5)))
    assert evaluator.tally.computed >= at  # everything that came before was kept

    skipping = Evaluator(failing(BAD, answer), 5, engine=SerialEngine(chunk_size), on_error="skip")
    values = evaluate(skipping, ALL)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), [at])
    assert skipping.tally.skipped == 1
    assert skipping.tally.first_failure.startswith("coalition (0, 2, 3): ")
    assert skipping.tally.evaluations == 32
    assert not skipping.complete


def test_the_ends_cannot_be_skipped():
    game = failing(np.zeros(5, dtype=bool), np.nan)
    with pytest.raises(fs.errors.GameError, match=r"empty coalition.*cannot be skipped.*\(\)"):
        Evaluator(game, 5, on_error="skip").endpoints()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda m: np.ones(len(m) + 1), r"shape \(33,\) for 32 coalitions"),
        (lambda m: np.ones(len(m), complex), "complex"),
        (lambda m: ["1.5"] * len(m), "not numbers"),
        (lambda m: np.ma.array(np.full(len(m), 1e20), mask=m[:, 0]), "returned nan"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_refused(answer, words):
    class Game:
        n_players = 5

        def __call__(self, masks):
            return answer(masks)

    with pytest.raises(fs.errors.GameError, match=words):
        evaluate(Evaluator(Game(), 5, engine=SerialEngine(32)), ALL)


@pytest.mark.parametrize("answer", [2.0, -0.5])
def test_utilities_outside_the_stated_range_are_refused(answer):
    def utility(coalition):
        return answer if len(coalition) == 2 else len(coalition) * (1 + 1e-12) / 5

    game = fs.games.FunctionGame(utility, 5, value_range=(0, 1))
    with pytest.raises(
        fs.errors.GameError, match=f"returned {answer}, which is outside the value_range"
    ):
        fs.estimate(game, budget=40, seed=0)
    assert fs.estimate(game, budget=40, seed=0, on_error="skip").run.skipped


def test_a_game_that_changes_its_masks_changes_only_its_own():
    class Vandal:
        n_players = 5

        def __call__(self, masks):
            answer = masks.sum(axis=1)
            np.logical_not(masks, out=masks)
            if len(masks) > 4:
                raise MemoryError
            return answer

    np.testing.assert_array_equal(evaluate(Evaluator(Vandal(), 5), ALL), ALL.sum(axis=1))
