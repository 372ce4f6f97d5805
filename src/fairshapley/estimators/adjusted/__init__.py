"""The default method, regression-adjusted sampling.

Its files, in reading order:

1. `regression_adjusted`: the estimator, its idea and its parameters.
2. `modelled_units`: while units are few, `game_model` says what they mean: several of the Gaussian
   processes of `process`, weighted by what they foresee.
3. `schedule`: what a run does from round to round; `stored_units` keeps its units, as pairs or as
   single coalitions; `streaming` forgets them, on very large games.
4. `size_plan`: the weights of the sizes and how often each is drawn; `enumeration`: the sizes that
   are gone through as a whole.
5. `units`: the store of units; `sample`: those that proxies are fitted to and used on.
6. `adjustment`: cross-fitted proxies and the contributions.
7. `linear_proxy` on the functions of `size_bases`, and `kernel_proxy` for small games.
"""
