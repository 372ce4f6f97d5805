"""The error that the choice of the test rows adds to values and payouts."""
