"""Sampling methods: each is a law of drawing coalitions, and contributions with their weights.

`family` has what they share. `monte_carlo`, `owen` and `kernel` average independent contributions;
`sobol` and `orthogonal` average groups of walks that are `spread` evenly; `stratified` adds up
means by player and coalition size.
"""
