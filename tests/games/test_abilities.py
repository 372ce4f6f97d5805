"""What a game may say of itself: the page, and what is wrong."""

from pathlib import Path

import numpy as np
import pytest

from fairshapley.errors import InputError
from fairshapley.games import abilities
from fairshapley.games.abilities import Abilities


class Plain:
    n_players = 2

    def __call__(self, coalitions):
        return np.zeros(len(coalitions))


def test_the_page_has_every_ability():
    page = (Path(__file__).parents[2] / "docs" / "own_game.md").read_text(encoding="utf-8")
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    missing = [
        name
        for name in Abilities.__annotations__
        if not any(f"`{name}`" in cell or f"`{name}(" in cell for cell in table)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("name", "value", "ask"),
    [
        ("player_names", ["a"], abilities.player_names),
        ("value_range", (1, 0), abilities.value_range),
        ("identical_players", [(0, 2)], abilities.identical_players),
    ],
)
def test_a_wrong_statement_is_an_error(name, value, ask):
    game = Plain()
    setattr(game, name, value)
    with pytest.raises(InputError):
        ask(game)


def test_a_subclass_that_computes_other_utilities_has_not_its_parents_forms():
    class Parent(Plain):
        n_replicates = 5

        def __call__(self, coalitions):
            return np.zeros(len(coalitions))

        def with_replicates(self, coalitions):
            return np.zeros((len(coalitions), 6))

        def on_device(self):
            return "a form"

    class Other(Parent):
        def __call__(self, coalitions):
            return np.ones(len(coalitions))

    assert abilities.has_replicates(Parent())
    assert abilities.device_form(Parent()) == "a form"
    assert not abilities.has_replicates(Other())
    assert abilities.device_form(Other()) is None


@pytest.mark.parametrize("thing", [len, 3, None])
def test_what_is_no_game_is_named(thing):
    with pytest.raises(InputError, match="a game is a callable with n_players"):
        abilities.number_of_players(thing)
