"""How many coalitions make a chunk: enough to be worth sending, few enough to lose."""

from __future__ import annotations

# A chunk of masks and what a game makes of it should stay well below the memory of a laptop.
CHUNK_BYTES = 32 * 2**20
# A chunk is also what is lost when the process is killed, and how long Ctrl-C or the end of the
# time budget may wait: half a second of work.
CHUNK_SECONDS = 0.5
# The way to a worker and back takes 1 to 2 ms: a chunk of 20 ms still spends most on its game.
WORTHWHILE_SECONDS = 0.02
FIRST_CHUNK = 64
GROWTH = 4
# Two chunks for each worker: one that is computed, and one that waits so that none is idle.
CHUNKS_PER_WORKER = 2


class Pace:
    """Follows the measured speed of a game.

    Parameters
    ----------
    fixed
        Coalitions per chunk, whatever the speed; None adapts.
    n_players
        The number of players, which says how much memory a coalition takes.

    Examples
    --------
    >>> pace = Pace(None, 100)
    >>> pace.size()
    64
    >>> pace.observe(64, 32.0)
    >>> pace.size()
    1
    """

    def __init__(self, fixed: int | None, n_players: int) -> None:
        self._fixed = fixed
        self._next = FIRST_CHUNK
        self._most = max(1, CHUNK_BYTES // n_players)
        self._failed = False
        self._seconds = 0.0
        """What a coalition takes"""

    def size(self) -> int:
        """The most that a chunk should have."""
        if self._fixed is not None:
            return self._fixed
        return max(1, min(self._next, self._most))

    def capacity(self, workers: int) -> int:
        """How many chunks may be handed in; 1 in this process."""
        if self._seconds > CHUNK_SECONDS:
            return max(1, workers)  # a second one would only wait long
        return max(1, CHUNKS_PER_WORKER * workers)

    def rows(self, workers: int) -> int:
        """How many coalitions to look at together: those of a chunk for every worker."""
        if not workers:
            return self.size()
        return max(1, min(CHUNKS_PER_WORKER * workers * self.size(), self._most))

    def share(self, missing: int, workers: int) -> int:
        """The size of the next chunk, given how many coalitions of the round are left to compute.

        Every worker gets some, unless the way there would take longer than the work.
        """
        if not workers or self._fixed is not None:
            return self.size()
        even = -(-missing // (CHUNKS_PER_WORKER * workers))
        worthwhile = int(WORTHWHILE_SECONDS / self._seconds) if self._seconds > 0 else 1
        return max(1, min(self.size(), max(even, min(worthwhile, FIRST_CHUNK * GROWTH))))

    def observe(self, count: int, seconds: float) -> None:
        """Learn how long a chunk took."""
        self._seconds = seconds / count
        affordable = CHUNK_SECONDS * count / max(seconds, 1e-9)
        grown = self._next + self._next // 8 + 1 if self._failed else GROWTH * self._next
        self._next = int(max(1, min(affordable, grown)))

    def failed(self, count: int) -> None:
        """A chunk failed as a whole, perhaps because it was too much at once: grow slowly now."""
        self._next, self._failed = max(1, count // 2), True
