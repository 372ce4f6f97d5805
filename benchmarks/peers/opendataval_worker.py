"""OpenDataVal's evaluators, run in its own environment: ``opendataval_worker.py TASKS``."""

import sys
from unittest.mock import MagicMock

# Its loaders of pictures and texts import these; no evaluator does.
for name in (
    "torchvision",
    "torchvision.datasets",
    "torchvision.transforms",
    "torchvision.transforms.functional",
    "transformers",
):
    sys.modules[name] = MagicMock()

import numpy as np  # noqa: E402
import torch  # noqa: E402
import tqdm  # noqa: E402
from opendataval.dataval import (  # noqa: E402
    DVRL,
    DataOob,
    DataShapley,
    KNNShapley,
    LavaEvaluator,
    TMCSampler,
)
from opendataval.metrics import Metrics  # noqa: E402
from opendataval.model import ClassifierSkLearnWrapper  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from task_files import run  # noqa: E402

torch.set_num_threads(1)
tqdm.tqdm = lambda items, *_, **__: items
tqdm.trange = range

EVALUATORS = {
    # 1000 models are its default: four times as long, for 0.001 to 0.006 of AUC on two cases.
    "Data-OOB": lambda seed: DataOob(num_models=250, random_state=seed),
    "KNN Shapley": lambda seed: KNNShapley(k_neighbors=10, random_state=seed),
    "LAVA": lambda seed: LavaEvaluator(random_state=seed),
    "Data Shapley": lambda seed: DataShapley(
        TMCSampler(mc_epochs=5, cache_name=None, random_state=seed)
    ),
    "DVRL": lambda seed: DVRL(rl_epochs=500, random_state=seed),
}


def solve(method, case):
    """The values of the training rows."""
    n_classes = int(case["n_classes"])
    evaluator = EVALUATORS[method](int(case["seed"]))
    as_rows = [torch.tensor(case[name], dtype=torch.float32) for name in ("x_train", "x_valid")]
    as_labels = [
        torch.nn.functional.one_hot(torch.tensor(case[name]), n_classes).float()
        for name in ("y_train", "y_valid")
    ]
    evaluator.input_data(as_rows[0], as_labels[0], as_rows[1], as_labels[1])
    if hasattr(evaluator, "input_model"):
        evaluator.input_model(
            ClassifierSkLearnWrapper(LogisticRegression, n_classes, max_iter=100, tol=1e-3)
        )
        evaluator.input_metric(Metrics.ACCURACY)
    evaluator.train_data_values()
    return np.asarray(evaluator.evaluate_data_values(), dtype=float).ravel()


if __name__ == "__main__":
    run(solve)
