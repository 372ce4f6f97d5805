import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from fairshapley.errors import InputError
from fairshapley.tables import Preprocessor
from fairshapley.tables.preprocessing import MAX_CATEGORIES


def fitted(**columns):
    table = pa.table(columns)
    return Preprocessor.fit(table, table.column_names), table


def test_missing_numbers_get_the_median_and_are_marked():
    known, train = fitted(a=[1.0, None, 3.0, 8.0])
    features = known.encode(train, "training")
    assert features[:, 1].tolist() == [0, 1, 0, 0]
    assert features[1, 0] == features[2, 0]
    named, _ = fitted(**{"a": [1.0, None, 3.0], "a is missing": [2.0, 0.0, 2.0]})
    assert named.owners == ("a", "a is missing", "a")
    alone, _ = fitted(a=[1.0, 2.0])
    assert alone.encode(pa.table({"a": pa.array([None, 2.0])}), "test")[0] == pytest.approx(0)


def test_texts_are_one_hot_with_missing_as_a_category():
    known, train = fitted(t=["x", "y", None, "x", "y", None])
    features = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert known.encode(train, "training").tolist() == [*features, [0, 0, 1]]
    assert known.feature_names == ("t = 'x'", "t = 'y'", "t is missing")
    once, train = fitted(t=["x", "y", None, "x", "y"])
    assert once.encode(train, "training").tolist() == features


def test_rare_and_unknown_categories_are_joined():
    frequent = [f"f{number}" for number in range(MAX_CATEGORIES)]
    known, train = fitted(t=frequent * 2 + ["rare", "rarer"])
    features = known.encode(train, "training")
    assert features.shape == (2 * MAX_CATEGORIES + 2, MAX_CATEGORIES + 1)
    assert features[-2:, -1].tolist() == [1, 1]
    assert known.feature_names[-1] == "t is rare"
    assert (features.sum(axis=1) == 1).all()
    test = pa.table({"t": ["new", "f0"]})
    assert known.encode(test, "test")[0, -1] == 1


def test_what_tells_nothing_is_dropped_and_said():
    known, _ = fitted(
        same=[1, 1, 1], text=["a", "a", "a"], once=["x", "y", "z"], none=[None] * 3, used=[1, 2, 3]
    )
    assert known.kinds == {"used": "numbers"}
    assert known.notes == (
        "left out, since all values are the same: 'same' and 'text'",
        "left out, since each text occurs once (only categories and sentences are used): 'once'",
        "left out, since all values are missing: 'none'",
    )


def test_sentences_are_read_by_their_words():
    good = [f"the {place} room was good" for place in range(20)]
    bad = [f"the {place} room was bad" for place in range(20)]
    known, train = fitted(review=[*good, *bad, None])
    assert known.feature_names[0] == "review topic 1"
    features = known.encode(train, "training")[:40]
    learnt = LogisticRegression().fit(features, np.repeat(["good", "bad"], 20))
    test = pa.table({"review": ["a good view", "bad, all of it"]})
    assert learnt.predict(known.encode(test, "test")).tolist() == ["good", "bad"]
    # No word is in two rows: nothing can be learnt.
    with pytest.raises(InputError, match="each text occurs once"):
        fitted(review=[f"a{row} b{row} c{row}" for row in range(30)])


def test_a_column_of_texts_in_training_may_be_numbers_in_test():
    known, _ = fitted(code=["1", "A", "1", "A"])
    assert known.encode(pa.table({"code": [1, 1]}), "test").tolist() == [[1, 0], [1, 0]]


@given(
    st.lists(
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=2,
        max_size=20,
    )
)
def test_features_are_finite_whatever_the_numbers(numbers):
    try:
        known, train = fitted(a=pa.array(numbers, pa.float64()))
    except InputError:
        return
    assert np.isfinite(known.encode(train, "training")).all()


@pytest.mark.parametrize("scale", [1e-20, 1e-300, 1e300])
def test_columns_of_any_size_are_standardised(scale):
    """Masses of electrons in kilograms are numbers like others."""
    numbers = np.random.default_rng(0).normal(size=30)
    table = pa.table({"x": scale * numbers})
    features = Preprocessor.fit(table, ["x"]).encode(table, "training")[:, 0]
    np.testing.assert_allclose(features, (numbers - numbers.mean()) / numbers.std(), rtol=1e-9)
