"""`fairshapley.explain`: any model, rows of any kind, values with their errors."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from fairshapley._basics.arguments import known_names
from fairshapley.errors import InputError
from fairshapley.evaluation.engines import EngineOption
from fairshapley.fairness.levels import check_xi
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.arguments import Rows, check_output, check_rows, masker_options
from fairshapley.games.features.feature_game import GameKind
from fairshapley.games.features.pieces import Images, Pieces, Texts
from fairshapley.randomness import root_seed
from fairshapley.runs.setup import JournalOption
from fairshapley.stopping import Budget, Rule, parse_budget
from fairshapley.uses.explanations.attributions import Attributions, gathered
from fairshapley.uses.explanations.job import Job

Outputs: TypeAlias = int | str | Iterable[int | str] | None
Subject: TypeAlias = FeatureGame | Pieces


@known_names
def explain(
    model: Any,
    X: Any = None,  # noqa: N803 - as everywhere in machine learning
    background: Any = None,
    *,
    rows: Rows = None,
    outputs: Outputs = None,
    kind: GameKind = "marginal",
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    xi: float | None = None,
    seed: int | None = None,
    max_rows: int | None = None,
    device: Any = None,
    engine: EngineOption = None,
    journal: JournalOption = None,
    progress: bool | None = None,
) -> Attributions:
    """Explain the predictions of a model: the values of the features for each row.

    Values are exact up to 10 players, where all coalitions fit the budget, and where a linear model
    or trees (with shap) have a closed form. Otherwise rows are explained together: they share one
    draw of coalitions, whose mixtures are stacked into few calls of the model, and a row that is
    done leaves its evaluations to the others. Another method or semivalue explains one row with
    `fairshapley.estimate` and a `FeatureGame`.

    Parameters
    ----------
    model
        A function of rows, a fitted model (scikit-learn, a pipeline, xgboost, lightgbm, catboost:
        the first of predict_proba, decision_function and predict is taken), a torch module, or a
        function of a list of texts. Or a `FeatureGame`, with positions of rows as `X`.
    X
        The rows: a 2-d array or a data frame; a list of texts; an array of images, (images, height,
        width) with channels before or behind.
    background
        What stands in for absent features: rows like those of X, or how many to draw from X (100
        by default, the same whatever the seed); "kmeans:20" for the centres of 20 clusters of X,
        with weights. For texts the text of an absent word, by default none; for images a number, an
        image or images. Or one of shap's maskers (Independent, Partition, Impute, Text, Image),
        or what `shap.kmeans` gives.
    rows
        Positions of rows in X; all by default.
    outputs
        A name (the class as text) or number of an output; a list of them; "all". By default the
        only one, the second of two classes, and all otherwise.
    kind
        What absence means: "marginal", "mean", "gaussian", "conditional" or a function, see
        `FeatureGame`.
    groups
        What is one player. Columns: ``{"colour": ["red", "blue"]}``, or "one-hot" to find the
        columns of categories. Texts: "words", "sentences" or a function that splits. Images:
        patches on a side, (down, across), or a segmentation.
    feature_names, output_names, max_rows
        As for a `FeatureGame`.
    budget
        Evaluations for each row: coalitions, of which each takes as many predictions as there are
        background rows. With a rule, the mean over the rows.
    until
        A rule such as ``fs.Fair(epsilon1=0.5, delta=0.1)`` that each row is to meet. With neither
        a budget nor a rule: ε1 = 0.05, δ = 0.1, or 100 evaluations per player.
    xi
        The tolerance near zero; by default the mean |value| of each row.
    seed
        Fixes all random draws.
    device
        Where a torch module computes, on a copy of it; by default where it is.
    engine, journal
        As in `fairshapley.estimate`; one journal keeps the utilities of all rows. The same call
        with the same seed finds them there, also after it was killed.
    progress
        None shows a bar on a terminal, True or False always or never.

    Returns
    -------
    Attributions
        The values with their standard errors and plots. Ctrl-C gives the rows that have values.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> found = explain(lambda X: 3 * X[:, 0] - X[:, 1], X)
    >>> found.values
    array([[-3.,  2.],
           [ 3., -2.]])
    >>> print(found)
    values of 2 players for the predictions of 2 rows, exact
    row 0: 0 = 1 on average, x0 -3, x1 +2
    row 1: 2 = 1 on average, x0 +3, x1 -2
    mean |value| over the rows: x0 3, x1 2
    """
    started = time.monotonic()
    given = isinstance(model, FeatureGame)
    subject: Subject = model
    if given:
        rows = X if rows is None else rows
        rows = list(model.rows) if rows is None else rows
    else:
        options = {
            "background": background, "kind": kind, "groups": groups, "max_rows": max_rows,
            "feature_names": feature_names, "output_names": output_names,
        }  # fmt: skip
        subject = _subject(model, X, device, options | masker_options(background, X))
    positions = check_rows(rows, subject.n_rows)
    chosen, single = _check_outputs(outputs, subject, given=given)
    job = Job(
        subject, positions, chosen, _check_budget(budget), until,
        None if xi is None else check_xi(xi), root_seed(seed), started, engine, journal,
    )  # fmt: skip
    results, complete = job.run(progress)
    return gathered(subject, positions, chosen, results, single=single, complete=complete)


def _subject(model: Any, X: Any, device: Any, options: dict[str, Any]) -> Subject:  # noqa: N803
    """What is explained: columns, texts or images."""
    if X is None:
        raise InputError("explain needs rows: fs.explain(model, X)")
    if device is not None:
        if not hasattr(model, "parameters"):
            raise InputError("device= is where a torch module computes; this model is none")
        model = copy.deepcopy(model).to(device)
    if hasattr(X, "detach"):
        X = X.detach().cpu().numpy()  # noqa: N806
    columns = {name: options.pop(name) for name in ("kind", "feature_names")}
    if _are_texts(X):
        return Texts(model, X, **options)
    if isinstance(X, np.ndarray) and X.ndim in (3, 4):
        return Images(model, X, **options)
    if options["background"] is None and len(X) == 1:
        raise InputError(
            "one row alone has nothing to be compared with: give background=, rows that are "
            "typical, such as those that the model was trained on"
        )
    return FeatureGame(model, X, output=0, **columns, **options)


def _are_texts(X: Any) -> bool:  # noqa: N803
    """Whether the rows are texts: one string each."""
    if isinstance(X, str):
        raise InputError("X is one text: give a list of texts, [text]")
    shape = getattr(X, "shape", None)
    first = X[0] if isinstance(X, list | tuple) and X else None
    if shape is not None and len(shape) == 1 and shape[0]:
        first = np.asarray(X, dtype=object)[0]
    return isinstance(first, str)


def _check_budget(budget: int | Budget | None) -> int | None:
    parsed = parse_budget(budget)
    if parsed is None:
        return None
    if parsed.evaluations is None or parsed.seconds is not None or parsed.marginals is not None:
        raise InputError(
            f"rows together have a budget of evaluations, not of {parsed}: give budget=1000, or "
            "until=fs.Seconds(at_least=60)"
        )
    return parsed.evaluations


def _check_outputs(
    outputs: Outputs, subject: Subject, *, given: bool
) -> tuple[tuple[int, ...], bool]:
    """The numbers of the outputs to explain, and whether there is no axis for them."""
    names = subject.output_names
    if outputs is None and given and isinstance(subject, FeatureGame):
        return (subject.output,), True
    if outputs is None and len(names) <= 2:
        return (len(names) - 1,), True
    if outputs is None or (isinstance(outputs, str) and outputs == "all" and "all" not in names):
        return tuple(range(len(names))), False
    if isinstance(outputs, str) or not isinstance(outputs, Iterable):
        return (check_output(outputs, names),), True
    chosen = tuple(check_output(output, names) for output in outputs)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("outputs must name at least one output, and each of them once")
    return chosen, False
