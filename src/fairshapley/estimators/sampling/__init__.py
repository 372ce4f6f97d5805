"""Sampling methods: each is a law of drawing coalitions, and contributions with their weights.

`family` has what they share. `monte_carlo`, `owen` and `kernel` average independent contributions;
`spread` averages groups of walks that are spread evenly, by Sobol points or orthogonal directions;
`stratified` adds up means by player and coalition size.
"""
