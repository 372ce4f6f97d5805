"""`fairshapley guarantee`: Proposition 1 and Corollary 1 of the paper as a calculator."""

from __future__ import annotations

from pathlib import Path

from fairshapley.cli.groups import argument, option
from fairshapley.cli.options import Delta, run_option
from fairshapley.cli.printing import emit
from fairshapley.errors import InputError


def compute_guarantee(
    run: Path | None = argument(None, "A result saved as .json, or a journal.", "[RUN]"),
    players: int | None = option(None, "Without RUN: the number of players.", "N", min=1),
    fidelity: float | None = option(None, "Without RUN: the lowest fidelity, to find δ for.", "F"),
    invariability: float | None = option(
        None,
        "Without RUN: the fidelity that one marginal contribution gives a player, to find "
        "the budget for.",
        "R",
    ),
    epsilon1: float = run_option(0.5, "ε1, the tolerated share of a value.", "E"),
    delta: Delta = 0.1,
    bound: str = option("chebyshev", "chebyshev, as in the paper, or normal."),
    dependent: bool = option(
        False, "Without RUN: a sample may serve several players.", name="--dependent"
    ),
) -> None:
    """Say what fidelity promises, what a promise takes, and what that costs (Proposition 1).

    Example: fairshapley guarantee --players 100 --epsilon1 0.5 --delta 0.1 --invariability 0.2

    Example: fairshapley guarantee values.json --epsilon1 0.5
    """
    from fairshapley.cli.saved import load_result
    from fairshapley.fairness.guarantees import guarantee, minimum_fidelity, required_fidelity

    if (run is None) == (players is None):
        raise InputError("give a saved result, or --players: one of them")
    if run is not None:
        result = load_result(run)
        emit(str(result.guarantee(epsilon1, bound=bound)))
        emit(f"at δ = {delta:g}, {result.predict(epsilon1, delta, bound=bound)}")
        return
    count = players or 0
    if fidelity is not None:
        scores = [fidelity] * count
        found = guarantee(scores, epsilon1, xi=0.0, independent=not dependent, bound=bound)
        emit(f"a fidelity of {fidelity:g} promises ε1 = {epsilon1:g} with δ = {found.delta:.4g}")
    needed = required_fidelity(count, epsilon1, delta, independent=not dependent, bound=bound)
    emit(f"ε1 = {epsilon1:g} with δ = {delta:g} takes a fidelity of {needed:.4f} of every player")
    if invariability is not None:
        samples = needed / minimum_fidelity([invariability] * count, 1.0)
        emit(f"that is {samples:,.0f} marginal contributions (Corollary 1)")
