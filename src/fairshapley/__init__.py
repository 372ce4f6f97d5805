"""fairshapley: values of the players of a game, and how fair the numbers are.

::

    game ──► estimator asks for coalitions ──► evaluator (cache · journal · engine) ──► is told
                       ▲                                                                   │
                       └──────── run loop: stop when budget, fairness or time says ◄───────┘
    result ──► fairness (fidelity · guarantee · certificate · decisions · audit)

Examples
--------
>>> import fairshapley as fs
>>> game = fs.games.FunctionGame(lambda coalition: len(coalition) ** 2, n_players=4)
>>> fs.estimate(game, budget=100).values
array([4., 4., 4., 4.])
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.2.0"

# Where each public name is defined; `__init__.pyi` says the same to type checkers.
_HOMES = {
    "approximator": "shapiq_approximator",
    "clean": "suspects",
    "closed_forms": "knn_shapley leave_one_out",
    "comparison.audits": "audit compare",
    "comparison.curves": "curve",
    "errors": "FairShapleyError InputError",
    "estimators": "GreedyActive MonteCarlo Orthogonal Owen RegressionAdjusted Sobol Stratified "
    "UnbiasedKernelSHAP",
    "evaluation": "DaskEngine Journal ProcessEngine RayEngine SerialEngine ThreadEngine",
    "explanations": "explain",
    "planning": "forecast",
    "results.result": "Result",
    "runs.calls": "estimate estimate_async exact resume",
    "semivalues": "Banzhaf BetaShapley Shapley",
    "stopping": "Budget Decided Fair Fidelity",
    "tables.building": "table_game",
    "verification": "verify",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

# Names of shap, shapiq, pyDVL and llmSHAP, and those of ours that were removed since the last
# release, with what to use.
_ANSWERS = {
    **dict.fromkeys(("Evaluations", "Marginals", "Seconds"), "Budget"),
    **dict.fromkeys(("LeverageSHAP", "StratifiedSVARM"), "RegressionAdjusted"),
    "Attributions": "explain",
    "Audit": "audit",
    "Comparison": "compare",
    "Curve": "curve",
    "Payout": "Result.payout",
    "TruncatedMonteCarlo": "MonteCarlo",
    "Verification": "verify",
    "datasets": "games, or fairshapley_paper.datasets for the paper's data",
    "estimate_with_proxy": "estimate",
    "metrics": "fairness, or fairshapley_paper.metrics for the paper's measures",
    "shap_explanation": "Result.to_shap",
    "Explainer": "explain",
    "ExactComputer": "exact",
    "KernelExplainer": "explain",
    "KernelSHAP": "estimate(game, 'kernel')",
    "LOOValuation": "leave_one_out",
    "PermutationSamplingSV": "MonteCarlo",
    "ShapleyValuation": "estimate",
    "TreeExplainer": "explain",
    "compute_shapley_values": "estimate",
    "shapley_values": "estimate",
}

__all__ = sorted(["errors", "estimators", "fairness", "games", *_HOME_OF])


def __getattr__(name: str) -> Any:
    """Load what is used when it is first used: `fairshapley --help` needs next to nothing."""
    if name in _HOME_OF:
        found = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = found
        return found
    # A module of the package is loaded alone: it may be asked for while the others are loaded.
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        ours = _ANSWERS.get(name) or _place_of(name)
        hint = f": use fs.{ours}" if ours else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    return import_module(f"{__name__}.{name}")


def _place_of(name: str) -> str:
    """Return where a public name is that is not at the top; empty where it is nowhere."""
    for module in ("games", "estimators", "fairness", "errors"):
        found = import_module(f"{__name__}.{module}")
        if name in getattr(found, "__all__", vars(found)):
            return f"{module}.{name}"
    return ""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
