"""A prompt as a game: what each of its parts adds to the score of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
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
        Answers that are known already, by the parts that were shown: those of another game.
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
        kept = None if options.get("random") else {} if answers is None else answers
        asking = self._asking = _Asking(found, ask, score or _as_it_is, missing, kept)
        waits = any(map(iscoroutinefunction, (ask, score)))
        super().__init__(
            asking.later if waits else asking.now,
            len(found),
            player_names=names,
            cost=None if price is None else lambda members: price(asking.shown(members)),
            cost_unit=price_unit,
            **options,
        )
        self.players = found

    @property
    def answers(self) -> dict[tuple[Any, ...], Any]:
        """The answer to each tuple of parts that was shown."""
        return self._asking.answers

    def _chosen(self, coalition: tuple[int, ...]) -> tuple[Any, ...]:
        return coalition


def _as_it_is(answer: Any) -> Any:
    return answer


class _Asking:
    """Asks with the parts of a coalition; a fingerprint sees everything but the answers."""

    def __init__(
        self,
        parts: tuple[Any, ...],
        ask: Callable[..., Any],
        score: Callable[..., Any],
        missing: Any,
        answers: dict[tuple[Any, ...], Any] | None,
    ) -> None:
        self.parts, self.ask, self.score, self.missing = parts, ask, score, missing
        self.keeps, self.answers = answers is not None, {} if answers is None else answers
        self.texts = all(isinstance(part, str) for part in parts)

    def __fingerprint_state__(self) -> tuple[Any, ...]:
        return self.parts, self.ask, self.score, self.missing

    def shown(self, members: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the parts as they are shown, with what stands for the others."""
        if self.missing is None:
            return tuple(self.parts[member] for member in members)
        stands = self.missing if callable(self.missing) else lambda _: self.missing
        chosen = set(members)
        return tuple(part if at in chosen else stands(part) for at, part in enumerate(self.parts))

    def _key(self, members: tuple[int, ...], shown: tuple[Any, ...]) -> tuple[Any, ...]:
        return shown if self.texts else members

    def now(self, members: tuple[int, ...]) -> Any:
        """Return the score of the answer."""
        shown = self.shown(members)
        key = self._key(members, shown)
        answer = self.answers[key] if key in self.answers else self.ask(shown)
        if self.keeps:
            self.answers[key] = answer
        return self.score(answer)

    async def later(self, members: tuple[int, ...]) -> Any:
        """Return the same where something must be waited for."""
        shown = self.shown(members)
        key = self._key(members, shown)
        answer = self.answers[key] if key in self.answers else self.ask(shown)
        answer = await answer if hasattr(answer, "__await__") else answer
        if self.keeps:
            self.answers[key] = answer
        score = self.score(answer)
        return await score if hasattr(score, "__await__") else score
