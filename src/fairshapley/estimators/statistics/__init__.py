"""Moments and averages of contributions, and their errors."""
