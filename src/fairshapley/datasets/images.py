"""MNIST and CIFAR-10: the publishers' binary files, and compact copies."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import ByteArray
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.datasets.files import DataError, check_found, fetching, read_bytes
from fairshapley.datasets.parsing import read_archive

# Images and labels.
_Part: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
_IDX_IMAGES, _IDX_LABELS = 2051, 2049
# Published label counts, digits 0 to 9.
_MNIST_COUNTS = {
    "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}
# The mean pixel of the 60 000 training images, as a share of 255, to the published digits.
_MNIST_MEAN = 0.1307
_CIFAR_CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
# One byte for the class, then a red, a green and a blue plane of 32×32.
_CIFAR_RECORD = 1 + 3 * 32 * 32


def read_idx(path: Path, magic: int) -> ByteArray:
    """The array of bytes in one of MNIST's idx files: big-endian header, then the data."""
    raw = read_bytes(path)
    if len(raw) < 4 or int.from_bytes(raw[:4], "big") != magic:
        raise DataError(
            f"{path}: not an idx file of {'images' if magic == _IDX_IMAGES else 'labels'}: it must "
            f"begin with the number {magic}, found {int.from_bytes(raw[:4], 'big')}"
        )
    # The last byte of the magic number is the number of axes.
    n_axes = magic & 0xFF
    start = 4 + 4 * n_axes
    shape = tuple(np.frombuffer(raw[4:start].ljust(4 * n_axes, b"\0"), dtype=">u4").tolist())
    check_found(path, "bytes", start + int(np.prod(shape, dtype=np.int64)), len(raw))
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def read_cifar_batch(path: Path) -> tuple[ByteArray, ByteArray]:
    """Images (m, 32, 32, 3) and labels of one file of CIFAR-10's binary version."""
    raw = np.frombuffer(read_bytes(path), dtype=np.uint8)
    if raw.size == 0 or raw.size % _CIFAR_RECORD:
        raise DataError(
            f"{path}: expected records of {_CIFAR_RECORD} bytes, found {raw.size} bytes in all: "
            "the file is cut off or is not of the binary version, copy it again"
        )
    records = raw.reshape(-1, _CIFAR_RECORD)
    if records[:, 0].max() > 9:
        raise DataError(
            f"{path}: expected labels 0 to 9, found {records[:, 0].max()}: "
            "it is not a file of CIFAR-10's binary version"
        )
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy(), records[:, 0]


def _joined(train: _Part, test: _Part, names: tuple[str, ...]) -> Dataset:
    """The training images, then the test images."""
    return Dataset(
        "images",
        X=np.concatenate([train[0], test[0]]),
        y=np.concatenate([train[1], test[1]]).astype(np.int64),
        target_names=names,
        classes=tuple(range(10)),
        split=np.repeat(["train", "test"], [len(train[1]), len(test[1])]),
    )


def _copy(path: Path) -> tuple[_Part, _Part]:
    found = read_archive(path, ("x_train", "y_train", "x_test", "y_test"))
    return (found["x_train"], found["y_train"]), (found["x_test"], found["y_test"])


def read_mnist(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The handwritten digits."""
    if wanted.kind == "compact":
        train, test = _copy(files[0])
    else:
        if wanted.kind == "original":
            train = read_idx(files[0], _IDX_IMAGES), read_idx(files[1], _IDX_LABELS)
            test = read_idx(files[2], _IDX_IMAGES), read_idx(files[3], _IDX_LABELS)
        else:
            train, test = _mnist_download()
            files = (Path("mnist_784 (OpenML)"),) * 4
        _check_mnist(files[0], "train", *train)
        _check_mnist(files[2], "test", *test)
    return _joined(train, test, tuple(map(str, range(10))))


def _check_mnist(path: Path, part: str, images: NDArray[Any], labels: NDArray[Any]) -> None:
    check_found(path, f"{part} label counts", _MNIST_COUNTS[part], _counts(labels))
    check_found(path, f"{part} images of shape", (len(labels), 28, 28), images.shape)
    if part == "train":
        mean = round(float(images.mean(dtype=np.float64)) / 255, 4)
        check_found(path, "mean pixel", _MNIST_MEAN, mean)


def _mnist_download() -> tuple[_Part, _Part]:
    from sklearn.datasets import fetch_openml

    # The parser of pandas is faster.
    parser = "pandas" if find_spec("pandas") else "liac-arff"
    with fetching("mnist", "from OpenML", "the files of http://yann.lecun.com/exdb/mnist"):
        pixels, digits = fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser=parser
        )
    images = np.asarray(pixels).astype(np.uint8).reshape(-1, 28, 28)
    labels = np.asarray(digits).astype(np.int64)
    # OpenML keeps the original order: 60 000 training images, then the test images.
    return (images[:60_000], labels[:60_000]), (images[60_000:], labels[60_000:])


def read_cifar10(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The colour images."""
    if wanted.kind == "compact":
        return _joined(*_copy(files[0]), _CIFAR_CLASSES)
    batches = [read_cifar_batch(path) for path in files]
    for path, (_, labels) in zip(files, batches, strict=True):
        check_found(path, "images", 10_000, len(labels))
    images, labels = (np.concatenate(parts) for parts in zip(*batches[:5], strict=True))
    # Every class has 5000 training and 1000 test images; the five batches differ among themselves.
    check_found(files[0].parent, "training images per class", [5000] * 10, _counts(labels))
    check_found(files[5], "test images per class", [1000] * 10, _counts(batches[5][1]))
    return _joined((images, labels), batches[5], _CIFAR_CLASSES)


def _counts(labels: NDArray[Any]) -> list[int]:
    return np.bincount(labels, minlength=10).tolist()
