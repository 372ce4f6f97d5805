"""Agents as players: the information that their data hold for a Gaussian process."""

from fairshapley.games.information.game import InformationGame

__all__ = ["InformationGame"]
