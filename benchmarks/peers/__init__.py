"""The peers' own code, each in an environment of its own."""
