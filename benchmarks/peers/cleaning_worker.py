"""cleanlab and pyDVL, run in an environment of theirs: ``cleaning_worker.py TASKS``."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from task_files import run


def cleanlab(case):
    """Its own choice: five-fold logistic regression, quality by the label's own probability."""
    from cleanlab.classification import CleanLearning

    found = CleanLearning(seed=int(case["seed"]), verbose=False).find_label_issues(
        case["x_train"], case["y_train"]
    )
    return found["label_quality"].to_numpy()


def _dataset(case):
    from pydvl.valuation.dataset import Dataset

    train = Dataset(case["x_train"], case["y_train"])
    valid = Dataset(case["x_valid"], case["y_valid"])
    return train, valid


def _sorted(valuation):
    found = valuation.values()
    return found.values[np.argsort(found.indices)]


def pydvl_oob(case):
    """Data-OOB of pyDVL."""
    from pydvl.valuation.methods.data_oob import DataOOBValuation
    from sklearn.ensemble import BaggingClassifier

    train, _ = _dataset(case)
    model = BaggingClassifier(
        LogisticRegression(max_iter=100, tol=1e-3), n_estimators=250, random_state=int(case["seed"])
    ).fit(case["x_train"], case["y_train"])
    return _sorted(DataOOBValuation(model).fit(train))


def pydvl_knn(case):
    """KNN-Shapley of pyDVL."""
    from pydvl.valuation.methods.knn_shapley import KNNShapleyValuation
    from sklearn.neighbors import KNeighborsClassifier

    train, valid = _dataset(case)
    model = KNeighborsClassifier(n_neighbors=10)
    return _sorted(KNNShapleyValuation(model, valid, progress=False).fit(train))


METHODS = {"cleanlab": cleanlab, "Data-OOB": pydvl_oob, "KNN Shapley": pydvl_knn}


if __name__ == "__main__":
    run(lambda method, case: METHODS[method](case))
