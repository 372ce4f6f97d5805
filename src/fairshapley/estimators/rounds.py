"""How long a round is.

A long round spreads its fixed cost (100 to 300 µs) over many coalitions. A short one keeps the plan
fresh and wastes little at the end: what is left of a budget below one round is not spent. So rounds
grow with what was told before.
"""

from __future__ import annotations

# On a small game a round holds several walks, so that it has this many coalitions.
SMALL_ROUND = 32
# Later rounds of plain walks are a 24th of those before, so that hardly more of a budget is left
# over, and have at most so many coalitions.
LONG_SHARE, LONG_ROUND = 24, 4096
# Marginal contributions of a round that asks for them one by one, at most one for each player: 128
# coalitions, and 64 × n ranks stay small at any n.
ROUND_MARGINALS = 64
# Samples of a regression: early rounds grow to as many coalitions as players, or to this many.
EARLY_COALITIONS = 16
# An engine that waits for many answers at a time is busy with this share of them.
BUSY_SHARE = 0.8
# On a device a round has a fixed cost of a few milliseconds, in which a GPU fits a million models.
# So rounds are longer, as long as all before up to 2²⁰ coalitions or 2³⁰ memberships (1 GiB), and
# what is left of a budget below one round is spent on part of it.
DEVICE_FIRST, DEVICE_MAX, DEVICE_SHARE, DEVICE_MEMBERSHIPS = 2048, 1 << 20, 1, 1 << 30
# A budget of fewer than so many first rounds is better spent by the host, which keeps units.
DEVICE_ROUNDS = 8


def round_length(
    told: int,
    *,
    early: int,
    most: int,
    least: int = 1,
    early_share: int = 4,
    late_share: int = 16,
    busy: int = 1,
) -> int:
    """Return the units of the next round: a quarter of those before, then a sixteenth.

    Parameters
    ----------
    told
        The units told so far.
    early
        Up to this length a round is 1/`early_share` of what was told; then it is 1/`late_share`.
    most, least
        The longest and the shortest round.
    early_share, late_share
        See `early`.
    busy
        What keeps the engine busy: a round is a multiple of it.

    Examples
    --------
    >>> [round_length(told, early=16, most=256) for told in (0, 10, 100, 1000, 10_000)]
    [1, 2, 16, 62, 256]
    """
    wanted = max(min(told // early_share, early), told // late_share)
    length = max(least, min(wanted, most))
    return max(1, length // busy) * busy


def walks_of_round(told: int, coalitions: int, in_flight: int = 1, *, long: bool = False) -> int:
    """Return the walks of the next round, each with its coalitions: a few on a small game, or one.

    Long runs have longer rounds, where `long` says so.

    Examples
    --------
    >>> [walks_of_round(told, 10) for told in (0, 8, 100)]
    [1, 2, 4]
    >>> [walks_of_round(told, 100, long=True) for told in (0, 63, 640, 10_000)]
    [1, 2, 26, 40]
    """
    wanted, busy = -(-SMALL_ROUND // coalitions), busy_units(in_flight, coalitions)
    most = max(wanted, LONG_ROUND // coalitions) if long else wanted
    return round_length(told, early=wanted, most=most, late_share=LONG_SHARE, busy=busy)


def busy_units(in_flight: int, coalitions: int) -> int:
    """Return the fewest units, each with its coalitions, that keep an engine busy.

    It computes `in_flight` coalitions at a time, and a few beyond take as long as so many.

    Examples
    --------
    >>> busy_units(32, 2), busy_units(32, 19), busy_units(32, 99), busy_units(1, 2)
    (16, 3, 2, 1)
    """
    if in_flight == 1:
        return 1
    places = in_flight
    while (units := places // coalitions) * coalitions < BUSY_SHARE * places:
        places += in_flight
    return units


def early_length(n_players: int, per_unit: int) -> int:
    """Return where early rounds end, in units of `per_unit` coalitions.

    Examples
    --------
    >>> early_length(10, 2), early_length(100, 2)
    (8, 50)
    """
    return max(n_players, EARLY_COALITIONS) // per_unit


def device_units(told: int, n_players: int, per_unit: int, first: int = DEVICE_FIRST) -> int:
    """Return the units of the next round on a device, each of `per_unit` coalitions.

    Examples
    --------
    >>> [device_units(told, 100, 2) for told in (0, 100_000, 10**7)]
    [1024, 100000, 524288]
    """
    most = max(1, min(DEVICE_MAX, DEVICE_MEMBERSHIPS // n_players) // per_unit)
    least = min(max(1, first // per_unit), most)
    return round_length(told, early=0, most=most, least=least, late_share=DEVICE_SHARE)
