"""The start: little is loaded before it is needed, and Ctrl-C leaves no traceback."""

import subprocess
import sys
from importlib.util import find_spec
from types import ModuleType

import pytest

import fairshapley as fs

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "plotly", "jinja2")
HEAVY += ("torch", "ray", "distributed", "fairshapley_paper")
LISTING = f"""
import atexit, sys
atexit.register(lambda: print("loaded", *({set(HEAVY)!r} & set(sys.modules)), file=sys.stderr))
from fairshapley.cli import app
app("fairshapley")
"""
# Sends Ctrl-C to itself when a module is first looked for.
INTERRUPTED = """
import os, signal, sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
from fairshapley.cli import app
app("fairshapley")
"""


def python(code, *arguments, **options):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, **options
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["value", "--help"], 0),
        (["value", "rows.csv", "--tagret", "y"], 2),
        (["--version"], 0),
    ],
)
def test_help_and_misspelt_options_load_no_library(arguments, code):
    done = python(LISTING, *arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1] == "loaded"


def test_no_module_of_the_package_has_the_name_of_something_public():
    # Importing such a module would put it in the place of what is public.
    for name in fs.__all__:
        named_so = find_spec(f"fairshapley.{name}") is not None
        assert named_so == isinstance(getattr(fs, name), ModuleType), name
    assert set(fs.__all__) <= set(dir(fs))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        fs.nothing  # noqa: B018


@pytest.mark.parametrize("module", ["typer", "numpy", "fairshapley.runs.calls"])
def test_ctrl_c_while_modules_are_loaded_leaves_no_traceback(tmp_path, module):
    done = python(INTERRUPTED.replace("MODULE", repr(module)), "demo", cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
