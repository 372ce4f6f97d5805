"""The two readings of P2–P4, and an experiment in each.

The text gives "the budget m = 1000 and the bootstrapping of 300 evaluations (a total of 1300
evaluations for each baseline)": 300 marginals shared by the players. The authors' program has
100, 200 or 500 *permutations*, and for GAE n marginals wherever one is counted. So every experiment
is there twice: as the text says, and NAME-code as the program does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from fairshapley.metrics.scaling import Normalise
from fairshapley_paper.experiment import Experiment, Played, Scenario, Setting, Size
from fairshapley_paper.measures import table_measures
from fairshapley_paper.methods import ALL_METHODS, GREEDY_METHODS, PROGRAM_METHODS

# Half of all coalitions: with all of them, as the paper's budget pays for, everybody is exact.
HONEST_SHARE = 0.5
TRIALS = 10
"""Twice the paper's, so that most of the error of a comparison is the published one"""

AS_WRITTEN: Mapping[Size, Setting] = {
    "full": Setting(trials=TRIALS, marginals=1000, bootstrap_marginals=300, share=HONEST_SHARE),
    "quick": Setting(trials=5, marginals=500, bootstrap_marginals=150, share=HONEST_SHARE),
    "tiny": Setting(trials=3, marginals=200, bootstrap_marginals=60, share=HONEST_SHARE),
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
    "A method of the name “n marginals for one” evaluates and keeps all marginals of every "
    "permutation it draws and counts one, and “one coalition for a marginal” pools m coalitions "
    "with the bootstrap: the counting of the authors' program. The paper's numbers stand beside "
    "every form of a method."
)
_BIASED = (
    "Owen, Sobol and stratified are the unbiased forms; those of the authors' program are biased."
)


def coded_settings(bootstrap: int, greedy: int | None = None) -> dict[Size, Setting]:
    """The budgets of the authors' program.

    Parameters
    ----------
    bootstrap
        Its permutations.
    greedy
        Those of GAE, where it has others.
    """

    def setting(trials: int, marginals: int, part: float) -> Setting:
        return Setting(
            trials=trials,
            marginals=marginals,
            bootstrap=round(part * bootstrap),
            greedy_bootstrap=None if greedy is None else round(part * greedy),
            share=HONEST_SHARE,
        )

    return {
        "full": setting(TRIALS, 1000, 1),
        "quick": setting(3, 200, 0.2),
        "tiny": setting(2, 60, 0.07),
    }


def both_readings(
    name: str,
    *,
    item: int,
    title: str,
    scenarios: tuple[Scenario, ...],
    normalise: Normalise,
    settings: Mapping[Size, Setting],
    programs: Mapping[str, Callable[..., Played]] | None = None,
    seconds: tuple[float, float],
    notes: tuple[str, ...] = (),
    program_notes: tuple[str, ...] = (),
) -> tuple[Experiment, Experiment]:
    """An experiment on small games in both readings.

    Parameters
    ----------
    name, item, title, scenarios, notes
        As for `Experiment`.
    normalise
        What values are divided by before they are compared as the text says: "mean" in P2 and P3,
        "first" in P4. The program divides by the mean.
    settings
        The budgets of the authors' program.
    programs
        The games of the program where they are not those of the text, by scenario.
    seconds
        About what the full size takes, as written and as coded.
    program_notes
        For the report of the second reading alone.
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
    built = programs or {}
    coded = replace(
        written,
        name=f"{name}-code",
        title=f"{title}, as the authors' program does it",
        scenarios=tuple(
            replace(one, build=built.get(one.name, one.build))
            for one in scenarios
            if not one.form_of
        ),
        methods=tuple(
            name for name in (*ALL_METHODS, *PROGRAM_METHODS) if name not in GREEDY_METHODS
        ),
        settings=settings,
        measures=table_measures("mean"),
        seconds=seconds[1],
        reading="program",
        reads=name,
        notes=(_CODED, _HONEST, _BIASED, *notes, *program_notes),
    )
    return written, coded
