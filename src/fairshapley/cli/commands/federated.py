"""`fairshapley federated`: agents of a federated run, from their updates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

from fairshapley.cli.groups import argument
from fairshapley.cli.options import OutputOptions, RunOptions, data_option


def value_federated(
    *,
    folder: Path = argument(
        ...,
        "The updates: ROUND/AGENT.npz, by numpy.savez. Beside the rounds server.npz, the weights "
        "before the first, and perhaps examples.json.",
        "FOLDER",
    ),
    run: RunOptions,
    output: OutputOptions,
    utility: str = data_option(
        ..., "A function of a dict of weights, its code is run: a number.", "PACKAGE:FUNCTION"
    ),
    given: str = data_option(
        ..., "What the files hold: weights after training, or deltas, their changes."
    ),
) -> None:
    """Value the agents of a federated run from the updates that they sent (P3 of the paper).

    Example: fairshapley federated updates --utility scoring:accuracy --given weights
    """
    from fairshapley.cli.running import value_game
    from fairshapley.cli.setup import check_outputs
    from fairshapley.games.federated import FederatedGame
    from fairshapley.games.federated.rounds import read_updates
    from fairshapley.tables.models import imported_object

    check_outputs(output, (), run.journal)
    rounds, server, examples = read_updates(folder)
    game = FederatedGame.from_updates(
        rounds,
        imported_object(utility, "utility"),
        given=cast("Literal['weights', 'deltas']", given),
        server=server,
        examples=examples,
    )
    weighed = "as many examples each" if examples is None else "weighed by their examples"
    notes = (f"{game.n_players:,} agents, {len(rounds):,} rounds, {weighed}",)
    value_game(game, run, output, notes=notes, inputs=(), title=folder.name)
