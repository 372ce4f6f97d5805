"""The tests as on an older processor: numerical libraries keep to the oldest instructions.

`python tests/portable.py` runs pytest, with the arguments given, in such an environment. Sums are
then added up in another order and without fused multiplications, so that what hangs on rounding
comes out in another way. Variables that are set already stay: OPENBLAS_CORETYPE=Haswell and
NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" make a processor with AVX2 of one with AVX-512.
"""

import os
import platform
import subprocess
import sys

import numpy as np

# The oldest kernels of OpenBLAS for each kind of machine.
CORES = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}


def restricted() -> dict[str, str]:
    """The variables that do it; empty where numpy has nothing beyond its baseline to leave out."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    if not found:
        return {}
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(found),
        "OPENBLAS_CORETYPE": CORES.get(platform.machine(), ""),
        "ATEN_CPU_CAPABILITY": "default",  # torch
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",  # torch's matrix products
    }


def run_tests(*arguments: str) -> int:
    """Pytest's exit code, from a process of its own."""
    environment = {**restricted(), **os.environ}
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment).returncode


if __name__ == "__main__":
    if not restricted():
        sys.exit("this processor has no instructions that numpy could do without")
    sys.exit(run_tests(*sys.argv[1:]))
