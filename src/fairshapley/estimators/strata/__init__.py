"""Methods that sample by player and coalition size."""
