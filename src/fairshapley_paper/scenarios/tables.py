"""Games so small that all utilities are computed once, and all trials look them up."""

from __future__ import annotations

from fairshapley.draws import AllCoalitions
from fairshapley.games import abilities
from fairshapley.games.game import Game, TableGame
from fairshapley_paper.experiment import ScenarioGame


def tabulated(game: Game, *, notes: tuple[str, ...] = ()) -> ScenarioGame:
    """Return the same game as a table; its true values follow by enumeration."""
    values = game(AllCoalitions(game.n_players).masks(0, 1 << game.n_players))
    return ScenarioGame(TableGame(values, player_names=abilities.player_names(game)), notes=notes)
