"""Examples of hypothesis are the same in every run: a failure is a change of the code."""

import os
import signal

from hypothesis import settings

# Before anything imports Triton: GPU kernels run in its interpreter, on any machine.
os.environ["TRITON_INTERPRET"] = "1"

# Workers beside each other have a core each: more threads would only wait for one another. A test
# of threads asks for them.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests that care about the terminal say which one they mean.
for name in ("COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)

# What a shell starts in the background ignores Ctrl-C, and so would the runs that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
