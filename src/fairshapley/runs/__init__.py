"""A run: the public calls, its plan, the one loop, its history, and when it stops."""
