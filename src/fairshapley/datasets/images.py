"""MNIST and CIFAR-10: the publishers' binary files, and compact copies."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import ByteArray
from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.datasets.files import DataError, MissingDataError, check_found, read_bytes
from fairshapley.datasets.parsing import read_archive

_IDX_IMAGES, _IDX_LABELS = 2051, 2049
# Published label counts, digits 0 to 9.
_MNIST_COUNTS = {
    "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}
# The mean pixel of the 60 000 training images, as a share of 255, to the published digits.
_MNIST_MEAN = 0.1307
_DIGITS = tuple(str(digit) for digit in range(10))
_CIFAR_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
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


def _joined(
    train: tuple[NDArray[Any], NDArray[Any]],
    test: tuple[NDArray[Any], NDArray[Any]],
    names: tuple[str, ...],
    *notes: str,
) -> Content:
    """The training images, then the test images."""
    return Content(
        X=np.concatenate([train[0], test[0]]),
        y=np.concatenate([train[1], test[1]]).astype(np.int64),
        target_names=names,
        classes=tuple(range(10)),
        split=np.repeat(["train", "test"], [len(train[1]), len(test[1])]),
        notes=notes,
    )


def _check_mnist(path: Path, part: str, images: NDArray[Any], labels: NDArray[Any]) -> None:
    counts = np.bincount(labels, minlength=10).tolist()
    check_found(path, f"{part} label counts", _MNIST_COUNTS[part], counts)
    check_found(path, f"{part} images of shape", (len(labels), 28, 28), images.shape)
    if part == "train":
        mean = round(float(images.mean(dtype=np.float64)) / 255, 4)
        check_found(path, "mean pixel", _MNIST_MEAN, mean)


def _mnist_original(files: tuple[Path, ...], _part: str) -> Content:
    train = read_idx(files[0], _IDX_IMAGES), read_idx(files[1], _IDX_LABELS)
    test = read_idx(files[2], _IDX_IMAGES), read_idx(files[3], _IDX_LABELS)
    _check_mnist(files[0], "train", *train)
    _check_mnist(files[2], "test", *test)
    return _joined(train, test, _DIGITS)


def _mnist_download(_files: tuple[Path, ...], _part: str) -> Content:
    from sklearn.datasets import fetch_openml

    try:
        import pandas  # noqa: F401 - only whether it is there: its parser is faster

        parser = "pandas"
    except ImportError:
        parser = "liac-arff"
    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it tries again; the failure is reported below.
            warnings.simplefilter("ignore")
            pixels, digits = fetch_openml(
                "mnist_784", version=1, return_X_y=True, as_frame=False, parser=parser
            )
    except (OSError, ValueError) as error:
        raise MissingDataError(
            f"mnist could not be fetched from OpenML ({error}): try again, or put the files of "
            "http://yann.lecun.com/exdb/mnist in the folder that FAIRSHAPLEY_DATA names"
        ) from None
    images = np.asarray(pixels).astype(np.uint8).reshape(-1, 28, 28)
    labels = np.asarray(digits).astype(np.int64)
    # OpenML keeps the original order: 60 000 training images, then the test images.
    train, test = (images[:60_000], labels[:60_000]), (images[60_000:], labels[60_000:])
    _check_mnist(Path("mnist_784 (OpenML)"), "train", *train)
    _check_mnist(Path("mnist_784 (OpenML)"), "test", *test)
    return _joined(train, test, _DIGITS)


def _compact(files: tuple[Path, ...], names: tuple[str, ...], note: str) -> Content:
    data = read_archive(files[0], ("x_train", "y_train", "x_test", "y_test"))
    return _joined(
        (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"]), names, note
    )


def _cifar_original(files: tuple[Path, ...], _part: str) -> Content:
    batches = [read_cifar_batch(path) for path in files]
    for path, (_, labels) in zip(files, batches, strict=True):
        check_found(path, "images", 10_000, len(labels))
    # Every class has 5000 training and 1000 test images; the five batches differ among themselves.
    train = np.concatenate([labels for _, labels in batches[:5]])
    check_found(files[0].parent, "training images per class", [5000] * 10, _counts(train))
    check_found(files[5], "test images per class", [1000] * 10, _counts(batches[5][1]))
    return _joined(
        (np.concatenate([images for images, _ in batches[:5]]), train), batches[5], _CIFAR_CLASSES
    )


def _counts(labels: NDArray[Any]) -> list[int]:
    counts: list[int] = np.bincount(labels, minlength=10).tolist()
    return counts


_MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_CIFAR_FILES = tuple(
    f"cifar-10-batches-bin/{batch}.bin"
    for batch in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
)

ENTRIES = (
    Entry(
        name="cifar10",
        description="CIFAR-10: 60 000 colour images of 32×32 pixels, 10 classes.",
        page="https://www.cs.toronto.edu/~kriz/cifar.html (the binary version)",
        licence="none stated by the authors, who ask to be cited",
        citation="Krizhevsky (2009), Learning multiple layers of features from tiny images",
        variants={
            "images": (
                Source("original", _cifar_original, {"all": _CIFAR_FILES}),
                Source(
                    "compact",
                    lambda files, _part: _compact(
                        files,
                        _CIFAR_CLASSES,
                        "compact copy: 4,660 of the 50,000 training images (the first 932 of each "
                        "of the five batches) and the first 846 of the 10,000 test images",
                    ),
                    {"all": ("cifar10.npz",)},
                    {
                        "cifar10.npz": "897863afe7a7dc68ecb1ce320f1b0ad1"
                        "cbe0d9f5e1077decf2fafd807d634ce0"
                    },
                ),
            )
        },
        paper="P3, federated learning, three splits",
    ),
    Entry(
        name="mnist",
        description="MNIST: 70 000 images of handwritten digits, 28×28 pixels.",
        page="http://yann.lecun.com/exdb/mnist (a mirror: "
        "https://ossci-datasets.s3.amazonaws.com/mnist)",
        licence="CC BY-SA 3.0 (LeCun, Cortes)",
        citation="LeCun, Bottou, Bengio & Haffner (1998), Gradient-based learning applied to "
        "document recognition",
        variants={
            "images": (
                Source("original", _mnist_original, {"all": _MNIST_FILES}),
                Source(
                    "compact",
                    lambda files, _part: _compact(
                        files,
                        _DIGITS,
                        "compact copy: 20,000 of the 60,000 training images, drawn at random and "
                        "kept in their order, and all 10,000 test images",
                    ),
                    {"all": ("mnist.npz",)},
                    {
                        "mnist.npz": "54ca82af9a85d893d0f7ecda76008599"
                        "f22f051d06366c52c6bee7cc7a07942f"
                    },
                ),
                Source("download", _mnist_download, title="fetch_openml('mnist_784')"),
            )
        },
        paper="P1, digit 1 against the rest, and P3, federated learning, three splits",
    ),
)
