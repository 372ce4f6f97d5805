"""The referee: every method at every budget on every kind of game, judged by fixed rules."""
