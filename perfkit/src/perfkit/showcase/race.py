"""One round: seed, wait, and know where a token is that does not come through."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty
from time import monotonic
from typing import Final

from ..errors import Failure
from .population import Population

__all__ = ["Place", "Stalled", "await_tokens", "place_of"]

POLL_S: Final = 1.0
"""How often the main thread looks while it waits: rarely enough to cost a round nothing."""
SHOWN: Final = 3
"""Chains or circuits that an error names one by one."""


@dataclass(frozen=True)
class Place:
    """Where a chain's token is in a round.

    Attributes:
        chain: the chain's number.
        visited: how many of its circuits have made a delivery this round.
        made: the deliveries this round of the last one of them, 0 if there is none.
    """

    chain: int
    visited: int
    made: int


class Stalled(Failure):
    """A token did not come through."""


def place_of(population: Population, chain: int, base: int) -> Place:
    """Return where the token of `chain` is.

    The token goes through the chain in order, so the circuits that it has reached, those whose count is over
    `base`, come before the others: a search in halves finds the last, also when a count is wrong.
    """
    circuits = population.chains[chain]
    visited = bisect_left(circuits, True, key=lambda place: population.count(place) <= base)
    made = population.count(circuits[visited - 1]) - base if visited else 0
    return Place(chain, visited, made)


def await_tokens(
    population: Population, burst: int, base: int, stall_s: float, progress: Callable[[float], None]
) -> None:
    """Wait until each chain has signalled.

    Args:
        population: seeded.
        burst: deliveries of a visit.
        base: every circuit's count before the round.
        stall_s: seconds without any progress after which the round is given up. A time in which this process
            did not run, because it or the machine was stopped, counts as two looks at most.
        progress: called now and then with the share of the round that is done.

    Raises:
        Stalled: no token has moved for `stall_s` seconds.
        Failure: a chain has signalled twice.
    """
    poll_s = min(POLL_S, stall_s / 4)
    waiting = set(range(len(population.chains)))
    seen: list[Place] = []
    idle_s = 0.0
    looked = monotonic()
    while waiting:
        try:
            chain = population.arrived.get(timeout=poll_s)
        except Empty:
            pass
        else:
            if chain not in waiting:
                raise Failure(
                    f"chain {chain + 1} has signalled twice in one round: a value was delivered twice"
                )
            waiting.remove(chain)
            idle_s = 0.0
        now = monotonic()
        if not waiting or now - looked < poll_s:
            continue
        places = [place_of(population, chain, base) for chain in sorted(waiting)]
        idle_s = idle_s + min(now - looked, 2 * poll_s) if places == seen else 0.0
        looked = now
        seen = places
        if idle_s >= stall_s:
            raise Stalled(_stall_text(population, burst, places, stall_s))
        progress(_share(population, burst, places))


def _share(population: Population, burst: int, places: list[Place]) -> float:
    """Return the share of the round that is done: all of it but what the waiting chains have before them."""
    total = len(population.pipes) * burst
    left = sum(
        len(population.chains[place.chain]) * burst - max(0, place.visited - 1) * burst - place.made
        for place in places
    )
    return max(0.0, 1 - left / total)


def _stall_text(population: Population, burst: int, places: list[Place], stall_s: float) -> str:
    under_way = f"{len(places)} of {len(population.chains)} tokens under way"
    lines = [
        f"stalled: no progress for {stall_s:g} s (--stall) with {under_way}: a value or a wake-up was lost"
    ]
    for place in places[:SHOWN]:
        circuits = population.chains[place.chain]
        where = f"  chain {place.chain + 1} (circuits {circuits.start + 1:,} to {circuits.stop:,}): "
        holder = circuits.start + place.visited
        if place.visited == 0:
            what = f"the seed was not delivered to circuit {circuits.start + 1:,}"
        elif place.made < burst:
            what = f"circuit {holder:,} holds the token: it made {place.made:,} of {burst:,} deliveries"
        elif holder < circuits.stop:
            what = f"circuit {holder:,} made its {place.made:,} deliveries, circuit {holder + 1:,} made none"
        else:
            what = f"circuit {holder:,}, the last, made its {place.made:,} deliveries but has not signalled"
        lines.append(where + what)
    if len(places) > SHOWN:
        lines.append(f"  and {len(places) - SHOWN:,} more chains")
    return "\n".join(lines)
