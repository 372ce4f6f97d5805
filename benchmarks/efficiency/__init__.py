"""Efficiency at equal distinct evaluations: our methods and the peers' own code."""
