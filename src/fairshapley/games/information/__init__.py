"""Agents as players: the information that their data hold for a Gaussian process."""

from fairshapley.games.information.information_game import InformationGame

__all__ = ["InformationGame"]
