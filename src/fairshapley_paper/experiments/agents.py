"""Agents of collaborative learning (P3): information gain."""

from __future__ import annotations

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings
from fairshapley_paper.scenarios import agents as played

EXPERIMENTS = both_readings(
    "agents",
    item=8,
    title="Agents of collaborative learning by information gain",
    scenarios=(
        Scenario(
            name="hotel_reviews",
            title="hotel reviews, 10 agents",
            shows="tab:cml-hotelreviews-overall",
            build=played.hotel_reviews,
            needs=("hotel_reviews",),
        ),
        Scenario(
            name="uber_lyft",
            title="Uber and Lyft, 10 agents",
            shows="tab:cml-uberlyft-overall",
            build=played.uber_lyft,
            needs=("uber_lyft",),
        ),
    ),
    normalise="mean",
    seconds=(14, 29),
)
