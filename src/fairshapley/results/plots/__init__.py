"""Figures with matplotlib: every function takes axes, or makes some, and returns them.

Nothing here shows or saves a figure; ``axes.figure.savefig(path)`` does.
"""

from fairshapley.results.plots.comparisons import plot_comparison
from fairshapley.results.plots.scores import plot_convergence, plot_fidelity
from fairshapley.results.plots.values import plot_values

__all__ = ["plot_comparison", "plot_convergence", "plot_fidelity", "plot_values"]
