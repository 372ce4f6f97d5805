"""The public names, which `fairshapley` offers as its own.

Loading them takes a second (SciPy, scikit-learn), so the package does it when the first is used.
"""

from fairshapley import errors, estimators, fairness, games
from fairshapley.approximator import shapiq_approximator
from fairshapley.clean import suspects
from fairshapley.closed_forms import knn_shapley, leave_one_out
from fairshapley.comparison.audits import audit, compare
from fairshapley.comparison.curves import curve
from fairshapley.errors import FairShapleyError, InputError
from fairshapley.estimators import (
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
from fairshapley.explanations import explain
from fairshapley.planning import forecast
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, exact, resume
from fairshapley.semivalues import Banzhaf, BetaShapley, Shapley
from fairshapley.stopping import Budget, Decided, Fair, Fidelity
from fairshapley.tables.building import table_game
from fairshapley.verification import verify

__all__ = [
    "Banzhaf",
    "BetaShapley",
    "Budget",
    "DaskEngine",
    "Decided",
    "Fair",
    "FairShapleyError",
    "Fidelity",
    "GreedyActive",
    "InputError",
    "Journal",
    "MonteCarlo",
    "Orthogonal",
    "Owen",
    "ProcessEngine",
    "RayEngine",
    "RegressionAdjusted",
    "Result",
    "SerialEngine",
    "Shapley",
    "Sobol",
    "Stratified",
    "ThreadEngine",
    "UnbiasedKernelSHAP",
    "audit",
    "compare",
    "curve",
    "errors",
    "estimate",
    "estimators",
    "exact",
    "explain",
    "fairness",
    "forecast",
    "games",
    "knn_shapley",
    "leave_one_out",
    "resume",
    "shapiq_approximator",
    "suspects",
    "table_game",
    "verify",
]
