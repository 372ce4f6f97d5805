"""Examples of hypothesis are the same in every run: a failure is a change of the code."""

import os

# Before anything imports Triton: GPU kernels run in its interpreter, on any machine.
os.environ["TRITON_INTERPRET"] = "1"


from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
