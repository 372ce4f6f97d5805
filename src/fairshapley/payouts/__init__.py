"""Payouts: a sum of money divided by values, to the cent, with a tolerance band."""

from fairshapley.payouts.division import payout
from fairshapley.payouts.money import Money
from fairshapley.payouts.payout import Negative, Payout

__all__ = ["Money", "Negative", "Payout", "payout"]
