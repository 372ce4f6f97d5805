"""The publishers' files in their full size, written here and read by `load`."""

import gzip

import numpy as np
import pytest

from fairshapley.datasets import DataError, load
from tests.data_folder import needs
from tests.datasets.test_original import ADULT, CARS, RIDES, idx

# --- whole sets, written in the publisher's layout ----------------------------------------------


@pytest.mark.full
@needs("adult", source="compact")
def test_adult_as_published_equals_the_copy(tmp_path):
    raw = load("adult", variant="raw", source="compact")
    incomes = np.array(raw.target_names)[raw.y]
    cells = [[f"{cell:.0f}" if isinstance(cell, float) else cell for cell in row] for row in raw.X]
    lines = [", ".join([*row, income]) for row, income in zip(cells, incomes, strict=True)]
    (tmp_path / "adult.data").write_text("\n".join(lines) + "\n\n")
    for variant in ("numeric", "raw"):
        original = load("adult", variant=variant, folder=tmp_path)
        assert original.source == f"original: adult.data, variant {variant}, part train"
        assert original.checksum == load("adult", variant=variant, source="compact").checksum


@pytest.mark.full
@needs("used_cars", source="compact")
def test_used_cars_as_published_equal_the_copy(tmp_path):
    raw = load("used_cars", variant="raw", source="compact")
    folder = tmp_path / "used_cars"
    folder.mkdir()
    order = [1, 2, None, 3, 4, 5, 6, 7, 8]
    for make in raw.group_names:
        cars = raw.select(group=make)
        rows = [
            ",".join(str(price if column is None else row[column]) for column in order)
            for row, price in zip(cars.X.tolist(), cars.y.tolist(), strict=True)
        ]
        header = CARS.format(tax="tax(£)" if make == "hyundi" else "tax")
        (folder / f"{make}.csv").write_text(header + "\n".join(rows) + "\n", "utf-8")
    original = load("used_cars", folder=tmp_path)
    assert original.source.startswith("original: audi.csv, bmw.csv")
    assert original.checksum == load("used_cars", source="compact").checksum
    assert len(original.files) == 9


@needs("mr", source="compact")
def test_mr_as_published_equals_the_copy(tmp_path):
    copy = load("mr", source="compact")
    for name, label in (("rt-polarity.pos", 1), ("rt-polarity.neg", 0)):
        texts = copy.take(copy.y == label).texts
        (tmp_path / name).write_bytes("".join(f"{text} \n" for text in texts).encode("latin-1"))
    original = load("mr", folder=tmp_path)
    assert original.checksum == copy.checksum


@needs("sst5", source="compact")
def test_sst5_as_published_equals_the_copy(tmp_path):
    copy = load("sst5", source="compact")
    (tmp_path / "sst5").mkdir()
    for split in ("train", "dev", "test"):
        part = copy.select(split=split)
        trees = []
        for text, label in zip(part.texts, part.y, strict=True):
            first, *rest = text.split(" ")
            tree = f"(2 {first})"
            for word in rest:
                tree = f"(1 {tree} (2 {word}))"
            # The root carries the sentence's label; one word alone is its own root.
            trees.append(f"({label}" + tree[2:])
        (tmp_path / "sst5" / f"{split}.txt").write_text("\n".join(trees) + "\n", "utf-8")
    assert load("sst5", folder=tmp_path).checksum == copy.checksum


@needs("hotel_reviews", source="compact")
def test_hotel_features_as_published_equal_the_copy(tmp_path):
    copy = load("hotel_reviews", source="compact")
    np.savez(tmp_path / "extracted_features.npz", X=copy.X.astype(np.float32), y=copy.y)
    assert load("hotel_reviews", folder=tmp_path).checksum == copy.checksum


# --- files of the published size, with made-up content that only the format test sees ------------

MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def test_mnist_files_of_the_published_size(tmp_path):
    for part, counts in (("train", MNIST_TRAIN), ("t10k", MNIST_TEST)):
        labels = np.repeat(np.arange(10), counts)
        images = np.full((len(labels), 28, 28), 33, dtype=np.uint8)
        # Two images of 33 for one of 34: a mean of 33.33, which is 0.1307 of 255.
        images[::3] = 34
        idx(tmp_path / f"{part}-images-idx3-ubyte", images)
        idx(tmp_path / f"{part}-labels-idx1-ubyte", labels)
    mnist = load("mnist", folder=tmp_path)
    assert np.bincount(mnist.train.y).tolist() == MNIST_TRAIN
    assert np.bincount(mnist.test.y).tolist() == MNIST_TEST
    assert mnist.X.shape == (70_000, 28, 28)
    assert mnist.notes == ()
    idx(tmp_path / "train-images-idx3-ubyte", np.zeros((60_000, 28, 28), dtype=np.uint8))
    with pytest.raises(DataError, match=r"mean pixel 0\.1307, found 0\.0"):
        load("mnist", folder=tmp_path)


@pytest.mark.full
def test_cifar_files_of_the_published_size(tmp_path):
    folder = tmp_path / "cifar10"
    folder.mkdir()
    for batch in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"):
        records = np.zeros((10_000, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(10_000) % 10
        (folder / f"{batch}.bin").write_bytes(records.tobytes())
    cifar = load("cifar10", folder=tmp_path)
    assert cifar.X.shape == (60_000, 32, 32, 3)
    assert len(cifar.train) == 50_000


@pytest.mark.full
def test_covertype_file_of_the_published_size(tmp_path):
    counts = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
    row = ",".join(["-3"] + ["0"] * 53)
    with gzip.open(tmp_path / "covtype.data.gz", "wt", compresslevel=1) as stream:
        for cover, count in enumerate(counts, 1):
            stream.write(f"{row},{cover}\n" * count)
    forest = load("covertype", folder=tmp_path)
    assert forest.X.shape == (581_012, 54)
    assert (forest.X[:, 0] == -3).all()
    assert np.bincount(forest.y)[1:].tolist() == counts
    assert len(load("covertype", part="head", folder=tmp_path)) == 10_000


@pytest.mark.full
def test_creditcard_file_of_the_published_size(tmp_path):
    header = ",".join(f'"{name}"' for name in ("Time", *(f"V{k}" for k in range(1, 29))))
    row = ",".join(["0", *(f"{k}.5" for k in range(1, 29)), "88.3496"])
    with (tmp_path / "creditcard.csv").open("w") as stream:
        stream.write(f'{header},"Amount","Class"\n')
        stream.write(f'{row},"0"\n' * (284_807 - 492))
        stream.write(f'{row},"1"\n' * 492)
    payments = load("creditcard", folder=tmp_path)
    assert payments.X.shape == (284_807, 30)
    assert payments.X[0, :3].tolist() == [0, 1.5, 2.5]
    assert payments.y.sum() == 492
    short = load("creditcard", variant="time_amount", folder=tmp_path)
    assert short.X.shape == (284_807, 2)


@pytest.mark.full
def test_rides_file_of_the_published_size(tmp_path):
    row = "a{},9,16,12,X,Y,Lyft,{},{},0.44,1.0,42,0,0.68,8.7,1021,57,0.72\n"
    with (tmp_path / "rideshare_kaggle.csv").open("w") as stream:
        stream.write(RIDES)
        stream.write(row.format(1, "Shared", "5.0") * (693_071 - 55_095))
        stream.write(row.format(2, "Taxi", "NA") * 55_095)
    rides = load("uber_lyft", folder=tmp_path)
    assert rides.X.shape == (693_071 - 55_095, 12)
    first = dict(zip(rides.feature_names, rides.X[0].tolist(), strict=True))
    assert (first["windBearing"], first["cloudCover"], first["name=Shared"]) == (57, 0.72, 1)


@pytest.mark.full
def test_adult_test_rows_share_the_codes_of_the_training_rows(tmp_path):
    def row(country, income):
        return ADULT.split("\n")[0].replace("United-States", country).replace("<=50K", income)

    train = [row("Peru", "<=50K")] * 24_720 + [row("Yemen", ">50K")] * 7_841
    test = [row("Yemen", "<=50K.")] * 12_435 + [row("Yemen", ">50K.")] * 3_846
    (tmp_path / "adult.data").write_text("\n".join(train) + "\n")
    (tmp_path / "adult.test").write_text("|1x3 Cross validator\n" + "\n".join(test) + "\n")
    both = load("adult", part="all", folder=tmp_path)
    assert np.bincount(both.train.y).tolist() == [24_720, 7_841]
    assert np.bincount(both.test.y).tolist() == [12_435, 3_846]
    alone = load("adult", part="test", folder=tmp_path)
    assert (alone.X[:, -1] == 1).all()
    assert alone.checksum == both.test.checksum
    assert len(load("adult", folder=tmp_path)) == 32_561
