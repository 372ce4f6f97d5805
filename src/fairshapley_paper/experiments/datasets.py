"""Datasets (P2): providers valued by the robust volume."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings, coded_settings
from fairshapley_paper.scenarios import datasets as played

_BOTH = both_readings(
    "datasets",
    item=7,
    title="Dataset valuation by robust volume",
    scenarios=(
        Scenario(
            name="credit_card",
            title="credit card, 10 providers",
            shows="tab:vol-credit-card-overall",
            build=played.credit_card,
            needs=("creditcard",),
        ),
        Scenario(
            name="used_cars",
            title="used cars, 8 makes",
            shows="tab:vol=used-car-overall",
            build=played.used_cars,
            needs=("used_cars",),
        ),
    ),
    normalise="mean",
    settings=coded_settings(500),
    programs={
        "credit_card": partial(played.credit_card, rows=played.PROGRAM_CARD_ROWS),
        "used_cars": partial(played.used_cars, rows=played.PROGRAM_CAR_ROWS),
    },
    seconds=(12, 26),
    notes=("Volumes are of the order 10⁶ to 10¹¹, so that ξ = 1e−3 has no effect.",),
    program_notes=("50 rows of payments per provider and 80 of cars, where the text has 100.",),
)

# A guess about the table of Uber and Lyft, which stands among those of collaborative learning.
UBER_VOLUME = replace(
    _BOTH[1],
    name="uber-volume",
    title="Uber and Lyft by robust volume",
    scenarios=(
        Scenario(
            name="uber_lyft",
            title="Uber and Lyft, 10 providers, by volume",
            shows="tab:cml-uberlyft-overall",
            build=played.rides,
            needs=("uber_lyft",),
        ),
    ),
    reading="guess",
    reads="agents",
    notes=("The volume of the rides in the place of their information; else as the program.",),
)

EXPERIMENTS = (*_BOTH, UBER_VOLUME)
