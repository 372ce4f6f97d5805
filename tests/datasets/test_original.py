"""The publishers' formats, on tiny files.

A tiny file has the right format and too few rows: `load` must refuse it for that reason alone.
"""

import gzip
import struct

import numpy as np
import pytest

from fairshapley.datasets import DataError, load
from fairshapley.datasets.images import read_cifar_batch, read_idx
from fairshapley.datasets.parsing import read_numbers
from fairshapley.datasets.texts import read_trees
from fairshapley.datasets.uci import read_census
from fairshapley.datasets.vehicles import read_make, read_rides

ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K\n"
    "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, 0, "
    "0, 60, South, >50K\n\n"
)
CARS = "model,year,price,transmission,mileage,fuelType,{tax},mpg,engineSize\n"
RIDES = (
    "id,hour,day,month,source,destination,cab_type,name,price,distance,surge_multiplier,"
    "temperature,precipIntensity,humidity,windSpeed,pressure,windBearing,cloudCover\n"
)


def idx(path, array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())
    return path


# --- parsers ------------------------------------------------------------------------------------


def test_idx_files_plain_and_packed(tmp_path):
    images = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    path = idx(tmp_path / "images", images)
    assert (read_idx(path, 2051) == images).all()
    packed = tmp_path / "images.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (read_idx(packed, 2051) == images).all()
    with pytest.raises(DataError, match="must begin with the number 2049, found 2051"):
        read_idx(path, 2049)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="expected bytes 40, found 39"):
        read_idx(path, 2051)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="not an idx file"):
        read_idx(path, 2051)
    path.write_bytes(struct.pack(">I", 2051) + b"\0\0")
    with pytest.raises(DataError, match="expected bytes"):
        read_idx(path, 2051)


def test_cifar_planes_become_colours(tmp_path):
    path = tmp_path / "test_batch.bin"
    red, green, blue = (np.full(1024, value, dtype=np.uint8) for value in (10, 20, 30))
    red[33] = 99  # row 1, column 1
    path.write_bytes(bytes([7]) + red.tobytes() + green.tobytes() + blue.tobytes())
    images, labels = read_cifar_batch(path)
    assert labels.tolist() == [7]
    assert images.shape == (1, 32, 32, 3)
    assert images[0, 0, 0].tolist() == [10, 20, 30]
    assert images[0, 1, 1].tolist() == [99, 20, 30]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="records of 3073 bytes, found 3072"):
        read_cifar_batch(path)
    path.write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(DataError, match="labels 0 to 9, found 10"):
        read_cifar_batch(path)


def test_adult_with_blanks_and_a_remark(tmp_path):
    data, test = tmp_path / "adult.data", tmp_path / "adult.test"
    data.write_text(ADULT)
    test.write_text("|1x3 Cross validator\n" + ADULT.replace("50K\n", "50K.\n"))
    for path in (data, test):
        table = read_census(path)
        assert table["age"].tolist() == [39, 54]
        assert table["occupation"].tolist() == ["Adm-clerical", "?"]
        assert table["income"].tolist() == ["<=50K", ">50K"]
    data.write_text(ADULT.replace(">50K", "rich"))
    with pytest.raises(DataError, match="found 'rich'"):
        read_census(data)


def test_covertype_and_card_tables(tmp_path):
    path = tmp_path / "covtype.data"
    path.write_text("2596,51,5\n2590,56,5\n")
    assert read_numbers(path, 3, np.int16).tolist() == [[2596, 51, 5], [2590, 56, 5]]
    path.write_text('"Time","V1","Class"\n0,-1.35,"0"\n1,2.5e-3,"1"\n')
    assert read_numbers(path, 3, np.float64, skip=1).tolist() == [[0, -1.35, 0], [1, 2.5e-3, 1]]
    with pytest.raises(DataError, match="expected columns 2, found 3"):
        read_numbers(path, 2, np.float64, skip=1)


def test_trees_give_their_words_and_the_roots_label(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 It) (4 (2 's) (2 good\\/bad)))\n(0 (2 -LRB-) (1 Café))\n", "utf-8")
    texts, labels = read_trees(path)
    assert texts == ["It 's good\\/bad", "-LRB- Café"]
    assert labels.tolist() == [3, 0]


@pytest.mark.parametrize("line", ["(3 (2 It) (4 works)", "plain text", "(5 (2 It))", "()"])
def test_what_is_not_a_tree_is_named(tmp_path, line):
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 It) (4 works))\n" + line)
    with pytest.raises(DataError, match="tree 2: not a labelled tree"):
        read_trees(path)


@pytest.mark.parametrize(
    ("tax", "encoding"), [("tax", "ascii"), ("tax(£)", "utf-8"), ("tax(£)", "latin-1")]
)
def test_cars_of_a_make(tmp_path, tax, encoding):
    path = tmp_path / "hyundi.csv"
    row = " I20,2017,7999,Manual,17307,Petrol,145,58.9,1.2\n"
    path.write_text(CARS.format(tax=tax) + row, encoding)
    table = read_make(path, "hyundi")
    assert table["make"].tolist() == ["hyundi"]
    assert table["model"].tolist() == ["I20"]
    assert (table["tax"][0], table["mpg"][0], table["price"][0]) == (145, 58.9, 7999)


def test_rides_with_and_without_a_price(tmp_path):
    path = tmp_path / "rideshare_kaggle.csv"
    path.write_text(
        RIDES
        + "a,9,16,12,Fenway,West End,Lyft,Shared,5.0,0.44,1.0,42,0,0.68,8.7,1021,57,0.72\n"
        + "b,9,16,12,Fenway,West End,Uber,Taxi,NA,0.44,1.0,42,0,0.68,8.7,1021,57,0.72\n"
        + "c,9,16,12,Fenway,West End,Uber,Taxi,,0.44,1.0,42,0,0.68,8.7,1021,57,0.72\n"
    )
    table = read_rides(path, ("windBearing", "cloudCover"))
    assert table["name"].tolist() == ["Shared", "Taxi", "Taxi"]
    np.testing.assert_array_equal(table["price"], [5.0, np.nan, np.nan])
    assert table["windBearing"].tolist() == [57, 57, 57]


# --- tiny files are not the sets ----------------------------------------------------------------


def write_adult(folder):
    (folder / "adult.data").write_text(ADULT)


def write_covertype(folder):
    with gzip.open(folder / "covtype.data.gz", "wt") as stream:
        stream.write(",".join(["1"] * 55) + "\n")


def write_creditcard(folder):
    header = ",".join(["Time", *(f"V{k}" for k in range(1, 29)), "Amount", "Class"])
    (folder / "creditcard.csv").write_text(header + "\n" + ",".join(["0"] * 31) + "\n")


def write_mnist(folder):
    for part in ("train", "t10k"):
        idx(folder / f"{part}-images-idx3-ubyte", np.zeros((2, 28, 28)))
        idx(folder / f"{part}-labels-idx1-ubyte", np.array([1, 7]))


def write_cifar10(folder):
    batches = folder / "cifar-10-batches-bin"
    batches.mkdir()
    for batch in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"):
        (batches / f"{batch}.bin").write_bytes(bytes(3073))


def write_used_cars(folder):
    for make in ("audi", "bmw", "ford", "hyundi", "merc", "skoda", "toyota", "vauxhall", "vw"):
        row = " A1,2017,12500,Manual,15735,Petrol,150,55.4,1.4\n"
        (folder / f"{make}.csv").write_text(CARS.format(tax="tax") + row)


def write_uber_lyft(folder):
    row = "a,9,16,12,X,Y,Lyft,Shared,5.0,0.44,1.0,42,0,0.68,8.7,1021,57,0.72\n"
    (folder / "rideshare_kaggle.csv").write_text(RIDES + row)


def write_hotel_reviews(folder):
    np.savez(folder / "extracted_features.npz", X=np.zeros((2, 8)), y=np.array([1, 5]))


def write_mr(folder):
    for sign in ("pos", "neg"):
        (folder / f"rt-polarity.{sign}").write_text("a fine film . \n", "latin-1")


def write_sst5(folder):
    (folder / "trees").mkdir()
    for split in ("train", "dev", "test"):
        (folder / "trees" / f"{split}.txt").write_text("(3 (2 It) (4 works))\n")


TINY = {
    "adult": (write_adult, r"adult\.data: expected rows .* \[24720, 7841\], found \[1, 1\]"),
    "covertype": (write_covertype, r"covtype\.data\.gz: expected rows 581012, found 1"),
    "creditcard": (write_creditcard, r"creditcard\.csv: expected rows 284807, found 1"),
    "mnist": (write_mnist, r"train-images-idx3-ubyte: expected train label counts \[5923,"),
    "cifar10": (write_cifar10, r"data_batch_1\.bin: expected images 10000, found 1"),
    "used_cars": (write_used_cars, r"audi\.csv: expected cars 10668, found 1"),
    "uber_lyft": (write_uber_lyft, r"rideshare_kaggle\.csv: expected rides 693071, found 1"),
    "hotel_reviews": (write_hotel_reviews, r"features\.npz: expected reviews 18345, found 2"),
    "mr": (write_mr, r"rt-polarity\.pos: expected sentences 5331, found 1"),
    "sst5": (write_sst5, r"train\.txt: expected sentences .* \[1092, .* found \[0, 0, 0, 1, 0\]"),
}


@pytest.mark.parametrize("name", TINY)
def test_a_file_with_too_few_rows_is_not_the_set(name, tmp_path):
    write, message = TINY[name]
    write(tmp_path)
    with pytest.raises(DataError, match=message):
        load(name, folder=tmp_path)


def test_hotel_texts_with_too_few_rows(tmp_path):
    (tmp_path / "tripadvisor_hotel_reviews.csv").write_text('Review,Rating\n"good, ""really""",5\n')
    with pytest.raises(DataError, match="expected reviews 20491, found 1"):
        load("hotel_reviews", variant="text", folder=tmp_path)
