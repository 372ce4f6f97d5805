"""Benchmarks: what the driver costs beside the utility, and how it scales.

``make bench`` prints them; ``python -m benchmarks --write`` also renews ``benchmarks/RESULTS.md``.
Times are medians, and stand beside a peer's in the same run or beside a limit: machines differ.
"""
