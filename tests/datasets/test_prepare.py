"""The paper's preparations, against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshapley import InputError
from fairshapley.datasets import Dataset, load, prepare
from tests.data_folder import needs


def test_classes_without_names_are_called_by_their_numbers():
    assert prepare.one_against_rest(CARD, 1).target_names == ("not 1", "1")


def test_one_against_rest():
    wine = prepare.one_against_rest(load("wine"), 1)
    assert np.bincount(wine.y).tolist() == [178 - 71, 71]
    assert wine.classes == (0, 1)
    assert wine.target_names == ("not class_1", "class_1")
    assert "against the rest" in wine.notes[-1]


@pytest.mark.parametrize(("name", "label"), [("iris", 3), ("iris", "setosa"), ("diabetes", 1)])
def test_one_against_rest_needs_a_class(name, label):
    with pytest.raises(InputError, match="has no class"):
        prepare.one_against_rest(load(name), label)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.integers(0, 5))
def test_oversampling_balances_and_keeps_every_row(labels, seed):
    features = np.arange(len(labels), dtype=float)[:, None]
    dataset = Dataset("d", features, np.array(labels), classes=(0, 1, 2))
    balanced = prepare.oversample(dataset, seed=seed)
    counts = np.bincount(balanced.y)
    assert set(counts[counts > 0].tolist()) == {np.bincount(labels).max()}
    assert balanced.X[: len(labels)].tolist() == features.tolist()
    # A drawn row is a row of its class.
    assert (np.array(labels)[balanced.X[:, 0].astype(int)] == balanced.y).all()


def test_oversampling_repeats_with_its_seed_and_says_so():
    cancer = load("breast_cancer")
    assert prepare.oversample(cancer).checksum == prepare.oversample(cancer).checksum
    assert prepare.oversample(cancer).checksum != prepare.oversample(cancer, seed=1).checksum
    assert prepare.oversample(cancer).notes[-1].startswith("145 rows")
    drawn = prepare.oversample(cancer, seed=None)
    seed = int(drawn.notes[-1].rpartition(" ")[2])
    assert prepare.oversample(cancer, seed=seed).checksum == drawn.checksum
    with pytest.raises(InputError, match="no classes to balance"):
        prepare.oversample(load("diabetes"))


def test_standardise_by_the_given_rows():
    # Mean (2, 4), population standard deviation (1, 0).
    given_rows = [[1.0, 4.0], [3.0, 4.0]]
    assert prepare.standardise([[4.0, 5.0]], given_rows).tolist() == [[2.0, 1.0]]
    own = prepare.standardise(load("wine").X)
    np.testing.assert_allclose(own.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(own.std(axis=0), 1, atol=1e-12)


def test_a_constant_column_is_exactly_zero():
    column = np.full((10, 1), 0.1)
    assert (prepare.standardise(column) == 0).all()


@pytest.mark.parametrize(
    ("rows", "reference"),
    [
        ([[np.nan]], None),
        ([1.0, 2.0], None),
        ([["a"]], None),
        ([[1.0]], [[1.0, 2.0]]),
        ([[1.0]], np.zeros((0, 1))),
        (np.zeros((0, 2)), None),
    ],
)
def test_standardise_refuses_what_has_no_mean(rows, reference):
    with pytest.raises(InputError):
        prepare.standardise(rows, reference)


def test_image_rows_and_padding():
    images = np.arange(2 * 2 * 3 * 3, dtype=np.uint8).reshape(2, 2, 3, 3)
    rows = prepare.image_rows(images)
    assert rows.shape == (2, 18)
    assert rows[1, 0] == images[1, 0, 0, 0] / 255
    assert prepare.image_rows(images[:0]).shape == (0, 18)
    padded = prepare.pad_images(images, 5)
    assert padded.shape == (2, 5, 5, 3)
    assert (padded[:, 1:3, 1:4] == images).all()
    assert padded.sum() == images.sum()
    for size in ("5", 5.5, True):
        with pytest.raises(InputError, match="size must be a whole number"):
            prepare.pad_images(images, size)
    with pytest.raises(InputError, match="do not fit"):
        prepare.pad_images(images, 2)
    with pytest.raises(InputError, match="bytes"):
        prepare.image_rows(images / 255)


CARD = Dataset(
    "creditcard",
    X=np.column_stack([np.arange(90.0).reshape(3, 30)[:, :29], [10.0, 1000.0, 1000.01]]),
    y=np.zeros(3, dtype=int),
    feature_names=("Time", *(f"V{k}" for k in range(1, 29)), "Amount"),
    classes=(0, 1),
)


def test_card_amounts_as_in_the_paper():
    amounts = prepare.card_amounts(CARD)
    # Column k of row 0 holds k, and Vk is column k.
    assert amounts.X[0].tolist() == [1, 2, 5, 7, 10, 20, 21, 23]
    assert amounts.y.tolist() == [10.0, 1000.0, 1000.01]
    assert amounts.split.tolist() == ["main", "main", "held_out"]
    assert amounts.classes is None
    for limit in ("1000", float("nan")):
        with pytest.raises(InputError, match="limit must be a number"):
            prepare.card_amounts(CARD, limit=limit)
    with pytest.raises(InputError, match="load it anew"):
        prepare.card_amounts(amounts)


def test_used_cars_as_in_the_paper():
    makes = ["vw", "hyundi", "ford", "audi", "ford", *prepare.PAPER_MAKES[4:], "toyota"]
    years = np.full(len(makes), 2019.0)
    years[4] = 2060
    cars = Dataset("used_cars", years[:, None], years, ("year",), groups=np.array(makes))
    assert prepare.paper_used_cars(cars).groups.tolist() == list(prepare.PAPER_MAKES)
    with pytest.raises(InputError, match="no column year"):
        prepare.paper_used_cars(load("iris"))
    raw = Dataset("used_cars", cars.X.astype(object), years, ("year",), groups=np.array(makes))
    with pytest.raises(InputError, match="not numbers"):
        prepare.paper_used_cars(raw)


@needs("creditcard")
def test_the_papers_payments():
    amounts = prepare.card_amounts(load("creditcard"))
    held_out = amounts.select(split="held_out")
    assert amounts.X.shape[1] == 8
    assert held_out.y.min() > 1000 >= amounts.select(split="main").y.max()
