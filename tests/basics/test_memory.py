import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
from fairshapley._basics.memory import limit_memory, used_bytes

limit_memory(used_bytes() + 2**27)
kept = np.ones(2**20)  # 8 MiB
try:
    np.ones(2**26)  # 512 MiB
except MemoryError:
    print("refused")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="limits are those of Linux")
def test_what_is_beyond_the_limit_is_refused():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
