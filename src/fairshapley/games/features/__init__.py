"""Features as players: any prediction function, marginal or conditional expectations."""

from fairshapley.games.features.feature_game import FeatureGame

__all__ = ["FeatureGame"]
