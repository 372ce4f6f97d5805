"""Every table and figure of *Probably Approximate Shapley Fairness* as data, and one runner.

``EXPERIMENTS`` holds the experiments by name; ``run`` recomputes one of them and writes its
numbers, tables and pictures, the published numbers beside ours, in both accountings: the paper's
(marginals counted, the estimator's own score) and the honest one (equal distinct utility
evaluations, audited scores).
"""

from fairshapley_paper.catalogue import EXPERIMENTS
from fairshapley_paper.experiment import Experiment
from fairshapley_paper.report import Report
from fairshapley_paper.runner import run
from fairshapley_paper.theory import minimum_fidelity

__all__ = ["EXPERIMENTS", "Experiment", "Report", "minimum_fidelity", "run"]
