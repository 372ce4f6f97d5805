"""Rounds of federated averaging, and rounds of a run that was made elsewhere.

A federated run hands out weights as a state dict of torch tensors, as a dict of numpy arrays or, as
Flower does, as a list of numpy arrays. All are read into one flat vector of floating-point
numbers, and written back in the form in which they came.
"""

from __future__ import annotations

import json
import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.extras import import_torch
from fairshapley._basics.files import MAX_BYTES
from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_coalitions
from fairshapley.games.player_data import equal_content

Weights: TypeAlias = Any
"""A state dict of torch tensors, a dict of numpy arrays or a list of numpy arrays"""
Form: TypeAlias = Literal["torch", "dict", "list"]
Vector: TypeAlias = NDArray[np.floating[Any]]
Fixed: TypeAlias = dict[str, NDArray[Any]]
"""The entries that are not averaged, such as a counter of batches"""
Agent = TypeVar("Agent", bound=Hashable)
Given: TypeAlias = Literal["weights", "deltas"]
Examples: TypeAlias = Mapping[Agent, float] | Sequence[Mapping[Agent, float]] | None

# Changes of fewer weights may point anywhere.
FEWEST_ENTRIES = 16


@dataclass(frozen=True)
class Layout:
    """The entries of the weights of a model; entries that are averaged are floats."""

    form: Form
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @property
    def kinds(self) -> dict[str, str]:
        """What each entry is, in words: floating-point numbers are averaged, others are not."""
        entries = zip(self.names, self.shapes, self.dtypes, strict=True)
        return {
            name: f"of {'floats' if np.dtype(kind).kind == 'f' else 'whole numbers'} with the "
            f"shape {shape}"
            for name, shape, kind in entries
        }

    @property
    def averaged(self) -> tuple[int, ...]:
        """The positions of the floating-point entries, which make up the vector."""
        return tuple(at for at, kind in enumerate(self.dtypes) if np.dtype(kind).kind == "f")

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The type of the vector: the widest of its entries."""
        kinds = [np.dtype(self.dtypes[at]) for at in self.averaged]
        return np.result_type(*kinds)

    @property
    def slices(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Where each floating-point entry lies in the vector, and its shape."""
        places, start = {}, 0
        for at in self.averaged:
            end = start + math.prod(self.shapes[at])
            places[self.names[at]] = slice(start, end), self.shapes[at]
            start = end
        return places


def describe(weights: Weights, where: str) -> Layout:
    """Return the layout of weights; raise InputError if they are no weights."""
    return _layout(*_arrays(weights, where), where)


def _layout(form: Form, arrays: dict[str, NDArray[Any]], where: str) -> Layout:
    shapes = tuple(array.shape for array in arrays.values())
    layout = Layout(form, tuple(arrays), shapes, tuple(one.dtype.str for one in arrays.values()))
    if not layout.averaged:
        raise InputError(f"{where}: no entry is of a floating-point type, so that none is averaged")
    return layout


def check_same(found: Layout, wanted: Layout, where: str, remedy: str) -> None:
    """Raise InputError where two layouts have other entries; their order does not matter."""
    if (found.form == "list") != (wanted.form == "list"):
        raise InputError(f"{where}: a {found.form} of entries, elsewhere a {wanted.form}: {remedy}")
    ours, others = found.kinds, wanted.kinds
    for name in sorted(ours.keys() | others.keys()):
        if ours.get(name) != others.get(name):
            here, there = (kinds.get(name, "missing") for kinds in (ours, others))
            raise InputError(f"{where}: entry {name!r} is {here}, elsewhere {there}: {remedy}")


def read(weights: Weights, layout: Layout, where: str) -> tuple[Vector, Fixed]:
    """The vector and the other entries of some weights; an InputError when the layout differs."""
    form, arrays = _arrays(weights, where)
    check_same(_layout(form, arrays, where), layout, where, "all agents must train the same model")
    slices = layout.slices
    for name in slices:
        if not np.isfinite(arrays[name]).all():
            raise InputError(
                f"{where}: entry {name!r} is not finite: the training has diverged; leave this "
                "agent out of the round, or train with a smaller step"
            )
    fixed = {name: array.copy() for name, array in arrays.items() if name not in slices}
    with np.errstate(over="ignore"):  # too large for the server's type: the caller reports it
        vector = np.concatenate([arrays[name].ravel() for name in slices])
        return vector.astype(layout.dtype, copy=False), fixed


def write(vector: Vector, fixed: Fixed, layout: Layout) -> Weights:
    """Return the weights in the form in which they came; nothing is shared with other weights."""
    arrays: dict[str, NDArray[Any]] = {}
    slices = layout.slices
    for name, kind in zip(layout.names, layout.dtypes, strict=True):
        if name in slices:
            part, shape = slices[name]
            arrays[name] = vector[part].reshape(shape).astype(kind)
        else:
            arrays[name] = fixed[name].copy()
    if layout.form == "list":
        return list(arrays.values())
    if layout.form == "torch":
        torch = import_torch("a state dict")
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    return arrays


def _arrays(weights: Weights, where: str) -> tuple[Form, dict[str, NDArray[Any]]]:
    """Return the form of some weights and their entries as numpy arrays."""
    if isinstance(weights, Mapping):
        entries = {str(name): value for name, value in weights.items()}
        tensors = bool(entries) and all(_is_tensor(value) for value in entries.values())
        form: Form = "torch" if tensors else "dict"
    elif isinstance(weights, list | tuple):
        entries = {str(place): value for place, value in enumerate(weights)}
        form = "list"
    else:
        raise InputError(
            f"{where}: a {type(weights).__name__} holds no weights: give a state dict, or a "
            "dict or list of numpy arrays (Flower's parameters_to_ndarrays)"
        )
    if not entries:
        raise InputError(f"{where}: there are no entries")
    return form, {name: _array(value, name, where) for name, value in entries.items()}


def _is_tensor(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "detach")


def _array(value: Any, name: str, where: str) -> NDArray[Any]:
    """One entry as a numpy array; half precision is too coarse to be summed and becomes single."""
    array = as_numbers(value)
    if array is None:
        raise InputError(
            f"{where}: entry {name!r} is not an array of real numbers, but a {type(value).__name__}"
        )
    native = np.dtype(np.float32) if array.dtype == np.float16 else array.dtype.newbyteorder("=")
    return array.astype(native, copy=False)


def as_numbers(value: Any) -> NDArray[Any] | None:
    """Return an array, a tensor or a list of numbers as a numpy array; None for anything else."""
    try:
        if _is_tensor(value):
            # One of a GPU or with a gradient does not turn into an array by itself.
            value = value.detach().cpu()
            value = value.float() if value.is_floating_point() and value.itemsize < 4 else value
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return None
    return array if array.dtype.kind in "fiub" else None


@dataclass(frozen=True, eq=False)
class Round:
    """A round of a federated run, made by `read_round`.

    The model of a coalition S is the server's plus the updates of its members that took part,
    weighted by their examples: server + Σ_{i∈S} (w_i / Σ_{j∈S} w_j)·Δ_i.

    Attributes
    ----------
    number
        The place of the round in its run, from 0.
    n_agents
        All agents of the federation, those who sat the round out included.
    agents
        The indices of those who took part, in increasing order.
    sizes
        The examples of each of them, w_i.
    server, deltas
        The server's weights before the round as a vector, and a row Δ_i for each participant.
    layout, fixed
        How a vector is made up of the entries of the model, and the entries that are not averaged.
    server_known
        False when the server's weights before the round were not given: `server` is then 0 and
        the rows of `deltas` are the agents' own weights, which give the same averages.
    """

    number: int
    n_agents: int
    agents: tuple[int, ...]
    sizes: FloatArray
    server: Vector = field(repr=False)
    deltas: Vector = field(repr=False)
    layout: Layout = field(repr=False)
    fixed: Fixed = field(repr=False)
    server_known: bool = True

    def coefficients(self, coalitions: BoolArray) -> FloatArray:
        """Return the weight of each participant (columns) in each coalition's average (rows).

        The row of a coalition without participants is 0.
        """
        rows = check_coalitions(coalitions, self.n_agents)
        # Column by column: the sum of a row then has the same bits in any batch.
        shares = np.where(rows[:, self.agents], self.sizes, 0.0)
        total = np.zeros(len(rows))
        for column in shares.T:
            total += column
        total[total == 0.0] = 1.0
        return shares / total[:, None]

    def combine(self, coefficients: FloatArray) -> Vector:
        """Return the vectors server + Σ_i c_i·Δ_i, one for each row of coefficients."""
        vectors = np.repeat(self.server[None], len(coefficients), axis=0)
        # Agent by agent, not a matrix product, whose bits depend on the size of the batch.
        for column, delta in zip(coefficients.T.astype(vectors.dtype), self.deltas, strict=True):
            vectors += column[:, None] * delta
        return vectors

    def weights(self, coalition: BoolArray) -> Weights:
        """Return the weights of one coalition's model, in the form in which weights came."""
        vector = self.combine(self.coefficients(coalition))[0]
        return write(vector, self.fixed, self.layout)

    def next_server(self) -> Weights:
        """The server's weights after the round, by federated averaging of all participants."""
        return self.weights(np.ones((1, self.n_agents), dtype=bool))


def read_round(
    updates: Mapping[Agent, Weights],
    *,
    given: Given,
    agents: Sequence[Agent] | None = None,
    examples: Mapping[Agent, float] | None = None,
    server: Weights | None = None,
    number: int = 0,
) -> Round:
    """Return a round from the updates of a federated run made elsewhere.

    Parameters
    ----------
    updates
        For each agent that took part a state dict of torch tensors, a dict of numpy arrays or a
        list of numpy arrays. Entries of a floating-point type are averaged (half precision
        becomes single). Other entries stay as the server has them, which is refused when agents
        differ in more than a counter such as the number of batches seen.
    given
        Whether an update is the agent's "weights" after training or its "deltas", the weights
        after training minus the server's weights.
    agents
        All agents, in the order of the players; by default the agents of this round.
    examples
        The number of training examples of each agent; without it all agents weigh the same.
    server
        The server's weights before the round. Weights can do without, if a coalition without
        participants is given a number as its utility.
    number
        The place of the round in its run.

    Examples
    --------
    >>> record = read_round(
    ...     {"ann": [np.array([1.0, 3.0])], "bob": [np.array([4.0, 0.0])]},
    ...     given="weights",
    ...     examples={"ann": 200, "bob": 100},
    ...     server=[np.array([0.0, 0.0])],
    ... )
    >>> record.next_server()
    [array([2., 2.])]
    """
    _check_updates(updates, number)
    checks.choice("given", given, get_args(Given))
    if server is None and given == "deltas":
        raise InputError(
            f"round {number}: deltas need the server's weights before the round: give `server`"
        )
    players = list_players([updates], agents)
    known = [player for player in players if player in updates]
    sizes = np.array([_examples(examples, agent, number) for agent in known])
    wheres = [f"round {number}, agent {agent!r}" for agent in known]
    if server is None:
        layout = describe(updates[known[0]], wheres[0])
    else:
        layout = describe(server, f"round {number}, server")
    pairs = [read(updates[agent], layout, at) for agent, at in zip(known, wheres, strict=True)]
    deltas, fixed = np.stack([vector for vector, _ in pairs]), [rest for _, rest in pairs]
    before, server_fixed = np.zeros_like(deltas[0]), None
    if server is not None:
        before, server_fixed = read(server, layout, f"round {number}, server")
    if number == 0:
        _check_given(given, before, deltas)
    if given == "weights":
        with np.errstate(over="ignore"):
            deltas -= before
    if not np.isfinite(deltas).all():
        raise InputError(
            f"round {number}: weights and the server's weights are too far apart for "
            f"{layout.dtype}: the training has diverged"
        )
    places = {player: place for place, player in enumerate(players)}
    return Round(
        number=number,
        n_agents=len(players),
        agents=tuple(places[agent] for agent in known),
        sizes=sizes,
        server=before,
        deltas=deltas,
        layout=layout,
        fixed=_fixed_entries(server_fixed, fixed, given, wheres),
        server_known=server is not None,
    )


def _check_given(given: Given, server: Vector, updates: Vector) -> None:
    """Warn where all weights look like deltas, or all deltas like weights.

    Weights have about the server's part in its own direction, and deltas nearly none of it.
    """
    if server.size < FEWEST_ENTRIES or not server.any():
        return
    with np.errstate(all="ignore"):
        parts = updates @ server / (server @ server)
    alike = {"weights": (parts > 0.5).all(), "deltas": (parts < 0.5).all()}
    other = "deltas" if given == "weights" else "weights"
    if alike[other]:
        near = {"weights": "the weights of the server", "deltas": "0"}
        warnings.warn(
            f"the updates of the first round look like {other}, not {given}: they are closer to "
            f"{near[other]} than to {near[given]}; give {other!r} as `given` if that is so",
            UserWarning,
            stacklevel=3,
        )


def odd_updates(rounds: Sequence[Round], names: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the agents that sent zeros or another agent's update, each with a sentence."""
    found: Counter[tuple[int, str]] = Counter()
    for record in rounds:
        changed = [bool(delta.any()) for delta in record.deltas]
        for agent, change in zip(record.agents, changed, strict=True):
            if record.server_known and not change:
                found[agent, "sent an update that changes nothing"] += 1
        # Adding 0 makes −0 and 0 the same bytes.
        for one, copy in equal_content((delta + 0.0).tobytes() for delta in record.deltas):
            if changed[one]:
                original = names[record.agents[one]]
                found[record.agents[copy], f"sent the same update as {original!r}"] += 1
    return tuple(
        (agent, f"{said} in {count} of {several(len(rounds), 'round')}")
        for (agent, said), count in sorted(found.items())
    )


def read_rounds(
    rounds: Iterable[Mapping[Agent, Weights]],
    *,
    given: Given,
    agents: Sequence[Agent] | None = None,
    examples: Examples[Agent] = None,
    server: Weights | Sequence[Weights] | None = None,
) -> Iterator[Round]:
    """Return the rounds of a federated run made elsewhere, one at a time.

    Parameters
    ----------
    rounds
        For each round what `read_round` takes as `updates`.
    given
        As for `read_round`.
    agents
        As for `read_round`; without it all who appear in any round, numbers in increasing order,
        others in the order in which they appear.
    examples
        One dict for all rounds, or a list with one for each.
    server
        The weights before the first round, from which the others follow by federated averaging,
        or a list of the weights before each round, for servers that do more than average.

    Examples
    --------
    >>> rounds = [{0: [np.array([2.0])], 1: [np.array([4.0])]}, {1: [np.array([7.0])]}]
    >>> [record.server for record in read_rounds(rounds, given="weights", server=[np.zeros(1)])]
    [array([0.]), array([3.])]
    """
    updates = list_rounds(rounds)
    players = list_players(updates, agents)
    counts = _per_round(examples, len(updates), "examples")
    servers = _per_round(server, len(updates), "server") if _is_series(server) else None
    before = None if servers is not None else server
    for number, update in enumerate(updates):
        record = read_round(
            update,
            given=given,
            agents=players,
            examples=counts[number],
            server=before if servers is None else servers[number],
            number=number,
        )
        yield record
        before = record.next_server()


def list_rounds(rounds: Iterable[Mapping[Agent, Weights]]) -> list[Mapping[Agent, Weights]]:
    """Return the updates of all rounds, a dict for each; raise InputError otherwise."""
    if isinstance(rounds, Mapping | str) or not isinstance(rounds, Iterable):
        raise InputError(
            f"rounds is a {type(rounds).__name__}: give a list with a dict of updates for each"
        )
    listed = list(rounds)
    if not listed:
        raise InputError("there are no rounds: give the updates of at least one")
    for number, updates in enumerate(listed):
        _check_updates(updates, number)
    return listed


def _check_updates(updates: object, number: int) -> None:
    if not isinstance(updates, Mapping):
        raise InputError(
            f"round {number} is a {type(updates).__name__}: give a dict that maps each agent to "
            "its update"
        )
    if not updates:
        raise InputError(f"round {number} has no updates: leave out rounds in which nobody trained")


def list_players(
    rounds: Sequence[Mapping[Agent, Weights]], agents: Sequence[Agent] | None
) -> list[Agent]:
    """Return all agents in the order of the players."""
    seen = list(dict.fromkeys(agent for updates in rounds for agent in updates))
    if agents is None:
        numbers = all(isinstance(agent, int | np.integer) for agent in seen)
        return sorted(seen, key=lambda agent: int(agent)) if numbers else seen  # type: ignore[call-overload]
    players = list(agents)
    known = set(players)
    if len(known) != len(players):
        raise InputError("an agent appears twice in `agents`: name each once")
    if unknown := [agent for agent in seen if agent not in known]:
        raise InputError(f"agent {unknown[0]!r} has an update but is not in `agents`: add it there")
    return players


def _examples(examples: Mapping[Agent, float] | None, agent: Agent, number: int) -> float:
    """Return the number of examples of an agent."""
    if examples is None:
        return 1.0
    if not isinstance(examples, Mapping) or agent not in examples:
        raise InputError(
            f"round {number}: agent {agent!r} has no number of examples: add it to the dict"
        )
    name = f"round {number}: the number of examples of agent {agent!r}"
    return checks.real(name, examples[agent], above=0, remedy="leave out agents without examples")


def _is_series(server: object) -> bool:
    """Return whether these are the weights of several rounds: a list whose members hold weights."""
    return isinstance(server, list | tuple) and any(
        isinstance(member, Mapping | list | tuple) for member in server
    )


def _per_round(given: object, count: int, what: str) -> list:  # type: ignore[type-arg]
    """Return one member for each round: a list's members, or the same for all."""
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise InputError(f"{what} has {len(given)} members for {count} rounds: give one for each")
    return list(given)


def _fixed_entries(
    server: Fixed | None, fixed: Sequence[Fixed], given: Given, wheres: Sequence[str]
) -> Fixed:
    """The entries that are not averaged: the server's, or those on which all agents agree."""
    kept: Fixed = dict(fixed[0] if server is None else server)
    for where, entries in zip(wheres, fixed, strict=True):
        for name, entry in entries.items():
            unchanged = np.zeros_like(entry) if given == "deltas" else kept[name]
            if entry.ndim > 0 and not np.array_equal(entry, unchanged):
                raise InputError(
                    f"{where}: entry {name!r} is of {entry.dtype} and was changed by the agent, "
                    "but only floating-point entries can be averaged: convert it, or leave it out"
                )
    return kept


WeightArrays = dict[str, NDArray[np.generic]]


def read_updates(
    folder: Path, *, max_bytes: int = MAX_BYTES
) -> tuple[list[dict[str, WeightArrays]], WeightArrays | None, dict[str, float] | None]:
    """Read the rounds, the first server's weights and the examples of each agent from a folder.

    Updates are files ROUND/AGENT.npz of named arrays; rounds come in the order of their names.

    Beside the rounds may lie server.npz, the weights before the first of them, and examples.json,
    an object with the number of training examples of each agent. A file that unpacks to more than
    `max_bytes` raises an InputError.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one that holds ROUND/AGENT.npz files")
    parts = sorted(path for path in folder.iterdir() if path.is_dir())
    rounds = [
        {file.stem: _read_arrays(file, max_bytes) for file in sorted(part.glob("*.npz"))}
        for part in parts
    ]
    empty = [part for part, updates in zip(parts, rounds, strict=True) if not updates]
    if empty or not rounds:
        raise InputError(
            f"{empty[0] if empty else folder} has no updates: a round is a folder with a file "
            "AGENT.npz for each agent, such as round-01/ann.npz"
        )
    server, counts = folder / "server.npz", folder / "examples.json"
    return (
        rounds,
        _read_arrays(server, max_bytes) if server.exists() else None,
        _read_examples(counts) if counts.exists() else None,
    )


def _read_arrays(file: Path, max_bytes: int) -> WeightArrays:
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > max_bytes:
            raise InputError(
                f"{file} unpacks to {size / 2**20:,.0f} MiB, more than the "
                f"{max_bytes / 2**20:,.0f} MiB that are read: save the weights as float32, or only "
                "the layers that are trained"
            )
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except InputError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot read {file} ({type(error).__name__}): write it with numpy.savez(file, "
            "**weights), numbers only"
        ) from None


def _read_examples(file: Path) -> dict[str, float]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {str(agent): float(count) for agent, count in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(
            f'cannot read {file}: it must be an object such as {{"ann": 600, "bob": 400}}'
        ) from None
