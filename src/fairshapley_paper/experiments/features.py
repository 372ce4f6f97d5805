"""Features of a model (P4): the conditional expectation of its predictions."""

from __future__ import annotations

from functools import partial

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings, coded_settings
from fairshapley_paper.scenarios import features as played

_GAMES = (
    ("adult", "adult income, random forest", played.adult, ("adult",)),
    ("wine", "wine, random forest", played.wine, ()),
    ("covertype", "Covertype, perceptron", played.covertype, ("covertype",)),
    ("iris", "iris, nearest neighbour", played.iris, ()),
)

EXPERIMENTS = both_readings(
    "features",
    item=10,
    title="Features by the conditional expectation",
    scenarios=tuple(
        Scenario(
            name=name, title=title, shows=f"tab:feature-{name}-overall", build=build, needs=needs
        )
        for name, title, build, needs in _GAMES
    ),
    normalise="first",
    settings=coded_settings(100),
    programs={name: partial(played.as_programmed, name=name) for name, *_ in _GAMES},
    seconds=(28, 77),
    notes=("The explained class is the second column of the predicted probabilities.",),
    program_notes=(
        "Near is from 0.9x to 1.1x, which has no neighbours for a negative x: such a row counts as "
        "0. The fifth of the rows that the model has not seen is explained. Adult is a support "
        "vector machine, iris 5 nearest neighbours, where the table names others.",
    ),
)
