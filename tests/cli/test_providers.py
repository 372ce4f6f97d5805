"""`value --utility`, `federated` and `paper guarantee`: the scenarios on files of one's own."""

import json
import subprocess
import sys

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.games.federated.rounds import read_updates
from fairshapley.tables.providers import read_providers
from tests.cli.files import passed, printed, refused, run

DATA = ("rows.csv", "--group-by", "who")
VOLUME = ("value", "rows.csv", "--utility", "volume", "--group-by", "who")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """rows.csv with three providers, a text, and a target; the rows themselves."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, owners = rng.normal(size=(30, 2)), np.array(list("abc") * 10)
    y = x.sum(axis=1) + 0.1 * rng.normal(size=30)
    lines = [f"{who},{a},{b},{c},t" for who, (a, b), c in zip(owners, x, y, strict=True)]
    (tmp_path / "rows.csv").write_text("who,x1,x2,y,note\n" + "\n".join(lines) + "\n")
    return (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std(), owners


def values(*arguments):
    return [one["value"] for one in printed(*arguments)["values"]]


def test_volume_is_that_of_the_library(rows):
    x, _, owners = rows
    game = fs.games.VolumeGame({who: x[owners == who] for who in "abc"}, 0.1)
    found = values(*VOLUME, "--target", "y", "--quiet")
    np.testing.assert_allclose(found, fs.exact(game).values, rtol=1e-9)


def test_information_is_that_of_the_library(rows):
    x, y, owners = rows
    parts = [{who: part[owners == who] for who in "abc"} for part in (x, y)]
    found = values("value", *DATA, "--utility", "information", "--target", "y", "--quiet")
    known = fs.exact(fs.games.InformationGame(*parts)).values
    np.testing.assert_allclose(found, known, rtol=1e-6)


def test_the_options_of_the_paper_are_reachable(rows):
    """α, m', per player, honest, Remark 1, single marginals, marginal budgets, pairs."""
    forms = {
        "gae": ["alpha=2", "bootstrap=3", "proposal=per-player", "epsilon1=0.5", "batch=1"],
        "mc": ["walk=no"],
        "owen": ["antithetic=yes"],
        "kernel": ["paired=no"],
    }
    for method, options in forms.items():
        given = [part for one in options for part in ("--option", one)]
        limit = ("--budget", "7") if method == "kernel" else ("--option", "marginals=12")
        found = printed(*VOLUME, "--method", method, *given, *limit)
        assert found["method"] == method
        assert found["evaluations"] <= 8
    passed(*VOLUME, "--method", "gae", "--option", "honest=yes", "--option", "marginals=60")
    assert run(*VOLUME, "--option", "marginals=0").exit_code == 2


def test_what_is_wrong_with_a_table_is_said(rows):
    texts = run("value", *DATA, "--utility", "information", "--target", "note")
    refused(texts, "holds texts such as")
    refused(run(*VOLUME, "--out", "rows.csv"))
    refused(run(*VOLUME, "--model", "ridge"), "leave --model out")
    refused(run("value", "rows.csv", "--utility", "volume"), "--group-by")


def test_providers_need_names_and_numbers():
    import pyarrow as pa

    with pytest.raises(fs.InputError, match="row 2"):
        read_providers(pa.table({"who": ["a", None], "x": [1.0, 2.0]}), "who")
    same = pa.table({"who": ["a", "b"], "x": [1.0, 2.0], "y": [1.0, 1.0]})
    with pytest.raises(fs.InputError, match="column of different numbers"):
        read_providers(same, "who", "y")


@pytest.fixture
def updates(folder):
    """updates/ with two rounds of two agents, and functions that score weights."""
    (folder / "updates" / "round-2").mkdir()
    np.savez(folder / "updates" / "round-2" / "bob.npz", w=np.array([8.0]))
    (folder / "scoring_of_updates.py").write_text(
        "def first(weights):\n    return float(weights['w'][0])\n"
        "def broken(weights):\n    raise ValueError('no test rows')\n"
        "def empty(weights):\n    return float('nan')\n"
    )
    return folder / "updates"


GUARANTEE = ("paper", "guarantee")
FEDERATED = ("federated", "updates", "--given", "weights", "--utility", "scoring_of_updates:first")


def test_federated_is_that_of_the_library(updates):
    found = printed(*FEDERATED, "--quiet")["values"]  # the example of FederatedGame
    assert [one["player"] for one in found] == ["ann", "bob"]
    assert [one["value"] for one in found] == pytest.approx([0.0, 8.0])
    (updates / "examples.json").write_text('{"ann": 100, "bob": 300}')
    assert values(*FEDERATED, "--quiet") != pytest.approx([0.0, 8.0])


@pytest.mark.parametrize("options", [(), ("--xi", "1")], ids=["xi measured", "xi given"])
@pytest.mark.parametrize(
    ("utility", "reason"),
    [("broken", "ValueError: no test rows"), ("empty", "it returned nan")],
)
def test_a_utility_that_fails_is_named_with_its_coalition(updates, utility, reason, options):
    done = run(*FEDERATED, "--utility", f"scoring_of_updates:{utility}", *options)
    refused(done, f"the utility of coalition (0, 1) failed: {reason}")
    assert "on-error" not in done.stderr  # v(N) cannot be skipped


def test_what_is_wrong_with_updates_is_said(updates):
    assert "cannot import the utility" in run(*FEDERATED, "--utility", "a:b").stderr
    (updates / "examples.json").write_text("[1]")
    assert "an object such as" in run(*FEDERATED).stderr
    (updates / "round-2" / "bob.npz").write_bytes(b"PK nothing")
    assert "numpy.savez" in run(*FEDERATED).stderr
    (updates / "round-2" / "bob.npz").unlink()
    assert "has no updates" in run(*FEDERATED).stderr


def test_weights_that_are_given_as_deltas_are_named(updates):
    weights = np.arange(1.0, 40.0)
    np.savez(updates / "server.npz", w=weights)
    for file in updates.glob("*/*.npz"):
        np.savez(file, w=1.1 * weights)
    command = [sys.executable, "-m", "fairshapley", *FEDERATED, "--given", "deltas"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("warning: the updates of the first round look like weights, not")
    assert ".py" not in done.stderr, "users of the shell know no lines of code"


def test_updates_are_not_unpacked_beyond_a_limit(updates):
    packed = updates / "round-2" / "bob.npz"
    np.savez_compressed(packed, w=np.zeros(2**18))
    assert packed.stat().st_size < 10_000
    with pytest.raises(fs.InputError, match="unpacks to 2 MiB, more than the 1 MiB"):
        read_updates(updates, max_bytes=2**20)


def test_guarantee_is_a_calculator(rows):
    done = passed(*GUARANTEE, "--players", 100, "--fidelity", 8000, "--invariability", 0.2)
    assert "δ = 0.04878" in done.stdout
    assert "1,899,244 marginal contributions" in done.stdout
    # 100/0.2 + 100/0.4 of equal parts 2·100/0.2: a quarter less.
    both = run(*GUARANTEE, "--players", "2", "--invariability", "0.2", "--invariability", "0.4")
    assert "779 marginal contributions in equal parts" in both.stdout
    assert "585 by greedy selection (Proposition 2)" in both.stdout
    normal = run(*GUARANTEE, "--players", "100", "--bound", "normal", "--dependent")
    needed = fs.fairness.required_fidelity(100, 0.5, 0.1, independent=False, bound="normal")
    assert f"{needed:.4f}" in normal.stdout
    run(*VOLUME, "--out", "values.json", "--quiet")
    saved = run(*GUARANTEE, "values.json")
    assert "(0.5, " in saved.stdout
    assert "-0)" not in saved.stdout
    assert "one of them" in run(*GUARANTEE, "values.json", "--players", "3").stderr


def test_features_that_follow_from_others_do_not_make_all_volumes_zero(tmp_path, monkeypatch):
    """The categories of each of two texts add up to 1, so that one of them is known already."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    lines = [
        f"{'abc'[at % 3]},{draw.normal():.6f},{'uvw'[draw.integers(3)]},{'xy'[draw.integers(2)]}"
        for at in range(60)
    ]
    (tmp_path / "rows.csv").write_text("who,z,one,two\n" + "\n".join(lines) + "\n")
    done = passed(*VOLUME, "--json", "--verbose")
    assert min(one["value"] for one in json.loads(done.stdout)["values"]) > 1
    assert "left out, since they follow from the others: \"two = 'y'\"" in done.stderr
