"""Agents of collaborative learning (P3): information gain."""

from __future__ import annotations

from functools import partial

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings, coded_settings
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
    settings=coded_settings(100, greedy=500),
    programs={
        "hotel_reviews": partial(played.hotel_reviews, program=True),
        "uber_lyft": partial(played.uber_lyft, program=True),
    },
    program_notes=(
        "The bootstrap has 500 permutations for GAE and 100 for the others; the kernel is what 100 "
        "steps of Adam leave of it, and hotel reviews have 30 rows per agent, not 100.",
    ),
    seconds=(14, 29),
)
