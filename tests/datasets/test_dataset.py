"""The object: read-only, picklable, alike when its content is alike."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley import InputError
from fairshapley.datasets import Dataset, load
from fairshapley.games import fingerprint

CARS = Dataset(
    "cars",
    X=np.arange(8.0).reshape(4, 2),
    y=np.array([1.0, 2.0, 3.0, 4.0]),
    feature_names=("year", "mpg"),
    groups=np.array(["bmw", "audi", "bmw", "vw"]),
    split=np.array(["train", "test", "train", "train"]),
)


def test_no_array_can_be_written_to_and_the_givers_stays_its_own():
    own = np.zeros((2, 1))
    dataset = Dataset("own", own, np.zeros(2), groups=np.array(["a", "b"]))
    for array in (dataset.X, dataset.y, dataset.groups):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    own[0] = 1.0
    with pytest.raises(AttributeError):
        dataset.X = own
    with pytest.raises(TypeError):
        dataset.files["new"] = "x"


def test_a_pickled_copy_is_the_same_and_still_read_only():
    iris = load("iris")
    copy = pickle.loads(pickle.dumps(iris))  # noqa: S301 - made here
    assert copy.checksum == iris.checksum
    assert copy.source == iris.source
    assert fingerprint(copy) == fingerprint(iris) == fingerprint(load("iris"))
    with pytest.raises(ValueError, match="read-only"):
        copy.X[0, 0] = 1.0


def test_take_keeps_everything_in_line():
    taken = CARS.take([2, -3])
    assert taken.X.tolist() == [[4.0, 5.0], [2.0, 3.0]]
    assert taken.y.tolist() == [3.0, 2.0]
    assert taken.groups.tolist() == ["bmw", "audi"]
    assert taken.split.tolist() == ["train", "test"]
    assert len(CARS.take([])) == 0
    assert CARS.take(slice(1, 3)).y.tolist() == [2.0, 3.0]
    assert CARS.take(np.array([True, False, False, True])).y.tolist() == [1.0, 4.0]


def test_select_by_split_and_group():
    assert CARS.train.y.tolist() == [1.0, 3.0, 4.0]
    assert CARS.test.y.tolist() == [2.0]
    assert CARS.select(split="train", group="bmw").y.tolist() == [1.0, 3.0]
    assert CARS.group_names == ("bmw", "audi", "vw")
    assert load("iris").group_names == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CARS.take([4]), "which has 4"),
        (lambda: CARS.take([-5]), "which has 4"),
        (lambda: CARS.take([0.5]), "row numbers"),
        (lambda: CARS.take(["a"]), "row numbers"),
        (lambda: CARS.take([[0]]), "row numbers"),
        (lambda: CARS.take([True]), "mask has 1 entries for 4 rows"),
        (lambda: CARS.select(split="dev"), "no split 'dev': choose one of train and test"),
        (lambda: CARS.select(group="seat"), "no group 'seat': choose one of bmw, audi and vw"),
        (lambda: load("iris").train, "iris has no splits"),
        (lambda: load("iris").texts, "not a set of texts"),
        (lambda: Dataset("d", np.zeros((2, 1)), np.zeros(3)), "y must have one entry per row"),
        (lambda: Dataset("d", np.zeros((2, 1)), 1.0), "y must have one entry per row"),
        (lambda: Dataset("d", np.zeros((2, 1)), np.zeros(2), ("a", "b")), "2 feature names"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


@given(st.permutations(range(4)))
def test_the_checksum_is_of_the_content_in_its_order(order):
    moved = CARS.take(list(order))
    assert (moved.checksum == CARS.checksum) == (list(order) == [0, 1, 2, 3])
    back = np.argsort(order)
    assert moved.take(back).checksum == CARS.checksum


def test_the_checksum_sees_every_array():
    changes = [
        {"X": CARS.X + 1},
        {"y": CARS.y + 1},
        {"groups": np.array(["bmw", "audi", "bmw", "seat"])},
        {"split": None},
    ]
    kept = {name: getattr(CARS, name) for name in ("X", "y", "groups", "split")}
    sums = {Dataset("cars", **{**kept, **change}).checksum for change in [{}, *changes]}
    assert len(sums) == 5
    assert Dataset("cars", **kept).checksum == CARS.checksum


def test_texts_are_a_list():
    reviews = Dataset("r", np.array(["good", "bad"], dtype=object), np.array([1, 0]))
    assert reviews.texts == ["good", "bad"]
    assert "2 rows of text" in repr(reviews)


def test_the_text_says_what_it_is():
    text = str(load("wine"))
    for part in ("178 rows", "3 classes", "source: scikit-learn", "licence: CC BY", "note: "):
        assert part in text
    assert "1 row of 2 features, regression" in repr(CARS.take([0]))
    assert "1 row of shape (2, 2)" in repr(Dataset("i", np.zeros((1, 2, 2)), np.zeros(1)))
