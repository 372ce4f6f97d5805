"""The paper's preparations, against values worked out by hand."""

import numpy as np
import pytest

from fairshapley import InputError
from fairshapley.datasets import Dataset, load, prepare
from tests.data_folder import needs


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


def test_image_rows():
    images = np.arange(2 * 2 * 3 * 3, dtype=np.uint8).reshape(2, 2, 3, 3)
    rows = prepare.image_rows(images)
    assert rows.shape == (2, 18)
    assert rows[1, 0] == images[1, 0, 0, 0] / 255
    assert prepare.image_rows(images[:0]).shape == (0, 18)
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


@needs("creditcard")
def test_the_papers_payments():
    amounts = prepare.card_amounts(load("creditcard"))
    held_out = amounts.select(split="held_out")
    assert amounts.X.shape[1] == 8
    assert held_out.y.min() > 1000 >= amounts.select(split="main").y.max()
