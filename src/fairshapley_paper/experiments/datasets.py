"""Datasets (P2): providers valued by the robust volume."""

from __future__ import annotations

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings
from fairshapley_paper.scenarios import datasets as played

EXPERIMENTS = both_readings(
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
    seconds=(12, 26),
    notes=("Volumes are of the order 10⁶ to 10¹¹, so that ξ = 1e−3 has no effect.",),
)
