"""The picture of a report in the documentation: ``python -m tests.results.report.picture``."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from tests.results.report.browser import Browser

import fairshapley as fs

TARGET = Path(__file__).parents[3] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1200, 1730


def sample() -> tuple[fs.Result, list[str]]:
    """Training points of a classifier, two of them with a wrong label and two of them equal."""
    features, classes = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    order = np.random.default_rng(0).permutation(len(classes))
    rows, test = order[:32], order[100:400]
    train, labels = features[rows].copy(), classes[rows].copy()
    labels[[5, 21]] = 1 - labels[[5, 21]]
    train[9], labels[9] = train[8], labels[8]
    base = np.array([order[32:100][classes[order[32:100]] == label][0] for label in (0, 1)])
    game = fs.games.DataGame(
        LogisticRegression(C=0.05),
        (train, labels),
        (features[test], classes[test]),
        "accuracy",
        base=(features[base], classes[base]),
        player_names=[f"patient {row}" for row in rows],
    )
    fair = fs.Fair(epsilon1=0.5, delta=0.1)
    result = fs.estimate(game, until=fair, budget=60_000, xi=0.003, seed=0, progress=False)
    return result, ["benign" if label else "malignant" for label in labels]


def main() -> None:
    result, labels = sample()
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        title = "What is each patient's record worth to the diagnosis?"
        result.report(page, title=title, labels=labels)
        browser.open(page, width=WIDTH, height=HEIGHT)
        browser.screenshot(shot, whole=False)
        browser.close()
        # 256 colours are enough for a page of text and lines, and keep the repository small.
        picture = Image.open(shot).convert("RGB")
        picture.quantize(256, Image.Quantize.FASTOCTREE).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
