"""The two readings of the budget of P2–P4, and an experiment in each.

The text gives "the budget m = 1000 and the bootstrapping of 300 evaluations (a total of 1300
evaluations for each baseline)": 300 marginals shared by the players. The sizes of the published
errors are those of 300 *permutations*, and for GAE of n marginals wherever one is counted. So every
experiment is there twice: as the text says, and NAME-code as the published numbers were counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairshapley.metrics.scaling import Normalise
from fairshapley_paper.experiment import Experiment, Scenario, Setting, Size
from fairshapley_paper.measures import table_measures
from fairshapley_paper.methods import ALL_METHODS, UNCOUNTED_METHODS

# Half of all coalitions: with all of them, as the paper's budget pays for, everybody is exact.
HONEST_SHARE = 0.5

AS_WRITTEN: Mapping[Size, Setting] = {
    "full": Setting(trials=5, marginals=1000, bootstrap_marginals=300, share=HONEST_SHARE),
    "quick": Setting(trials=5, marginals=500, bootstrap_marginals=150, share=HONEST_SHARE),
    "tiny": Setting(trials=3, marginals=200, bootstrap_marginals=60, share=HONEST_SHARE),
}
AS_CODED: Mapping[Size, Setting] = {
    "full": Setting(trials=5, marginals=1000, bootstrap=300, share=HONEST_SHARE),
    "quick": Setting(trials=3, marginals=200, bootstrap=60, share=HONEST_SHARE),
    "tiny": Setting(trials=2, marginals=60, bootstrap=20, share=HONEST_SHARE),
}

_HONEST = (
    "In the honest accounting every method has half of all 2ⁿ coalitions, with a bootstrap of at "
    "most a quarter of them. The paper's budget would pay for all of them, and then every method "
    "is exact."
)
_WRITTEN = (
    "The bootstrap of 300 evaluations is read as 300 marginals shared by the players; NAME-code is "
    "the other reading."
)
_CODED = (
    "The bootstrap is 300 permutations, and a method of the name “n marginals for one” evaluates "
    "and keeps all marginals of every permutation it draws and counts one: the counting behind "
    "the published numbers. The paper's numbers stand beside both forms of GAE."
)
_BIASED = (
    "Owen, Sobol and stratified are the unbiased forms; those behind the published numbers are "
    "biased."
)


def both_readings(
    name: str,
    *,
    item: int,
    title: str,
    scenarios: tuple[Scenario, ...],
    normalise: Normalise,
    seconds: tuple[float, float],
    notes: tuple[str, ...] = (),
) -> tuple[Experiment, Experiment]:
    """An experiment on small games in both readings.

    Parameters
    ----------
    name, item, title, scenarios, notes
        As for `Experiment`.
    normalise
        What values are divided by before they are compared: "mean" in P2 and P3, "first" in P4.
    seconds
        About what the full size takes, as written and as coded.
    """
    written = Experiment(
        name=name,
        item=item,
        title=title,
        scenarios=scenarios,
        methods=ALL_METHODS,
        settings=AS_WRITTEN,
        measures=table_measures(normalise),
        seconds=seconds[0],
        notes=(_WRITTEN.replace("NAME", name), _HONEST, _BIASED, *notes),
    )
    coded = Experiment(
        name=f"{name}-code",
        item=item,
        title=f"{title}, counted as in the published numbers",
        scenarios=scenarios,
        methods=(*ALL_METHODS, *UNCOUNTED_METHODS),
        settings=AS_CODED,
        measures=table_measures(normalise),
        seconds=seconds[1],
        notes=(_CODED, _HONEST, _BIASED, *notes),
    )
    return written, coded
