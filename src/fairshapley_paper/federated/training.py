"""Federated averaging in torch, one round at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch

from fairshapley._basics import checks
from fairshapley._basics.extras import torch_device
from fairshapley.games.federated.model_utility import (
    as_tensor,
    check_classes,
    check_data,
    check_model,
    output_shape,
)
from fairshapley.games.federated.rounds import Round, Weights, describe, read, write
from fairshapley.randomness import root_seed, side_generator

Optimizer: TypeAlias = Literal["sgd", "adam"]
Loss: TypeAlias = "Literal['cross_entropy'] | Callable[[Any, Any], torch.Tensor]"


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
    participation: Sequence[Iterable[int]] | None = None,
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
        "sgd" or "adam". It starts anew in every round.
    loss
        "cross_entropy" of logits, with targets 0, 1, …; or a function of outputs and targets.
    participation
        The agents of each round; by default all.
    seed
        Fixes the order of the rows and dropout. Each agent has its own stream in each round, so it
        does not matter who else takes part. The same seed gives the same rounds on the same machine
        with the same number of threads.
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
    learner = _Learner(model, agents, epochs, batch_size, optimizer, loss, torch_device(device))
    seed, layout = root_seed(seed), describe(learner.start, "the model")
    server, fixed = read(learner.start, layout, "the model")
    for number in range(checks.whole("rounds", rounds)):
        wanted = range(len(agents)) if participation is None else participation[number]
        taking_part = tuple(sorted(wanted))
        weights = write(server, fixed, layout)
        deltas = np.empty((len(taking_part), len(server)), dtype=server.dtype)
        for place, agent in enumerate(taking_part):
            where = f"round {number}, agent {agent}"
            generator = side_generator(seed, f"federated {where}")
            local = learner.fit(weights, agent, lr * decay**number, generator)
            deltas[place] = read(local, layout, where)[0] - server
        record = Round(
            number=number,
            n_agents=len(agents),
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
        epochs: int,
        batch_size: int,
        optimizer: Optimizer,
        loss: Loss,
        device: torch.device,
    ) -> None:
        self.epochs, self.batch_size, self.device = epochs, batch_size, device
        self.model = copy.deepcopy(model).to("cpu")
        self.start: Weights = {
            name: entry.detach().clone() for name, entry in self.model.state_dict().items()
        }
        self.model.eval()
        self.data = [self._checked(agent, given, loss) for agent, given in enumerate(agents)]
        self.model.to(device)
        self.make_optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]
        self.loss = loss if callable(loss) else torch.nn.functional.cross_entropy

    def _checked(self, agent: int, given: tuple[Any, Any], loss: Loss) -> tuple[Any, ...]:
        """Return an agent's rows and targets on the device; InputError if they do not fit."""
        rows, targets = check_data(given, f"agent {agent}")
        shape = output_shape(self.model, rows, f"agent {agent}'s rows")
        if loss == "cross_entropy":
            check_classes(targets, shape, f"agent {agent}", "loss 'cross_entropy'")
        return tuple(as_tensor(part, self.model).to(self.device) for part in (rows, targets))

    def fit(
        self, weights: Weights, agent: int, lr: float, generator: np.random.Generator
    ) -> Weights:
        """Return the weights after the agent has trained, starting from the server's."""
        devices = [self.device] if self.device.type == "cuda" else []
        # Layers that draw (dropout) use torch's own generator, which is put back afterwards.
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(int(generator.integers(2**63)))
            self.model.load_state_dict(weights)
            self.model.train()
            rows, targets = self.data[agent]
            optimizer = self.make_optimizer(self.model.parameters(), lr)
            for _ in range(self.epochs):
                order = torch.from_numpy(generator.permutation(len(rows))).to(self.device)
                for batch in order.split(self.batch_size):  # type: ignore[no-untyped-call]
                    optimizer.zero_grad()
                    self.loss(self.model(rows[batch]), targets[batch]).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
        return self.model.state_dict()
