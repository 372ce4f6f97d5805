"""A prompt as a game: what each of its parts adds to the score of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from fairshapley.games.game import FunctionGame, named_players


class PromptGame(FunctionGame):
    """The parts of a prompt: passages, instructions, examples, tools, agents.

    A model is asked with some of the parts, and its answer is scored. What was asked once is not
    asked again: `answers` keeps each answer, and another `score` can be tried on them for free.

    Parameters
    ----------
    parts
        The parts, in the order in which they are shown: a list, or a dict from names to parts.
    ask
        Takes the tuple of parts that are shown, and returns an answer; perhaps an ``async def``.
    score
        Takes an answer and returns a number, perhaps as an ``async def``; by default the answer is
        the number.
    missing
        What stands for a part that is left out: None for nothing, a text such as "[removed]", or a
        function of the part.
    price
        What asking costs, a function of the parts that are shown, such as its tokens.
    price_unit
        The unit of the price: "tokens", "euros".
    answers
        Answers that are known already, by the parts that were shown: another game's.
    **options
        The key, value_range, unit and random of a `FunctionGame`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> passages = {"news": "the bridge was closed in march", "blog": "i love bridges"}
    >>> game = PromptGame(passages, ask=" ".join, score=lambda answer: float("march" in answer))
    >>> fs.exact(game)["news"]
    1.0
    >>> game.answers[("i love bridges",)]
    'i love bridges'
    """

    def __init__(
        self,
        parts: Iterable[Any],
        ask: Callable[[tuple[Any, ...]], Any],
        score: Callable[[Any], Any] | None = None,
        *,
        missing: Any = None,
        price: Callable[[tuple[Any, ...]], float] | None = None,
        price_unit: str = "",
        answers: dict[tuple[Any, ...], Any] | None = None,
        **options: Any,
    ) -> None:
        found, names = named_players(parts, None)
        waits = any(map(iscoroutinefunction, (ask, score)))
        super().__init__(
            self._later if waits else self._now,
            len(found),
            player_names=names,
            cost=None if price is None else lambda members: price(self._shown(members)),
            cost_unit=price_unit,
            **options,
        )
        self.players, self.ask, self.score, self.missing = found, ask, score, missing
        self.answers = {} if answers is None else answers
        """The answer to each tuple of parts that was shown"""

    def __fingerprint_state__(self) -> tuple[Any, ...]:
        """Return everything but the answers."""
        return self.players, self.ask, self.score, self.missing

    def _chosen(self, coalition: tuple[int, ...]) -> tuple[Any, ...]:
        return coalition

    def _shown(self, members: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the parts as they are shown, with what stands for the others."""
        parts = self.players or ()
        if self.missing is None:
            return tuple(parts[member] for member in members)
        stands = self.missing if callable(self.missing) else lambda _: self.missing
        chosen = set(members)
        return tuple(part if at in chosen else stands(part) for at, part in enumerate(parts))

    def _asked(self, members: tuple[int, ...]) -> tuple[Any, Any]:
        """Return the name of the answer that is kept, and the answer or what to wait for."""
        shown = self._shown(members)
        name = shown if all(isinstance(part, str) for part in shown) else members
        return name, self.answers[name] if name in self.answers else self.ask(shown)

    def _scored(self, name: Any, answer: Any) -> Any:
        """Keep an answer, and return its score or what to wait for."""
        if not self.random:
            self.answers[name] = answer
        return answer if self.score is None else self.score(answer)

    def _now(self, members: tuple[int, ...]) -> Any:
        return self._scored(*self._asked(members))

    async def _later(self, members: tuple[int, ...]) -> Any:
        name, answer = self._asked(members)
        score = self._scored(name, await answer if isawaitable(answer) else answer)
        return await score if isawaitable(score) else score
