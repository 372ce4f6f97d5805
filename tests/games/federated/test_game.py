"""The games of rounds and their total: values by hand, axioms, and the contract of a game."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import GameError, InputError, MissingExtraError
from fairshapley.games.federated import FederatedGame, ModelUtility, RoundGame, read_round
from fairshapley.testing import check_game
from fairshapley_paper.federated.networks import mnist_cnn
from fairshapley_paper.federated.training import train


def squares(weights):
    """−(w − 2)²: the best weight is 2."""
    return -float((weights[0][0] - 2.0) ** 2)


def by_hand(**options):
    """One weight, starting at 0. In round 0 ann (100 rows) finds 1, bob (300 rows) 4; both 3.25.

    Round 1 starts there and bob sits out: ann finds 2.25, carl (100 rows) 1.25; both 1.75.
    """
    rounds = [
        {"ann": [np.array([1.0])], "bob": [np.array([4.0])]},
        {"ann": [np.array([2.25])], "carl": [np.array([1.25])]},
    ]
    return FederatedGame.from_updates(
        rounds,
        squares,
        given="weights",
        examples={"ann": 100, "bob": 300, "carl": 100},
        server=[np.array([0.0])],
        **options,
    )


def test_values_by_hand():
    game = by_hand()
    first, second = (fs.exact(part).values for part in game.rounds)
    # v(∅) = −4, v(a) = −1, v(b) = −4, v(ab) = −1.25² = −1.5625
    np.testing.assert_allclose(first, [(3 + 2.4375) / 2, (0 - 0.5625) / 2, 0], atol=1e-15)
    # v(∅) = −1.25² = −1.5625, v(a) = −0.0625, v(c) = −0.5625, v(ac) = −0.0625
    np.testing.assert_allclose(second, [(1.5 + 0.5) / 2, 0, (1.0 + 0.0) / 2], atol=1e-15)
    np.testing.assert_allclose(fs.exact(game).values, first + second, atol=1e-15)


def test_the_empty_coalition_may_be_worth_a_number():
    """With v(∅) = 0 in place of −4: ann and bob share 4 less, half each."""
    values = fs.exact(by_hand(empty=0.0).rounds[0]).values
    np.testing.assert_allclose(values, [2.71875 - 2, -0.28125 - 2, 0], atol=1e-15)
    with_nobody = np.array([[False, False, True]])  # carl has no update in round 0
    assert by_hand(empty=-7.0).rounds[0](with_nobody) == [-7.0]
    assert by_hand().rounds[0](with_nobody) == [-4.0]


def test_a_trained_federation(digits, coalitions):
    game = FederatedGame(digits.rounds, digits.utility)
    total = fs.exact(game).values
    parts = [fs.exact(part).values for part in game.rounds]
    ends = game(np.array([[False] * 5, [True] * 5]))
    assert total.sum() == pytest.approx(ends[1] - ends[0], abs=1e-12)
    np.testing.assert_allclose(total, np.sum(parts, axis=0), atol=1e-12)
    for part, values, out in zip(game.rounds, parts, [[], [1, 3], [0, 2]], strict=True):
        assert (values[out] == 0.0).all()
        table = part(coalitions)
        for agent in out:
            with_agent, without = coalitions.copy(), coalitions.copy()
            with_agent[:, agent], without[:, agent] = True, False
            np.testing.assert_array_equal(part(with_agent), part(without))
        assert len(np.unique(table)) > 2  # the updates do matter
    # The server learnt: the model of all in the last round beats the one before the first.
    everyone, nobody = np.ones((1, 5), dtype=bool), np.zeros((1, 5), dtype=bool)
    assert game.rounds[-1](everyone)[0] > game.rounds[0](nobody)[0] + 0.4


def test_a_plain_function_sees_what_the_model_utility_sees(digits, coalitions):
    import torch

    model = copy.deepcopy(digits.model).eval()
    rows, labels = (torch.from_numpy(part) for part in digits.test)

    def accuracy(state):
        model.load_state_dict(state)
        with torch.no_grad():
            return (model(rows).argmax(dim=1) == labels).double().mean()

    few = coalitions[::3]
    plain = RoundGame(digits.rounds[0], accuracy)
    np.testing.assert_array_equal(plain(few), RoundGame(digits.rounds[0], digits.utility)(few))


def test_the_contract_of_a_game(digits):
    check_game(FederatedGame(digits.rounds, digits.utility), samples=12)
    check_game(RoundGame(digits.rounds[1], digits.utility, empty=2.0), samples=12)
    check_game(by_hand())


def test_fingerprints_are_of_content(digits):
    game = FederatedGame(digits.rounds, digits.utility)
    name = fs.games.fingerprint(game)
    again = train(digits.model, digits.agents, rounds=3, **digits.options)
    # Neither the weights that the model happens to hold nor names count.
    other_start = mnist_cnn(image=(1, 12, 12), channels=(6, 8), kernels=(3, 2), hidden=24, seed=9)
    utility = ModelUtility(other_start, digits.test)
    anew = FederatedGame(again, utility, player_names=list("abcde"))
    assert fs.games.fingerprint(anew) == name
    game(np.ones((1, 5), dtype=bool))
    assert fs.games.fingerprint(game) == name
    back = pickle.loads(pickle.dumps(game))  # noqa: S301
    assert fs.games.fingerprint(back) == name
    np.testing.assert_array_equal(back(np.eye(5, dtype=bool)), game(np.eye(5, dtype=bool)))
    images, labels = digits.test
    fewer = ModelUtility(digits.model, (images[1:], labels[1:]))
    by_likelihood = ModelUtility(digits.model, digits.test, "log_likelihood")
    others = [
        FederatedGame(digits.rounds[:2], digits.utility),
        FederatedGame(digits.rounds, digits.utility, empty=0.0),
        FederatedGame(digits.rounds, fewer),
        FederatedGame(digits.rounds, by_likelihood),
        game.rounds[0],
    ]
    names = {fs.games.fingerprint(other) for other in others}
    assert len(names | {name}) == len(others) + 1


def test_participants_who_are_the_same_are_evaluated_once():
    calls = []
    record = read_round(
        {0: [np.ones(1)], 2: [np.ones(1)]}, given="deltas", agents=range(9), server=[np.zeros(1)]
    )
    game = RoundGame(record, lambda weights: calls.append(1) or float(weights[0][0]))
    masks = (np.arange(512)[:, None] >> np.arange(9) & 1).astype(bool)
    game(masks)
    assert len(calls) == 4


def test_a_function_may_change_what_it_is_given():
    def spoils(weights):
        weights[0] *= 0.0
        return 1.0 + float(weights[0][0])

    record = by_hand().rounds[0].record
    before = record.server.copy(), record.deltas.copy()
    RoundGame(record, spoils)(np.ones((2, 3), dtype=bool))
    np.testing.assert_array_equal(before[0], record.server)
    np.testing.assert_array_equal(before[1], record.deltas)


@pytest.mark.parametrize("answer", ["0.5", None, (0.3, {}), 1j, np.ones(2)])
def test_an_answer_that_is_no_number_names_its_coalition(answer):
    game = RoundGame(by_hand().rounds[1].record, lambda _: answer)
    with pytest.raises(GameError, match=r"coalition \(0, 2\) in round 1 is .* return a float"):
        game(np.array([[True, True, True]]))


def test_bad_games_are_named(digits):
    with pytest.raises(InputError, match=r"the rounds have \[3, 5\] agents"):
        FederatedGame([digits.rounds[0], by_hand().rounds[0].record], squares)
    with pytest.raises(InputError, match="give the model that was trained"):
        RoundGame(by_hand().rounds[0].record, digits.utility)
    with pytest.raises(InputError, match=r"shape \(m, 5\)"):
        FederatedGame(digits.rounds, digits.utility)(np.ones((1, 4), dtype=bool))


def test_torch_is_only_needed_for_torch(monkeypatch, digits):
    monkeypatch.setitem(sys.modules, "torch", None)
    np.testing.assert_allclose(fs.exact(by_hand()).values, [3.71875, -0.28125, 0.5])
    with pytest.raises(MissingExtraError, match="pip install 'torch>="):
        ModelUtility(digits.model, digits.test)


def test_importing_the_package_does_not_import_torch():
    code = "import sys, fairshapley, fairshapley.games.federated; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
