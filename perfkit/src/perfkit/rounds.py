"""Rounds: what one of them did and cost, and what many of them say together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median, stdev
from time import perf_counter_ns, process_time_ns
from typing import Any, Final

from substrates import Cortex

from . import machine

__all__ = ["ENDS", "Meter", "Round", "Series", "fact"]

BLOCK: Final = 60
"""Rounds of a block, as in the seed's report."""
ENDS: Final = 10
"""Rounds that are compared at the start and at the end of a run."""


@dataclass(frozen=True)
class Round:
    """One round; None where the platform or the provider does not tell.

    Attributes:
        warmup: whether it is shown but not counted.
        seconds: from the first seed to the last signal.
        deliveries: values that receptors received.
        handoffs: values passed from one circuit to another.
        visits: times that a circuit got the token.
        cpu_s: processor time of the process.
        allocated_bytes: that the engine took from the system for emissions.
        collections: of Python's cyclic garbage collector.
        rss_bytes: resident memory at the end.
    """

    warmup: bool
    seconds: float
    deliveries: int
    handoffs: int
    visits: int
    cpu_s: float
    allocated_bytes: int | None
    collections: int
    rss_bytes: int | None

    @property
    def deliveries_per_s(self) -> float:
        """Values received per second."""
        return self.deliveries / self.seconds

    @property
    def handoffs_per_s(self) -> float:
        """Hand-offs per second."""
        return self.handoffs / self.seconds

    @property
    def cpu_ns_per_delivery(self) -> float:
        """Processor time of a delivery in nanoseconds."""
        return self.cpu_s * 1e9 / self.deliveries

    @property
    def cpu_ns_per_visit(self) -> float:
        """Processor time of a visit in nanoseconds."""
        return self.cpu_s * 1e9 / self.visits

    @property
    def allocated_bytes_per_visit(self) -> float | None:
        """Bytes that the engine took from the system, per visit."""
        return None if self.allocated_bytes is None else self.allocated_bytes / self.visits

    def busy_percent(self, cores: int) -> float:
        """Return the share of `cores` processors' time that the process used."""
        return 100 * self.cpu_s / (self.seconds * cores)

    def record(self) -> dict[str, Any]:
        """Return the round for JSON."""
        return asdict(self)


class Meter:
    """Measures one round: `start`, the work, `stop`; nothing but the work is between the two clocks."""

    def __init__(self, cortex: Cortex) -> None:
        self._cortex = cortex

    def start(self) -> None:
        """Read the counters, the clocks last."""
        self._collections = _collections()
        self._allocated = fact(self._cortex, "allocated_bytes")
        self._cpu_ns = process_time_ns()
        self._ns = perf_counter_ns()

    def stop(self, *, warmup: bool, deliveries: int, handoffs: int, visits: int) -> Round:
        """Read the clocks first, then the counters, and return the round."""
        ns = perf_counter_ns()
        cpu_ns = process_time_ns()
        allocated = fact(self._cortex, "allocated_bytes")
        known = allocated is not None and self._allocated is not None
        return Round(
            warmup,
            (ns - self._ns) / 1e9,
            deliveries,
            handoffs,
            visits,
            (cpu_ns - self._cpu_ns) / 1e9,
            int((allocated or 0) - (self._allocated or 0)) if known else None,
            _collections() - self._collections,
            machine.resident_bytes(),
        )


def fact(cortex: Cortex, key: str) -> int | None:
    """Return what the engine counts under `key`; None if it does not."""
    value = cortex.facts().get(key)
    return int(value) if isinstance(value, (int, float)) else None


def _collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


class Series(Sequence[Round]):
    """The measured rounds of a run, in order."""

    def __init__(self, rounds: Sequence[Round]) -> None:
        self._rounds = [each for each in rounds if not each.warmup]

    def __getitem__(self, index: Any) -> Any:
        return self._rounds[index]

    def __len__(self) -> int:
        return len(self._rounds)

    def median(self, figure: Callable[[Round], float | None]) -> float | None:
        """Return the median of a figure over the rounds; None without rounds or where it is unknown."""
        values = [value for value in map(figure, self._rounds) if value is not None]
        return median(values) if values and len(values) == len(self._rounds) else None

    def cv_percent(self) -> float | None:
        """Return the standard deviation of the rounds' rates over their mean; None of fewer than two."""
        rates = [each.deliveries_per_s for each in self._rounds]
        return 100 * stdev(rates) / mean(rates) if len(rates) > 1 else None

    def slowest(self) -> float | None:
        """Return the lowest rate of a round."""
        return min((each.deliveries_per_s for each in self._rounds), default=None)

    def fastest(self) -> float | None:
        """Return the highest rate of a round."""
        return max((each.deliveries_per_s for each in self._rounds), default=None)

    def first(self) -> float | None:
        """Return the rate over the first ten rounds together."""
        return _rate(self._rounds[:ENDS])

    def last(self) -> float | None:
        """Return the rate over the last ten rounds together."""
        return _rate(self._rounds[-ENDS:])

    def blocks(self) -> list[tuple[int, int, float, float]]:
        """Return each whole block of 60: its first and last round, rate, and processor ns per delivery."""
        found = []
        for start in range(0, len(self._rounds) - BLOCK + 1, BLOCK):
            block = self._rounds[start : start + BLOCK]
            rate = _rate(block)
            if rate is not None:
                cost = sum(each.cpu_s for each in block) * 1e9 / sum(each.deliveries for each in block)
                found.append((start + 1, start + BLOCK, rate, cost))
        return found

    def total_cpu_s(self) -> float:
        """Return the processor time of all rounds."""
        return sum(each.cpu_s for each in self._rounds)


def _rate(rounds: Sequence[Round]) -> float | None:
    seconds = sum(each.seconds for each in rounds)
    return sum(each.deliveries for each in rounds) / seconds if seconds else None
