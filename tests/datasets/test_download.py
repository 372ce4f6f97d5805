"""Downloads happen only when asked for, by scikit-learn's fetchers, which are replaced here."""

import sys

import numpy as np
import pytest
import sklearn.datasets

from fairshapley.datasets import DataError, MissingDataError, load

COVERTYPE = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("FAIRSHAPLEY_DATA", raising=False)


def replace(monkeypatch, fetcher, answer):
    calls = []

    def fetch(*args, **options):
        calls.append((args, options))
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(sklearn.datasets, fetcher, fetch)
    return calls


@pytest.mark.parametrize(
    ("name", "fetcher"), [("covertype", "fetch_covtype"), ("mnist", "fetch_openml")]
)
def test_nothing_is_fetched_unless_asked_for(name, fetcher, monkeypatch):
    calls = replace(monkeypatch, fetcher, OSError("no network"))
    with pytest.raises(MissingDataError, match="download=True"):
        load(name)
    with pytest.raises(MissingDataError, match="Let scikit-learn fetch it: download=True"):
        load(name, source="download")
    assert calls == []
    with pytest.raises(MissingDataError, match=r"could not be fetched .*no network"):
        load(name, download=True)
    assert len(calls) == 1


def test_a_set_without_a_fetcher_is_not_fetched():
    with pytest.raises(MissingDataError, match="rt-polarity"):
        load("mr", download=True)


def test_covertype_is_checked_like_the_file(monkeypatch):
    y = np.repeat(np.arange(1, 8), COVERTYPE)
    features = np.broadcast_to(np.arange(54.0), (len(y), 54))
    replace(monkeypatch, "fetch_covtype", (features, y))
    head = load("covertype", part="head", download=True)
    assert head.X.shape == (10_000, 54)
    assert head.source.startswith("download: fetch_covtype (scikit-learn ")
    replace(monkeypatch, "fetch_covtype", (features[:-1], y[:-1]))
    with pytest.raises(DataError, match="expected rows 581012, found 581011"):
        load("covertype", download=True)


def test_mnist_is_checked_like_the_files(monkeypatch):
    labels = np.concatenate([np.repeat(np.arange(10), n) for n in (MNIST_TRAIN, MNIST_TEST)])
    pixels = np.full((70_000, 784), 33, dtype=np.uint8)
    pixels[::3] = 34
    calls = replace(monkeypatch, "fetch_openml", (pixels, labels.astype(str).astype(object)))
    mnist = load("mnist", download=True)
    assert np.bincount(mnist.test.y).tolist() == MNIST_TEST
    assert mnist.train.X.shape == (60_000, 28, 28)
    # pandas is not a dependency: without it another parser is used, which is slower.
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load("mnist", download=True).checksum == mnist.checksum
    assert calls[-1][1]["parser"] == "liac-arff"
    wrong = labels[::-1].astype(str).astype(object)
    replace(monkeypatch, "fetch_openml", (pixels, wrong))
    with pytest.raises(DataError, match="train label counts"):
        load("mnist", download=True)
