"""Figures with matplotlib: every function takes axes, or makes some, and returns them.

Nothing here shows or saves a figure; ``axes.figure.savefig(path)`` does.
"""

from fairshapley.results.plots.results import (
    plot_comparison,
    plot_convergence,
    plot_fidelity,
    plot_pairs,
    plot_values,
)

__all__ = ["plot_comparison", "plot_convergence", "plot_fidelity", "plot_pairs", "plot_values"]
