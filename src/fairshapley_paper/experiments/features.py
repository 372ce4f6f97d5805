"""Features of a model (P4): the conditional expectation of its predictions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fairshapley_paper.experiment import Played, Scenario
from fairshapley_paper.experiments.readings import both_readings
from fairshapley_paper.scenarios import features as played

_COMPONENTS: tuple[tuple[str, str, Callable[..., Played], tuple[str, ...]], ...] = (
    ("adult", "adult income, random forest", played.adult, ("adult",)),
    ("wine", "wine, random forest", played.wine, ()),
    ("covertype", "Covertype, perceptron", played.covertype, ("covertype",)),
)

EXPERIMENTS = both_readings(
    "features",
    item=10,
    title="Features by the conditional expectation",
    scenarios=(
        *(
            Scenario(
                name=name,
                title=title,
                shows=f"tab:feature-{name}-overall",
                build=build,
                needs=needs,
            )
            for name, title, build, needs in _COMPONENTS
        ),
        Scenario(
            name="iris",
            title="iris, nearest neighbour",
            shows="tab:feature-iris-overall",
            build=played.iris,
        ),
        # The second reading, where it differs: iris has no negative feature.
        *(
            Scenario(
                name=f"{name}-signed",
                title=f"{title}, near from 0.9x to 1.1x",
                shows=f"tab:feature-{name}-overall",
                build=partial(build, near="from 0.9x to 1.1x"),
                needs=needs,
            )
            for name, title, build, needs in _COMPONENTS
        ),
    ),
    normalise="first",
    seconds=(28, 77),
    notes=(
        "“Near from 0.9x to 1.1x” has no neighbours for a negative x, which half of all principal "
        "components are; such a row counts as 0. The text does not have it, but the sizes of the "
        "published errors are those of this game.",
        "The explained class is the second column of the predicted probabilities.",
    ),
)
