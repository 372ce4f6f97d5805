"""The public names, which `fairshapley` offers as its own.

Loading them takes a second (SciPy, scikit-learn), so the package does it when the first is used.
"""

from fairshapley import datasets, estimators, fairness, games, metrics
from fairshapley.auditing import Comparison, audit, compare
from fairshapley.curves import Curve, curve
from fairshapley.errors import (
    BudgetError,
    ContractError,
    EngineError,
    FairShapleyError,
    FingerprintError,
    GameError,
    InputError,
    JournalError,
    MissingExtraError,
)
from fairshapley.estimators import (
    Estimator,
    Exact,
    GreedyActive,
    LeverageSHAP,
    MonteCarlo,
    Orthogonal,
    Owen,
    RegressionAdjusted,
    Sobol,
    Stratified,
    StratifiedSVARM,
    TruncatedMonteCarlo,
    UnbiasedKernelSHAP,
)
from fairshapley.evaluation import DaskEngine, Journal, ProcessEngine, RayEngine, SerialEngine
from fairshapley.explanation import Attributions, explain, shap_explanation
from fairshapley.fairness import (
    Audit,
    Certificate,
    Decisions,
    Guarantee,
    fidelity,
    required_fidelity,
)
from fairshapley.leaving_out import leave_one_out
from fairshapley.nearest_neighbours import knn_shapley
from fairshapley.payouts import Payout
from fairshapley.proxy_valuation import estimate_with_proxy
from fairshapley.result import Result
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley
from fairshapley.stopping import Budget, Evaluations, Fair, Fidelity, Marginals, Seconds
from fairshapley.valuation import estimate, exact, resume
from fairshapley.verification import Verification, verify

__all__ = [
    "Attributions",
    "Audit",
    "Banzhaf",
    "BetaShapley",
    "Budget",
    "BudgetError",
    "Certificate",
    "Comparison",
    "ContractError",
    "Curve",
    "DaskEngine",
    "Decisions",
    "EngineError",
    "Estimator",
    "Evaluations",
    "Exact",
    "Fair",
    "FairShapleyError",
    "Fidelity",
    "FingerprintError",
    "GameError",
    "GreedyActive",
    "Guarantee",
    "InputError",
    "Journal",
    "JournalError",
    "LeverageSHAP",
    "Marginals",
    "MissingExtraError",
    "MonteCarlo",
    "Orthogonal",
    "Owen",
    "Payout",
    "ProcessEngine",
    "RayEngine",
    "RegressionAdjusted",
    "Result",
    "Seconds",
    "SerialEngine",
    "Shapley",
    "Sobol",
    "Stratified",
    "StratifiedSVARM",
    "TruncatedMonteCarlo",
    "UnbiasedKernelSHAP",
    "Verification",
    "audit",
    "compare",
    "curve",
    "datasets",
    "estimate",
    "estimate_with_proxy",
    "estimators",
    "exact",
    "explain",
    "fairness",
    "fidelity",
    "games",
    "knn_shapley",
    "leave_one_out",
    "metrics",
    "required_fidelity",
    "resume",
    "shap_explanation",
    "verify",
]
