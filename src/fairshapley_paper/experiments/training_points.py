"""Data points (P1): fidelity and accuracy, ξ, symmetry, nullity, adding and removing, noise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fairshapley_paper import measures
from fairshapley_paper.experiment import SIZES, Experiment, Scenario, Setting, Size, Truth
from fairshapley_paper.methods import LARGE_METHODS
from fairshapley_paper.scenarios.training_points import LEARNERS, NAMES, LearnerName, build_points

BETA = "beta(16,1)"
KINDS = {"shapley": "Data Shapley", BETA: "Beta Shapley(16, 1)"}
# On many players the processes of `adjusted` take seconds for each estimate.
QUICK_ROWS = 66
_PAIR_ROWS = (50, QUICK_ROWS, 10)
FEW_METHODS = ("mc", "owen", "sobol", "stratified", "kernel", "gae-5", "mc-walks", "adjusted")
_AUDIT = (measures.MSE, measures.MIN_FIDELITY, measures.TRUE_MIN_FIDELITY, measures.TRUE_MIN_ABOVE)


def _points(
    dataset: str,
    learner: LearnerName,
    remark: str = "",
    *,
    shows: str,
    rows: tuple[int, int, int],
    name: str | None = None,
    semivalue: str = "shapley",
    form_of: str = "",
    **options: Any,
) -> Scenario:
    """Return a scenario of data points.

    Parameters
    ----------
    dataset, learner, remark
        What the title says.
    shows, semivalue, form_of
        As for `Scenario`.
    rows
        How many, at the full, the quick and the tiny size.
    name
        The dataset's name unless given; "-beta" follows where it is Beta Shapley.
    options
        Options of `build_points`.
    """
    sizes = dict(zip(SIZES, rows, strict=True))
    return Scenario(
        name=(name or dataset) + ("-beta" if semivalue == BETA else ""),
        title=", ".join(filter(None, (NAMES[dataset], LEARNERS[learner], remark))),
        shows=shows,
        build=partial(build_points, dataset=dataset, learner=learner, rows=sizes, **options),
        semivalue=semivalue,
        needs=dataset,
        form_of=form_of,
    )


def _pair(dataset: str, learner: LearnerName, shows: str) -> Scenario:
    return _points(dataset, learner, name=f"{dataset}-{learner}", shows=shows, rows=_PAIR_ROWS)


_LEARNERS: tuple[LearnerName, ...] = ("logistic", "knn", "svc")
_APPENDIX = "fig:ri_ape_app"
_FIGURE_1 = (("breast_cancer", "logistic"), ("mnist", "knn"))
_APE_SETTINGS: dict[Size, Setting] = {
    # 50 marginals for each of 50 players, 20 of them from the bootstrap.
    "full": Setting(trials=20, marginals=1500, truth=Truth(method="adjusted", evaluations=25_000)),
    "quick": Setting(
        trials=3,
        marginals=300,
        truth=Truth(method="mc-walks", evaluations=8000, parts=2),
        methods=FEW_METHODS,
    ),
    "tiny": Setting(
        trials=4, marginals=200, truth=Truth(method="mc-walks", evaluations=1000, parts=2)
    ),
}

_TRUE_F = (
    "The published coefficients have the true value in f, m·(|φ| + ξ)²/(s² + 1e−5), which nobody "
    "has in practice; beside them stands f as an estimator can compute it."
)

FIDELITY_APE = Experiment(
    name="fidelity-ape",
    title="Fidelity against the accuracy of the values, and their rank correlation",
    scenarios=tuple(
        _pair(dataset, learner, "fig:ri_mape" if (dataset, learner) in _FIGURE_1 else _APPENDIX)
        for learner in _LEARNERS
        for dataset in ("covertype", "breast_cancer", "mnist", "gaussian")
    ),
    methods=LARGE_METHODS,
    settings=_APE_SETTINGS,
    measures=(measures.SPEARMAN, measures.OWN_SPEARMAN, *measures.RANKED, *_AUDIT),
    notes=(
        "The paper gives each player 50 marginals of MC; here every method has the same 2500 "
        "marginals, 20 permutations of them the bootstrap.",
        _TRUE_F,
    ),
)

XI = Experiment(
    name="xi",
    title="ξ against the rank correlation of fidelity and accuracy",
    scenarios=(
        _pair("breast_cancer", "logistic", "tab:xi_ri_ape"),
        _pair("diabetes", "ridge", "tab:xi_ri_ape"),
        _points(
            "diabetes",
            "ridge",
            "C₀ of one row",
            name="diabetes-ridge-one",
            shows="tab:xi_ri_ape",
            rows=_PAIR_ROWS,
            form_of="diabetes-ridge",
            base=1,
        ),
    ),
    methods=LARGE_METHODS,
    settings=_APE_SETTINGS,
    measures=(measures.SPEARMAN_BY_XI, measures.OWN_SPEARMAN_BY_XI, *_AUDIT),
    notes=(
        _TRUE_F,
        "The target of diabetes is left in its unit, as in the paper: its values are in the tens "
        "and hundreds, and no ξ of the table matters to them.",
    ),
)


def _duplicated(dataset: str, remark: str, shows: str, semivalue: str) -> Scenario:
    return _points(
        dataset,
        "logistic",
        remark,
        shows=shows,
        rows=(50, QUICK_ROWS // 2, 8),
        semivalue=semivalue,
        duplicated=True,
    )


_TRUTHS: dict[Size, Truth] = {
    "full": Truth(method="adjusted", evaluations=30_000),
    "quick": Truth(method="adjusted", evaluations=10_000, parts=2),
    "tiny": Truth(method="mc-walks", evaluations=10_000, parts=2),
}

SYMMETRY = Experiment(
    name="symmetry",
    title="Symmetry: minimum fidelity, violations and ratios of duplicated points",
    scenarios=tuple(
        _duplicated(dataset, remark, "fig:k_value_dataset", semivalue)
        for semivalue, remark in (("shapley", ""), (BETA, KINDS[BETA]))
        for dataset in ("gaussian", "covertype")
    ),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(trials=10, marginals=2000, looks=10, truth=_TRUTHS["full"]),
        "quick": Setting(trials=3, marginals=600, looks=4, truth=_TRUTHS["quick"]),
        "tiny": Setting(trials=4, marginals=240, truth=_TRUTHS["tiny"]),
    },
    measures=(
        measures.FIDELITY_PATH,
        measures.TRUE_FIDELITY_PATH,
        measures.VIOLATIONS,
        measures.LOG_RATIO,
        *_AUDIT,
    ),
    notes=(
        "No method is told that points are identical: `adjusted` could otherwise pool them, and "
        "symmetry would hold by construction.",
    ),
)

AUDIT = replace(
    SYMMETRY,
    name="audit",
    title="Minimum fidelity on duplicated points: reported, and audited with 60 trials",
    scenarios=SYMMETRY.scenarios[:1],
    methods=tuple(name for name in LARGE_METHODS if name not in ("gae-0", "gae-2", "gae-100")),
    settings={
        "full": Setting(trials=60, marginals=2000, truth=_TRUTHS["full"]),
        "quick": Setting(trials=6, marginals=600, truth=_TRUTHS["quick"]),
        "tiny": Setting(trials=4, marginals=240, truth=_TRUTHS["tiny"]),
    },
    measures=_AUDIT,
    notes=(
        *SYMMETRY.notes,
        "The audited minimum is too low on average, as it is the score of whoever had bad luck; "
        "with the worst player chosen on other trials it is too high. ± is the spread when the "
        "trials are drawn again.",
    ),
)

_NULLITY_QUICK = Truth(method="mc-walks", evaluations=50_000, parts=2)

NULLITY = Experiment(
    name="nullity",
    title="Nullity and the Pigou–Dalton principle",
    scenarios=(
        _points(
            "breast_cancer",
            "svc",
            "20 points",
            name="breast_cancer-svc",
            shows="tab:nullity_pdp",
            rows=(20, 20, 10),
        ),
    ),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(trials=10, marginals=2000),
        "quick": Setting(trials=3, marginals=600, truth=_NULLITY_QUICK),
        "tiny": Setting(trials=3, marginals=200, evaluations=500),
    },
    measures=(measures.NULLITY, measures.NL_NSW, measures.TRUE_NL_NSW, *_AUDIT),
    notes=("The budget is that of the text; nullity-code has that of the published numbers.",),
)

NULLITY_CODE = replace(
    NULLITY,
    name="nullity-code",
    title="Nullity and the Pigou–Dalton principle, with the budget of the published numbers",
    reading="program",
    reads="nullity",
    methods=(*NULLITY.methods, "kernel-nth"),
    settings={
        "full": Setting(trials=10, bootstrap=60, marginals=4800),
        "quick": Setting(trials=3, bootstrap=30, marginals=1200, truth=_NULLITY_QUICK),
        "tiny": Setting(trials=2, bootstrap=30, marginals=200, evaluations=500),
    },
    notes=(
        "The text has a bootstrap of 20 permutations and 2000 marginals; the numbers were computed "
        "with 60 permutations and 4800 marginals, two and a half times as much.",
    ),
)


ADD_REMOVE = Experiment(
    name="add-remove",
    title="Adding and removing points by their values",
    scenarios=tuple(
        _duplicated("gaussian", KINDS[semivalue], shows, semivalue)
        for semivalue, shows in (
            ("shapley", "fig:add-remove, fig:pt_addition"),
            (BETA, "fig:pt_addition"),
        )
    ),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(trials=10, marginals=2000, truth=_TRUTHS["full"]),
        "quick": Setting(trials=3, marginals=600, truth=_TRUTHS["quick"]),
        "tiny": Setting(trials=3, marginals=160, truth=_TRUTHS["tiny"]),
    },
    measures=(*measures.MOVES, *measures.MOVE_AREAS, *_AUDIT),
    notes=(
        "The game is that of the symmetry study, 50 points duplicated. The curves show its "
        "utility, as published; the mean heights are of the accuracy on 1000 rows that neither "
        "training nor utility has seen.",
    ),
)


NOISY_LABELS = Experiment(
    name="noisy-labels",
    title="Noisy labels found by their values: F1",
    scenarios=tuple(
        _points(
            dataset,
            "svc",
            KINDS[semivalue],
            shows="fig:f1_score",
            rows=(100, QUICK_ROWS, 20),
            semivalue=semivalue,
            flipped=0.1,
        )
        for dataset, semivalue in (
            ("mnist", "shapley"),
            ("breast_cancer", BETA),
            ("gaussian", "shapley"),
            ("gaussian", BETA),
        )
    ),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(
            trials=5,
            bootstrap=25,
            marginals=20_000,
            truth=Truth(method="adjusted", evaluations=40_000),
        ),
        "quick": Setting(
            trials=2,
            bootstrap=10,
            marginals=1000,
            truth=Truth(method="adjusted", evaluations=8000, parts=2),
            methods=FEW_METHODS,
        ),
        "tiny": Setting(
            trials=2,
            bootstrap=5,
            marginals=200,
            truth=Truth(method="mc-walks", evaluations=2000, parts=2),
        ),
    },
    measures=(measures.F1, measures.F1_BELOW, *_AUDIT),
)

EXPERIMENTS = (FIDELITY_APE, XI, SYMMETRY, AUDIT, NULLITY, NULLITY_CODE, ADD_REMOVE, NOISY_LABELS)
