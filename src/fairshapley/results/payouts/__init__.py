"""Payouts: a sum of money divided by values, to the cent, with a tolerance band."""

from fairshapley.results.payouts.amounts import Money
from fairshapley.results.payouts.division import payout
from fairshapley.results.payouts.table import Negative, Payout

__all__ = ["Money", "Negative", "Payout", "payout"]
