import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.tables import MODELS, make_model, table_game
from fairshapley.tables.splitting import sample_rows, split_rows

DRAW = np.random.default_rng(0)
X, Z = DRAW.normal(size=40), DRAW.normal(size=40)
LABELS = np.where(X + 0.3 * DRAW.normal(size=40) > 0, "yes", "no")
TRAIN = pa.table({"x": X[:25], "z": Z[:25], "y": LABELS[:25]})
TEST = pa.table({"x": X[25:], "z": Z[25:], "y": LABELS[25:]})


def test_the_game_is_the_data_game_of_standardised_columns():
    made = table_game(TRAIN, "y", test=TEST)
    features = np.column_stack([X, Z])
    features = (features - features[:25].mean(axis=0)) / features[:25].std(axis=0)
    train, test = (features[:25], LABELS[:25]), (features[25:], LABELS[25:])
    plain = fs.games.DataGame(LogisticRegression(max_iter=1000), train, test)
    coalitions = np.random.default_rng(1).random((50, 25)) < 0.5
    assert np.array_equal(made.game(coalitions), plain(coalitions))
    assert made.labels == tuple(LABELS[:25])
    assert made.game.player_names[:2] == ("row 1", "row 2")


def test_whole_numbers_are_classes_when_they_are_few():
    few = pa.table({"x": X, "y": np.arange(40) % 3})
    many = pa.table({"x": X, "y": np.arange(40)})
    assert table_game(few, "y").game.classes is not None
    assert table_game(many, "y").game.classes is None
    assert table_game(few, "y", task="regression").game.classes is None
    assert isinstance(table_game(few, "y", task="regression").game.model, Ridge)


def test_groups_and_names_are_no_features():
    owner = np.array(["a", "b", "c", "d", "e"] * 5)
    train = TRAIN.append_column("who", pa.array(owner))
    made = table_game(train, "y", test=TEST, group_by="who")
    assert made.game.player_names == ("a", "b", "c", "d", "e")
    names = pa.array([f"n{number}" for number in range(25)])
    named = table_game(TRAIN.append_column("who", names), "y", test=TEST, names="who")
    assert named.game.player_names[24] == "n24"
    assert all("who" not in note for note in (*made.notes, *named.notes))


def test_single_precision_gives_nearly_the_same_utilities():
    coalitions = np.random.default_rng(1).random((200, 25)) < 0.5
    double = table_game(TRAIN, "y", test=TEST).game(coalitions)
    single = table_game(TRAIN, "y", test=TEST, precision="single").game(coalitions)
    assert np.mean(double != single) < 0.02


@pytest.mark.parametrize("name", MODELS)
def test_named_models_fit_what_they_are_for(name):
    assert is_classifier(make_model(name, "classification"))
    assert name == "logistic" or is_regressor(make_model(name, "regression"))


def test_a_split_keeps_shares_of_classes_and_a_row_of_each():
    classes = np.array(["a"] * 60 + ["b"] * 39 + ["c"])
    train, test = split_rows(100, 0.2, seed=3, classes=classes)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(100))
    assert len(test) == 20
    assert abs((classes[test] == "a").sum() - 12) <= 1
    assert set(classes[train]) == {"a", "b", "c"}
    again = split_rows(100, 0.2, seed=3, classes=classes)
    other = split_rows(100, 0.2, seed=4, classes=classes)
    assert np.array_equal(test, again[1])
    assert not np.array_equal(test, other[1])


def test_test_rows_are_not_valued_and_rows_keep_their_numbers():
    made = table_game(TRAIN, "y", test_size=5, split_seed=2)
    _, test = split_rows(25, 5, 2, LABELS[:25])
    kept = [number for number in range(25) if number not in test]
    assert made.game.player_names == tuple(f"row {number + 1}" for number in kept)
    sampled = table_game(TRAIN, "y", test=TEST, sample=10, split_seed=2)
    drawn = sample_rows(25, 10, 2)
    assert sampled.game.player_names == tuple(f"row {number + 1}" for number in drawn)
    assert sampled.notes[0] == "10 of 25 rows were drawn at random to be valued"


def test_classes_that_training_lacks_and_rows_that_both_have_are_said():
    train = pa.table({"x": [0.0, 1.0, 0.2, 0.8], "y": ["a", "b", "a", "b"]})
    test = pa.table({"x": [0.0, 0.9, 0.5], "y": ["a", "b", "c"]})
    said = " ".join(table_game(train, "y", test=test, model="knn").notes)
    assert "1 of 3 test rows have a class that no training row has" in said
    assert "predict: 'c'" in said
    assert "1 of 3 test rows are training rows too" in said
    said = " ".join(table_game(train, "y", test=train, model="knn").notes)
    assert "4 of 4 test rows are training rows too" in said
    assert "no training row has" not in said


def test_classes_that_floats_cannot_tell_apart_are_refused():
    train = pa.table({"x": [0.0, 1.0, 0.5], "y": [2**53, 2**53 + 1, 2**53 + 2]})
    with pytest.raises(InputError, match=r"above 2⁵³"):
        table_game(train, "y")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"group_by": "x", "names": "z"}, "leave names= out"),
        ({"sample": 0}, "^sample must be"),
        ({"test_size": 40}, "^test_size must be"),
        ({"task": "regression"}, "give model='logistic'"),
    ],
)
def test_errors_name_parameters(options, said):
    with pytest.raises(InputError, match=said) as caught:
        table_game(TRAIN, "y", **options)
    assert "--" not in str(caught.value)


def test_a_group_whose_rows_are_all_for_scoring_is_named():
    groups = ["north"] * 10 + [f"one {number}" for number in range(10)]
    rows = {"a": np.arange(20.0), "y": ["no", "yes"] * 10, "who": groups}
    made = table_game(rows, "y", group_by="who", test_size=0.5)
    lost = {*groups}.difference(made.game.player_names)
    [said] = [note for note in made.notes if note.startswith("no value for")]
    assert lost
    assert all(name in said for name in sorted(lost)[:1])
    assert not any("no value" in note for note in table_game(rows, "y", test_size=0.5).notes)


def test_copies_of_test_rows_are_said_where_these_were_drawn():
    twice = pa.concat_tables([TRAIN, TRAIN])
    (said,) = (note for note in table_game(twice, "y").notes if "training rows too" in note)
    assert "unless that is by chance, a model knows their answers" in said
    assert not any("training rows too" in note for note in table_game(TRAIN, "y").notes)
