"""Federated averaging in torch, one round at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch

from fairshapley.errors import FairShapleyError, InputError
from fairshapley.games.federated import Round
from fairshapley.games.federated.layout import Weights, describe, read, write
from fairshapley.games.federated.probing import as_tensor, check_data
from fairshapley.randomness import root_seed, side_generator

_OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
}


def train(
    model: torch.nn.Module,
    agents: Sequence[tuple[Any, Any]],
    *,
    rounds: int,
    epochs: int = 1,
    lr: float = 0.1,
    decay: float = 1.0,
    batch_size: int = 32,
    optimizer: Literal["sgd", "adam"] = "sgd",
    loss: Callable[[Any, Any], Any] = torch.nn.functional.cross_entropy,
    participants: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Iterator[Round]:
    """Train a model by federated averaging (McMahan et al. 2017) and give each round as it ends.

    In a round every participant starts from the server's weights, trains on its own rows, and the
    server adds the average of the updates, weighted by the numbers of rows.

    Parameters
    ----------
    model
        Its present weights are the start. It is copied, not changed. All floating-point entries of
        its state dict are averaged, also the running statistics of a batch norm; other entries
        stay as they are.
    agents
        For each agent its rows and their targets; whole numbers stay whole.
    rounds, epochs
        The number of rounds, and of passes over an agent's rows in a round.
    lr, decay
        The step of the optimiser, which starts anew in every round t, is ``lr * decay**t``.
    batch_size
        The rows of one step; the last batch of a pass may be smaller.
    participants
        The agents of each round, in increasing order; all unless given.
    seed
        Fixes the order of the rows and dropout. Each agent has a stream of its own in each round,
        so that it does not matter who else takes part. The same seed gives the same rounds on the
        same machine with the same number of threads.
    """
    seed, learner = root_seed(seed), _Learner(model, agents, epochs, batch_size, device)
    layout = describe(learner.start, "the model")
    server, fixed = read(learner.start, layout, "the model")
    for number in range(rounds):
        taking_part = range(len(agents)) if participants is None else participants[number]
        weights = write(server, fixed, layout)
        deltas = np.empty((len(taking_part), len(server)), dtype=server.dtype)
        for place, agent in enumerate(taking_part):
            where = f"round {number}, agent {agent}"
            generator = side_generator(seed, f"federated {where}")
            make = _OPTIMIZERS[optimizer]
            local = learner.fit(weights, agent, make, lr * decay**number, loss, generator, where)
            deltas[place] = read(local, layout, where)[0] - server
        record = Round(
            number=number,
            n_agents=len(agents),
            agents=tuple(taking_part),
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
        device: str | None,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.device = torch.device(device or "cpu")
        self.model = copy.deepcopy(model).to("cpu")
        self.start: Weights = {
            name: entry.detach().clone() for name, entry in self.model.state_dict().items()
        }
        self.data = [
            tuple(
                as_tensor(part, self.model).to(self.device)
                for part in check_data(given, f"agent {agent}")
            )
            for agent, given in enumerate(agents)
        ]
        self.model.to(self.device)

    def fit(
        self,
        weights: Weights,
        agent: int,
        make: Callable[..., torch.optim.Optimizer],
        lr: float,
        loss: Callable[[Any, Any], Any],
        generator: np.random.Generator,
        where: str,
    ) -> Weights:
        """The weights after the agent has trained, from those of the server."""
        torch_seed = int(generator.integers(2**63))
        devices = [self.device] if self.device.type == "cuda" else []
        rows, targets = self.data[agent]
        try:
            # Layers that draw (dropout) use torch's own generator, which is put back afterwards.
            with torch.random.fork_rng(devices=devices):
                torch.manual_seed(torch_seed)
                self.model.load_state_dict(weights)
                self.model.train()
                optimizer = make(self.model.parameters(), lr)
                for _ in range(self.epochs):
                    order: Any = torch.from_numpy(generator.permutation(len(rows))).to(self.device)
                    for batch in order.split(self.batch_size):
                        optimizer.zero_grad()
                        loss(self.model(rows[batch]), targets[batch]).backward()
                        optimizer.step()
        except FairShapleyError:
            raise
        except Exception as error:  # torch raises what a layer or a device says
            raise InputError(
                f"{where}: the training failed ({type(error).__name__}: {error})"
            ) from error
        return self.model.state_dict()
