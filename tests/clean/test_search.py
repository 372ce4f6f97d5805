"""`suspects`: wrong labels are found, and their probabilities mean what they say."""

import csv

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import fairshapley as fs
from fairshapley.clean.mistakes import true_classes
from fairshapley.errors import InputError


def planted(n_rows=1500, share=0.15, n_classes=3, only=None, seed=0):
    """Rows of several classes, some labels of which are made wrong."""
    x, truths = make_classification(
        n_rows, 10, n_informative=6, n_classes=n_classes, class_sep=1.6, flip_y=0, random_state=seed
    )
    draw = np.random.default_rng(seed)
    hit = draw.random(n_rows) < share
    if only is not None:
        hit &= truths == only
    labels = truths.copy()
    labels[hit] = (labels[hit] + draw.integers(1, n_classes, size=hit.sum())) % n_classes
    return x, labels, truths, hit


@pytest.fixture(scope="module")
def judged():
    x, labels, truths, hit = planted()
    names = np.array(["=low", "<mid>", "high"])
    return fs.suspects(x, names[labels]), names[truths], hit


def deciles(probability, hit):
    parts = np.array_split(np.argsort(probability, kind="stable"), 10)
    return np.array([[probability[part].mean(), hit[part].mean()] for part in parts])


def test_planted_labels_are_found_and_put_right(judged):
    found, truths, hit = judged
    first = found.order[: hit.sum()]
    assert hit[first].mean() > 0.85
    likely = found.probability > 0.5
    assert (found.suggestions[likely & hit] == truths[likely & hit]).mean() > 0.9
    assert found.checks.found > 0.8 * found.checks.planted


def test_probabilities_are_calibrated(judged):
    # 150 rows in each tenth: their share alone is uncertain by 0.04.
    found, _, hit = judged
    predicted, observed = deciles(found.probability, hit).T
    assert np.abs(predicted - observed).max() < 0.1
    assert found.mistakes.lower <= hit.mean() + 0.02
    assert found.mistakes.upper >= hit.mean() - 0.02


def test_one_class_alone_may_be_mistaken():
    x, labels, _, hit = planted(only=1, share=0.3)
    found = fs.suspects(x, labels, checked=False)
    assert found.mistakes.pattern == "by class"
    predicted, observed = deciles(found.probability, hit).T
    assert np.abs(predicted - observed).max() < 0.1


def test_the_share_may_be_given(judged):
    _, _, hit = judged
    x, labels, _, _ = planted()
    found = fs.suspects(x, labels, share=0.05, checked=False)
    assert found.probability.mean() == pytest.approx(0.05, abs=0.03)
    assert hit[found.order[: hit.sum()]].mean() > 0.85


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_clean_labels_stay_unsuspected(load):
    x, y = load(return_X_y=True)
    found = fs.suspects(x, y, checked=False)
    assert found.mistakes.lower == 0
    assert found.mistakes.upper < 0.06
    assert found.n_likely <= 0.02 * len(y)


@pytest.mark.parametrize(("taken", "label", "count"), [(0, 1, 70), (4, 9, 25)])
def test_one_class_labelled_as_one_other_is_found(taken, label, count):
    """Models learn such mistakes: their probability of a wrong label is up to 0.4."""
    x, truths = load_digits(return_X_y=True)
    labels = truths.copy()
    draw = np.random.default_rng(0)
    labels[draw.choice(np.flatnonzero(truths == taken), count, replace=False)] = label
    found = fs.suspects(x, labels, checked=False)
    wrong, likely = labels != truths, found.probability > 0.5
    assert (likely & wrong).sum() > 0.6 * count
    assert (likely & ~wrong).sum() < 0.01 * len(labels)
    assert found.mistakes.lower <= wrong.mean() <= found.mistakes.upper
    assert found.mistakes.pair == (taken, label)
    assert f"'{taken}' labelled '{label}'" in str(found)


@pytest.mark.parametrize("seed", range(5))
def test_five_wrong_labels_of_150_are_never_declared_none(seed):
    x, labels = load_iris(return_X_y=True)
    labels[np.random.default_rng(seed).choice(50, 5, replace=False)] = 1
    found = fs.suspects(x, labels, checked=False)
    assert found.mistakes.upper >= 5 / 150
    assert found.n_likely >= 3 or "but up to" in str(found)
    assert "0 of 150 rows" not in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_classes_that_look_alike_are_not_mistaken_for_each_other(seed):
    """Models are too unsure of cars, and features tell little of cats and dogs."""
    draw = np.random.default_rng(seed)
    car, cat = draw.random(900) < 0.5, 1 / (1 + np.exp(1.2 - 0.9 * draw.normal(size=900)))
    labels = np.where(car, 0, np.where(draw.random(900) < cat, 1, 2))
    rest = np.where(car, 0.25, 0.75)
    found, few = true_classes(np.column_stack([1 - rest, rest * cat, rest * (1 - cat)]), labels)
    assert (found[np.arange(900), labels] < 0.5).mean() <= 0.02
    assert few.lower == 0


@pytest.mark.parametrize("pattern", ["turned round", "random"])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_source_of_wrong_labels_is_named(pattern, numbered):
    """Models that know the source learn its mistakes, so that only those without it see them."""
    x, _, truths, _ = planted(n_rows=800, n_classes=2)
    draw = np.random.default_rng(1)
    sources = draw.integers(8, size=800)
    hit = sources == 3
    labels = truths.copy()
    labels[hit] = 1 - truths[hit] if pattern == "turned round" else draw.integers(2, size=hit.sum())
    columns = {f"x{place}": column for place, column in enumerate(x.T)}
    columns["source"] = sources if numbered else [f"src{one}" for one in sources]
    if numbered:  # among other columns of few numbers
        columns |= {f"count{at}": draw.integers(5, size=800) for at in range(8)}
    found = fs.suspects(columns | {"y": labels.astype(str)}, "y", checked=False)
    assert [(one.column, one.pattern) for one in found.sources] == [("source", pattern)]
    wrong = labels != truths
    likely = found.probability > 0.5
    assert (likely & wrong).sum() > 0.8 * wrong.sum()
    assert found.mistakes.lower <= wrong.mean() <= found.mistakes.upper
    # That the source is merely different is not ruled out.
    assert found.mistakes.lower < 0.02
    assert f"look {pattern}" in str(found)


def test_a_source_that_is_harder_or_has_other_classes_is_no_source_of_mistakes():
    draw = np.random.default_rng(2)
    sources, signal = draw.integers(4, size=1200), draw.normal(size=1200)
    chances = 1 / (1 + np.exp(-np.where(sources == 1, 2.5, 4) * signal - 1.5 * (sources == 2)))
    labels = np.where(draw.random(1200) < chances, "yes", "no")
    table = {"x": signal, "noise": draw.normal(size=1200), "source": sources.astype(str)}
    found = fs.suspects(table | {"y": labels}, "y", checked=False)
    assert found.sources == ()
    assert found.n_likely <= 24


def test_removing_wrong_labels_helps():
    x, labels, truths, _ = planted(n_rows=900, share=0.3)
    done = fs.suspects(x[:700], labels[:700], test=(x[700:], truths[700:])).checks
    assert done.n_rows == 700
    assert done.score >= done.score_before - 0.01
    assert done.metric.endswith("on 200 rows")
    assert done.found > done.by_chance
    assert done.tenths[0, 1] > 0.5 > done.tenths[-1, 1]


def test_a_rare_class_is_not_harmful_for_being_rare():
    x, truths = make_classification(
        1200, 8, n_informative=6, weights=[0.93], class_sep=2.0, flip_y=0, random_state=3
    )
    found = fs.suspects(x, truths, checked=False)
    rare = truths == 1
    assert (found.probability[rare] > 0.5).mean() < 0.1
    # Each class has the same weight in the values: those of the rare one are larger.
    assert found.values[rare].mean() > found.values[~rare].mean() > 0


def test_the_same_seed_gives_the_same(judged):
    found, _, _ = judged
    x, labels, _, _ = planted()
    again = fs.suspects(x, np.array(["=low", "<mid>", "high"])[labels], checked=False)
    assert again.probability.tolist() == found.probability.tolist()
    assert again.checks is None


def test_hard_rows_are_not_told_from_wrong_labels():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 5))
    y = (x[:, 0] + 2 * draw.normal(size=300) > 0).astype(int)
    found = fs.suspects(x, y, checked=False)
    assert found.mistakes.upper - found.mistakes.lower > 0.1
    assert found.mistakes.lower == 0
    assert "the features do not" in str(found)


def test_flat_likelihood_is_shared_out():
    # With the probabilities of both classes equal nothing is known of any row.
    classes, _ = true_classes(np.full((200, 2), 0.5), np.tile([0, 1], 100))
    assert np.ptp(classes[np.arange(200), np.tile([0, 1], 100)]) < 0.02


def test_files_are_safe(judged, tmp_path):
    found, _, _ = judged
    found.to_csv(tmp_path / "s.csv", most=50)
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert len(rows) == 50
    assert rows[0]["row"] == found.names[found.order[0]]
    assert {row["label"] for row in rows} <= {"'=low", "<mid>", "high"}
    page = found.report(tmp_path / "s.html", title="<b>rows</b>").read_text()
    assert "<b>" not in page
    assert "<mid>" not in page
    assert "&lt;mid&gt;" in page
    assert "default-src 'none'" in page


def test_tables_bring_their_columns():
    draw = np.random.default_rng(1)
    x = draw.normal(size=80)
    table = {
        "x": x.tolist(),
        "town": draw.choice(["Ulm", "Bonn"], 80).tolist(),
        "who": [f"n{place}" for place in range(80)],
        "label": np.where(x > 0, "yes", "no").tolist(),
    }
    table["label"][5] = "no" if x[5] > 0 else "yes"
    found = fs.suspects(table, "label", names="who", checked=False)
    assert found.names[found.order[0]] == "n5"
    columns = found.columns(3)
    assert columns["town"][0] == table["town"][5]
    assert columns["label (given)"][0] == table["label"][5]
    assert found.to_frame("dict", most=2)["row"][0] == "n5"


def test_copies_of_rows_are_no_trouble():
    x, labels, _, _ = planted(n_rows=100)
    found = fs.suspects(np.repeat(x, 12, axis=0), np.repeat(labels, 12), checked=False)
    assert np.isfinite(found.distance).all()
    assert (found.agreement == 1).all()  # a copy vouches for its copies


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"]])
def test_labels_of_tables_stay_what_they_are(labels):
    x = np.random.default_rng(2).normal(size=60)
    table = {"x": x.tolist(), "y": [labels[int(one > 0)] for one in x]}
    found = fs.suspects(table, "y", test=table)
    assert set(found.labels.tolist()) == set(labels)
    assert set(found.columns()["suggestion"]) <= set(labels)
    assert found.checks.n_rows == 60


def numbers(n_rows=600, share=0.1):
    """A smooth target, some numbers of which belong to other rows."""
    draw = np.random.default_rng(4)
    x = draw.normal(size=(n_rows, 4))
    truths = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + 0.2 * draw.normal(size=n_rows)
    return x, np.where(draw.random(n_rows) < share, draw.permutation(truths), truths), truths


def test_wrong_numbers_are_found():
    x, given, truths = numbers()
    found = fs.suspects(x, given, checked=False)
    far, likely = np.abs(given - truths) > 2, found.probability > 0.5
    assert (likely & far).sum() > 0.8 * far.sum()
    assert (likely & (given == truths)).sum() < 0.02 * len(x)
    assert found.mistakes.lower <= (given != truths).mean() <= found.mistakes.upper
    nearer = np.abs(found.suggestions - truths) < np.abs(given - truths)
    assert nearer[likely & far].mean() > 0.9
    assert "numbers" in str(found)
    clean = fs.suspects(x, truths)
    assert clean.n_likely <= 6
    assert clean.checks.metric.startswith("R²")


def test_a_source_of_wrong_numbers_is_named():
    x, _, truths = numbers(share=0)
    sources = np.random.default_rng(5).integers(6, size=len(x))
    columns = {f"x{place}": column for place, column in enumerate(x.T)}
    given = np.where(sources == 2, -truths, truths)
    table = columns | {"source": [f"src{each}" for each in sources], "y": given}
    found = fs.suspects(table, "y", checked=False)
    assert [(each.column, each.category) for each in found.sources] == [("source", "src2")]
    assert "suspects have source = 'src2'" in str(found)
    first = {name: column[0] for name, column in found.by("source").items()}
    assert first["source"] == "src2"
    assert first["suspects"] > 50
    assert first["labels_look"] == "turned round"


def test_what_to_review_is_chosen_by_precision_or_recall(judged):
    found, _, hit = judged
    sure, most = found.review(precision=0.9), found.review(recall=0.8)
    assert hit[sure].mean() > 0.8
    assert hit[most].sum() > 0.7 * hit.sum()
    assert len(found.review()) == found.n_likely
    assert f"review these {len(sure):,}: about " in found.sentences(sure)[1]
    with pytest.raises(InputError, match="not both"):
        found.review(precision=0.9, recall=0.8)


def test_reasons_name_the_columns():
    draw = np.random.default_rng(6)
    x = draw.normal(size=(300, 2))
    labels = np.where(x[:, 0] > 0, "yes", "no")
    worst = int(np.argmax(x[:, 0]))
    labels[worst] = "no"
    found = fs.suspects({"signal": x[:, 0], "noise": x[:, 1], "y": labels}, "y", checked=False)
    assert found.order[0] == worst
    assert found.reasons[worst][0].startswith(f"signal = {x[worst, 0]:.4g}")
    assert "signal" in found._repr_html_()


def test_a_cleaned_table_comes_with_a_log(tmp_path):
    x, labels, *_ = planted(300, n_classes=2)
    table = {"x": x[:, 0], "z": x[:, 1], "w": x[:, 2], "y": np.array(["no", "yes"])[labels]}
    found = fs.suspects(table, "y", checked=False)
    log = found.apply(tmp_path / "cleaned.csv")
    changes = list(csv.DictReader(log.read_text().splitlines()))
    cleaned = list(csv.DictReader((tmp_path / "cleaned.csv").read_text().splitlines()))
    assert len(changes) == found.n_likely > 0
    assert len(cleaned) == 300
    changed = [f"row {at + 1}" for at in range(300) if cleaned[at]["y"] != table["y"][at]]
    assert sorted(changed) == sorted(change["row"] for change in changes)
    x, given, _ = numbers(300)
    found = fs.suspects(x, given, checked=False)
    found.apply(tmp_path / "numbers.csv", found.review(precision=0.5))
    assert len((tmp_path / "numbers.csv").read_text().splitlines()) < 301


def test_small_classes_are_left_out():
    x, labels, _, _ = planted(n_rows=200)
    labels = labels.astype(object)
    labels[:3] = 9
    found = fs.suspects(x, labels, checked=False)
    assert np.isnan(found.probability[:3]).all()
    assert len(found.order) == 197
    assert any("fewer than 5 rows" in note for note in found.notes)


X40 = np.random.default_rng(0).normal(size=(40, 3))
HALVES = np.tile(["a", "b"], 20)


@pytest.mark.parametrize(
    ("rows", "labels", "options", "words"),
    [
        (X40, ["a"] * 40, {}, "all rows have the same label"),
        (X40, [f"id {place}" for place in range(40)], {}, "40 classes for 40 rows.*join classes"),
        (X40, [None, *HALVES[1:]], {}, "row 0 of y has no target"),
        (X40[:5], HALVES[:5], {}, "at least 20 rows are needed .got 5."),
        (X40, HALVES, {"test": (X40[:2], ["c", "c"])}, "other classes"),
        ({"x": [1, 2], "y": ["a", "b"]}, "z", {}, "no column 'z'"),
    ],
)
def test_bad_input_is_answered(rows, labels, options, words):
    with pytest.raises(InputError, match=words):
        fs.suspects(rows, labels, **options)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_scale_of_the_features_does_not_matter(scale):
    x, labels, *_ = planted(100, n_classes=2)
    usual, other = (fs.suspects(one, labels, checked=False) for one in (x, scale * x))
    np.testing.assert_allclose(other.probability, usual.probability, rtol=1e-6)


def test_a_rare_class_does_not_make_the_share_of_wrong_labels_look_known():
    """That nobody is labelled with it by mistake says nothing about two frequent classes."""
    draw = np.random.default_rng(0)
    labels = np.where(draw.random(300) < 0.5, "x", "y")
    labels[0] = "rare"
    found = fs.suspects(draw.normal(size=(300, 4)), labels)
    assert found.mistakes.upper > 0.3
    assert "how many are wrong is hardly known" in str(found)
    # No label is made wrong by calling it rare, which would be found.
    assert found.checks.found <= found.checks.by_chance


def test_the_range_of_wrong_labels_allows_for_chance():
    """One row is the least that can be wrong, whatever the rate."""
    x, truths = make_classification(150, 6, class_sep=1.5, flip_y=0, random_state=1)
    few = fs.suspects(x, truths, checked=False).mistakes
    assert few.lower == 0
    assert 1 / 150 <= few.upper < 0.1
    x, truths = make_classification(60, 6, class_sep=5.0, flip_y=0, random_state=1)
    assert "no row looks like one with a wrong label" in str(fs.suspects(x, truths, checked=False))


def test_labels_given_blindly_are_counted_where_classes_are_not_balanced():
    """Mistakes in proportion to how frequent a label is; 8 of 10 ranges at least hold the truth."""
    held = 0
    for seed in range(10):
        draw = np.random.default_rng(seed)
        truths = draw.choice(3, 500, p=[0.6, 0.35, 0.05])
        x = draw.normal(size=(500, 5))
        x[np.arange(500), truths] += 2.5
        labels = np.where(draw.random(500) < 0.25, draw.permutation(truths), truths)
        _, few = true_classes(_held_out(x, labels), labels)
        held += few.lower <= (labels != truths).mean() <= few.upper
    assert held >= 8


def _held_out(x, labels):
    """Probabilities of labels by one model, which is enough for a test of the model of mistakes."""
    return cross_val_predict(LogisticRegression(), x, labels, cv=5, method="predict_proba")
