"""Agents of federated learning (P3): the accuracy of coalitions' models, averaged over rounds."""

from __future__ import annotations

from functools import partial

from fairshapley_paper.experiment import Scenario
from fairshapley_paper.experiments.readings import both_readings, coded_settings
from fairshapley_paper.scenarios.federations import BUILDS, FEDERATIONS, equal_models

_SHOWS = {
    "mnist-iid": ("MNIST, iid", "tab:fl-mnistuni-overall"),
    "mnist-powerlaw": ("MNIST, power law", "tab:fl-mnistpow-overall"),
    "mnist-classimbalance": ("MNIST, class imbalance", "tab:fl-mnistcla-overall"),
    "cifar10-iid": ("CIFAR-10, iid", "tab:fl-cifar10uni-overall"),
    "cifar10-powerlaw": ("CIFAR-10, power law", "tab:fl-cifar10pow-overall"),
    "cifar10-classimbalance": ("CIFAR-10, class imbalance", "tab:fl-cifar10cla-overall"),
    "movie_reviews": ("movie reviews, power law", "tab:fl-mr"),
    "sst5": ("SST-5, power law", "tab:fl-sst"),
}

EXPERIMENTS = both_readings(
    "federations",
    item=9,
    title="Agents of federated learning by accuracy",
    # Neither data nor torch is needed where the tables are there: a missing one says what it needs.
    scenarios=(
        *(
            Scenario(
                name=name,
                title=f"{title}, {FEDERATIONS[name].n_agents} agents",
                shows=label,
                build=BUILDS[name],
            )
            for name, (title, label) in _SHOWS.items()
        ),
        *(
            Scenario(
                name=f"equal-{n_agents}",
                title=f"all models equally accurate, {n_agents} agents",
                shows=_SHOWS[shown][1],
                build=partial(equal_models, n_agents=n_agents),
                form_of=shown,
            )
            for n_agents, shown in ((10, "mnist-iid"), (5, "movie_reviews"))
        ),
    ),
    normalise="mean",
    settings=coded_settings(200),
    seconds=(75, 145),
    notes=(
        "A federation is trained once; its trials repeat the estimators. The table of all its "
        "coalitions lies in federations/tables beside these results: with it, neither data nor "
        "training is needed to repeat them.",
        "The paper's numbers for CIFAR-10 with class imbalance are those of its power law: one of "
        "the two tables is a copy.",
    ),
)
