"""How long until the values are truly fair: ours, and pyDVL's permutations with scikit-learn."""
