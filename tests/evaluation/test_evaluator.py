"""The evaluator: each distinct coalition once, in any chunks, with every failure named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs
from fairshapley.evaluation import Evaluator, SerialEngine
from fairshapley.evaluation.cache import Cache, pack, unpack
from fairshapley.evaluation.engines import CHUNK_SECONDS


class Listed:
    """A draw of given coalitions."""

    marginals = None

    def __init__(self, masks):
        self.all = np.asarray(masks, dtype=bool)

    def __len__(self):
        return len(self.all)

    def masks(self, start, stop):
        return self.all[start:stop]


class Recorder:
    """A game that remembers every coalition it was asked for."""

    def __init__(self, n_players):
        self.n_players = n_players
        self.asked = []

    def __call__(self, masks):
        self.asked.extend(map(tuple, masks.tolist()))
        return masks @ (1.5 ** np.arange(self.n_players))


masks_of_five = arrays(bool, st.tuples(st.integers(0, 40), st.just(5)))


@given(st.integers(1, 20).flatmap(lambda n: arrays(bool, st.tuples(st.integers(1, 9), st.just(n)))))
def test_packing_is_reversible(masks):
    np.testing.assert_array_equal(unpack(pack(masks), masks.shape[1]), masks)


@given(masks_of_five, masks_of_five, st.integers(1, 50))
def test_each_distinct_coalition_is_computed_once(one, other, chunk_size):
    game = Recorder(5)
    evaluator = Evaluator(game, 5, engine=SerialEngine(chunk_size))
    weights = 1.5 ** np.arange(5)
    for masks in (one, other, one):
        np.testing.assert_array_equal(evaluator.evaluate(Listed(masks)), masks @ weights)
    distinct = {tuple(row) for row in np.vstack([one, other]).tolist()}
    assert len(game.asked) == len(set(game.asked)) == len(distinct)
    assert evaluator.tally.evaluations == evaluator.tally.computed == len(distinct)
    assert evaluator.tally.cache_hits == 2 * len(one) + len(other) - len(distinct)


@given(masks_of_five, masks_of_five)
def test_the_price_of_a_draw_is_known_before(one, other):
    evaluator = Evaluator(Recorder(5), 5)
    evaluator.evaluate(Listed(one))
    before = evaluator.tally.evaluations
    price = evaluator.new_coalitions(Listed(other), at_most=100)
    evaluator.evaluate(Listed(other))
    assert evaluator.tally.evaluations - before == price


def test_the_ends_are_evaluated_once():
    game = Recorder(4)
    evaluator = Evaluator(game, 4)
    assert evaluator.endpoints() == (0.0, sum(1.5**i for i in range(4)))
    evaluator.evaluate(Listed([[False] * 4, [True] * 4, [True, False, True, False]]))
    assert len(game.asked) == 3


def test_the_cache_is_bounded_and_forgets_between_rounds_only():
    evaluator = Evaluator(Recorder(12), 12, cache_bytes=100 * 120)
    rng = np.random.default_rng(0)
    for _ in range(20):
        evaluator.evaluate(Listed(rng.random((30, 12)) < 0.5))
        assert len(evaluator.cache) <= 2 * (evaluator.cache.generation_size + 30)
    assert evaluator.tally.evaluations == evaluator.tally.computed


def test_a_round_larger_than_the_cache_is_still_deduplicated_inside():
    game = Recorder(6)
    evaluator = Evaluator(game, 6, cache_bytes=8)
    masks = np.random.default_rng(0).random((50, 6)) < 0.5
    evaluator.evaluate(Listed(masks))
    assert len(game.asked) == len(np.unique(masks, axis=0))


def test_a_complete_cache_is_a_table():
    cache = Cache(3, 10**6)
    masks = unpack([bytes([code]) for code in range(8)], 3)
    assert not cache.complete
    cache.update(zip(pack(masks), np.arange(8.0), strict=True))
    assert cache.complete
    np.testing.assert_array_equal(cache.table(), np.arange(8.0))


def test_chunks_follow_the_speed_of_the_game():
    engine = SerialEngine()
    assert engine.chunk_size(100) == 64
    fast = fs.games.Additive(np.ones(100))
    for _ in range(8):
        engine.compute(fast, np.ones((engine.chunk_size(100), 100), dtype=bool))
    assert engine.chunk_size(100) > 1000
    assert engine.chunk_size(10**7) <= 4  # 32 MiB of masks
    slow = fs.games.FunctionGame(lambda s: __import__("time").sleep(CHUNK_SECONDS / 2) or 1.0, 100)
    engine.compute(slow, np.ones((1, 100), dtype=bool))
    assert engine.chunk_size(100) <= 2


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
        (np.inf, "returned inf"),
        (-np.inf, "returned -inf"),
    ],
)
@pytest.mark.parametrize("chunk_size", [1, 10, 32])
def test_a_utility_that_fails_is_named_and_the_rest_is_kept(answer, words, chunk_size):
    evaluator = Evaluator(failing(BAD, answer), 5, engine=SerialEngine(chunk_size))
    with pytest.raises(fs.GameError, match=words) as caught:
        evaluator.evaluate(Listed(ALL))
    assert caught.value.coalition == (0, 2, 3)
    assert "(0, 2, 3)" in str(caught.value)
    assert "on_error='skip'" in str(caught.value)
    at = int(BAD @ (1 << np.arange(5)))
    assert len(evaluator.cache) >= at  # everything that came before is remembered

    skipping = Evaluator(failing(BAD, answer), 5, engine=SerialEngine(chunk_size), on_error="skip")
    values = skipping.evaluate(Listed(ALL))
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), [at])
    assert skipping.tally.skipped.keys() == {(0, 2, 3)}
    assert skipping.tally.evaluations == 32
    assert not skipping.complete


def test_the_ends_cannot_be_skipped():
    game = failing(np.zeros(5, dtype=bool), np.nan)
    with pytest.raises(fs.GameError, match=r"empty coalition.*cannot be skipped"):
        Evaluator(game, 5, on_error="skip").endpoints()


def test_a_batch_too_large_for_the_game_is_halved():
    def fn(masks):
        if len(masks) > 8:
            raise MemoryError("too many at once")
        return masks.sum(axis=1)

    class Game:
        n_players = 5
        __call__ = staticmethod(fn)

    evaluator = Evaluator(Game(), 5, engine=SerialEngine(32))
    np.testing.assert_array_equal(evaluator.evaluate(Listed(ALL)), ALL.sum(axis=1))
    assert "MemoryError" in evaluator.tally.recovered[-1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda m: np.ones(len(m) + 1), r"shape \(33,\) for 32 coalitions"),
        (lambda m: np.ones((len(m), 1)), r"shape \(32, 1\)"),
        (lambda m: 1.0, r"shape \(\)"),
        (lambda m: np.ones(len(m), complex), "complex"),
        (lambda m: ["x"] * len(m), "not an array of numbers"),
        (lambda m: None, "not an array of numbers|shape"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_refused(answer, words):
    class Game:
        n_players = 5

        def __call__(self, masks):
            return answer(masks)

    with pytest.raises(fs.GameError, match=words):
        Evaluator(Game(), 5, engine=SerialEngine(32)).evaluate(Listed(ALL))


def test_long_coalitions_are_shortened_in_messages():
    game = failing(np.ones(500, dtype=bool), np.nan)
    with pytest.raises(fs.GameError, match=r"… .*of 500 players|…, 497, 498, 499") as caught:
        Evaluator(game, 500).endpoints()
    assert len(str(caught.value)) < 400


def test_chunk_size_must_be_positive():
    with pytest.raises(fs.InputError, match="at least 1"):
        SerialEngine(0)
