"""The training of the paper's federations; `training` and `networks` need torch."""
