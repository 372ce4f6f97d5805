"""Features as players: any prediction function, what it predicts and how well."""

from fairshapley.games.features.feature_game import FeatureGame, FeatureLossGame

__all__ = ["FeatureGame", "FeatureLossGame"]
