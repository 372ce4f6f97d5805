"""shapiq's approximators, run in shapiq's own environment (``python shapiq_worker.py``).

Not every version has every method; one that is missing is left out, and says so.
"""

import logging
import warnings

import shapiq
from shapiq import approximator
from wire import fitting_budget, serve, timed

METHODS = {
    "KernelSHAP paired": lambda n, seed: shapiq.KernelSHAP(
        n, pairing_trick=True, random_state=seed
    ),
    "UnbiasedKernelSHAP paired": lambda n, seed: shapiq.UnbiasedKernelSHAP(
        n, pairing_trick=True, random_state=seed
    ),
    "LeverageSHAP": lambda n, seed: approximator.LeverageSHAP(n, random_state=seed),
    "RegressionMSR": lambda n, seed: approximator.RegressionMSR(n, "SV", random_state=seed),
    "RegressionMSR linear": lambda n, seed: approximator.RegressionMSR(
        n, "SV", proxy_model="linear", random_state=seed
    ),
    "RegressionMSR 10 folds": lambda n, seed: approximator.RegressionMSR(
        n, "SV", k_folds=10, random_state=seed
    ),
    "OddSHAP": lambda n, seed: approximator.OddSHAP(n, random_state=seed),
    "ProxySHAP": lambda n, seed: approximator.ProxySHAP(
        n, max_order=1, index="SV", random_state=seed
    ),
    "PolySHAP order 2": lambda n, seed: approximator.PolySHAP(
        n, max_order=2, pairing_trick=True, random_state=seed
    ),
    "PolySHAP order 3": lambda n, seed: approximator.PolySHAP(
        n, max_order=3, pairing_trick=True, random_state=seed
    ),
    "ShaplEIG": lambda n, seed: approximator.ShaplEIG(n, random_state=seed, show_progress=False),
    "SVARM": lambda n, seed: shapiq.SVARM(n, random_state=seed),
    "Permutation": lambda n, seed: shapiq.PermutationSamplingSV(n, random_state=seed),
    "Stratified": lambda n, seed: shapiq.StratifiedSamplingSV(n, random_state=seed),
    "Owen": lambda n, seed: shapiq.OwenSamplingSV(n, random_state=seed),
    "kADDSHAP": lambda n, seed: shapiq.kADDSHAP(n, 2, pairing_trick=True, random_state=seed),
    "ProxySPEX": lambda n, seed: shapiq.ProxySPEX(n=n, index="SV", max_order=1, random_state=seed),
}
# All others draw distinct coalitions and ask for all of them in one batch: nothing to rehearse.
ASK_AGAIN = {"Permutation", "Stratified", "Owen"}
logging.disable(logging.WARNING)


def solve(oracle, method, budget, seed):
    """The values with a nominal budget that comes to `budget` distinct evaluations."""

    def approximate(nominal):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = METHODS[method](oracle.n_players, seed).approximate(nominal, oracle)
            return found.get_n_order_values(1)

    if method not in ASK_AGAIN:
        return timed(oracle, lambda: approximate(budget))
    nominal = fitting_budget(oracle, approximate, budget, (method, oracle.n_players, budget))
    return timed(oracle, lambda: approximate(nominal))


if __name__ == "__main__":
    serve(solve)
