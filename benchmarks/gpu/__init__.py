"""What a GPU makes of the vectorised learners and the federated game."""
