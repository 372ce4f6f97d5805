"""Models evaluated many at a time are worth what they are worth one by one."""

import numpy as np
import pytest
import torch
from torch import nn

from fairshapley.errors import InputError
from fairshapley.games import fingerprint
from fairshapley.games.federated import ModelUtility, RoundGame, read_round
from fairshapley_paper.federated.networks import cifar_cnn, text_cnn

RANDOM = np.random.default_rng(0)


def round_of(model, n_agents=4, scale=0.3):
    """Random updates of a model."""
    updates = {
        agent: {
            name: scale * RANDOM.standard_normal(entry.shape)
            if entry.is_floating_point()
            else np.zeros(entry.shape, dtype=np.int64)
            for name, entry in model.state_dict().items()
        }
        for agent in range(n_agents)
    }
    examples = {agent: 10 + agent for agent in range(n_agents)}
    return read_round(updates, given="deltas", server=model.state_dict(), examples=examples)


def test_accuracy_and_likelihood_by_hand():
    """Two classes, logits (0, x): of x = −1, 1, 3 with classes 0, 0, 1 two are right."""
    model = nn.Linear(1, 2, bias=False)
    server = {"weight": np.array([[0.0], [0.0]])}
    record = read_round({0: {"weight": np.array([[0.0], [1.0]])}}, given="weights", server=server)
    rows, classes = np.array([[-1.0], [1.0], [3.0]]), [0, 0, 1]
    masks = np.array([[True], [False]])
    accuracy = RoundGame(record, ModelUtility(model, (rows, classes)))
    assert accuracy.value_range == (0.0, 1.0)
    # Without an update all logits are equal, and the first of them counts.
    np.testing.assert_array_equal(accuracy(masks), [2 / 3, 2 / 3])
    utility = ModelUtility(model, (rows, classes), "log_likelihood", precision="float64")
    likelihood = RoundGame(record, utility)
    right = -np.log1p(np.exp([-1.0, 1.0, -3.0])).mean()
    np.testing.assert_allclose(likelihood(masks), [right, -np.log(2)], rtol=1e-12)
    assert likelihood.value_range is None


MODELS = {
    "linear": (lambda: nn.Linear(6, 3), lambda: RANDOM.standard_normal((40, 6)), 3),
    "images": (
        lambda: cifar_cnn(4, image=(3, 16, 16), channels=(4, 6, 5), kernels=(3, 2, 2), hidden=8),
        lambda: RANDOM.standard_normal((40, 3, 16, 16)),
        4,
    ),
    "texts": (
        lambda: text_cnn(30, 3, embedding=5, kernels=(2, 3), filters=4),
        lambda: RANDOM.integers(0, 30, (40, 9)),
        3,
    ),
    "batch norm": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 3)
        ),
        lambda: RANDOM.standard_normal((40, 1, 4, 4)),
        3,
    ),
}


@pytest.fixture(params=MODELS)
def case(request):
    make, rows, classes = MODELS[request.param]
    torch.manual_seed(0)
    model = make()
    # A running variance must stay above 0.
    scale = 0.05 if request.param == "batch norm" else 0.5
    return model, (rows(), RANDOM.integers(0, classes, 40)), round_of(model, scale=scale)


MASKS = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)


@pytest.mark.parametrize("metric", ["accuracy", "log_likelihood"])
def test_many_at_once_equal_one_by_one(case, metric):
    """In double precision the two round by 1e−15, and no two classes here are that close."""
    model, test, record = case
    many, alone = (
        ModelUtility(model, test, metric, precision="float64", models_per_batch=count)
        for count in (5, 1)
    )
    values = RoundGame(record, many)(MASKS)
    np.testing.assert_allclose(values, RoundGame(record, alone)(MASKS), rtol=1e-12)
    assert len(np.unique(values)) > 3


def test_the_batch_around_a_coalition_does_not_matter(case):
    model, test, record = case
    game = RoundGame(record, ModelUtility(model, test, "log_likelihood", models_per_batch=6))
    values = game(MASKS)
    for size in (1, 3, 7):
        parts = [game(MASKS[start : start + size]) for start in range(0, 16, size)]
        np.testing.assert_array_equal(np.concatenate(parts), values)
    np.testing.assert_array_equal(game(MASKS[::-1])[::-1], values)
    assert game(MASKS[:0]).shape == (0,)


def test_a_function_of_outputs_and_targets():
    """Regression: minus the mean squared error, of targets that are no classes."""
    model = nn.Linear(2, 1)
    rows, targets = RANDOM.standard_normal((30, 2)), RANDOM.standard_normal((30, 1))
    record = round_of(model)
    utility = ModelUtility(
        model, (rows, targets), lambda out, y: -((out - y) ** 2).mean(), precision="float64"
    )
    values = RoundGame(record, utility)(MASKS)
    for mask, value in zip(MASKS, values, strict=True):
        weights = record.weights(mask)
        predicted = rows @ np.asarray(weights["weight"], dtype=float).T + weights["bias"].numpy()
        assert value == pytest.approx(-((predicted - targets) ** 2).mean(), rel=1e-6)


class Recurrent(nn.Module):
    """vmap has no rule for its recurrence."""

    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(3, 4, batch_first=True)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        if x.abs().sum() < 0:  # nor for a decision on data
            return x
        return self.out(self.memory(x)[0][:, -1])


def test_a_model_that_vmap_cannot_take_is_computed_alone():
    model, test = Recurrent(), (RANDOM.standard_normal((12, 5, 3)), np.arange(12) % 2)

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            return self.layer(x) if self.layer.weight.sum() > -1e9 else x

    branches, rows = Branches(), (RANDOM.standard_normal((12, 3)), np.arange(12) % 2)
    assert ModelUtility(branches, rows).models_per_batch == 1
    assert ModelUtility(branches, rows, models_per_batch=4).models_per_batch == 1
    values = RoundGame(round_of(model), ModelUtility(model, test))(MASKS)
    assert ((values >= 0) & (values <= 1)).all()


def test_tied_weights_are_one_entry_each():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.into = nn.Linear(3, 3, bias=False)
            self.out = nn.Linear(3, 3, bias=False)
            self.out.weight = self.into.weight

        def forward(self, x):
            return self.out(torch.tanh(self.into(x)))

    model = Tied()
    update = 0.5 * np.eye(3)
    updates = {0: {"into.weight": update, "out.weight": update}}
    server = {"into.weight": np.zeros((3, 3)), "out.weight": np.zeros((3, 3))}
    record = read_round(updates, given="deltas", server=server)
    rows = np.eye(3)
    for count in (1, 3):
        utility = ModelUtility(model, (rows, [0, 1, 2]), models_per_batch=count)
        np.testing.assert_array_equal(
            RoundGame(record, utility)(np.array([[True], [False]])), [1.0, 1 / 3]
        )


def test_outputs_that_overflow_are_no_utility():
    model = nn.Linear(1, 2, bias=False)
    record = read_round(
        {0: {"weight": np.full((2, 1), 3e38)}},
        given="deltas",
        server={"weight": np.zeros((2, 1), dtype=np.float32)},
    )
    for metric in ("accuracy", "log_likelihood"):
        game = RoundGame(record, ModelUtility(model, (np.full((3, 1), 10.0), [0, 1, 0]), metric))
        assert np.isnan(game(np.array([[True], [False]]))).tolist() == [True, False]


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_the_precision_of_the_model_given_does_not_matter(kind):
    """Weights come from the rounds; numpy knows no bfloat16, and fingerprints are numpy's."""
    rows, classes = RANDOM.standard_normal((12, 6)), RANDOM.integers(0, 3, 12)
    model = nn.Linear(6, 3)
    record = round_of(model)
    game, other = (
        RoundGame(record, ModelUtility(each, (rows, classes)))
        for each in (model, nn.Linear(6, 3).to(kind))
    )
    masks = np.eye(4, dtype=bool)
    np.testing.assert_array_equal(game(masks), other(masks))
    assert fingerprint(game) == fingerprint(other)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x) + torch.randn(2)


LINEAR = nn.Linear(2, 2)
ROWS = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((LINEAR, (ROWS, [0, 1, 2, 0])), {}, "classes go from 0 to 2, the model has 2 outputs"),
        ((LINEAR, (ROWS * np.nan, [0] * 4)), {}, "not finite"),
        ((text_cnn(5), (np.diag([0, 1, 2, 5]), [0] * 4)), {}, "IndexError"),
        ((Noisy(), (ROWS, [0] * 4)), {}, "answers differently when asked again"),
        ((LINEAR, (ROWS, [0] * 4)), {"device": "tpu"}, "'tpu' cannot be used here"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(InputError, match=message):
        ModelUtility(*arguments, **options)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: torch.cuda is not available")
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_gpu_agrees_with_the_cpu(digits, coalitions, precision):
    cpu = RoundGame(digits.rounds[0], digits.utility)(coalitions)
    utility = ModelUtility(digits.model, digits.test, device="cuda", precision=precision)
    gpu = RoundGame(digits.rounds[0], utility)(coalitions)
    assert np.abs(gpu - cpu).max() <= 0.004  # a row
