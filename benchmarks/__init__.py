"""Benchmarks: overhead and scale, as ratios where a peer is at hand. Run with `make bench`."""
