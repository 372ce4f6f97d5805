"""The compact copies, against what is published about the sets."""

import numpy as np
import pytest

from fairshapley.datasets import hotel_review_rows, load, prepare
from tests.data_folder import needs


@needs("covertype", source="compact")
def test_covertype():
    rand = load("covertype", source="compact")
    assert rand.X.shape == (92_962, 54)
    shares = np.bincount(rand.y, minlength=8)[1:] / len(rand)
    published = np.array([211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]) / 581_012
    np.testing.assert_allclose(shares, published, atol=5e-5)
    assert rand.X[:, 0].mean() == pytest.approx(2958.2, abs=0.05)
    assert (rand.X[:, 10:14].sum(axis=1) == 1).all()
    assert (rand.X[:, 14:].sum(axis=1) == 1).all()
    head = load("covertype", part="head", source="compact")
    assert head.X.shape == (10_000, 54)
    assert head.X[:2, :4].tolist() == [[2596, 51, 3, 258], [2590, 56, 2, 212]]
    # Soil 29, wilderness 1 and class 5 are those of the first row of covtype.data.
    assert np.flatnonzero(head.X[0, 10:]).tolist() == [0, 4 + 28]
    assert head.y[0] == 5
    assert "head" in head.notes[0]
    assert list(head.files) == ["covertype.npz"]
    assert head.source == "compact: covertype.npz, part head"


@needs("adult", source="compact")
def test_adult():
    raw = load("adult", variant="raw", source="compact")
    assert raw.X.shape == (32_561, 14)
    assert np.bincount(raw.y).tolist() == [24_720, 7_841]
    assert ((raw.X == "?").any(axis=1)).sum() == 2_399
    assert raw.X[:, 0].mean() == pytest.approx(38.58, abs=5e-3)
    coded = load("adult", source="compact")
    assert coded.X.shape == (32_561, 12)
    # The first row in shap: 39 years, State-gov 7, 13 years of education, Never-married 4,
    # Adm-clerical 1, Not-in-family 0, White 4, Male 1, gains 2174, 0, 40 hours, United-States 39.
    assert coded.X[0].tolist() == [39, 7, 13, 4, 1, 0, 4, 1, 2174, 0, 40, 39]


@pytest.mark.full
@needs("adult", source="compact")
def test_adult_is_coded_as_in_shap(tmp_path, monkeypatch):
    shap = pytest.importorskip("shap")
    raw = load("adult", variant="raw")
    incomes = np.array(raw.target_names)[raw.y]
    lines = [
        ", ".join([*(f"{cell:.0f}" if isinstance(cell, float) else cell for cell in row), income])
        for row, income in zip(raw.X, incomes, strict=True)
    ]
    file = tmp_path / "adult.data"
    file.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(shap.datasets, "cache", lambda *_args, **_kwargs: file)
    theirs, target = shap.datasets.adult()
    ours = load("adult")
    assert (theirs.to_numpy(dtype=float) == ours.X).all()
    assert (target == ours.y).all()


@needs("mnist", source="compact")
def test_mnist():
    mnist = load("mnist", source="compact")
    assert mnist.X.shape == (30_000, 28, 28)
    assert mnist.X.dtype == np.uint8
    assert np.bincount(mnist.test.y).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert mnist.test.y[:5].tolist() == [7, 2, 1, 0, 4]
    assert len(mnist.train) == 20_000
    # Mean and spread of all 60 000 images; of a third of them within 1 %.
    assert mnist.train.X.mean() / 255 == pytest.approx(0.1307, rel=0.01)
    assert mnist.train.X.std() / 255 == pytest.approx(0.3081, rel=0.01)
    assert "20,000 of the 60,000" in mnist.notes[0]


@needs("cifar10", source="compact")
def test_cifar10():
    cifar = load("cifar10", source="compact")
    assert cifar.X.shape == (5_506, 32, 32, 3)
    assert len(cifar.train) == 4_660
    assert cifar.train.y[:5].tolist() == [6, 9, 9, 4, 1]
    assert cifar.test.y[:5].tolist() == [3, 8, 8, 0, 6]
    assert cifar.target_names[cifar.y[0]] == "frog"
    means = cifar.train.X.mean(axis=(0, 1, 2)) / 255
    np.testing.assert_allclose(means, [0.493, 0.484, 0.448], atol=5e-4)


@needs("creditcard", source="compact")
def test_creditcard():
    every = load("creditcard", variant="time_amount", source="compact")
    assert len(every) == 284_807
    assert every.y.sum() == 492
    amount = every.X[:, 1]
    assert amount.mean() == pytest.approx(88.3496, abs=5e-5)
    assert amount.std(ddof=1) == pytest.approx(250.1201, abs=5e-5)
    assert amount.max() == 25_691.16
    assert every.X[-1, 0] == 172_792
    sample = load("creditcard", source="compact")
    assert sample.X.shape == (5_696 + 1_962, 30)
    frauds = load("creditcard", part="with_frauds", source="compact")
    assert len(frauds) == len(sample) + 477
    assert frauds.y[len(sample) :].all()
    assert frauds.y.sum() == 492
    # Every payment of the sample is one of all payments, to the cent.
    known = set(map(tuple, np.column_stack([every.X, every.y]).tolist()))
    assert set(map(tuple, np.column_stack([frauds.X[:, [0, -1]], frauds.y]).tolist())) <= known


@needs("used_cars", source="compact")
def test_used_cars():
    cars = load("used_cars", source="compact")
    assert cars.X.shape == (99_187, 5)
    makes, counts = np.unique(cars.groups, return_counts=True)
    assert dict(zip(makes.tolist(), counts.tolist(), strict=True)) == {
        "audi": 10_668, "bmw": 10_781, "ford": 17_965, "hyundi": 4_860, "merc": 13_119,
        "skoda": 6_267, "toyota": 6_738, "vauxhall": 13_632, "vw": 15_157,
    }  # fmt: skip
    assert cars.y.mean() == pytest.approx(16_805, abs=0.5)
    assert cars.X[:, 0].max() == 2060
    # audi's first row: an A1 of 2017 for 12,500.
    assert cars.X[0].tolist() == [2017, 55.4, 15735, 150, 1.4]
    assert cars.y[0] == 12_500
    papers = prepare.paper_used_cars(cars)
    # Nine makes less hyundi's 4,860 and less the one ford of 2060.
    assert len(papers) == 99_187 - 4_860 - 1
    assert papers.group_names == prepare.PAPER_MAKES
    assert papers.X[:, 0].max() <= 2021


@needs("uber_lyft", source="compact")
def test_uber_lyft():
    raw = load("uber_lyft", variant="raw", source="compact")
    assert raw.X.shape == (9_999, 15)
    names = raw.X[:, raw.feature_names.index("name")]
    assert len(set(names)) == 13
    assert (names[np.isnan(raw.y)] == "Taxi").all()
    assert np.isnan(raw.y).sum() == 773
    rides = load("uber_lyft", source="compact")
    assert rides.X.shape == (5_512, 12)
    assert np.isfinite(rides.X).all()
    first = dict(zip(rides.feature_names, rides.X[0].tolist(), strict=True))
    assert (first["distance"], first["name=Shared"], first["day"], rides.y[0]) == (0.44, 1, 16, 5)
    assert first["wind"] == 8.14
    assert first["clouds"] == 0.39
    assert any("windBearing" in note for note in rides.notes)


@needs("hotel_reviews", source="compact")
def test_hotel_reviews_and_their_texts():
    features = load("hotel_reviews", source="compact")
    assert features.X.shape == (18_345, 8)
    assert np.bincount(features.y)[1:].tolist() == [1273, 1597, 1958, 5392, 8125]
    texts = load("hotel_reviews", variant="text", source="compact")
    assert len(texts.texts) == 2_000
    assert texts.texts[0].startswith("nice hotel expensive parking got good deal")
    rows = hotel_review_rows()
    rows = rows[rows < 2_000]
    assert len(rows) == 1_789
    assert (texts.y[rows] == features.y[: len(rows)]).all()


@needs("mr", source="compact")
def test_mr():
    reviews = load("mr", source="compact")
    assert np.bincount(reviews.y).tolist() == [5_331, 5_331]
    assert reviews.texts[0].startswith("the rock is destined to be the 21st century's new")
    assert reviews.texts[2] == "effective but too-tepid biopic"


@needs("sst5", source="compact")
def test_sst5():
    reviews = load("sst5", source="compact")
    for split, counts in {
        "train": [1092, 2218, 1624, 2322, 1288],
        "dev": [139, 289, 229, 279, 165],
        "test": [279, 633, 389, 510, 399],
    }.items():
        assert np.bincount(reviews.select(split=split).y).tolist() == counts
    assert reviews.texts[0].startswith("The Rock is destined to be the 21st Century 's new")
