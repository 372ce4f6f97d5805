"""Methods that regress utilities on the players: KernelSHAP and LeverageSHAP."""
