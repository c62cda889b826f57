"""What emissions cost, however they get to a receptor: admission, delivery and one wait at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from substrates import Circuit, Cortex, Pipe

from .errors import Failure

__all__ = ["Way", "emission_ns", "ignore", "plain_pipe", "verify"]

Way = Callable[[Circuit, Callable[[Any], object]], Pipe[Any]]
"""Makes a pipe of a circuit whose values a receptor gets."""


def ignore(_: object) -> None:
    """Receive and do nothing."""


def plain_pipe(circuit: Circuit, receive: Callable[[Any], object]) -> Pipe[Any]:
    """Return a pipe to a receptor."""
    return circuit.pipe(receive)


def emission_ns(cortex: Cortex, emissions: int, way: Way = plain_pipe) -> float:
    """Return what one of so many emissions costs, in nanoseconds.

    Raises:
        Failure: the last one was not received.
    """
    with cortex.circuit("emission") as circuit:
        seen: list[int] = []
        emit = way(circuit, ignore).emit
        last = circuit.pipe(seen.append)
        begun = time.perf_counter()
        for value in range(emissions):
            emit(value)
        last.emit(emissions)
        circuit.wait()
        spent = time.perf_counter() - begun
        if seen != [emissions]:
            raise Failure(f"{cortex.provider}: the last of {emissions} emissions was not received")
        return spent / emissions * 1e9


def verify(cortex: Cortex, emissions: int, what: str, way: Way = plain_pipe) -> None:
    """Check that the same job delivers every emission in order.

    Raises:
        Failure: it does not.
    """
    with cortex.circuit("emission") as circuit:
        seen: list[int] = []
        pipe = way(circuit, seen.append)
        for value in range(emissions):
            pipe.emit(value)
        circuit.wait()
        if seen != list(range(emissions)):
            raise Failure(
                f"{cortex.provider}, {what}: {len(seen)} of {emissions} emissions, or in another order"
            )
