"""Copies: a supplier that is there twice is named, with what it earns and what others lose."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import fairshapley as fs
from fairshapley.tables import table_game
from fairshapley.tables.copies import copied_rows, find_copies, find_remarks

N_ROWS = 20
NAMES = ("Ann", "Bob", "Cem", "Dee", "Fay")


def rows_of(rng, n_rows):
    x = rng.normal(size=(n_rows, 4))
    score = x @ [1.0, 0.8, 0.3, 0.0] + 0.6 * rng.normal(size=n_rows)
    return x, np.where(score > 0.6, "yes", "no")


def market(*extra):
    """Five suppliers, and others given as (name, features, answers)."""
    rng = np.random.default_rng(5)
    x, y = rows_of(rng, N_ROWS * len(NAMES))
    who = np.repeat(NAMES, N_ROWS)
    for name, features, answers in extra:
        x, y = np.vstack([x, features]), np.append(y, answers)
        who = np.append(who, [name] * len(answers))
    return table(x, y, who), table(*rows_of(rng, 300))


def table(x, y, who=None):
    columns = {f"x{number}": column for number, column in enumerate(x.T)}
    return pa.table({**columns, "y": y} | ({} if who is None else {"who": who}))


def of_ann(noise=0.0):
    rng = np.random.default_rng(5)
    x, y = rows_of(rng, N_ROWS * len(NAMES))
    return x[:N_ROWS] + noise * np.random.default_rng(8).normal(size=(N_ROWS, 4)), y[:N_ROWS]


def made(*extra, **options):
    train, test = market(*extra)
    return table_game(train, "y", test=test, group_by="who", metric="log_loss", **options)


def test_honest_suppliers_are_not_accused():
    honest = made()
    assert honest.game.copies == ()
    assert not any("same rows" in note for note in honest.notes)
    assert fs.exact(honest.game).game.copies == ()


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_duplicating_a_supplier_is_visible(noise, tmp_path):
    """With a little noise too, which no comparison of content finds."""
    game = made(("Eve", *of_ann(noise)))
    assert any("'Ann' and 'Eve'" in note for note in game.notes)
    result = fs.exact(game.game)
    (found,) = result.game.copies
    assert [result.names()[player] for player in found.players] == ["Ann", "Eve"]
    assert found.near == (noise > 0)
    honest = fs.exact(made().game)
    # What the game without Eve would have given is known from the coalitions without her. Its
    # features are scaled with her rows, so that it is not the honest game to the last digit.
    alone = honest.values[0]
    together = result.values[0] + result.values[4]
    assert result.names()[4] == "Eve"
    assert found.earned == pytest.approx(together - alone, abs=0.1 * abs(alone))
    assert found.earned > 0
    said = next(one for one in result.warnings if one.startswith("copies:"))
    assert "'Ann' and 'Eve'" in said
    assert "Together they get" in said
    assert "Copies:" in str(result)
    assert any("copies:" in note for note in result.payout(1000).notes)
    assert "Together they get" in result.report(tmp_path / "page.html").read_text("utf-8")
    assert fs.Result.from_dict(result.to_dict()).game.copies == result.game.copies


def test_what_copies_earn_and_cost_is_that_of_the_game_without_them():
    features, answers = of_ann()
    game = made(("Eve", features, answers)).game
    result = fs.exact(game)
    eve = result.names().index("Eve")
    kept = [player for player in range(6) if player != eve]

    class Without:
        n_players = 5

        def __call__(self, coalitions):
            whole = np.zeros((len(coalitions), 6), dtype=bool)
            whole[:, kept] = coalitions
            return game(whole)

    honest = fs.exact(Without()).values
    (found,) = result.game.copies
    lost = (honest - result.values[kept])[1:].sum()
    assert found.lost == pytest.approx(lost)
    assert found.earned == pytest.approx(result.values[0] + result.values[eve] - honest[0])
    (rough,) = fs.estimate(game, "mc", budget=55, seed=1).game.copies
    assert rough.players == found.players
    assert np.isnan(rough.earned)


def test_what_copies_earn_of_a_pool_is_said_in_money():
    game = made(("Eve", *of_ann())).game
    result = fs.exact(game)
    (found,) = result.game.copies
    assert found.error == 0
    (note,) = [note for note in result.payout(1000).notes if "copies:" in note]
    values = np.maximum(result.values, 0)
    alone = values[0] + values[4] - found.earned
    wanted = 1000 * (
        (values[0] + values[4]) / values.sum() - alone / (values.sum() - found.earned + found.lost)
    )
    assert f"Together they get {wanted:,.2f} more of 1,000.00" in note


def test_nothing_is_said_in_money_where_nothing_would_be_divided_without_copies():
    from fairshapley.results.records import Copies
    from fairshapley.results.serialising import with_fields

    copies = (Copies((0, 1), 1.0, False, 5.0, 0.0, 0.0),)
    result = with_fields(fs.exact(fs.games.Additive([2.0, 2.0, -5.0])), copies=copies)
    assert "get 5 more than '0'" in result.warnings[0]
    (note,) = [note for note in result.payout(100).notes if "copies:" in note]
    assert note.endswith("rows. Merge copies, or pay for them once")


def test_identical_players_are_merged_on_request():
    copied = made(("Eve", *of_ann()), merge_identical=True)
    assert copied.game.player_names == ("Ann = Eve", "Bob", "Cem", "Dee", "Fay")
    assert "merged, since they have the same rows: 'Ann' and 'Eve'" in copied.notes
    honest = fs.exact(made().game)
    np.testing.assert_allclose(fs.exact(copied.game).values, honest.values, rtol=1e-9)
    near = made(("Eve", *of_ann(1e-3)), merge_identical=True)
    assert len(near.game.player_names) == 6
    assert any("none were merged" in note for note in near.notes)


def test_rows_that_are_equal_by_chance_are_no_copies():
    """With three yes or no questions everybody has everybody's rows."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, size=(200, 3)).astype(float)
    assert find_copies(x, np.zeros(200), np.repeat(list("abcde"), 40))[0] == ()


def test_equal_rows_are_said_where_rows_are_players():
    x = np.random.default_rng(1).normal(size=(30, 3))
    names = [f"row {number + 1}" for number in range(30)]
    assert copied_rows(x, np.arange(30) % 2, names) == []
    x[9] = x[3]
    assert copied_rows(x, np.arange(30) % 2, names) == [
        "1 row is a copy of another one with the same target, such as 'row 10' of 'row 4'"
    ]


def touched(trick, rng, x, y):
    """Rows of another as somebody sends them who does not want to be found."""
    if trick == "two columns by a step":
        x = x + np.pad(rng.choice([-0.1, 0.1], size=(len(x), 2)), ((0, 0), (0, x.shape[1] - 2)))
    if trick == "a tenth of noise":
        x = x + 0.1 * rng.normal(size=x.shape)
    if trick == "a tenth of the labels":
        y = np.where(rng.random(len(y)) < 0.1, "other", y)
    if trick == "half of the rows":
        half = len(x) // 2
        fresh, answers = rows_of(rng, len(x) - half)
        x, y = np.vstack([x[:half], fresh]), np.append(y[:half], answers)
    return x, y


TRICKS = ("two columns by a step", "a tenth of noise", "a tenth of the labels", "half of the rows")


@pytest.mark.parametrize("trick", TRICKS)
def test_touched_copies_are_found(trick):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = rows_of(rng, 240)
        more = touched(trick, rng, x[:40], y[:40])
        owners = np.append(np.repeat(list("abcdef"), 40), ["z"] * 40)
        found, _ = find_copies(np.vstack([x, more[0]]), np.append(y, more[1]), owners)
        assert [players for players, *_ in found] == [(0, 6)]


def test_at_most_one_honest_pair_of_a_hundred_is_accused():
    accused = 0
    for seed in range(8):
        x, y = rows_of(np.random.default_rng(seed), 400)
        accused += len(find_copies(np.round(x, 1), y, np.repeat(list("abcdefgh"), 50))[0])
    assert accused <= 2  # of 224


def test_a_supplier_of_one_row_is_not_accused_for_a_row_like_many():
    """Two columns of irises, to a tenth of a centimetre: rows are near or equal by chance."""
    iris = load_iris()
    features = StandardScaler().fit_transform(iris.data[:, [0, 2]])
    for row in range(0, 150, 10):
        owners = ["big"] * 150
        owners[row] = "small"
        assert find_copies(features, iris.target, owners)[0] == ()


def test_a_part_of_the_rows_of_another_is_said_to_be_one(tmp_path):
    features, answers = of_ann()
    part = made(("Eve", features[:8], answers[:8]))
    said = "'Ann' and 'Eve' overlap: all rows of one are also another's"
    assert said in part.notes
    assert any(said in one for one in fs.exact(part.game).warnings)


def test_padding_test_rows_and_random_labels_are_remarks_in_money():
    rng = np.random.default_rng(3)
    test_x, test_y = rows_of(np.random.default_rng(4), 300)
    extra, said = rows_of(rng, 60), rng.permutation(rows_of(rng, 60)[1])
    one, leaked = rows_of(rng, 1), (test_x[:15], test_y[:15])
    train, _ = market(
        ("Gus", np.repeat(one[0], 100, axis=0), np.repeat(one[1], 100)),
        ("Luz", extra[0], said),
        ("Max", *leaked),
    )
    game = table_game(train, "y", test=table(test_x, test_y), group_by="who").game
    result = fs.exact(game)
    found = {result.names()[one.player]: one.text for one in result.game.remarks}
    assert found == {
        "Gus": "100 rows, of which 1 is distinct",
        "Luz": "the labels of its 60 rows look random",
        "Max": "15 of its 15 rows are test rows too",
    }
    paid = result.payout(1000)
    amount = paid.amounts[result.names().index("Max")]
    assert f"warning: 'Max': {found['Max']}; gets {amount} of 1,000.00" in paid.notes
    assert any(said.startswith(f"'Max': {found['Max']}; value +") for said in result.warnings)
    assert fs.Result.from_dict(result.to_dict()).game.remarks == result.game.remarks


def test_honest_labels_do_not_look_random():
    for seed in range(6):
        x, y = rows_of(np.random.default_rng(seed), 400)
        test = rows_of(np.random.default_rng(seed + 50), 100)
        assert find_remarks(x, y, np.repeat(list("abcdefgh"), 50), test) == ()
        rare = np.where(np.arange(400) < 350, y, np.where(np.arange(400) == 360, "yes", "no"))
        assert find_remarks(x, rare, np.repeat(list("abcdefgh"), 50), test) == ()
        numbers = x @ [1.0, 0.8, 0.3, 0.0]
        mixed = np.append(numbers[:350], np.random.default_rng(seed).permutation(numbers[350:]))
        found = find_remarks(x, mixed, np.repeat(list("abcdefgh"), 50), (test[0], test[0][:, 0]))
        assert found == ((7, "the labels of its 50 rows look random"),)
