"""Federated averaging in torch, one round at a time."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray
from fairshapley.errors import FairShapleyError, InputError
from fairshapley.games.federated._torch import check_device, import_torch
from fairshapley.games.federated.layout import Weights, describe, read, write
from fairshapley.games.federated.probing import (
    as_tensor,
    check_classes,
    check_data,
    check_model,
    probe,
)
from fairshapley.games.federated.rounds import Round
from fairshapley.randomness import root_seed, side_generator

if TYPE_CHECKING:
    import torch

Optimizer: TypeAlias = "Literal['sgd', 'adam'] | Callable[[Any, float], torch.optim.Optimizer]"
Loss: TypeAlias = "Literal['cross_entropy'] | Callable[[Any, Any], torch.Tensor]"

Participation: TypeAlias = (
    float
    | BoolArray
    | Sequence[Iterable[int]]
    | Callable[[int, np.random.Generator], Iterable[int]]
    | None
)


def train(
    model: torch.nn.Module,
    agents: Sequence[tuple[Any, Any]],
    *,
    rounds: int,
    epochs: int = 1,
    lr: float = 0.1,
    decay: float = 1.0,
    batch_size: int = 32,
    optimizer: Optimizer = "sgd",
    loss: Loss = "cross_entropy",
    participation: Participation = None,
    seed: int = 0,
    device: str | None = None,
) -> Iterator[Round]:
    """Train a model by federated averaging (McMahan et al. 2017) and give each round as it ends.

    In a round every participant starts from the server's weights, trains on its own rows, and the
    server adds the average of the updates, weighted by the numbers of rows. Rounds come one at a
    time: value them while the training goes on, or keep them all for a `FederatedGame`. A round
    holds the weights of the server and one update for each participant.

    Parameters
    ----------
    model
        The torch module; its present weights are the start. It is copied, not changed. All
        floating-point entries of its state dict are averaged, also the running statistics of a
        batch norm; other entries stay as they are.
    agents
        For each agent its rows and their targets (arrays or tensors); whole numbers stay whole.
    rounds, epochs
        The number of rounds, and of passes over an agent's rows in a round.
    lr, decay
        The step of the optimiser in round t is ``lr * decay**t``.
    batch_size
        The rows of one step; the last batch of a pass may be smaller.
    optimizer
        "sgd", "adam", or a function of the parameters and the step that makes one. It starts anew
        in every round.
    loss
        "cross_entropy" of logits, with targets 0, 1, …; or a function of outputs and targets.
    participation
        Who takes part: None for all; a number in (0, 1], the part of the agents drawn in each round
        (at least one); a list with the agents of each round, or a boolean array (rounds, agents);
        or a function of the round's number and a numpy generator that returns the agents.
    seed
        Fixes the order of the rows, dropout and who is drawn. Each agent has a stream of its own in
        each round, so that it does not matter who else takes part. The same seed gives the same
        rounds on the same machine with the same number of threads.
    device
        "cpu" unless given.

    Yields
    ------
    Round
        What a `RoundGame` values.

    Examples
    --------
    >>> import torch
    >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = torch.nn.Linear(1, 2)
    >>> for record in train(model, [(rows, [0, 0, 1, 1]), (rows[:2], [0, 0])], rounds=2):
    ...     print(record.number, record.agents, record.sizes)
    0 (0, 1) [4. 2.]
    1 (0, 1) [4. 2.]
    """
    check_model(model)
    rounds = checks.whole("rounds", rounds)
    lr, decay = checks.real("lr", lr, above=0), checks.real("decay", decay, above=0)
    learner = _Learner(
        model,
        agents,
        epochs=checks.whole("epochs", epochs),
        batch_size=checks.whole("batch_size", batch_size),
        optimizer=optimizer,
        loss=loss,
        device=device,
    )
    schedule = Schedule(participation, rounds, len(learner.data), root_seed(seed))
    return _rounds(learner, schedule, lr, decay)


class Schedule:
    """The agents of every round; what can be checked beforehand is.

    Examples
    --------
    >>> Schedule([[0, 2], [1]], rounds=2, n_agents=3, seed=0).agents(0)
    (0, 2)
    >>> len(Schedule(0.5, rounds=2, n_agents=6, seed=0).agents(1))
    3
    """

    def __init__(self, participation: Participation, rounds: int, n_agents: int, seed: int) -> None:
        self.rounds = rounds
        self.n_agents = n_agents
        self.seed = seed
        self._of_round = self._parse(participation)

    def agents(self, number: int) -> tuple[int, ...]:
        """Who takes part in a round, in increasing order."""
        generator = side_generator(self.seed, f"federated round {number}")
        return self._check(self._of_round(number, generator), number)

    def _parse(self, given: Any) -> Callable[[int, np.random.Generator], Iterable[int]]:
        everyone = range(self.n_agents)
        if given is None:
            return lambda _number, _generator: everyone
        if callable(given):
            return given
        if isinstance(given, int | float | np.number):
            if not 0 < given <= 1:
                raise InputError(f"participation as a part must be in (0, 1], not {given!r}")
            count = max(1, round(float(given) * self.n_agents))
            return lambda _number, generator: generator.choice(self.n_agents, count, replace=False)
        table = self._table(given)
        return lambda number, _generator: table[number]

    def _table(self, given: Any) -> list[tuple[int, ...]]:
        if isinstance(given, np.ndarray) and given.dtype == np.bool_:
            if given.shape != (self.rounds, self.n_agents):
                raise InputError(
                    f"participation has the shape {given.shape}, not (rounds, agents) = "
                    f"({self.rounds}, {self.n_agents})"
                )
            given = [np.flatnonzero(row) for row in given]
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
            raise InputError(
                f"participation must be None, a number, a list, a boolean array or a function, "
                f"not {given!r}"
            )
        if len(given) != self.rounds:
            raise InputError(
                f"participation has {len(given)} rounds of {self.rounds}: list the agents of each"
            )
        return [self._check(agents, number) for number, agents in enumerate(given)]

    def _check(self, agents: Iterable[int] | NDArray[Any], number: int) -> tuple[int, ...]:
        try:
            listed = list(agents)
            # A mask as a list would be read as the agents 0 and 1.
            if any(isinstance(agent, bool) for agent in listed):
                raise TypeError
            chosen = sorted(operator.index(agent) for agent in listed)
        except TypeError:
            raise InputError(
                f"round {number}: the agents that take part must be listed by their indices, not "
                f"{agents!r}; masks go into one boolean array (rounds, agents)"
            ) from None
        if not chosen:
            raise InputError(f"round {number}: nobody takes part; leave the round out")
        if len(set(chosen)) < len(chosen):
            raise InputError(f"round {number}: an agent is listed twice")
        if chosen[0] < 0 or chosen[-1] >= self.n_agents:
            odd = chosen[0] if chosen[0] < 0 else chosen[-1]
            raise InputError(f"round {number}: agent {odd} is not one of 0…{self.n_agents - 1}")
        return tuple(chosen)


def _rounds(learner: _Learner, schedule: Schedule, lr: float, decay: float) -> Iterator[Round]:
    """The rounds; the arguments were checked when `train` was called, not at the first round."""
    layout = describe(learner.start, "the model")
    server, fixed = read(learner.start, layout, "the model")
    for number in range(schedule.rounds):
        taking_part = schedule.agents(number)
        weights = write(server, fixed, layout)
        deltas = np.empty((len(taking_part), len(server)), dtype=server.dtype)
        for place, agent in enumerate(taking_part):
            where = f"round {number}, agent {agent}"
            generator = side_generator(schedule.seed, f"federated {where}")
            local = learner.fit(weights, agent, lr * decay**number, generator, where)
            deltas[place] = read(local, layout, where)[0] - server
        record = Round(
            number=number,
            n_agents=len(learner.data),
            agents=taking_part,
            sizes=np.array([float(len(learner.data[agent][0])) for agent in taking_part]),
            server=server,
            deltas=deltas,
            layout=layout,
            fixed=fixed,
        )
        yield record
        server = read(record.next_server(), layout, f"round {number}, server")[0]


class _Learner:
    """One agent's training, the same for all agents."""

    def __init__(
        self,
        model: torch.nn.Module,
        agents: Sequence[tuple[Any, Any]],
        *,
        epochs: int,
        batch_size: int,
        optimizer: Optimizer,
        loss: Loss,
        device: str | None,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.device = check_device(device)
        self.model = copy.deepcopy(model).to("cpu")
        self.start: Weights = {
            name: entry.detach().clone() for name, entry in self.model.state_dict().items()
        }
        self.data = self._check_agents(agents, loss)
        self.model.to(self.device)
        torch = import_torch("train")
        optimizers = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
        self.make_optimizer = _own(optimizer, "optimizer", optimizers)
        self.loss = _own(loss, "loss", {"cross_entropy": torch.nn.functional.cross_entropy})

    def _check_agents(self, agents: Sequence[tuple[Any, Any]], loss: Loss) -> list[tuple[Any, ...]]:
        """The agents' rows and targets, on the device."""
        if not isinstance(agents, Sequence) or not agents:
            raise InputError(
                "agents must be a list with a pair (rows, targets) for each, not empty"
            )
        data = []
        self.model.eval()
        for agent, given in enumerate(agents):
            rows, targets = check_data(given, f"agent {agent}")
            shape, _ = probe(self.model, rows, f"agent {agent}'s rows")
            if loss == "cross_entropy":
                check_classes(targets, shape, f"agent {agent}", "loss 'cross_entropy'")
            pair = (as_tensor(part, self.model).to(self.device) for part in (rows, targets))
            data.append(tuple(pair))
        return data

    def fit(
        self, weights: Weights, agent: int, lr: float, generator: np.random.Generator, where: str
    ) -> Weights:
        """The weights after the agent has trained, from those of the server."""
        torch = import_torch("train")
        torch_seed = int(generator.integers(2**63))
        devices = [self.device] if self.device.type == "cuda" else []
        try:
            # Layers that draw (dropout) use torch's own generator, which is put back afterwards.
            with torch.random.fork_rng(devices=devices):
                torch.manual_seed(torch_seed)
                self.model.load_state_dict(weights)
                self.model.train()
                self._steps(agent, lr, generator)
        except FairShapleyError:
            raise
        except Exception as error:  # the user's model, loss or optimiser may raise anything
            raise InputError(
                f"{where}: the training failed ({type(error).__name__}: {error})"
            ) from error
        return self.model.state_dict()

    def _steps(self, agent: int, lr: float, generator: np.random.Generator) -> None:
        torch = import_torch("train")
        rows, targets = self.data[agent]
        optimizer = self.make_optimizer(self.model.parameters(), lr)
        for _ in range(self.epochs):
            order = torch.from_numpy(generator.permutation(len(rows))).to(self.device)
            for batch in order.split(self.batch_size):
                optimizer.zero_grad()
                self.loss(self.model(rows[batch]), targets[batch]).backward()
                optimizer.step()


def _own(given: Any, name: str, known: dict[str, Any]) -> Any:
    """A function as it is, or what is known by a name."""
    return given if callable(given) else known[checks.choice(name, given, list(known))]
