"""The default method, regression-adjusted sampling.

Its files, in reading order:

1. `regression_adjusted`: the estimator, its idea and its parameters.
2. `schedule`: what a run does from round to round; `stored_units` keeps its units, as pairs or as
   single coalitions; `streaming` forgets them, on very large games.
3. `blend`: two readings of the same units as one estimate. `game_model` is the first, which needs
   few units: Gaussian processes of several kinds (`process`), weighted by what they foresee.
4. `size_plan`: the weights of the sizes and how often each is drawn; `enumeration`: the sizes that
   are gone through as a whole.
5. `units`: the store of units; `sample`: those that proxies are fitted to and used on.
6. `adjustment`: the second reading, cross-fitted proxies and the contributions.
7. `stacked_proxy` for pairs: processes again, stacked by what they foresee. `linear_proxy` on the
   functions of `size_bases` for single coalitions and very large games.
"""
