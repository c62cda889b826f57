"""The circuits, built through the public API.

One by one, one Circuit and one Pipe object kept for each; or as a population, by one call.
"""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, Final

from substrates import Circuit, Cortex, Pipe, Receptor, kernel

from .parameters import Parameters

__all__ = ["ArrayPopulation", "KernelPopulation", "Population", "PythonPopulation", "crew_of"]

CHUNK: Final = 10_000
"""Circuits between two reports of progress."""

SETTLED: Final = 1_000
"""Circuits of a chain that are waited for at the end. Those before them had the rest of the round to settle,
and a wait costs up to 50 µs, which a million times would be long."""

Progress = Callable[[int, int], None]


class Population(ABC):
    """The circuits of one run.

    The counts may be read while a round runs: they only grow, and one that is read then may be late.

    Attributes:
        arrived: gets the number of each chain whose token has come through.
        chains: the circuits of each chain, by their place in the population.
        pipes: of each circuit, its relay.
    """

    pipes: Any

    def __init__(self, cortex: Cortex, parameters: Parameters) -> None:
        self.arrived: SimpleQueue[int] = SimpleQueue()
        self.chains = parameters.chains()
        self._cortex = cortex
        self._size = parameters.circuits
        self._seed = parameters.burst - 1
        self._finish = cortex.circuit()

    @abstractmethod
    def build(self, progress: Progress) -> None:
        """Make all circuits and lead each to the next, the last of each chain to its finish pipe."""

    @abstractmethod
    def start(self) -> None:
        """Give each chain its token."""

    @abstractmethod
    def count(self, place: int) -> int:
        """Return how many deliveries the circuit at `place` has made so far."""

    def unequal(self, expected: int) -> list[tuple[int, int]]:
        """Return place and count of each circuit that has not made `expected` deliveries so far."""
        count = self.count
        return [(place, count(place)) for place in range(self._size) if count(place) != expected]

    @abstractmethod
    def settle(self, timeout: float) -> None:
        """Wait for the last circuits of each chain, so that a delivery that came late has been counted.

        Raises:
            TimeoutError: a circuit has not come to rest in `timeout` seconds.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all circuits and let go of them."""

    def _finish_pipe(self, chain: int) -> Pipe[int]:
        """Make the pipe, on the finish circuit, that tells the main thread of a chain's token."""
        return self._finish.pipe(partial(_arrive, self.arrived, chain), lane=kernel.int64)


class _OneByOne(Population):
    """Circuits that are made by a loop."""

    def __init__(self, cortex: Cortex, parameters: Parameters) -> None:
        super().__init__(cortex, parameters)
        self._circuits: list[Any] = [None] * parameters.circuits
        self.pipes = [None] * parameters.circuits

    def build(self, progress: Progress) -> None:
        """See `Population.build`: each chain from its end, because a circuit needs to know the next.

        Python's cyclic garbage collector is held off meanwhile: everything that is made stays, so what it
        looks through grows and it finds nothing.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            done = 0
            for number, chain in enumerate(self.chains):
                onward = self._finish_pipe(number)
                for stop in range(chain.stop, chain.start, -CHUNK):
                    places = range(stop - 1, max(chain.start, stop - CHUNK) - 1, -1)
                    onward = self._build(places, onward)
                    done += len(places)
                    progress(done, self._size)
        finally:
            if collecting:
                gc.enable()

    def start(self) -> None:
        for chain in self.chains:
            self.pipes[chain.start].emit(self._seed)

    def settle(self, timeout: float) -> None:
        for chain in self.chains:
            for place in chain[-SETTLED:]:
                self._circuits[place].wait(timeout)
        self._finish.wait(timeout)

    def close(self) -> None:
        """See `Population.close`: each pipe before the one that it leads to."""
        for place, circuit in enumerate(self._circuits):
            if circuit is not None:
                circuit.close()
            self._circuits[place] = self.pipes[place] = None
        self._finish.close()

    @abstractmethod
    def _build(self, places: Sequence[int], onward: Pipe[int]) -> Pipe[int]:
        """Make the circuits at `places`, each leading to the one before it; return the last one's pipe."""


def _arrive(arrived: SimpleQueue[int], chain: int, _: int) -> None:
    """Receive the token of a chain and tell the main thread."""
    arrived.put(chain)


class KernelPopulation(_OneByOne):
    """Circuits with kernel receptors."""

    def count(self, place: int) -> int:
        count: int = self.pipes[place].state.count
        return count

    def unequal(self, expected: int) -> list[tuple[int, int]]:
        return [
            (place, pipe.state.count) for place, pipe in enumerate(self.pipes) if pipe.state.count != expected
        ]

    def _build(self, places: Sequence[int], onward: Pipe[int]) -> Pipe[int]:
        from .relay import relay

        new, bind, burst, circuits, pipes = (
            self._cortex.circuit,
            relay.bind,
            self._seed,
            self._circuits,
            self.pipes,
        )
        for place in places:
            circuit: Circuit = new()
            circuits[place] = circuit
            pipes[place] = onward = circuit.pipe(bind(burst=burst, onward=onward))
        return onward


class ArrayPopulation(Population):
    """Circuits with kernel receptors that are one `substrates.Population`; its pipes are made on demand."""

    def __init__(self, cortex: Cortex, parameters: Parameters) -> None:
        super().__init__(cortex, parameters)
        self._starts = [chain.start for chain in self.chains]
        self._circuits: Any = None
        self._counts: Any = None

    def build(self, progress: Progress) -> None:
        from .relay import relay

        self._circuits = self._cortex.circuits(self._size)
        self.pipes = self._circuits.pipes(relay.bind(burst=self._seed))
        onward = self.pipes.state["onward"]
        onward[:-1] = self.pipes.handles[1:]
        for number, chain in enumerate(self.chains):
            onward[chain.stop - 1] = self._finish_pipe(number)
        self._counts = self.pipes.state["count"]
        progress(self._size, self._size)

    def start(self) -> None:
        self.pipes.emit(self._seed, where=self._starts)

    def count(self, place: int) -> int:
        return int(self._counts[place])

    def unequal(self, expected: int) -> list[tuple[int, int]]:
        places = (self._counts != expected).nonzero()[0].tolist()
        return [(place, self.count(place)) for place in places]

    def settle(self, timeout: float) -> None:
        self._circuits.wait(timeout)
        self._finish.wait(timeout)

    def close(self) -> None:
        if self._circuits is not None:
            self._circuits.close()
        self._circuits = self._counts = None
        self.pipes = []
        self._finish.close()


class _Relay(Receptor[int]):
    """The relay as a Python receptor; see `relay.Relay`."""

    __slots__ = ("burst", "count", "here", "onward")

    here: Pipe[int]

    def __init__(self, burst: int, onward: Pipe[int]) -> None:
        self.count = 0
        self.burst = burst
        self.onward = onward

    def receive(self, value: int) -> None:
        """Count, and pass the token on."""
        self.count += 1
        if value > 0:
            self.here.emit(value - 1)
        else:
            self.onward.emit(self.burst)


class PythonPopulation(_OneByOne):
    """Circuits with Python receptors."""

    def __init__(self, cortex: Cortex, parameters: Parameters) -> None:
        super().__init__(cortex, parameters)
        self._relays: list[Any] = [None] * parameters.circuits

    def count(self, place: int) -> int:
        count: int = self._relays[place].count
        return count

    def _finish_pipe(self, chain: int) -> Pipe[int]:
        return self._finish.pipe(partial(_arrive, self.arrived, chain))

    def _build(self, places: Sequence[int], onward: Pipe[int]) -> Pipe[int]:
        new, burst, circuits, pipes, relays = (
            self._cortex.circuit,
            self._seed,
            self._circuits,
            self.pipes,
            self._relays,
        )
        for place in places:
            circuit: Circuit = new()
            circuits[place] = circuit
            relays[place] = relay = _Relay(burst, onward)
            pipes[place] = relay.here = onward = circuit.pipe(relay)
        return onward


def crew_of(parameters: Parameters) -> type[Population]:
    """Return the class of the circuits that are wanted."""
    if parameters.receptor != "kernel":
        return PythonPopulation
    return ArrayPopulation if parameters.build == "population" else KernelPopulation
