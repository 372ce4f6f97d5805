"""Data points (P1): fidelity and accuracy, ξ, symmetry, nullity, adding and removing, noise."""

from __future__ import annotations

from fairshapley.paper import measures
from fairshapley.paper.experiment import Experiment, Scenario, Setting, Size, Truth
from fairshapley.paper.methods import LARGE_METHODS
from fairshapley.paper.scenarios.points import LEARNERS, NAMES, Learner, points

BETA = "beta(16,1)"
# Above 64 players `adjusted` has no kernel proxy, which takes it seconds for each estimate.
QUICK_ROWS = 66
FEW_METHODS = ("mc", "owen", "sobol", "stratified", "kernel", "gae-5", "mc-walks", "adjusted")
_AUDIT = (measures.MSE, measures.MIN_FIDELITY, measures.TRUE_MIN_FIDELITY)


def _needs(dataset: str) -> tuple[str, ...]:
    return (dataset,)


def _pair(dataset: str, learner: Learner, shows: str) -> Scenario:
    return Scenario(
        name=f"{dataset}-{learner}",
        title=f"{NAMES[dataset]}, {LEARNERS[learner]}",
        shows=shows,
        build=points(
            dataset=dataset, learner=learner, rows={"full": 50, "quick": QUICK_ROWS, "tiny": 10}
        ),
        needs=_needs(dataset),
    )


_LEARNERS: tuple[Learner, ...] = ("logistic", "knn", "svc")
_APE_SETTINGS: dict[Size, Setting] = {
    # 50 marginals of each of 50 players; the truth as good as 5000 or better.
    "full": Setting(trials=20, marginals=1500, truth=Truth(method="adjusted", evaluations=20_000)),
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
    item=1,
    title="Fidelity against the accuracy of the values, and their rank correlation",
    scenarios=tuple(
        _pair(
            dataset,
            learner,
            "fig:ri_mape"
            if (dataset, learner) in (("breast_cancer", "logistic"), ("mnist", "knn"))
            else "fig:ri_ape_app",
        )
        for learner in _LEARNERS
        for dataset in ("covertype", "breast_cancer", "mnist", "gaussian")
    ),
    methods=LARGE_METHODS,
    settings=_APE_SETTINGS,
    measures=(measures.SPEARMAN, measures.OWN_SPEARMAN, *measures.RANKED, *_AUDIT),
    seconds=3000,
    notes=(
        "The paper gives each player 50 marginals of MC; here every method has the same 2500 "
        "marginals, 20 permutations of them the bootstrap.",
        _TRUE_F,
    ),
)

XI = Experiment(
    name="xi",
    item=2,
    title="ξ against the rank correlation of fidelity and accuracy",
    scenarios=(
        _pair("breast_cancer", "logistic", "tab:xi_ri_ape"),
        _pair("diabetes", "ridge", "tab:xi_ri_ape"),
    ),
    methods=LARGE_METHODS,
    settings=_APE_SETTINGS,
    measures=(measures.SPEARMAN_BY_XI, measures.OWN_SPEARMAN_BY_XI, *_AUDIT),
    seconds=500,
    notes=(
        _TRUE_F,
        "The target of diabetes is left in its unit, as in the paper: its values are in the tens "
        "and hundreds, and no ξ of the table matters to them.",
    ),
)


def _symmetry(dataset: str, semivalue: str) -> Scenario:
    beta = semivalue != "shapley"
    return Scenario(
        name=f"{dataset}-beta" if beta else dataset,
        title=f"{NAMES[dataset]}, logistic" + (", Beta Shapley(16, 1)" if beta else ""),
        shows="fig:k_value_dataset",
        build=points(
            dataset=dataset,
            learner="logistic",
            rows={"full": 50, "quick": QUICK_ROWS // 2, "tiny": 8},
            duplicated=True,
        ),
        semivalue=semivalue,
        needs=_needs(dataset),
    )


SYMMETRY = Experiment(
    name="symmetry",
    item=3,
    title="Symmetry: minimum fidelity, violations and ratios of duplicated points",
    scenarios=tuple(
        _symmetry(dataset, semivalue)
        for semivalue in ("shapley", BETA)
        for dataset in ("gaussian", "covertype")
    ),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(
            trials=10,
            marginals=2000,
            looks=10,
            truth=Truth(method="adjusted", evaluations=30_000),
        ),
        "quick": Setting(
            trials=3,
            marginals=600,
            looks=4,
            truth=Truth(method="adjusted", evaluations=10_000, parts=2),
        ),
        "tiny": Setting(
            trials=4,
            marginals=240,
            truth=Truth(method="mc-walks", evaluations=10_000, parts=2),
        ),
    },
    measures=(
        measures.FIDELITY_PATH,
        measures.TRUE_FIDELITY_PATH,
        measures.VIOLATIONS,
        measures.LOG_RATIO,
        *_AUDIT,
    ),
    seconds=900,
    notes=(
        "No method is told that points are identical: `adjusted` could otherwise pool them, and "
        "symmetry would hold by construction.",
    ),
)

_NULLITY_SCENARIOS = (
    Scenario(
        name="breast_cancer-svc",
        title="breast cancer, SVC, 20 points",
        shows="tab:nullity_pdp",
        build=points(
            dataset="breast_cancer", learner="svc", rows={"full": 20, "quick": 20, "tiny": 10}
        ),
        needs=_needs("breast_cancer"),
    ),
)
_NULLITY_MEASURES = (measures.NULLITY, measures.NL_NSW, measures.TRUE_NL_NSW, *_AUDIT)
_NULLITY_QUICK = Truth(method="mc-walks", evaluations=50_000, parts=2)

NULLITY = Experiment(
    name="nullity",
    item=4,
    title="Nullity and the Pigou–Dalton principle",
    scenarios=_NULLITY_SCENARIOS,
    methods=LARGE_METHODS,
    settings={
        "full": Setting(trials=10, marginals=2000),
        "quick": Setting(trials=3, marginals=600, truth=_NULLITY_QUICK),
        "tiny": Setting(trials=3, marginals=200, evaluations=500),
    },
    measures=_NULLITY_MEASURES,
    seconds=250,
    notes=("The budget is that of the text; nullity-code has that of the published numbers.",),
)

NULLITY_CODE = Experiment(
    name="nullity-code",
    item=4,
    title="Nullity and the Pigou–Dalton principle, with the budget of the published numbers",
    scenarios=_NULLITY_SCENARIOS,
    methods=LARGE_METHODS,
    settings={
        "full": Setting(trials=10, bootstrap=60, marginals=4800),
        "quick": Setting(trials=3, bootstrap=30, marginals=1200, truth=_NULLITY_QUICK),
        "tiny": Setting(trials=2, bootstrap=30, marginals=200, evaluations=500),
    },
    measures=_NULLITY_MEASURES,
    seconds=400,
    notes=(
        "The text has a bootstrap of 20 permutations and 2000 marginals; the numbers were computed "
        "with 60 permutations and 4800 marginals, two and a half times as much.",
    ),
)


def _moving(semivalue: str) -> Scenario:
    beta = semivalue != "shapley"
    return Scenario(
        name="gaussian-beta" if beta else "gaussian",
        title="Gaussian, logistic, " + ("Beta Shapley(16, 1)" if beta else "Data Shapley"),
        shows="fig:pt_addition" if beta else "fig:add-remove, fig:pt_addition",
        build=points(
            dataset="gaussian",
            learner="logistic",
            rows={"full": 50, "quick": QUICK_ROWS // 2, "tiny": 8},
            duplicated=True,
        ),
        semivalue=semivalue,
        needs=_needs("gaussian"),
    )


ADD_REMOVE = Experiment(
    name="add-remove",
    item=5,
    title="Adding and removing points by their values",
    scenarios=(_moving("shapley"), _moving(BETA)),
    methods=LARGE_METHODS,
    settings={
        "full": Setting(
            trials=10, marginals=2000, truth=Truth(method="adjusted", evaluations=30_000)
        ),
        "quick": Setting(
            trials=3, marginals=600, truth=Truth(method="adjusted", evaluations=10_000, parts=2)
        ),
        "tiny": Setting(
            trials=3, marginals=160, truth=Truth(method="mc-walks", evaluations=10_000, parts=2)
        ),
    },
    measures=(*measures.MOVES, *measures.MOVE_AREAS, *_AUDIT),
    seconds=400,
    notes=(
        "The game is that of the symmetry study, 50 points duplicated. The curves show its "
        "utility, as published; the mean heights are of the accuracy on 1000 rows that neither "
        "training nor utility has seen.",
    ),
)


def _noisy(dataset: str, semivalue: str) -> Scenario:
    beta = semivalue != "shapley"
    kind = "Beta Shapley(16, 1)" if beta else "Data Shapley"
    return Scenario(
        name=f"{dataset}-beta" if beta else dataset,
        title=f"{NAMES[dataset]}, SVC, {kind}",
        shows="fig:f1_score",
        build=points(
            dataset=dataset,
            learner="svc",
            rows={"full": 100, "quick": QUICK_ROWS, "tiny": 20},
            flipped=0.1,
        ),
        semivalue=semivalue,
        needs=_needs(dataset),
    )


NOISY_LABELS = Experiment(
    name="noisy-labels",
    item=6,
    title="Noisy labels found by their values: F1",
    scenarios=(
        _noisy("mnist", "shapley"),
        _noisy("breast_cancer", BETA),
        _noisy("gaussian", "shapley"),
        _noisy("gaussian", BETA),
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
    seconds=1500,
)

EXPERIMENTS = (FIDELITY_APE, XI, SYMMETRY, NULLITY, NULLITY_CODE, ADD_REMOVE, NOISY_LABELS)
