"""Every experiment's configuration holds together, without running any."""

import pickle

import pytest

from fairshapley import semivalues
from fairshapley_paper import EXPERIMENTS
from fairshapley_paper.datasets import available
from fairshapley_paper.methods import METHODS

FORMS = ("mc-walks", "owen-antithetic", "owen-single", "sobol-single", "kernel-paired")
CASES = list(EXPERIMENTS.values())
SCENARIOS = [(one, scenario) for one in CASES for scenario in one.scenarios]


@pytest.mark.parametrize("experiment", CASES, ids=lambda one: one.name)
def test_configuration(experiment):
    names = [scenario.name for scenario in experiment.scenarios]
    assert len(set(names)) == len(names)
    assert set(experiment.methods) <= set(METHODS)
    rows = {METHODS[name].row for name in experiment.methods}
    assert {"mc", "owen", "sobol", "stratified", "kernel", "gae-5"} <= rows
    if experiment.reading == "text":
        # The forms that the paper names: antithetic, single marginals, pairs, whole walks.
        assert {*FORMS, "adjusted"} <= set(experiment.methods)
    assert set(experiment.settings) == {"full", "quick", "tiny"}
    for setting in experiment.settings.values():
        assert set(setting.methods) <= set(experiment.methods)
        assert setting.truth is None or setting.truth.method in METHODS
    measures = [measure.name for measure in experiment.measures]
    assert len(set(measures)) == len(measures)
    # Both accountings: what the estimator says of itself, and what the truth says.
    assert {"min_fidelity", "true_min_fidelity", "mse"} <= set(measures)


@pytest.mark.parametrize(("experiment", "scenario"), SCENARIOS, ids=lambda one: one.name)
def test_scenario(experiment, scenario):
    semivalues.parse_semivalue(scenario.semivalue)
    assert not scenario.needs or scenario.needs in available()
    assert pickle.loads(pickle.dumps(scenario)).name == scenario.name  # noqa: S301 - our own
