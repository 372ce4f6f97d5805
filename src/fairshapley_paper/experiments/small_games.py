"""P2–P4, datasets, agents and features: games of at most ten players, each in two readings.

The text has a budget of m = 1000, and m' = 300 "bootstrapping evaluations for each φ_i": 300
permutations, by Algorithm 1. The authors' program has 100, 200 or 500 permutations and forms of the
methods of its own (`fairshapley_paper.program`). So every experiment is there twice: as the text
says, and NAME-code as the program does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fairshapley_paper.experiment import Experiment, Scenario, Setting, Size
from fairshapley_paper.measures import table_measures
from fairshapley_paper.methods import ALL_METHODS, PROGRAM_METHODS
from fairshapley_paper.scenarios import agents, datasets, features, federations

# Half of all coalitions: with all of them, as the paper's budget pays for, everybody is exact.
HONEST_SHARE = 0.5
TRIALS = 10
"""Twice the paper's, so that most of the error of a comparison is the published one"""
PROGRAM_TRIALS = 20
"""These take a second for a table"""

AS_WRITTEN: Mapping[Size, Setting] = {
    "full": Setting(trials=TRIALS, marginals=1000, bootstrap=300, share=HONEST_SHARE),
    "quick": Setting(trials=3, marginals=500, bootstrap=30, share=HONEST_SHARE),
    "tiny": Setting(trials=3, marginals=200, bootstrap=10, share=HONEST_SHARE),
}

_HONEST = (
    "In the honest accounting every method has half of all 2ⁿ coalitions, with a bootstrap of at "
    "most a quarter of them. The paper's budget would pay for all of them, and then every method "
    "is exact."
)
_WRITTEN = (
    "Values are divided by their mean before they are compared; the text names no unit. ε_inv is "
    "as printed, the bootstrap 300 permutations; NAME-code is the program's reading."
)
_CODED = (
    "Every method is the program's form: Owen, Sobol and stratified are biased, the kernel keeps "
    "v(∅), GAE keeps n marginals for each that it counts. The unbiased forms are in NAME."
)


def _coded_settings(bootstrap: int, greedy: int | None) -> dict[Size, Setting]:
    """Return the budgets of the authors' program; `greedy` is GAE's bootstrap where it differs."""

    def setting(trials: int, marginals: int, part: float) -> Setting:
        return Setting(
            trials=trials,
            marginals=marginals,
            bootstrap=round(part * bootstrap),
            greedy_bootstrap=None if greedy is None else round(part * greedy),
        )

    return {
        "full": setting(PROGRAM_TRIALS, 1000, 1),
        "quick": setting(3, 200, 0.2),
        "tiny": setting(2, 60, 0.07),
    }


def _both_readings(
    name: str,
    title: str,
    *scenarios: Scenario,
    bootstrap: int,
    greedy: int | None = None,
    notes: tuple[str, ...] = (),
    program_notes: tuple[str, ...] = (),
) -> tuple[Experiment, Experiment]:
    """Return an experiment in both readings.

    Parameters
    ----------
    name, title, scenarios, notes
        As for `Experiment`.
    bootstrap, greedy
        The permutations of the program's bootstrap, and those for GAE where they differ.
    program_notes
        For the report of the second reading alone.
    """
    written = Experiment(
        name=name,
        title=title,
        scenarios=scenarios,
        methods=ALL_METHODS,
        settings=AS_WRITTEN,
        measures=table_measures(relative=False),
        notes=(_WRITTEN.replace("NAME", name), _HONEST, *notes),
    )
    coded = replace(
        written,
        name=f"{name}-code",
        title=f"{title}, as the authors' program does it",
        methods=PROGRAM_METHODS,
        settings=_coded_settings(bootstrap, greedy),
        measures=table_measures(relative=True),
        reading="program",
        reads=name,
        notes=(_CODED.replace("NAME", name), *notes, *program_notes),
    )
    return written, coded


_DATASETS = _both_readings(
    "datasets",
    "Dataset valuation by robust volume",
    Scenario(
        "credit_card",
        "credit card, 10 providers",
        "tab:vol-credit-card-overall",
        datasets.credit_card,
        "creditcard",
    ),
    Scenario(
        "used_cars",
        "used cars, 8 makes",
        "tab:vol=used-car-overall",
        datasets.used_cars,
        "used_cars",
    ),
    bootstrap=500,
    notes=("Volumes are of the order 10⁶ to 10¹¹, so that ξ = 1e−3 has no effect.",),
    program_notes=("50 rows of payments per provider and 80 of cars, where the text has 100.",),
)

_RIDES = "tab:cml-uberlyft-overall"
# The table of Uber and Lyft stands under collaborative learning, and shows volumes.
_UBER_VOLUME = replace(
    _DATASETS[1],
    name="uber-volume",
    title="Uber and Lyft by robust volume, as the authors' program does it",
    scenarios=(
        Scenario(
            "uber_lyft",
            "Uber and Lyft, 10 providers, by volume",
            _RIDES,
            datasets.rides,
            "uber_lyft",
        ),
    ),
    reads="agents",
    notes=("The volume of the rides in the place of their information.",),
)

_AGENTS, _AGENTS_CODE = _both_readings(
    "agents",
    "Agents of collaborative learning by information gain",
    Scenario(
        "hotel_reviews",
        "hotel reviews, 10 agents",
        "tab:cml-hotelreviews-overall",
        agents.hotel_reviews,
        "hotel_reviews",
    ),
    Scenario("uber_lyft", "Uber and Lyft, 10 agents", _RIDES, agents.uber_lyft, "uber_lyft"),
    bootstrap=100,
    greedy=500,
    program_notes=(
        "The bootstrap has 500 permutations for GAE and 100 for the others; the kernel is what 100 "
        "steps of Adam leave of it, and hotel reviews have 30 rows per agent, not 100.",
    ),
)
_HOTELS, _RIDE_AGENTS = _AGENTS_CODE.scenarios
_UBER_INFORMATION = replace(
    _AGENTS_CODE,
    name="uber-information",
    title="Uber and Lyft by information gain, as the authors' program would do it",
    scenarios=(_RIDE_AGENTS,),
    reading="guess",
)
_AGENTS_CODE = replace(_AGENTS_CODE, scenarios=(_HOTELS,))

_FEDERATIONS = _both_readings(
    "federations",
    "Agents of federated learning by accuracy",
    *(
        Scenario(name, title, f"tab:fl-{label}", partial(federations.federation, name=name))
        for name, title, label in (
            ("mnist-iid", "MNIST, iid, 10 agents", "mnistuni-overall"),
            ("mnist-powerlaw", "MNIST, power law, 10 agents", "mnistpow-overall"),
            ("mnist-classimbalance", "MNIST, class imbalance, 10 agents", "mnistcla-overall"),
            ("cifar10-iid", "CIFAR-10, iid, 10 agents", "cifar10uni-overall"),
            ("cifar10-powerlaw", "CIFAR-10, power law, 10 agents", "cifar10pow-overall"),
            (
                "cifar10-classimbalance",
                "CIFAR-10, class imbalance, 10 agents",
                "cifar10cla-overall",
            ),
            ("movie_reviews", "movie reviews, power law, 5 agents", "mr"),
            ("sst5", "SST-5, power law, 5 agents", "sst"),
        )
    ),
    bootstrap=200,
    notes=(
        "A federation is trained once; its trials repeat the estimators. The table of all its "
        "coalitions comes with the package: neither data nor training is needed to repeat them.",
        "CIFAR-10 has 450 images per agent (class imbalance: 150) in place of 2000, as the copy of "
        "the data has 4660; the texts have 100 rounds in place of 200.",
        "The paper has the same numbers for CIFAR-10 with class imbalance and with power law: one "
        "of the two tables is a copy.",
    ),
)

_FEDERATIONS_CODE = replace(
    _FEDERATIONS[1],
    measures=table_measures(relative=True, rounds=True),
    notes=(
        *_FEDERATIONS[1].notes,
        "The estimators run on every round, with the same draws but in every fifth trial; values "
        "are divided by their mean and averaged. NL NSW compares the scores of T rounds, which "
        "five tables standardise to the sum n: that adds T·log(T/n), which is 108, 230 or 738.",
    ),
)

_FEATURES = _both_readings(
    "features",
    "Features by the conditional expectation",
    *(
        Scenario(
            name,
            title,
            f"tab:feature-{name}-overall",
            partial(features.explained_rows, name=name),
            needs,
        )
        for name, title, needs in (
            ("adult", "adult income, random forest", "adult"),
            ("wine", "wine, random forest", ""),
            ("covertype", "Covertype, perceptron", "covertype"),
            ("iris", "iris, nearest neighbour", ""),
        )
    ),
    bootstrap=100,
    notes=("The explained class is the second column of the predicted probabilities.",),
    program_notes=(
        "Components have the signs of scikit-learn 1.1.1. Near is from 0.9x to 1.1x, which has no "
        "neighbours for a negative x: such a row counts as 0. The fifth of the rows that the model "
        "has not seen is explained. Adult is a support vector machine, iris 5 nearest neighbours, "
        "where the table names others.",
    ),
)

EXPERIMENTS = (
    *_DATASETS,
    *(_UBER_VOLUME, _UBER_INFORMATION),
    *(_AGENTS, _AGENTS_CODE),
    *(_FEDERATIONS[0], _FEDERATIONS_CODE),
    *_FEATURES,
)
