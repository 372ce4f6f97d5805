"""`fairshapley paper`: the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path

import typer

from fairshapley._basics.files import make_folder
from fairshapley.cli.exits import Command, say
from fairshapley.cli.groups import argument, grouped, option
from fairshapley.cli.options import Engine, Seed
from fairshapley.cli.printing import emit, print_shown
from fairshapley.errors import InputError

paper_app = typer.Typer(
    no_args_is_help=True,
    help="The tables and figures of Probably Approximate Shapley Fairness (AAAI-23), run again.",
)


@paper_app.command("list", cls=Command)
def list_experiments() -> None:
    """List the experiments, with the table or figure each belongs to.

    Example: fairshapley paper list
    """
    from fairshapley_paper import EXPERIMENTS

    rows = [
        (name, item.title, ", ".join(item.shows), ", ".join(part.name for part in item.scenarios))
        for name, item in EXPERIMENTS.items()
    ]
    headings = ("name", "what it shows", "in the paper", "scenarios")
    print_shown((), headings, rows, texts=True)


@paper_app.command("run", cls=Command)
@grouped
def run_experiment(
    name: str = argument(..., "A name or label as `paper list` gives it."),
    trials: int | None = option(None, "By default the number in the paper.", "N", min=1),
    quick: bool = option(False, "Small settings: within two minutes.", name="--quick"),
    out: Path = option(Path("paper-results"), "The folder for tables and figures.", "DIR"),
    engine: Engine = None,
    seed: Seed = 0,
    only: list[str] | None = option(None, "Only this scenario; may be repeated.", "SCENARIO"),
    method: list[str] | None = option(
        None, "Only this method; module:estimator is one of yours, beside them.", "METHOD"
    ),
    game: list[str] | None = option(
        None, "A game of yours, module:game, in place of the paper's.", "GAME"
    ),
) -> None:
    """Run an experiment of the paper, and print its numbers beside the published ones.

    A run that was interrupted continues when it is started again with the same folder.

    Example: fairshapley paper run xi --quick --trials 1 --only diabetes-ridge

    Example: fairshapley paper run tab:nullity_pdp --quick --method mc --method mine:estimator
    """
    from fairshapley.evaluation.engines import parse_engine
    from fairshapley_paper import run

    parse_engine(engine).close()
    make_folder(out)
    done = run(
        name,
        trials=trials,
        quick=quick,
        out=out,
        engine=engine,
        seed=seed,
        only=only or (),
        methods=method or (),
        games=game or (),
    )
    emit(done.summary())
    for path in done.paths:
        say(f"written: {path}")


@paper_app.command("guarantee", cls=Command)
@grouped
def compute_guarantee(
    run: Path | None = argument(None, "A result saved as .json, or a journal.", "[RUN]"),
    players: int | None = option(None, "Without RUN: the number of players.", "N", min=1),
    fidelity: float | None = option(None, "Without RUN: the lowest fidelity, to find δ for.", "F"),
    invariability: list[float] | None = option(
        None,
        "Without RUN: the fidelity of one marginal contribution, to find the budget for. Once for "
        "each player: what greedy selection gains over equal parts.",
        "R",
    ),
    budget: int | None = option(
        None, "With one --invariability for each player: the marginal contributions.", "M", min=1
    ),
    epsilon1: float = option(0.5, "ε1, the tolerated share of a value.", "E"),
    delta: float = option(0.1, "δ, the probability that a statement may be wrong.", "D"),
    bound: str = option("chebyshev", "chebyshev, as in the paper, or normal."),
    dependent: bool = option(
        False, "Without RUN: a sample may serve several players.", name="--dependent"
    ),
) -> None:
    """Say what fidelity promises, what a promise takes, and what that costs.

    Proposition 1 and Corollary 1; with one --invariability for each player also Propositions 2 and
    3: greedy selection has the highest minimum fidelity.

    Example: fairshapley paper guarantee --players 100 --epsilon1 0.5 --invariability 0.2

    Example: fairshapley paper guarantee --players 2 --invariability 0.2 --invariability 0.4

    Example: fairshapley paper guarantee values.json --epsilon1 0.5
    """
    from fairshapley._basics import checks
    from fairshapley.cli.setup import load_result
    from fairshapley.fairness.guarantees import contributions_needed, guarantee, required_fidelity
    from fairshapley_paper import minimum_fidelity

    if (run is None) == (players is None):
        raise InputError("give a saved result, or --players: one of them")
    if run is not None:
        result = load_result(run)
        emit(str(result.guarantee(epsilon1, bound=bound)))
        apart = result.evidence.independent
        target = required_fidelity(result.n_players, epsilon1, delta, apart, bound)
        more = contributions_needed(result.fidelity(), result.counts, target)
        emit(
            f"δ = {delta:g} takes a fidelity of {target:.4g} of every player: "
            f"{more:,} marginal contributions (Corollary 1)"
        )
        return
    count = players or 0
    if fidelity is not None:
        scores = [fidelity] * count
        found = guarantee(scores, epsilon1, xi=0.0, independent=not dependent, bound=bound)
        emit(f"a fidelity of {fidelity:g} promises ε1 = {epsilon1:g} with δ = {found.delta:.4g}")
    needed = required_fidelity(count, epsilon1, delta, independent=not dependent, bound=bound)
    emit(f"ε1 = {epsilon1:g} with δ = {delta:g} takes a fidelity of {needed:.4f} of every player")
    rates = [checks.real("invariability", rate, above=0) for rate in invariability or ()]
    if len(rates) not in (0, 1, count):
        raise InputError(
            f"there are {len(rates)} times --invariability for {count} players: give one for all, "
            "or one for each"
        )
    if not rates:
        return
    # Of equal parts each player has m/n contributions, of greedy ones as many as it needs.
    equal, greedy = needed * count / min(rates), needed * sum(1 / rate for rate in rates)
    emit(f"that is {equal:,.0f} marginal contributions in equal parts (Corollary 1)")
    if len(rates) == 1:
        return
    emit(f"and {greedy:,.0f} by greedy selection (Proposition 2)")
    spent = budget or round(equal)
    lowest = [minimum_fidelity(rates, spent, greedy=choice) for choice in (False, True)]
    emit(
        f"with {spent:,} the lowest fidelity is {lowest[0]:.4g} in equal parts and {lowest[1]:.4g} "
        "by greedy selection; GAE, which also chooses sizes, has no less (Proposition 3)"
    )
