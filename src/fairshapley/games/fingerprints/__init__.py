"""What identifies the content of a game."""
