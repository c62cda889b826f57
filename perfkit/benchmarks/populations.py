"""What a population of a million circuits costs: built, fed, waited for, held, dropped, and run as a race.

    python perfkit/benchmarks/populations.py [--provider NAME ...] [--results DIR]

Everything goes through the public API, counts are verified outside the timed parts, and the run is kept like
perfkit's. Each turn makes a population anew; figures are medians of the turns. The race is the showcase's, a
ring of relays split into chains, on a population and on circuits made one by one, in turn. The exit status is
1 if a bound below is broken or a count wrong.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

import substrates
from perfkit import environment
from perfkit.evidence import Evidence
from perfkit.machine import usable_cores
from perfkit.showcase.relay import relay
from perfkit.tables import table
from substrates import Circuit, Cortex, Pipe, Population, spi

CIRCUITS = 1_000_000
TURNS = 7
WAITS = 21
RACES = 5
DELIVERY_BURST = 2_000
"""Deliveries of a circuit to itself in the race that measures deliveries; in the other there is one."""
TIMEOUT_S = 300.0
BOUNDS = {
    "build_s": 0.4,
    "drop_s": 0.4,
    "bytes_per_circuit": 224.0,
    "emit_ns": 40.0,
    "idle_wait_ms": 1.0,
    "delivery_ratio": 1.05,
    "visit_ratio": 1.05,
}
"""The last two: population beside circuits made one by one; what differs by less is the machine's mood."""


def resident_bytes() -> int:
    """Return this process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def engine_bytes(cortex: Cortex) -> int:
    """Return what the engine says it has mapped."""
    return int(cortex.facts()["engine_bytes"])


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that `call` takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def build(cortex: Cortex, circuits: int, burst: int) -> tuple[Population, Any]:
    """Make a population whose relays lead each to the next."""
    population = cortex.circuits(circuits)
    pipes = population.pipes(relay.bind(burst=burst))
    pipes.state["onward"][:-1] = pipes.handles[1:]
    return population, pipes


def settle(population: Population) -> None:
    """Wait for a population whose members give each other nothing more."""
    population.wait(TIMEOUT_S)


def turn(cortex: Cortex, circuits: int) -> dict[str, float]:
    """Build, hold, feed, wait, and drop a population once.

    Raises:
        ValueError: a count is wrong.
    """
    gc.collect()
    resident, engine = resident_bytes(), engine_bytes(cortex)
    build_s, (population, pipes) = timed(lambda: build(cortex, circuits, 0))
    figures = {
        "build_s": build_s,
        "bytes_per_circuit": (resident_bytes() - resident) / circuits,
        "engine_bytes_per_circuit": (engine_bytes(cortex) - engine) / circuits,
    }
    column = pipes.state["count"]
    require(column.ctypes.data == pipes.state["count"].ctypes.data, "another address of the same column")
    require(not np.any(column), "a count that is not 0")
    pipes.state["onward"] = None
    settle(population)

    values = np.zeros(circuits, np.int64)
    thread_s = time.thread_time()
    emit_s, _ = timed(lambda: pipes.emit(values))
    figures["emit_thread_ns"] = (time.thread_time() - thread_s) * 1e9 / circuits
    figures["emit_ns"] = emit_s * 1e9 / circuits
    figures["emit_to_done_ns"] = (emit_s + timed(lambda: settle(population))[0]) * 1e9 / circuits
    require(bool(np.all(column == 1)), "a count that is not 1")
    order = np.random.default_rng(circuits).permutation(circuits)
    figures["emit_where_ns"] = timed(lambda: pipes.emit(0, where=order))[0] * 1e9 / circuits
    settle(population)
    require(bool(np.all(column == 2)), "a count that is not 2")
    figures["first_idle_wait_ms"] = timed(population.wait)[0] * 1e3
    figures["idle_wait_ms"] = median(timed(population.wait)[0] for _ in range(WAITS)) * 1e3

    def drop() -> None:
        nonlocal population, pipes, column
        population.close()
        del population, pipes, column

    figures["drop_s"] = timed(drop)[0]
    return figures


def require(holds: bool, otherwise: str) -> None:
    """Refuse a wrong result.

    Raises:
        ValueError: it does not hold.
    """
    if not holds:
        raise ValueError(otherwise)


class Race:
    """The showcase's relays, in chains; one per token."""

    def __init__(self, cortex: Cortex, circuits: int, burst: int) -> None:
        self.circuits = circuits
        self.burst = burst
        self.rounds = 0
        self.chains = usable_cores()
        self.firsts = [circuits * chain // self.chains for chain in range(self.chains)]
        self.finish = cortex.circuit()
        self.arrived = 0
        self.end = self.finish.pipe(self._arrive, lane=substrates.kernel.int64)

    def _arrive(self, _: int) -> None:
        self.arrived += 1

    def run(self) -> float:
        """Return the seconds of a round, every count of which is verified."""
        self.rounds += 1
        wanted = self.rounds * self.chains
        start = time.perf_counter()
        for first in self.firsts:
            self.pipe(first).emit(self.burst - 1)
        while self.arrived < wanted:
            time.sleep(0.0005)
            require(time.perf_counter() - start < TIMEOUT_S, "a token that does not come through")
        seconds = time.perf_counter() - start
        self.settle()
        require(self.all_have(self.rounds * self.burst), "a relay with another count")
        return seconds

    def pipe(self, place: int) -> Pipe[int]:
        """Return the pipe to a relay."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait for those that the tokens have come through last."""
        raise NotImplementedError

    def all_have(self, count: int) -> bool:
        """Tell whether all relays have counted so far."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the circuits."""
        self.finish.close()


class PopulationRace(Race):
    """Relays of a population."""

    def __init__(self, cortex: Cortex, circuits: int, burst: int) -> None:
        super().__init__(cortex, circuits, burst)
        self.population, self.pipes = build(cortex, circuits, burst - 1)
        for first in [*self.firsts[1:], circuits]:
            self.pipes[first - 1].state.onward = self.end

    def pipe(self, place: int) -> Pipe[int]:
        pipe: Pipe[int] = self.pipes[place]
        return pipe

    def settle(self) -> None:
        self.population.wait(TIMEOUT_S)

    def all_have(self, count: int) -> bool:
        return bool(np.all(self.pipes.state["count"] == count))

    def close(self) -> None:
        self.population.close()
        super().close()


class LoopRace(Race):
    """Relays of circuits made one by one, as `perfkit showcase` makes them."""

    def __init__(self, cortex: Cortex, circuits: int, burst: int) -> None:
        super().__init__(cortex, circuits, burst)
        self.made: list[Circuit] = []
        self.pipes: list[Pipe[int]] = []
        lasts = {first - 1 for first in self.firsts} | {circuits - 1}
        gc.disable()
        try:
            onward = self.end
            for place in range(circuits - 1, -1, -1):
                circuit = cortex.circuit()
                onward = circuit.pipe(
                    relay.bind(burst=burst - 1, onward=self.end if place in lasts else onward)
                )
                self.made.append(circuit)
                self.pipes.append(onward)
        finally:
            gc.enable()
        self.made.reverse()
        self.pipes.reverse()

    def pipe(self, place: int) -> Pipe[int]:
        return self.pipes[place]

    def settle(self) -> None:
        for last in [*self.firsts[1:], self.circuits]:
            for circuit in self.made[max(0, last - 1000) : last]:
                circuit.wait(TIMEOUT_S)

    def all_have(self, count: int) -> bool:
        return all(pipe.state.count == count for pipe in self.pipes)

    def close(self) -> None:
        for circuit in self.made:
            circuit.close()
        super().close()


def races(cortex: Cortex, circuits: int, burst: int, count: int) -> dict[str, float]:
    """Return nanoseconds per delivery on a population and on circuits made one by one, and their ratio."""
    pair: dict[str, Race] = {
        "population": PopulationRace(cortex, circuits, burst),
        "loop": LoopRace(cortex, circuits, burst),
    }
    samples: dict[str, list[float]] = {name: [] for name in pair}
    for race in pair.values():
        race.run()  # to warm up
    for number in range(count):
        for name in pair if number % 2 == 0 else reversed(pair):
            samples[name].append(pair[name].run() * 1e9 / (circuits * burst))
    for race in pair.values():
        race.close()
    both = zip(samples["population"], samples["loop"], strict=True)
    ratio = median(population / loop for population, loop in both)
    return {name: median(sample) for name, sample in samples.items()} | {"ratio": ratio}


@click.command()
@click.option("--provider", "providers", multiple=True, help="Repeatable; alpha if none is given.")
@click.option("--circuits", default=CIRCUITS, show_default=True)
@click.option("--turns", default=TURNS, show_default=True)
@click.option("--races", "rounds", default=RACES, show_default=True, help="0: none.")
@click.option("--burst", default=DELIVERY_BURST, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(
    providers: tuple[str, ...], circuits: int, turns: int, rounds: int, burst: int, results: Path
) -> None:
    """Measure, print a table, keep the run."""
    names = providers or ("alpha",)
    cortices = {name: substrates.cortex(name) for name in names}
    evidence = Evidence(results, "populations", "-".join(names))
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    broken: list[str] = []
    for name, cortex in cortices.items():
        turn(cortex, 1000)  # compiles the kernel, starts the engine
        samples = [turn(cortex, circuits) for _ in range(turns)]
        own: dict[str, float] = {what: median(sample[what] for sample in samples) for what in samples[0]}
        if rounds:
            # The kernel's time hides the engine's in long bursts; one delivery per visit shows a visit.
            delivery, visit = races(cortex, circuits, burst, rounds), races(cortex, circuits, 1, rounds)
            for what, race in (("delivery", delivery), ("visit", visit)):
                own |= {f"{what}_ns": race["population"], f"{what}_loop_ns": race["loop"]}
                own[f"{what}_ratio"] = race["ratio"]
        figures[name] = own
        for what, figure in own.items():
            bound = BOUNDS.get(what)
            good = bound is None or figure <= bound
            if not good:
                broken.append(f"{what} of {name}: {figure:.3f}, bound {bound}")
            kept = "" if bound is None else "yes" if good else "NO"
            rows.append([name, what, f"{figure:.3f}", "" if bound is None else f"{bound}", kept])

    text = table(["provider", "figure", "median", "bound", "kept"], rows)
    click.echo(text)
    summary = {
        "schema": 1,
        "workload": "populations",
        "circuits": circuits,
        "turns": turns,
        "providers": figures,
        "verified": True,
        "broken": broken,
    }
    described = {name: environment.describe(spi.load(name), cortices[name]) for name in names}
    evidence.conclude(text, summary, described)
    click.echo(f"kept in {evidence.folder}", err=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
