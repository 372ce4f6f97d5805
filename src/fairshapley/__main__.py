"""``python -m fairshapley``."""

import sys
from pathlib import Path

# Python puts the current folder first, where a file of the data may be called like a module.
if not sys.flags.safe_path and sys.path[:1] in ([""], [str(Path.cwd())]):
    del sys.path[0]

from fairshapley.cli import app

app(prog_name="fairshapley")
