"""``python -m fairshapley``."""

from fairshapley.cli import app

app(prog_name="fairshapley")
