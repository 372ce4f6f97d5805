"""What a release promises: names, metadata, the size of the wheel, the first minutes from it."""

import os
import subprocess
import sys
import tomllib
import venv
import zlib
from operator import attrgetter
from pathlib import Path

import pytest
import yaml

import fairshapley as fs

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_BYTES = 1_000_000
# The public names of the last release.
RELEASED = """
Attributions Audit Banzhaf BetaShapley Budget BudgetError Certificate Comparison ContractError
Curve DaskEngine Decisions EngineError Estimator Evaluations Exact Fair FairShapleyError Fidelity
FingerprintError GameError GreedyActive Guarantee InputError Journal JournalError LeverageSHAP
Marginals MissingExtraError MonteCarlo Orthogonal Owen Payout ProcessEngine RayEngine
RegressionAdjusted Result Seconds SerialEngine Shapley Sobol Stratified StratifiedSVARM
TruncatedMonteCarlo UnbiasedKernelSHAP Verification audit compare curve datasets estimate
estimate_with_proxy estimators exact explain fairness fidelity games knn_shapley leave_one_out
metrics required_fidelity resume shap_explanation verify
"""


@pytest.mark.parametrize("name", RELEASED.split())
def test_released_names_are_there_or_answer_with_another(name):
    if not hasattr(fs, name):
        with pytest.raises(AttributeError, match=": use fs") as raised:
            getattr(fs, name)
        _, _, place = str(raised.value).partition(": use fs.")
        attrgetter(place.partition(",")[0])(fs)


def test_classifiers_name_the_versions_that_are_tested():
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    versions = tested["jobs"]["wheel"]["strategy"]["matrix"]["python"]
    start = "Programming Language :: Python :: 3."
    named = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if one.startswith(start)]
    assert named == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_workflows_run_what_the_makefile_has_and_keep_no_secret():
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        text = file.read_text(encoding="utf-8")
        assert "secrets." not in text
        for job in yaml.safe_load(text)["jobs"].values():
            for step in job["steps"]:
                program, _, rule = step.get("run", "").partition(" ")
                assert program != "make" or f"\n{rule}:" in rules, (file.name, step)


def test_the_wheel_has_at_most_a_megabyte():
    """Sources are compressed one by one in a wheel; each needs some 200 bytes of directory too."""
    files = [
        file
        for name in ("fairshapley", "fairshapley_paper")
        for file in (ROOT / "src" / name).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    assert sum(len(zlib.compress(file.read_bytes())) + 200 for file in files) < MOST_BYTES


# What the README shows as its first steps, without a clone.
FIRST_PAYOUT = """
import fairshapley as fs
worth = {"Ann": 1.0, "Bob": 2.0, "Cyd": 4.0}
result = fs.estimate(lambda team: sum(worth[name] for name in team), players=list(worth))
print(result.payout(100))
"""


@pytest.mark.full
def test_the_wheel_alone_makes_the_first_payout(tmp_path):
    """In an environment that has the wheel and what it requires, and nothing of the clone."""
    wheels = tmp_path / "dist"
    if not packages_can_be_fetched(wheels):
        pytest.skip("no package index can be reached")
    (wheel,) = wheels.glob("*.whl")
    assert wheel.stat().st_size <= MOST_BYTES
    venv.create(tmp_path / "new", with_pip=True)
    scripts = tmp_path / "new" / ("Scripts" if os.name == "nt" else "bin")
    pins = ["--constraint", ROOT / "constraints.txt"]
    pip = [scripts / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *pins, f"{wheel}[tables]"], check=True, cwd=tmp_path)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}

    def printed(*command):
        return subprocess.run(
            command,
            check=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        ).stdout

    assert "57.14  Cyd" in printed(scripts / "python", "-c", FIRST_PAYOUT)
    rows = [f"{i % 3},{i % 5},{int(i % 3 > 0)},{'abc'[i % 3]}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,z,label,who", *rows]) + "\n", encoding="utf-8")
    asked = ["value", "rows.csv", "--target", "label", "--group-by", "who", "--out", "v.json"]
    assert "a" in printed(scripts / "fairshapley", *asked)
    assert "100.00" in printed(scripts / "fairshapley", "payout", "v.json", "--pool", "100")


def packages_can_be_fetched(wheels):
    """Build the wheel into a folder; False where that needs packages and there is no index."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
    command = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode and "No matching distribution" in done.stderr:
        return False
    assert done.returncode == 0, done.stderr
    return True
