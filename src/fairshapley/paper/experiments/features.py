"""Features of a model (P4): the conditional expectation of its predictions."""

from __future__ import annotations

from fairshapley.paper.experiment import Scenario
from fairshapley.paper.experiments.readings import both_readings
from fairshapley.paper.scenarios import features as played

_LABELS = {
    "adult": ("adult income, random forest", "tab:feature-adult-overall"),
    "wine": ("wine, random forest", "tab:feature-wine-overall"),
    "covertype": ("Covertype, perceptron", "tab:feature-covertype-overall"),
}
_BUILDS = {"adult": played.adult, "wine": played.wine, "covertype": played.covertype}
_NEEDS = {"adult": ("adult",), "wine": (), "covertype": ("covertype",)}

EXPERIMENTS = both_readings(
    "features",
    item=10,
    title="Features by the conditional expectation",
    scenarios=(
        *(
            Scenario(name=name, title=title, shows=label, build=_BUILDS[name], needs=_NEEDS[name])
            for name, (title, label) in _LABELS.items()
        ),
        Scenario(
            name="iris",
            title="iris, nearest neighbour",
            shows="tab:feature-iris-overall",
            build=played.iris,
        ),
        *(
            Scenario(
                name=f"{name}-signed",
                title=f"{title}, near from 0.9x to 1.1x",
                shows=label,
                build=played.SIGNED[name],
                needs=_NEEDS[name],
            )
            for name, (title, label) in _LABELS.items()
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
