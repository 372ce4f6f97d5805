"""`fairshapley volume`, `information` and `federated`: providers and agents with their own data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from fairshapley.cli.commands.value import prepare, value_game
from fairshapley.cli.groups import argument
from fairshapley.cli.options import OutputOptions, ProviderOptions, RunOptions, data_option

if TYPE_CHECKING:
    from fairshapley.games.game import Game
    from fairshapley.tabular.providers import Providers


def value_volume(
    data: ProviderOptions,
    run: RunOptions,
    output: OutputOptions,
    omega: float = data_option(
        0.1,
        "ω, the edge of the cubes in which copies of rows fall together, in standard "
        "deviations; 0 for the plain volume.",
        "W",
    ),
    target: str | None = data_option(None, "A target, which is no feature.", "COL"),
) -> None:
    """Value the data of providers by the volume that their rows span (P2 of the paper).

    Neither a model nor test rows are needed.

    Example: fairshapley volume train.csv --group-by supplier --target label --out values.csv
    """
    from fairshapley.games.volume import VolumeGame

    def make(found: Providers) -> Game:
        return VolumeGame(found.features, omega or None)

    note = f"utility: the robust volume of the rows, ω = {omega:g}"
    left_out = () if target is None else (target,)
    _value(make, note, data, run, output, drop=left_out, independent=True)


def value_information(
    *,
    data: ProviderOptions,
    target: str = data_option(..., "The numbers to be predicted.", "COL"),
    run: RunOptions,
    output: OutputOptions,
) -> None:
    """Value the data of agents by their information gain for a Gaussian process (P3 of the paper).

    The kernel is learnt once, from the rows of all agents.

    Example: fairshapley information train.csv --group-by supplier --target income
    """
    from fairshapley.games.information import InformationGame

    def make(found: Providers) -> Game:
        return InformationGame(found.features, found.targets)

    note = "utility: the information gain of a Gaussian process"
    _value(make, note, data, run, output, target=target)


def value_federated(
    *,
    folder: Path = argument(
        ...,
        "The updates of a federated run: ROUND/AGENT.npz for each, by numpy.savez. Beside "
        "the rounds server.npz, the weights before the first, and perhaps examples.json.",
        "FOLDER",
    ),
    run: RunOptions,
    output: OutputOptions,
    utility: str = data_option(
        ...,
        "A function of a dict of weights that returns a number, such as a test accuracy; "
        "its code is run.",
        "PACKAGE:FUNCTION",
    ),
    given: str = data_option("weights", "What the files hold: weights after training, or deltas."),
) -> None:
    """Value the agents of a federated run from the updates that they sent (P3 of the paper).

    Example: fairshapley federated updates --utility scoring:accuracy --out values.csv
    """
    from fairshapley.games.federated import FederatedGame
    from fairshapley.games.federated.folder import read_updates
    from fairshapley.tabular.models import imported_object

    prepare(run, output, ())
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


def _value(
    make: Callable[[Providers], Game],
    note: str,
    data: ProviderOptions,
    run: RunOptions,
    output: OutputOptions,
    *,
    target: str | None = None,
    drop: tuple[str, ...] = (),
    independent: bool = False,
) -> None:
    """Read the table, make the game of its providers, and value it."""
    from fairshapley.cli.setup import input_files, table_reader
    from fairshapley.tabular.providers import read_providers

    prepare(run, output, (data.table,))
    table = table_reader(data, [data.group_by])(data.table, max_rows=data.max_rows)
    left_out = (*drop, *(data.drop or ()))
    found = read_providers(table, data.group_by, target, left_out, independent=independent)
    inputs, notes = input_files(data.table), (*found.notes, note)
    value_game(make(found), run, output, notes=notes, inputs=inputs, title=data.table.name)
