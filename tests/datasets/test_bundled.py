"""The sets that are always there."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fairshapley import InputError
from fairshapley.datasets import available, describe, gaussian, load

PAPER = {
    "adult", "breast_cancer", "cifar10", "covertype", "creditcard", "diabetes", "hotel_reviews",
    "iris", "mnist", "mr", "sst5", "uber_lyft", "used_cars", "wine",
}  # fmt: skip


def test_the_catalogue_holds_the_fourteen_sets_of_the_paper():
    assert set(available()) == PAPER | {"gaussian", "digits"}
    assert len(PAPER) == 14
    for name in available():
        entry = describe(name)
        assert entry.licence
        assert entry.citation
        assert entry.page
        assert name in str(entry)


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("breast_cancer", (569, 30), [212, 357]),
        ("digits", (1797, 64), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
        ("iris", (150, 4), [50, 50, 50]),
        ("wine", (178, 13), [59, 71, 48]),
    ],
)
def test_classification_sets_have_their_published_sizes(name, shape, counts, monkeypatch):
    monkeypatch.delenv("FAIRSHAPLEY_DATA", raising=False)
    dataset = load(name)
    assert dataset.X.shape == shape
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert np.bincount(dataset.y).tolist() == counts
    assert len(dataset.feature_names) == shape[1]
    assert dataset.classes == tuple(range(len(counts)))
    assert len(dataset.target_names) == len(counts)
    assert dataset.source.startswith("scikit-learn: load_")


def test_diabetes_is_a_regression():
    dataset = load("diabetes")
    assert dataset.X.shape == (442, 10)
    assert dataset.classes is None
    # The mean progression of the 442 patients, 152.133, is in Efron et al.'s table.
    assert dataset.y.mean() == pytest.approx(152.133, abs=5e-4)


def test_wine_says_that_it_is_smaller_than_the_paper_reports():
    assert "2000" in load("wine").notes[0]


def test_gaussian_follows_the_papers_law():
    """False alarms: KS tests at 1e-3 each over 5 columns, a bin of 4.5 standard errors: < 1 %."""
    points = load("gaussian")
    assert points.X.shape == (50_000, 5)
    for column in points.X.T:
        assert kstest(column, norm.cdf).pvalue > 1e-3
    correlation = np.corrcoef(points.X.T) - np.eye(5)
    assert np.abs(correlation).max() < 4.5 / np.sqrt(50_000)
    chance = 1 / (1 + np.exp(-2 * points.X[:, 0] - points.X[:, 1]))
    for low in np.arange(0, 1, 0.1):
        rows = (chance >= low) & (chance < low + 0.1)
        expected, spread = chance[rows].sum(), np.sqrt((chance * (1 - chance))[rows].sum())
        assert abs(points.y[rows].sum() - expected) < 4.5 * spread


def test_gaussian_depends_on_its_seed_alone():
    assert load("gaussian").checksum == gaussian().checksum
    assert gaussian(100, seed=1).checksum == gaussian(200, seed=1).take(range(100)).checksum
    assert gaussian(100, seed=1).checksum != gaussian(100, seed=2).checksum


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rows": 0}, "at least 1"),
        ({"n_rows": 1.5}, "whole number"),
        ({"seed": -1}, "negative"),
        ({"seed": "x"}, "whole number"),
    ],
)
def test_gaussian_refuses_what_it_cannot_draw(options, message):
    with pytest.raises(InputError, match=message):
        gaussian(**options)


@pytest.mark.parametrize("name", ["mnits", "", None, 3, ["iris"]])
def test_an_unknown_name_lists_what_there_is(name):
    with pytest.raises(InputError, match=r"there is no data set .*adult, .*wine"):
        load(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "raw"}, r"no variant 'raw': choose 'numeric'"),
        ({"part": "head"}, r"no part 'head': choose 'all'"),
        ({"source": "original"}, r"no source 'original': choose 'auto', 'scikit-learn'"),
    ],
)
def test_an_unknown_option_lists_what_there_is(options, message):
    with pytest.raises(InputError, match=message):
        load("iris", **options)
