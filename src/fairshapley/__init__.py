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
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fairshapley.public import *  # noqa: F403
    from fairshapley.public import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Load what is used when it is first used: `fairshapley --help` needs next to nothing."""
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # A module of the package is loaded alone: it may be asked for while the others are loaded.
        if find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        found = getattr(import_module(f"{__name__}.public"), name, None)
        if found is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module(f"{__name__}.public").__all__})
