"""The public names with their types; `__init__.py` loads each from here when it is used."""
# ruff: noqa: I001

from fairshapley import (
    errors as errors,
    estimators as estimators,
    fairness as fairness,
    games as games,
)
from fairshapley.approximator import shapiq_approximator as shapiq_approximator
from fairshapley.clean import suspects as suspects
from fairshapley.closed_forms import knn_shapley as knn_shapley, leave_one_out as leave_one_out
from fairshapley.comparison.audits import audit as audit, compare as compare
from fairshapley.comparison.curves import curve as curve
from fairshapley.errors import FairShapleyError as FairShapleyError, InputError as InputError
from fairshapley.estimators import (
    GreedyActive as GreedyActive,
    MonteCarlo as MonteCarlo,
    Orthogonal as Orthogonal,
    Owen as Owen,
    RegressionAdjusted as RegressionAdjusted,
    Sobol as Sobol,
    Stratified as Stratified,
    UnbiasedKernelSHAP as UnbiasedKernelSHAP,
)
from fairshapley.evaluation import (
    DaskEngine as DaskEngine,
    Journal as Journal,
    ProcessEngine as ProcessEngine,
    RayEngine as RayEngine,
    SerialEngine as SerialEngine,
    ThreadEngine as ThreadEngine,
)
from fairshapley.explanations import explain as explain
from fairshapley.planning import forecast as forecast
from fairshapley.results.result import Result as Result
from fairshapley.runs.calls import estimate as estimate, exact as exact, resume as resume
from fairshapley.runs.calls import estimate_async as estimate_async
from fairshapley.semivalues import (
    Banzhaf as Banzhaf,
    BetaShapley as BetaShapley,
    Shapley as Shapley,
)
from fairshapley.stopping import (
    Budget as Budget,
    Decided as Decided,
    Fair as Fair,
    Fidelity as Fidelity,
)
from fairshapley.tables.building import table_game as table_game
from fairshapley.verification import verify as verify

__all__: list[str]
__version__: str
