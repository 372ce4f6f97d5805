"""Results: frozen, bit-exact on disk, and clear about what they are."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fairshapley as fs

CONFIGURATION = {"method": {"name": "mc", "walk": True}, "semivalue": "shapley", "xi": 1e-3}


def make(values, errors=None, **more):
    values = np.asarray(values, dtype=float)
    return fs.Result(
        values=values,
        standard_errors=np.ones_like(values) if errors is None else errors,
        counts=np.arange(len(values)),
        evaluations=7,
        marginals=None,
        stopped="the budget is spent",
        seed=2**127,
        configuration=CONFIGURATION,
        xi=1e-3,
        **more,
    )


@settings(max_examples=200)
@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(width=64)))
def test_saving_is_bit_exact(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("result") / "result.json"
    result = make(values, np.abs(values), notes=("a",), player_names=["<x>"] * len(values))
    result.save(path)
    loaded = fs.Result.load(path)
    for name in ("values", "standard_errors", "counts"):
        one, other = getattr(result, name), getattr(loaded, name)
        finite = ~np.isnan(one)
        assert one[finite].tobytes() == other[finite].tobytes()
        assert np.isnan(other[~finite]).all()
    assert loaded.to_dict() == result.to_dict()
    json.loads(path.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN, no Infinity


def test_a_run_survives_the_disk(tmp_path):
    result = fs.estimate(fs.games.SumOfUnanimity(11, seed=0), budget=300)
    result.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").to_dict() == result.to_dict()


def test_results_are_frozen():
    result = make([1.0])
    with pytest.raises(AttributeError):
        result.seed = 3
    with pytest.raises(ValueError, match="read-only"):
        result.values[0] = 2.0


def test_fidelity_by_hand():
    result = make([0.5, 0.0], np.array([0.1, 0.0]))
    np.testing.assert_allclose(result.fidelity(xi=0.1), [36.0, np.inf])
    np.testing.assert_allclose(result.min_fidelity, (0.501 / 0.1) ** 2)
    with pytest.raises(fs.InputError, match="xi"):
        result.fidelity(xi=-1)


def test_a_vacuous_tolerance_is_said():
    assert "vacuous" in str(make([1e-5]))
    assert "vacuous" not in str(make([1.0]))
    assert make([0.0]).relative_xi == math.inf


def test_frames_have_one_row_per_player():
    frame = make([0.5, 0.25], player_names=["a", "b"]).to_frame()
    assert frame.index.tolist() == ["a", "b"]
    assert frame.columns.tolist() == ["value", "standard_error", "count", "fidelity"]
    assert frame.loc["b", "value"] == 0.25


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(fs.MissingExtraError, match=r"fairshapley\[report\]"):
        make([1.0]).to_frame()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a saved result"),
        ("{", "not a saved result"),
        ("[1]", "no JSON object"),
        ("{}", "not a saved"),
        ('{"format": "fairshapley result", "version": 99}', "newer"),
        ('{"format": "fairshapley result", "version": 1}', "damaged, see cache_hits"),
        (json.dumps(make([1.0]).to_dict() | {"zz": 1}), "damaged, see zz"),
    ],
)
def test_other_files_are_refused(tmp_path, content, words):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(fs.InputError, match=words):
        fs.Result.load(tmp_path / "r.json")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(fs.InputError, match="cannot read"):
        fs.Result.load(tmp_path / "nothing.json")
    with pytest.raises(fs.InputError, match="cannot write"):
        make([1.0]).save(tmp_path / "no" / "r.json")
