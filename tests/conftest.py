"""Examples of hypothesis are the same in every run: a failure is a change of the code."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
