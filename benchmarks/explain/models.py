"""The models that are explained: boosting, a network, a pipeline with a text column, texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS = (
    "good",
    "great",
    "fine",
    "bad",
    "poor",
    "dull",
    "plot",
    "actor",
    "film",
    "scene",
    "slow",
    "long",
)


@dataclass(frozen=True)
class Task:
    """A model with rows and a background, as arrays or frames; `predict` gives one number a row."""

    name: str
    predict: Any
    rows: Any
    background: Any


def table(count: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, and a target with interactions of two and three of them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, n_features))
    rows[:, 1::2] = 0.6 * rows[:, ::2][:, : rows[:, 1::2].shape[1]] + 0.8 * rows[:, 1::2]
    target = (
        rows[:, 0] * rows[:, 1]
        + np.sin(2 * rows[:, 2])
        + np.maximum(rows[:, 3] + rows[:, 4] * rows[:, 5], 0)
        + 0.5 * rows[:, 6:].sum(axis=1)
    )
    return rows, target


def boosting(n_features: int = 14) -> Task:
    """Gradient boosting: the probability of a class."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows, target = table(3000, n_features)
    model = HistGradientBoostingClassifier(random_state=0).fit(rows, target > 0)
    return Task("boosting", lambda x: model.predict_proba(x)[:, 1], rows[:20], rows[1000:1050])


def network(
    n_features: int = 14, n_rows: int = 20, background: int = 50, hidden: int = 64
) -> tuple[Task, Any]:
    """Return a torch network of two hidden layers, trained for some seconds; and its module."""
    import torch

    torch.manual_seed(0)
    rows, target = table(4000, n_features)
    x, y = torch.tensor(rows).float(), torch.tensor(target).float()
    module = torch.nn.Sequential(
        torch.nn.Linear(n_features, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden),
        torch.nn.ReLU(), torch.nn.Linear(hidden, 1),
    )  # fmt: skip
    optimiser = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(300):
        optimiser.zero_grad()
        loss = (module(x)[:, 0] - y).square().mean()
        loss.backward()
        optimiser.step()
    module.eval()

    def predict(x: np.ndarray) -> Any:
        with torch.no_grad():
            return module(torch.as_tensor(x).float())[:, 0].numpy().astype(np.float64)

    chosen = rows[:n_rows].astype(np.float32)
    return Task(
        "network", predict, chosen, rows[3000 : 3000 + background].astype(np.float32)
    ), module


def reviews(count: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Short texts, and whether they praise."""
    rng = np.random.default_rng(seed)
    texts, praise = [], []
    for _ in range(count):
        words = rng.choice(WORDS, size=rng.integers(12, 17))
        texts.append(" ".join(words))
        score = sum(word in WORDS[:3] for word in words) - sum(word in WORDS[3:6] for word in words)
        praise.append(score + ("slow" in words and "long" in words) * -1 + rng.normal() > 0)
    return texts, np.array(praise)


def mixed_pipeline() -> Task:
    """Eleven columns of numbers and a text, one-hot words and boosting behind them."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    rows, target = table(2000, 12)
    texts, praise = reviews(2000)
    columns = [f"x{at}" for at in range(12)]
    frame = pd.DataFrame(rows, columns=columns)
    frame["review"] = texts
    encode = ColumnTransformer([("text", CountVectorizer(), "review")], remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(30, max_depth=8, random_state=0))
    model.fit(frame, target + 2 * praise > 1)
    return Task(
        "text column", lambda x: model.predict_proba(x)[:, 1], frame.head(10), frame.iloc[1000:1020]
    )
