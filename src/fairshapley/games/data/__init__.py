"""Data as players: the score of a model that is trained on the rows of a coalition."""

from fairshapley.games.data.data_game import DataGame

__all__ = ["DataGame"]
