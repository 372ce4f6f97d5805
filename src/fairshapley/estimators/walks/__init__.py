"""Methods that average marginal contributions along permutations."""
