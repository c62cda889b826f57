"""What populations of circuits cost in memory and time to make, and what they leave behind.

    python perfkit/benchmarks/cycles.py [--provider NAME]... [--kind KIND]... [--results DIR]

A cycle makes a million circuits with one pipe each, emits once to each pipe, waits for every circuit,
verifies that each has received its value once, closes all and lets go of them. A rehearsal of a thousand and
a warm-up cycle come first: what is made once (threads, compiled kernels, caches) is there after them, and the
residue of a cycle is the resident memory beyond that, free memory of the C library returned. Each provider
and kind of receptor runs in a process of its own, one at a time, so that none inherits another's heap.

Judged, per provider and kind: all live counts are back where they began; no residue is more than 2 % of the
population; and residues do not grow. They do if their trend, the median of the slopes between any two cycles,
is more than 0.1 % of the population a cycle, and nine of ten such pairs rise: where the last objects of the
interpreter lie moves a residue by a few of its arenas, a megabyte each, up and down.
Native providers' kernels are held to bytes and to build
time as well.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from array import array
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import click

import substrates
from perfkit import environment
from perfkit.errors import Failure
from perfkit.evidence import Evidence
from perfkit.machine import give_back, resident_bytes
from perfkit.rounds import fact
from perfkit.tables import table
from substrates import Circuit, Cortex, Pipe, kernel, spi

CIRCUITS = 1_000_000
CYCLES = 5
REHEARSAL = 1_000
KINDS = ("shared", "closure", "kernel")
MOST_RESIDUE_SHARE = 0.02
MOST_TREND_SHARE = 0.001
RISING_SHARE = 0.9
MOST_ENGINE_BYTES = 256
MOST_BYTES = 800
MOST_BUILD_S = 4.0
SETTLED_S = 60.0

COSTS = ("population_bytes", "engine_bytes", "after_bytes", "build_s", "run_s", "close_s")
POPULATION, ENGINE, AFTER, BUILD_S, RUN_S, CLOSE_S = range(len(COSTS))


class Tally(kernel.State):
    """Counts."""

    count: kernel.int64


@kernel.receptor(Tally, kernel.int64)
def tally(_ctx: kernel.Context, state: Tally, _value: int) -> None:
    """Count one more."""
    state.count += 1


class Population:
    """Circuits with a pipe each, of which each counts what it receives.

    Args:
        cortex: whose they are.
        kind: of receptor: one function for all, a closure for each, a kernel.
        size: how many.
    """

    def __init__(self, cortex: Cortex, kind: str, size: int) -> None:
        self._cortex = cortex
        self._kind = kind
        self._size = size
        self._received = bytearray(0 if kind == "kernel" else size)
        self._circuits: list[Circuit] = []
        self._pipes: list[Pipe[int]] = []

    def build(self) -> None:
        """Make them."""
        target = self._target()
        new, add_circuit, add_pipe = self._cortex.circuit, self._circuits.append, self._pipes.append
        for place in range(self._size):
            circuit = new()
            add_circuit(circuit)
            add_pipe(circuit.pipe(target(place)))

    def _target(self) -> Callable[[int], Any]:
        """Return what makes a circuit's receptor, given its place; the values emitted are places."""
        received = self._received

        def shared(value: int) -> None:
            received[value] += 1

        def closure(place: int) -> Callable[[int], None]:
            def receive(_: int) -> None:
                received[place] += 1

            return receive

        if self._kind == "kernel":
            return lambda _: tally.bind()
        return closure if self._kind == "closure" else lambda _: shared

    def run(self) -> None:
        """Emit once to each, and wait for each.

        Raises:
            Failure: one has not received its value exactly once.
        """
        for place, pipe in enumerate(self._pipes):
            pipe.emit(place)
        for circuit in self._circuits:
            circuit.wait()
        if self._kind == "kernel":
            right = sum(pipe.state.count == 1 for pipe in self._pipes)
        else:
            right = self._received.count(1)
        if right != self._size:
            raise Failure(f"{self._size - right} of {self._size} circuits did not receive their value once")

    def close(self) -> None:
        """Close all and let go of them."""
        for circuit in self._circuits:
            circuit.close()
        self._pipes.clear()
        self._circuits.clear()
        self._received.clear()


def held() -> int:
    """Return the resident bytes once garbage and free memory are gone.

    Raises:
        Failure: the platform does not tell.
    """
    gc.collect()
    give_back()
    resident = resident_bytes()
    if resident is None:
        raise Failure("the platform does not tell how much memory is resident")
    return resident


def live(cortex: Cortex) -> dict[str, int]:
    """Return how many circuits and pipes there are."""
    return {key: fact(cortex, key) or 0 for key in ("circuits", "pipes")}


def settle(cortex: Cortex, before: dict[str, int]) -> None:
    """Wait until all live counts are as they were.

    Raises:
        Failure: they do not become so.
    """
    until = time.monotonic() + SETTLED_S
    while (now := live(cortex)) != before:
        gc.collect()
        if time.monotonic() > until:
            raise Failure(f"{cortex.provider}: live before {before}, after {now}")
        time.sleep(0.01)


def cycle(cortex: Cortex, kind: str, size: int, into: array[float]) -> None:
    """Make, run, close and drop one population; note what it cost, in bytes and seconds, as `COSTS` says.

    An object that is made while the population is there and kept would keep a whole arena of the
    interpreter's, a megabyte, from being given back: so this makes none, it writes into what is there before.
    """
    before, engine_before, live_before = held(), fact(cortex, "engine_bytes") or 0, live(cortex)
    population = Population(cortex, kind, size)
    gc.disable()  # everything that is made stays, so what it looks through grows and it finds nothing
    try:
        begun = time.perf_counter()
        population.build()
        into[BUILD_S] = time.perf_counter() - begun
        into[POPULATION] = (resident_bytes() or 0) - before
        into[ENGINE] = (fact(cortex, "engine_bytes") or 0) - engine_before
        begun = time.perf_counter()
        population.run()
        into[RUN_S] = time.perf_counter() - begun
    finally:
        gc.enable()
    begun = time.perf_counter()
    population.close()
    del population
    settle(cortex, live_before)
    into[CLOSE_S] = time.perf_counter() - begun
    into[AFTER] = held()


def cycles(provider: str, kind: str, size: int, count: int) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """Return what the warm-up cycle and the others cost, in order, and the environment."""
    cortex = substrates.cortex(provider)
    rows = [array("d", bytes(8 * len(COSTS))) for _ in range(count + 2)]
    cycle(cortex, kind, REHEARSAL, rows[-1])
    for row in rows[:-1]:
        cycle(cortex, kind, size, row)
    done = [dict(zip(COSTS, row, strict=True)) for row in rows[:-1]]
    return done, environment.describe(spi.load(provider), cortex)


def in_own_process(
    provider: str, kind: str, size: int, count: int
) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """Return `cycles` of a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(cycles, provider, kind, size, count).result()


@click.command()
@click.option("--provider", "providers", multiple=True, help="Default: all that are installed.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Of receptor; default: all.")
@click.option("--circuits", type=click.IntRange(1000), default=CIRCUITS, show_default=True)
@click.option("--cycles", "count", type=click.IntRange(2), default=CYCLES, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(
    providers: tuple[str, ...], kinds: tuple[str, ...], circuits: int, count: int, results: Path
) -> None:
    """Measure, print a table, keep the run."""
    names = providers or tuple(listing.name for listing in spi.installed())
    evidence = Evidence(results, "cycles", names[0] if len(names) == 1 else "all")
    rows: list[list[str]] = []
    figures: list[dict[str, Any]] = []
    broken: list[str] = []
    described: dict[str, Any] = {}
    for name in names:
        native = "native-kernels" in spi.load(name).capabilities
        for kind in kinds or KINDS:
            (warmup, *done), described[name] = in_own_process(name, kind, circuits, count)
            residues = [each["after_bytes"] - warmup["after_bytes"] for each in done]
            size = median(each["population_bytes"] for each in done)
            slopes = [
                (residues[late] - residues[early]) / (late - early)
                for early, late in combinations(range(count), 2)
            ]
            trend = median(slopes)
            rises = sum(slope > 0 for slope in slopes) >= RISING_SHARE * len(slopes)
            build_s = median(each["build_s"] for each in done)
            engine = median(each["engine_bytes"] for each in done)
            bounds = [("residue", max(residues) / size, MOST_RESIDUE_SHARE)]
            if rises:
                bounds.append(("trend", trend / size, MOST_TREND_SHARE))
            if native and kind == "kernel":
                bounds += [
                    ("engine bytes", engine / circuits, MOST_ENGINE_BYTES),
                    ("bytes", size / circuits, MOST_BYTES),
                    ("build s of a million", build_s / circuits * 1e6, MOST_BUILD_S),
                ]
            over = [
                f"{name}, {kind}: {what} {value:.4g}, bound {most}"
                for what, value, most in bounds
                if value > most
            ]
            broken += over
            figures.append({"provider": name, "kind": kind, "warmup": warmup, "cycles": done, "trend": trend})
            rows.append(
                [
                    name,
                    kind,
                    f"{size / circuits:.0f}",
                    f"{engine / circuits:.0f}",
                    f"{build_s / circuits * 1e6:.2f}",
                    f"{median(each['run_s'] for each in done) / circuits * 1e6:.2f}",
                    f"{median(each['close_s'] for each in done) / circuits * 1e6:.2f}",
                    " ".join(f"{each / size:+.2%}" for each in residues),
                    f"{trend / size:+.3%}",
                    "NO" if over else "yes",
                ]
            )
            click.echo("  ".join(rows[-1]), err=True)
    titles = ["provider", "receptor", "bytes", "engine's", "µs to build", "to run", "to close"]
    text = table([*titles, f"residue of {count} cycles", "trend", "kept"], rows)
    click.echo(text)
    summary = {
        "schema": 1, "workload": "cycles", "circuits": circuits, "cases": figures, "verified": True,
        "broken": broken,
    }  # fmt: skip
    evidence.conclude(text, summary, {"providers": described})
    for line in broken:
        click.echo(line, err=True)
    click.echo(f"kept in {evidence.folder}", err=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
