import subprocess
import sys

from typer.testing import CliRunner

from fairshapley.cli import app


def test_the_demo_prints_values_errors_and_fidelity():
    run = CliRunner().invoke(app, ["demo", "--players", "6", "--budget", "64"])
    assert run.exit_code == 0, run.output
    for words in ("standard error", "fidelity", "benign", "the values are exact"):
        assert words in run.output


def test_errors_are_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "j.db").write_text("not a database, but long enough to look at" * 100)
    arguments = ["demo", "--players", "6", "--journal", str(tmp_path / "j.db")]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 2
    assert "error:" in run.output
    assert "Traceback" not in run.output


def test_the_installed_command_runs():
    command = [sys.executable, "-m", "fairshapley", "demo", "--players", "3", "--budget", "8"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "row" in run.stdout
    assert run.stderr == ""
