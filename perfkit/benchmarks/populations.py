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
from perfkit.machine import resident_bytes
from perfkit.rounds import fact
from perfkit.showcase import Asked, Parameters, resolve
from perfkit.showcase.population import ArrayPopulation, KernelPopulation
from perfkit.showcase.population import Population as Crew
from perfkit.showcase.race import await_tokens
from perfkit.showcase.relay import relay
from perfkit.tables import table
from substrates import Cortex, Population, spi

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


def held_bytes(cortex: Cortex) -> tuple[int, int]:
    """Return the resident memory of this process, and what the engine says it has mapped.

    Raises:
        ValueError: one of them is not known.
    """
    resident, engine = resident_bytes(), fact(cortex, "engine_bytes")
    if resident is None or engine is None:
        raise ValueError("memory that nobody tells")
    return resident, engine


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
    resident, engine = held_bytes(cortex)
    build_s, (population, pipes) = timed(lambda: build(cortex, circuits, 0))
    built_resident, built_engine = held_bytes(cortex)
    figures = {
        "build_s": build_s,
        "bytes_per_circuit": (built_resident - resident) / circuits,
        "engine_bytes_per_circuit": (built_engine - engine) / circuits,
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
    """The showcase's race."""

    def __init__(self, crew: type[Crew], cortex: Cortex, parameters: Parameters) -> None:
        self.burst = parameters.burst
        self.crew = crew(cortex, parameters)
        self.crew.build(lambda _done, _of: None)
        self.counted = 0

    def run(self) -> float:
        """Return the seconds of a round, every count of which is verified."""
        start = time.perf_counter()
        self.crew.start()
        await_tokens(self.crew, self.burst, self.counted, TIMEOUT_S, lambda _share: None)
        seconds = time.perf_counter() - start
        self.crew.settle(TIMEOUT_S)
        self.counted += self.burst
        require(not self.crew.unequal(self.counted), "a relay with another count")
        return seconds


def races(name: str, circuits: int, burst: int, count: int) -> dict[str, float]:
    """Return nanoseconds per delivery on a population and on circuits made one by one, and their ratio."""
    cortex = substrates.cortex(name)
    asked = Asked(circuits=circuits, burst=burst, rounds=count, receptor="kernel", floor=False)
    parameters = resolve(asked, spi.load(name))
    pair = {
        "population": Race(ArrayPopulation, cortex, parameters),
        "loop": Race(KernelPopulation, cortex, parameters),
    }
    samples: dict[str, list[float]] = {made: [] for made in pair}
    for race in pair.values():
        race.run()  # to warm up
    for number in range(count):
        for made in pair if number % 2 == 0 else reversed(pair):
            samples[made].append(pair[made].run() * 1e9 / parameters.deliveries)
    for race in pair.values():
        race.crew.close()
    both = zip(samples["population"], samples["loop"], strict=True)
    ratio = median(population / loop for population, loop in both)
    return {made: median(sample) for made, sample in samples.items()} | {"ratio": ratio}


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
            delivery, visit = races(name, circuits, burst, rounds), races(name, circuits, 1, rounds)
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
