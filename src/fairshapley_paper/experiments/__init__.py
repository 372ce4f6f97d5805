"""The paper's experiments, one file for each kind of scenario."""
