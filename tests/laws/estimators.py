"""The configurations that are put to the laws and to the test of their certificates."""

import fairshapley as fs

ESTIMATORS = [
    fs.MonteCarlo(),
    fs.MonteCarlo(antithetic=True),
    fs.MonteCarlo(walk=False),
    fs.Stratified(),
    fs.Owen(),
    fs.Owen(antithetic=True),
    fs.Sobol(),
    fs.Orthogonal(),
    fs.UnbiasedKernelSHAP(),
    fs.GreedyActive(),
    fs.GreedyActive(honest=True, bootstrap=4),
    fs.GreedyActive(selection="uniform", bootstrap=4),
    fs.RegressionAdjusted(proxy="linear"),
]
# Further settings of the same methods, for `make test-full`.
MORE = [
    fs.RegressionAdjusted(),
    fs.RegressionAdjusted(proxy="none"),
    fs.UnbiasedKernelSHAP(paired=False),
    fs.Sobol(points=2),
    fs.Orthogonal(vectors=1),
    fs.GreedyActive(bootstrap=4, epsilon1=0.3),
    fs.GreedyActive(honest=True),
    fs.GreedyActive(honest=True, bootstrap=2, alpha=0.5),
    fs.GreedyActive(honest=True, bootstrap=4, proposal="per-player", alpha=1.0),
]
