"""Updates of a federated run that was made elsewhere."""

import itertools

import numpy as np
import pytest
import torch

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.games.federated import (
    FederatedGame,
    ModelUtility,
    RoundGame,
    read_round,
    read_rounds,
)

SERVER = {"w": np.array([[1.0, 2.0]]), "b": np.array([0.5])}
ANN = {"w": np.array([[2.0, 2.0]]), "b": np.array([0.5])}
BOB = {"w": np.array([[1.0, 6.0]]), "b": np.array([1.5])}
EXAMPLES = {"ann": 300, "bob": 100}


def test_the_server_averages_by_examples():
    record = read_round({"ann": ANN, "bob": BOB}, given="weights", examples=EXAMPLES, server=SERVER)
    after = record.next_server()
    np.testing.assert_array_equal(after["w"], [[1.75, 3.0]])  # 3/4·(2, 2) + 1/4·(1, 6)
    np.testing.assert_array_equal(after["b"], [0.75])
    alone = record.weights(np.array([False, True]))
    np.testing.assert_array_equal(alone["w"], BOB["w"])
    before = record.weights(np.array([False, False]))
    np.testing.assert_array_equal(before["w"], SERVER["w"])


def test_deltas_and_weights_are_the_same_round():
    deltas = {
        agent: {name: entry[name] - SERVER[name] for name in entry}
        for agent, entry in (("ann", ANN), ("bob", BOB))
    }
    one = read_round(deltas, given="deltas", examples=EXAMPLES, server=SERVER)
    two = read_round({"ann": ANN, "bob": BOB}, given="weights", examples=EXAMPLES, server=SERVER)
    np.testing.assert_array_equal(one.deltas, two.deltas)
    np.testing.assert_array_equal(one.server, two.server)


@pytest.mark.parametrize("form", ["dict", "list", "torch"])
def test_weights_go_out_in_the_form_in_which_they_came(form):
    convert = {
        "dict": lambda entry: entry,
        "list": lambda entry: list(entry.values()),
        "torch": lambda entry: {name: torch.tensor(array) for name, array in entry.items()},
    }[form]
    record = read_round({"bob": convert(BOB)}, given="weights", server=convert(SERVER))
    seen = []
    game = RoundGame(record, lambda weights: seen.append(weights) or 0.0)
    game(np.array([[True]]))
    expected = convert(BOB)
    assert type(seen[0]) is type(expected)
    for key in expected if form != "list" else range(2):
        assert type(seen[0][key]) is type(expected[key])
        assert seen[0][key].shape == expected[key].shape
        assert seen[0][key].dtype == expected[key].dtype
        np.testing.assert_array_equal(np.asarray(seen[0][key]), np.asarray(expected[key]))


def test_half_precision_is_summed_in_single():
    """4096 + 1 is not a number of half precision, and bfloat16 is none of numpy's types."""
    for kind in (torch.float16, torch.bfloat16):
        server, update = ({"w": torch.tensor([value], dtype=kind)} for value in (4096.0, 1.0))
        record = read_round({0: update}, given="deltas", server=server)
        assert record.next_server()["w"].dtype == torch.float32
        assert record.next_server()["w"].item() == 4097.0


def test_servers_follow_by_averaging_from_round_to_round():
    rounds = [{"ann": ANN, "bob": BOB}, {"bob": ANN}, {"ann": BOB}]
    records = list(read_rounds(rounds, given="weights", examples=EXAMPLES, server=SERVER))
    for before, after in itertools.pairwise(records):
        np.testing.assert_array_equal(
            before.combine(np.eye(1, len(before.agents))), [before.server + before.deltas[0]]
        )
        everyone = before.coefficients(np.ones((1, 2), dtype=bool))
        np.testing.assert_array_equal(after.server, before.combine(everyone)[0])
    assert [record.agents for record in records] == [(0, 1), (1,), (0,)]
    given_servers = list(
        read_rounds(rounds, given="weights", examples=EXAMPLES, server=[SERVER, BOB, ANN])
    )
    np.testing.assert_array_equal(given_servers[1].server, [1.0, 6.0, 1.5])


def test_weights_need_no_server_when_the_empty_coalition_has_a_number():
    rounds = [{"ann": ANN, "bob": BOB}, {"ann": BOB, "bob": ANN}]
    with pytest.raises(InputError, match="round 0: the server's weights before"):
        FederatedGame.from_updates(rounds, lambda weights: weights["w"].sum(), given="weights")
    game = FederatedGame.from_updates(
        rounds, lambda weights: weights["w"].sum(), given="weights", empty=0.0
    )
    masks = np.array([[False, False], [True, False], [False, True], [True, True]])
    np.testing.assert_array_equal(game.rounds[0](masks), [0.0, 4.0, 7.0, 5.5])
    # After the first round the server is known: the plain average of both.
    np.testing.assert_array_equal(game.rounds[1].record.server, [1.5, 4.0, 1.0])
    assert game.rounds[1].record.server_known


def test_players_are_all_who_ever_took_part():
    rounds = [{7: ANN}, {3: BOB}]
    game = FederatedGame.from_updates(rounds, lambda _: 1.0, given="weights", server=SERVER)
    assert game.player_names == ("3", "7")
    rounds = [{"zoe": ANN}, {"ann": BOB}]
    game = FederatedGame.from_updates(rounds, lambda _: 1.0, given="weights", server=SERVER)
    assert game.player_names == ("zoe", "ann")
    agents = ["ann", "idle", "zoe"]
    game = FederatedGame.from_updates(
        rounds, lambda _: 1.0, given="weights", server=SERVER, agents=agents
    )
    assert game.player_names == ("ann", "idle", "zoe")
    assert [part.record.agents for part in game.rounds] == [(2,), (0,)]


def test_counters_stay_the_servers_and_other_whole_numbers_must_agree():
    """A batch norm counts its batches; positions of tokens are the same for everyone."""

    def weights(value, batches, positions=(0, 1)):
        return {
            "w": np.array([value]),
            "batches": np.array(batches),
            "positions": np.array(positions),
        }

    updates = {"ann": weights(1.0, 30), "bob": weights(3.0, 10)}
    record = read_round(updates, given="weights", server=weights(0.0, 5))
    after = record.next_server()
    assert after["w"] == 2.0
    assert after["batches"] == 5
    assert read_round(updates, given="weights").next_server()["batches"] == 30
    updates["bob"] = weights(3.0, 10, (1, 0))
    with pytest.raises(InputError, match=r"'bob': entry 'positions' is of int64 and was changed"):
        read_round(updates, given="weights", server=weights(0.0, 5))
    with pytest.raises(InputError, match=r"agent 'ann': entry 'positions'"):
        read_round({"ann": weights(1.0, 3)}, given="deltas", server=weights(0.0, 5))


def one(**changes):
    arguments = {"updates": {"ann": ANN}, "given": "weights", "server": SERVER} | changes
    return read_round(arguments.pop("updates"), **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"given": "deltas", "server": None}, "deltas need the server's weights"),
        ({"agents": ["bob"]}, "agent 'ann' has an update but is not in `agents`"),
        ({"examples": {"ann": 0}}, "agent 'ann' must be a finite number above 0, not 0"),
        ({"examples": {"bob": 5}}, "agent 'ann' has no number of examples"),
        ({"updates": {"ann": {"w": ANN["w"]}}}, "entry 'b' is missing, elsewhere of floats"),
        ({"updates": {"ann": {**ANN, "b": np.array([np.nan])}}}, "'ann': entry 'b' is not finite"),
        (
            {"updates": {"ann": {**ANN, "b": np.array([1])}}},
            "'b' is of whole numbers with .*, elsewhere of floats",
        ),
        (
            {"updates": {"ann": [np.array([1e308])]}, "server": [np.array([-1e308])]},
            "too far apart for float64",
        ),
        (
            {"updates": {"ann": [np.array([1e300])]}, "server": [np.zeros(1, dtype=np.float32)]},
            "too far apart for float32",
        ),
    ],
)
def test_bad_rounds_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        one(**changes)


@pytest.mark.parametrize(
    ("rounds", "options", "message"),
    [
        ([{"ann": ANN}, {}], {}, "round 1 has no updates"),
        ([{"ann": ANN}], {"examples": [{}, {}]}, "examples has 2 members for 1 rounds"),
        ([{"ann": ANN}, {"ann": {"w": BOB["w"], "b": np.zeros(2)}}], {}, "round 1, agent 'ann'"),
    ],
)
def test_bad_runs_are_named(rounds, options, message):
    options = {"given": "weights", "server": SERVER} | options
    with pytest.raises(InputError, match=message):
        FederatedGame.from_updates(rounds, lambda _: 0.0, **options)


def test_a_sum_of_accuracies_is_called_a_sum():
    model = torch.nn.Linear(1, 2)
    utility = ModelUtility(model, (np.array([[1.0], [2.0], [-1.0]]), [0, 1, 1]))
    start = {name: value.clone() for name, value in model.state_dict().items()}
    one = read_round({0: start}, given="weights", server=start)
    assert RoundGame(one, utility).unit == "accuracy on 3 test rows"
    assert FederatedGame([one], utility).unit == "accuracy on 3 test rows"
    total = FederatedGame([one, one], utility)
    assert total.unit == "sum over 2 rounds of accuracy on 3 test rows"
    assert fs.exact(total).game.unit == total.unit
    assert FederatedGame([one, one], lambda weights: 1.0).unit == "sum over 2 rounds of the utility"


@pytest.mark.parametrize("given", ["weights", "deltas"])
def test_weights_and_deltas_are_not_taken_for_each_other(given, recwarn):
    rng = np.random.default_rng(0)
    server, changes = rng.normal(size=50), 0.5 * rng.normal(size=(3, 50))
    updates = {"deltas": changes, "weights": server + changes}
    rounds = {
        kind: [{at: [update] for at, update in enumerate(sent)}] for kind, sent in updates.items()
    }
    list(read_rounds(rounds[given], given=given, server=[server]))
    list(read_rounds(rounds[given], given=given, server=[np.zeros(50)]))  # both are the same there
    assert not recwarn
    other = "weights" if given == "deltas" else "deltas"
    with pytest.warns(UserWarning, match=f"look like {other}, not {given}.*give '{other}'"):
        list(read_rounds(rounds[other], given=given, server=[server]))


@pytest.mark.parametrize("given", ["weights", "deltas"])
def test_updates_without_a_change_and_copies_are_named(given):
    sent = [{"ann": 1.0, "bob": 1.0, "carl": 0.0}, {"bob": 2.0, "carl": 0.0, "dora": 0.0}]
    rounds = [{name: [np.array([update])] for name, update in one.items()} for one in sent]
    server = [np.array([4.0])]
    if given == "weights":
        server = [[np.array([0.0])], [np.array([0.0])]]
    game = FederatedGame.from_updates(
        rounds, lambda weights: float(weights[0][0]), given=given, server=server
    )
    nothing = "sent an update that changes nothing"
    remarks = ((1, "sent the same update as 'ann' in 1 of 2 rounds"),)
    remarks += ((2, f"{nothing} in 2 of 2 rounds"), (3, f"{nothing} in 1 of 2 rounds"))
    assert game.remarks == remarks
    for result in (fs.exact(game), fs.estimate(game)):
        assert tuple(map(tuple, result.game.remarks)) == remarks
