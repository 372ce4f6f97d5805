"""Random utilities against exact tables."""
