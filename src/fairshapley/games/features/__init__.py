"""Features as players: any prediction function, and what it predicts."""

from fairshapley.games.features.feature_game import FeatureGame

__all__ = ["FeatureGame"]
