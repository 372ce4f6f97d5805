"""The public names, which `fairshapley` offers as its own.

Loading them takes a second (SciPy, scikit-learn), so the package does it when the first is used.
"""

from fairshapley import estimators, fairness, games
from fairshapley.clean import Suspects, suspects
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
    MonteCarlo,
    Orthogonal,
    Owen,
    RegressionAdjusted,
    Sobol,
    Stratified,
    UnbiasedKernelSHAP,
)
from fairshapley.evaluation import (
    DaskEngine,
    Journal,
    ProcessEngine,
    RayEngine,
    SerialEngine,
    ThreadEngine,
)
from fairshapley.fairness import Certificate, Decisions, Guarantee, fidelity, required_fidelity
from fairshapley.results.payouts import Payout
from fairshapley.results.repeated_runs import Audit, Comparison
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, exact, resume
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley
from fairshapley.stopping import Budget, Decided, Evaluations, Fair, Fidelity, Marginals, Seconds
from fairshapley.tables.building import TabularGame, table_game
from fairshapley.uses.approximator import shapiq_approximator
from fairshapley.uses.audits import audit, compare
from fairshapley.uses.curves import Curve, curve
from fairshapley.uses.explanations import Attributions, explain
from fairshapley.uses.forecasting import Forecast, forecast
from fairshapley.uses.leaving_out import leave_one_out
from fairshapley.uses.nearest_neighbours import knn_shapley
from fairshapley.uses.verification import Verification, verify

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
    "Decided",
    "Decisions",
    "EngineError",
    "Estimator",
    "Evaluations",
    "Exact",
    "Fair",
    "FairShapleyError",
    "Fidelity",
    "FingerprintError",
    "Forecast",
    "GameError",
    "GreedyActive",
    "Guarantee",
    "InputError",
    "Journal",
    "JournalError",
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
    "Suspects",
    "TabularGame",
    "ThreadEngine",
    "UnbiasedKernelSHAP",
    "Verification",
    "audit",
    "compare",
    "curve",
    "estimate",
    "estimators",
    "exact",
    "explain",
    "fairness",
    "fidelity",
    "forecast",
    "games",
    "knn_shapley",
    "leave_one_out",
    "required_fidelity",
    "resume",
    "shapiq_approximator",
    "suspects",
    "table_game",
    "verify",
]
