"""Results: frozen, bit-exact on disk, and clear about what they are."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.results.making import made

import fairshapley as fs
from fairshapley.results.serialising import result_digest, stored_fields


def make(values, errors=1.0, **more):
    return made(values, errors, **({"seed": 2**127, "stopped": "the budget is spent"} | more))


@settings(max_examples=200)
@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(allow_infinity=False)))
def test_saving_is_bit_exact(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("result") / "result.json"
    result = make(values, np.abs(values), complete=False, player_names=["<x>"] * len(values))
    result.save(path)
    loaded = fs.Result.load(path)
    for name in ("values", "standard_errors", "counts"):
        one, other = getattr(result, name), getattr(loaded, name)
        finite = ~np.isnan(one)
        assert one[finite].tobytes() == other[finite].tobytes()
        assert np.isnan(other[~finite]).all()
    assert loaded.to_dict() == result.to_dict()
    json.loads(path.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN, no Infinity


def test_results_are_frozen():
    result = make([1.0])
    with pytest.raises(AttributeError):
        result.seed = 3
    with pytest.raises(ValueError, match="read-only"):
        result.values[0] = 2.0


def test_a_result_owns_its_configuration():
    data = make([1.0]).to_dict()
    result = fs.Result.from_dict(data)
    data["configuration"]["method"]["name"] = "other"
    assert result.method == "mc"


def test_only_data_from_elsewhere_are_checked():
    """What a run makes is not: reading 100,000 players one by one takes most of a second."""
    strange = make([1.0], level_share=2.0, player_names=("a", "b"))
    with pytest.raises(fs.InputError, match="damaged"):
        fs.Result.from_dict(strange.to_dict())


def test_frames_have_one_row_per_player():
    frame = make([0.5, 0.25], player_names=["a", "b"]).to_frame()
    assert frame.index.tolist() == ["a", "b"]
    assert frame.columns.tolist() == ["value", "standard_error", "count", "fidelity"]
    assert frame.loc["b", "value"] == 0.25


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a saved result"),
        ("[1]", "no JSON object"),
        ('{"format": "fairshapley result", "version": 99}', "newer"),
        ('{"format": "fairshapley result", "version": 1}', "damaged, see configuration, counts"),
        (json.dumps(make([1.0]).to_dict() | {"zz": 1}), "damaged, see zz"),
        ("[" * 100_000, "not a saved result"),
    ],
)
def test_other_files_are_refused(tmp_path, content, words):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(fs.InputError, match=words):
        fs.Result.load(tmp_path / "r.json")


# What each kind of field refuses; a field of a new kind needs a line here and a reader.
HOSTILE = [None, 5, -1, "x", [], {}, [None], ["x"], [[1]], [-1], True, [1e30], [10**30], 1e400]
HOSTILE += [{"a": 1}, [1.0, 2.0], ["a", "b"], 10**400, "1e3"]
ACCEPTED = {
    "FloatArray": [5, -1, [-1], [1e30], [10**30]],
    "FloatMatrix": [],
    "IntArray": [],
    "float": [5, 1e400],
    "Real": [5, -1, 1e400],
    "int": [5, 10**400],
    "bool": [True],
    "str": ["x", "1e3"],
    "tuple[str, ...]": [[], ["x"], ["a", "b"]],
    "tuple[int, ...]": [[10**30]],
    "tuple[Real, Real]": [[1.0, 2.0]],
    "dict[str, Any]": [{}, {"a": 1}],
    "dict[str, str]": [{}],
}
RECORDS = ("Checkpoint", "SizeBin", "Copies", "InputFile", "PartValues", "Remark", "Split")
ACCEPTED |= {f"tuple[{record}, ...]": [[]] for record in ("tuple[int, int]", *RECORDS)}


@pytest.mark.parametrize("name", stored_fields(fs.Result))
def test_damage_is_named(name):
    _, field = stored_fields(fs.Result)[name]
    kind, _, optional = field.type.partition(" | ")
    assert kind in ACCEPTED, "teach Result to check fields of this type"
    for bad in HOSTILE:
        data = make([1.0]).to_dict() | {field.name: bad}
        try:
            loaded, message = fs.Result.from_dict(data), ""
        except fs.InputError as error:
            loaded, message = None, str(error)
        if loaded is None:
            assert message.startswith("the saved result is damaged")
            assert field.name in message
            assert message.endswith(": use the original file, or save it again")
        else:
            assert bad in ACCEPTED[kind] or (optional and bad is None)
            assert str(loaded)
            assert len(loaded.to_frame()) == len(loaded.names()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"configuration": {"method": {"name": 5}, "semivalue": "shapley"}},
        {"player_names": ["a", "b"]},
        {"extremes": [1.0, 2.0]},
        {"values": [], "standard_errors": [], "counts": []},
        {"standard_errors": [-1.0]},
        {"xi": "inf"},
    ],
)
def test_parts_that_do_not_fit_are_damage(changes):
    data = make([1.0]).to_dict() | changes
    with pytest.raises(fs.InputError, match=r"damaged .*: use the original file"):
        fs.Result.from_dict(data)


def test_too_deep_a_configuration_is_damage():
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(fs.InputError, match="damaged"):
        fs.Result.from_dict(make([1.0]).to_dict() | {"limits": {"a": deep}})


@pytest.mark.parametrize("name", ["", ".", "folder", "no/r.json", "x" * 300, "r\0.json"])
def test_what_cannot_be_written_leaves_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(fs.InputError, match=r"cannot write|must be the path of a file"):
        make([1.0]).save(name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(28, "No space left on device")

    make([1.0]).save(tmp_path / "r.json")
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(fs.InputError, match="No space left"):
        make([2.0]).save(tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert fs.Result.load(tmp_path / "r.json").values == [1.0]


def test_lone_surrogates_and_what_is_not_plain(tmp_path):
    result = make([1.0], player_names=["\udcff ü"])
    result.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").evidence.player_names == ("\udcff ü",)
    with pytest.raises(fs.InputError, match="not plain"):
        make([1.0], limits={"a": {1}}).save(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


# -- digests ---------------------------------------------------------------------------------------


def test_a_changed_file_is_refused_and_an_old_one_is_not(tmp_path):
    result, file = make([1.0, 2.0], notes=("as it was",)), tmp_path / "r.json"
    result.save(file)
    data = json.loads(file.read_text())
    assert data["digest"] == result_digest(result)
    file.write_text(json.dumps(data | {"notes": ["as it is"]}))
    with pytest.raises(fs.InputError, match=r"changed after it was written.*use the original"):
        fs.Result.load(file)
    del data["digest"]
    file.write_text(json.dumps(data))
    assert result_digest(fs.Result.load(file)) == result_digest(result)


def test_the_digest_sees_the_last_bit_but_not_fields_that_came_later():
    result = make([1.0])
    assert result_digest(make([np.nextafter(1.0, 2)])) != result_digest(result)
    assert result_digest(make([-0.0])) != result_digest(make([0.0]))
    earlier = {name: value for name, value in result.to_dict().items() if name != "rounds"}
    assert result_digest(fs.Result.from_dict(earlier)) == result_digest(result)
