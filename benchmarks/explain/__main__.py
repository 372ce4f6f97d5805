"""Explanations beside shap and shapiq, in one run: ``python -m benchmarks.explain --write``.

``--only error,speed,certified,texts,gpu`` runs some parts; ``--device cuda --only gpu`` needs
neither peer. A *model row* is one row handed to the model; an evaluation takes one for each
background row.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fairshapley as fs
from benchmarks.explain import models

RESULTS = Path(__file__).with_name("RESULTS.md")
SEEDS = 3
# Evaluations per feature of a row.
BUDGETS = (10, 30, 100)


class Counted:
    """A prediction function that counts its rows and calls."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.rows, self.calls = function, 0, 0

    def __call__(self, rows: Any) -> Any:
        self.rows, self.calls = self.rows + len(rows), self.calls + 1
        return self.function(rows)


def ours(task: models.Task, predict: Any, budget: int, seed: int) -> np.ndarray:
    return fs.explain(
        predict, task.rows, task.background, budget=budget, seed=seed, progress=False
    ).values


def permutation(task: models.Task, predict: Any, budget: int, seed: int) -> Any:
    import shap

    masker = shap.maskers.Independent(task.background, max_samples=len(task.background))
    explainer = shap.PermutationExplainer(predict, masker, seed=seed)
    n_features = task.rows.shape[1]
    walks = max(1, round((budget - 1) / (2 * n_features)))
    return explainer(task.rows, max_evals=walks * (2 * n_features + 1), silent=True).values


def kernel(task: models.Task, predict: Any, budget: int, seed: int) -> np.ndarray:
    import shap

    np.random.seed(seed)  # noqa: NPY002 - shap's own
    explainer = shap.KernelExplainer(predict, task.background)
    return np.asarray(explainer.shap_values(task.rows, nsamples=budget, silent=True, l1_reg=0))


def shapiq_default(task: models.Task, predict: Any, budget: int, seed: int) -> np.ndarray:
    import shapiq

    n_features = task.rows.shape[1]
    imputer = shapiq.MarginalImputer(
        predict, np.asarray(task.background), sample_size=len(task.background), random_state=seed,
        joint_marginal_distribution=True,
    )  # fmt: skip
    explainer = shapiq.TabularExplainer(
        predict,
        np.asarray(task.background),
        imputer=imputer,
        index="SV",
        max_order=1,
        random_state=seed,
    )
    found = []
    for row in np.asarray(task.rows):
        values = explainer.explain(row, budget=budget)
        found.append([values[(at,)] for at in range(n_features)])
    return np.array(found)


METHODS = {
    "fairshapley": ours,
    "shap Permutation": permutation,
    "shap Kernel": kernel,
    "shapiq default": shapiq_default,
}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def coded(task: models.Task) -> models.Task:
    """Return a frame as an array, its texts as numbers: the peers take nothing else."""
    import pandas as pd

    if isinstance(task.rows, np.ndarray):
        return task
    both = pd.concat([task.rows, task.background])
    texts, places = list(both["review"]), np.arange(len(both), dtype=float)
    array = both.assign(review=places).to_numpy(dtype=float)
    columns = list(both.columns)

    def predict(x: np.ndarray) -> Any:
        frame = pd.DataFrame(np.asarray(x, dtype=float), columns=columns)
        frame["review"] = [texts[int(at)] for at in frame["review"]]
        return task.predict(frame)

    return models.Task(task.name, predict, array[: len(task.rows)], array[len(task.rows) :])


def error_table() -> list[str]:
    """Return mean squared errors at equal model rows, as shares of the mean squared value."""
    tasks = [models.boosting(), models.network()[0], models.mixed_pipeline()]
    names = list(METHODS)
    lines = [
        "| model | evaluations per row | " + " | ".join(names) + " | model rows |",
        "|---" * (len(names) + 3) + "|",
    ]
    for task in tasks:
        small = models.Task(task.name, task.predict, task.rows[:4], task.background[:20])
        n_features = small.rows.shape[1]
        exact = fs.explain(
            small.predict, small.rows, small.background, budget=1 << n_features, progress=False
        ).values
        scale = np.square(exact).mean()
        for per_feature in BUDGETS:
            budget, cells, spent = per_feature * n_features, [], []
            for name, method in METHODS.items():
                errors = []
                own = small if name == "fairshapley" else coded(small)
                for seed in range(SEEDS):
                    counted = Counted(own.predict)
                    with quiet():
                        found = method(own, counted, budget, seed)
                    errors.append(np.square(found - exact).mean() / scale)
                    spent.append(counted.rows)
                cells.append(f"{np.mean(errors):.1e}")
            rows = f"{min(spent):,} to {max(spent):,}"
            lines.append(
                f"| {task.name}, {n_features} | {budget:,} | {' | '.join(cells)} | {rows} |"
            )
            print(lines[-1], flush=True)
    return lines


def speed_table() -> list[str]:
    """20 rows × 14 features of boosting, background 50, 1400 evaluations a row."""
    task = models.boosting()
    # Seconds of a core do not depend on what else the machine does.
    lines = ["| way | seconds | of a core | calls | model rows |", "|---|---|---|---|---|"]

    def add(name: str, run: Callable[[Any], object], times: int = 1) -> None:
        counted = Counted(task.predict)
        began, used = time.perf_counter(), time.process_time()
        with quiet():
            run(counted)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        cells = [f"{times * one:.1f}" for one in (seconds, used)]
        cells += [f"{times * one:,}" for one in (counted.calls, counted.rows)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    def one_by_one(predict: Any) -> None:
        game = fs.games.FeatureGame(predict, task.rows, background=task.background)
        for row in range(2):
            fs.estimate(game.for_rows(row), fs.RegressionAdjusted(model=True), budget=1400, seed=0)

    add("`fs.explain`, budget=1400", lambda f: ours(task, f, 1400, 0))
    add("`fs.explain`, its default (certified to 5 %)",
        lambda f: fs.explain(f, task.rows, task.background, seed=0, progress=False))  # fmt: skip
    add(
        "one row after the other, as before (2 rows, times 10)",
        one_by_one,
        times=10,
    )
    add("shap Permutation, max_evals=1400", lambda f: permutation(task, f, 1400, 0))
    return lines


def certified(device: str) -> list[str]:
    """1000 rows × 30 features of a network until each is certified."""
    import torch

    task, module = models.network(30, 1000, 100)
    rule = fs.Fair(epsilon1=0.5, delta=0.1)
    lines = [
        "| where | threads | seconds | evaluations per row | rows certified |",
        "|---|---|---|---|---|",
    ]
    module = module.to(device)
    for _ in range(1 if device == "cpu" else 3):  # the first one on a GPU loads its libraries
        began = time.perf_counter()
        found = fs.explain(module, task.rows, task.background, until=rule, seed=0, progress=False)
        seconds = time.perf_counter() - began
    spent = [row[0].evaluations for row in found.results]
    holds = sum(row[0].stopped.startswith("certified") for row in found.results)
    where = torch.cuda.get_device_name() if device != "cpu" else "CPU"
    lines.append(
        f"| {where} | {torch.get_num_threads()} | {seconds:.2f} | {np.mean(spent):.0f} (at most "
        f"{max(spent)}) | {holds} of 1000 |"
    )
    print(lines[-1], flush=True)
    return lines


def text_table() -> list[str]:
    """Words of a bag of words, and of a small torch classifier."""
    import torch
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, praise = models.reviews(500)
    linear = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, praise)
    weights = dict(zip(linear[0].get_feature_names_out(), linear[1].coef_[0], strict=True))
    began = time.perf_counter()
    found = fs.explain(linear.decision_function, texts[:50], seed=0, progress=False)
    seconds = time.perf_counter() - began
    off = max(
        np.abs(
            found.values[at, : len(text.split())] - [weights[word] for word in text.split()]
        ).max()
        for at, text in enumerate(texts[:50])
    )
    lines = ["| model | texts | seconds | what was found |", "|---|---|---|---|"]
    said = f"largest difference from the closed form {off:.1e}"
    lines.append(f"| bag of words, linear | 50 | {seconds:.1f} | {said} |")
    torch.manual_seed(0)
    codes = {word: at + 1 for at, word in enumerate(models.WORDS)}

    def encoded(texts: list[str]) -> Any:
        rows = [[codes.get(word, 0) for word in text.split()] for text in texts]
        width = max(1, *map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows])

    embed, head = torch.nn.Embedding(13, 16, padding_idx=0), torch.nn.Linear(16, 1)
    body = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh())

    def classify(texts: list[str]) -> Any:
        return torch.sigmoid(head(body(embed(encoded(texts))).sum(dim=1).tanh()))[:, 0]

    optimiser = torch.optim.Adam(
        [*embed.parameters(), *body.parameters(), *head.parameters()], 1e-2
    )
    target = torch.tensor(praise).float()
    for _ in range(150):
        optimiser.zero_grad()
        loss: Any = torch.nn.functional.binary_cross_entropy(classify(texts), target)
        loss.backward()
        optimiser.step()
    began = time.perf_counter()
    found = fs.explain(classify, texts[:50], seed=0, progress=False)
    seconds = time.perf_counter() - began
    sizes: dict[str, list[float]] = {}
    for at in range(50):
        for word, value in zip(found.data[at], found.values[at], strict=True):
            if word:
                sizes.setdefault(word, []).append(value)
    means = sorted((float(np.mean(each)), word) for word, each in sizes.items())
    ends = ", ".join(f"{word} {value:+.2f}" for value, word in (*means[:3], *means[-3:]))
    lines.append(f"| torch classifier | 50 | {seconds:.1f} | mean values: {ends} |")
    print(*lines[2:], sep="\n", flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="error,speed,certified,texts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="renew RESULTS.md")
    options = parser.parse_args()
    parts = {
        "error": ("Mean squared error over the mean square, at equal model rows", error_table),
        "speed": ("20 rows × 14 features of gradient boosting, background 50", speed_table),
        "certified": (
            "1000 rows × 30 features of a network, until each row is certified: ε1 = 0.5, δ = 0.1, "
            "ξ the mean |value|, background 100", lambda: certified("cpu")),
        "gpu": ("The same on a GPU", lambda: certified(options.device)),
        "texts": ("Texts, explained by their words", text_table),
    }  # fmt: skip
    written = ["# Explanations", "", "`python -m benchmarks.explain --write`, all in one run."]
    from importlib.metadata import PackageNotFoundError, version

    for package in ("shap", "shapiq", "scikit-learn", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            written.append(f"{package} {version(package)}.")
    written.append(f"{platform.machine()}, Python {platform.python_version()}.")
    for name in options.only.split(","):
        title, run = parts[name]
        print(title, flush=True)
        written += ["", f"## {title}", "", *run()]
    if options.write:
        RESULTS.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
