"""What lanes, hops and parked circuits cost, how long a busy circuit delays another, and who is starved.

    python perfkit/benchmarks/lanes.py [--results DIR]

The installed providers of this project are measured through the public API, counts are verified outside the
timed parts, and the run is kept like perfkit's. The exit status is 1 if a bound below is broken or a count
wrong.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import click

import substrates
from perfkit import environment
from perfkit.emissions import emission_ns, ignore, verify
from perfkit.evidence import Evidence
from perfkit.machine import usable_cores
from perfkit.providers import ours
from perfkit.tables import table
from substrates import Circuit, Cortex, Pipe, kernel, spi

EMISSIONS = 1_000_000
TURNS = 7
BURST = 10_000
BURSTS = 101
RING = 50
HOPS = 200_000
SHARED_S = 10.0
ALONE_S = 2.0
MOST_WAITING = 100_000
"""Emissions that wait for their delivery while two share the interpreter: so many and no more memory."""
PARKED = 1_000_000
PARKED_S = 10.0
PROBES = 20
MOST_EMISSION_NS = 600.0
MOST_BURST_NS = {"beta": 130.0}
MOST_HOP_NS = {"beta": 170.0}
MOST_HOP_RATIO = {"beta": 0.75}
LEAST_SHARE = 0.1
"""Of what one gets alone, by whom another shares the interpreter with it."""
MOST_GAP_S = 0.100
MOST_DELAY_S = 0.050
MOST_PARKED_SHARE = 0.01
KERNEL_HOPS = 2_000_000
MOST_KERNEL_HOP_NS = 13.0


class Spin(kernel.State):
    """Computes for as many steps as the value says; feeds itself for ever if told to."""

    count: kernel.int64
    seed: kernel.int64 = 1
    again: kernel.Pipe


@kernel.receptor(Spin, kernel.int64)
def spin(ctx: kernel.Context, state: Spin, value: int) -> None:
    """Compute, count, and go on if told to."""
    seed = state.seed
    for _ in range(value):
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
    state.seed = seed
    state.count += 1
    if state.again:
        ctx.emit(state.again, value)


class Relay(kernel.State):
    """Passes a token on as long as its value lasts, then tells."""

    count: kernel.int64
    onward: kernel.Pipe
    done: kernel.Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: kernel.Context, state: Relay, value: int) -> None:
    """Count, and emit one less to the next circuit."""
    state.count += 1
    if value > 0:
        ctx.emit(state.onward, value - 1)
    else:
        ctx.emit(state.done, 0)


def kernel_hop_ns(cortices: Mapping[str, Cortex]) -> dict[str, float]:
    """Return what a hop of one token in a ring of circuits costs: processor time in ns, medians of turns."""
    done = threading.Event()
    rings: dict[str, list[Any]] = {}
    with ExitStack() as stack:
        for name, cortex in cortices.items():
            told: Pipe[int] = stack.enter_context(cortex.circuit()).pipe(
                lambda _: done.set(), lane=kernel.int64
            )
            circuits = [stack.enter_context(cortex.circuit()) for _ in range(RING)]
            pipes = rings[name] = [circuit.pipe(relay.bind(done=told)) for circuit in circuits]
            for pipe, onward in zip(pipes, pipes[1:] + pipes[:1], strict=True):
                pipe.state.onward = onward
        samples: dict[str, list[float]] = {name: [] for name in rings}
        for turn in range(TURNS):
            for name in rings if turn % 2 == 0 else reversed(rings):
                done.clear()
                begun = time.process_time()
                rings[name][0].emit(KERNEL_HOPS - 1)
                if not done.wait(60):
                    raise SystemExit(f"{name}: the token of the ring got lost")
                samples[name].append((time.process_time() - begun) / KERNEL_HOPS * 1e9)
        for name, pipes in rings.items():
            if {pipe.state.count for pipe in pipes} != {KERNEL_HOPS // RING * TURNS}:
                raise SystemExit(f"{name}: the circuits of the ring have not all had their share of the hops")
    return {name: median(costs) for name, costs in samples.items()}


@contextmanager
def open_circuit(cortex: Cortex) -> Iterator[Circuit]:
    """A circuit that is closed without waiting for what never ends."""
    circuit = cortex.circuit()
    try:
        yield circuit
    finally:
        circuit.close()


def delay_s(cortex: Cortex, lane: str, busy: str) -> float:
    """Return the longest delay of a probe circuit while others keep the lane's processors busy."""
    stop = threading.Event()
    made: list[Any] = []
    with open_circuit(cortex) as probe:
        answer: Pipe[int] = probe.pipe(ignore) if lane == "object" else probe.pipe(spin.bind())
        answer.emit(0)
        probe.wait()
        capabilities = spi.load(cortex.provider).capabilities
        parallel = lane == "kernel" and "parallel" in capabilities
        for _ in range(usable_cores() if parallel else 1):
            circuit = cortex.circuit()
            pipe = _busy_pipe(circuit, lane, busy, stop)
            made.append((circuit, pipe))
            pipe.emit(_steps_of_a_second(cortex) if lane == "kernel" and busy == "blocked" else 1)
        time.sleep(0.02)
        longest = 0.0
        until = time.perf_counter() + 0.7
        while time.perf_counter() < until:
            begun = time.perf_counter()
            answer.emit(0)
            probe.wait()
            longest = max(longest, time.perf_counter() - begun)
            time.sleep(0.7 / PROBES)
    stop.set()
    for circuit, pipe in made:
        if lane == "kernel":
            pipe.state.again = None
        circuit.wait(30)
        circuit.close(wait=True)
    return longest


def _busy_pipe(circuit: Circuit, lane: str, busy: str, stop: threading.Event) -> Pipe[int]:
    if lane == "kernel":
        return circuit.pipe(spin.bind(again=kernel.SELF) if busy == "endless" else spin.bind())
    if busy == "blocked":
        return circuit.pipe(lambda _: time.sleep(1))

    def again(value: int) -> None:
        if not stop.is_set():
            pipe.emit(value)

    pipe = circuit.pipe(again)
    return pipe


_steps: dict[str, int] = {}


def _steps_of_a_second(cortex: Cortex) -> int:
    if cortex.provider not in _steps:
        with cortex.circuit() as circuit:
            pipe = circuit.pipe(spin.bind())
            steps, spent = 10_000, 0.0
            while spent < 0.05:
                steps *= 2
                begun = time.perf_counter()
                pipe.emit(steps)
                circuit.wait()
                spent = time.perf_counter() - begun
            _steps[cortex.provider] = int(steps / spent)
    return _steps[cortex.provider]


def hop_ns(cortex: Cortex) -> float:
    """Return what a hop of one token in a ring of circuits with Python receptors costs, in nanoseconds."""
    last = threading.Event()

    def member() -> tuple[Callable[[int], None], Callable[[Callable[[int], object]], None]]:
        emit: Callable[[int], object] = ignore

        def receive(value: int) -> None:
            if value:
                emit(value - 1)
            else:
                last.set()

        def link(onward: Callable[[int], object]) -> None:
            nonlocal emit
            emit = onward

        return receive, link

    members = [member() for _ in range(RING)]
    circuits = [cortex.circuit() for _ in range(RING)]
    pipes = [circuit.pipe(receive) for circuit, (receive, _) in zip(circuits, members, strict=True)]
    for place, (_, link) in enumerate(members):
        link(pipes[(place + 1) % RING].emit)
    begun = time.perf_counter()
    pipes[0].emit(HOPS)
    if not last.wait(60):
        raise SystemExit(f"{cortex.provider}: the token of the ring has not arrived")
    spent = time.perf_counter() - begun
    for circuit in circuits:
        circuit.close()
    return spent / HOPS * 1e9


def trampoline_ns() -> float:
    """Return what the same hop costs with nothing but a deque: append, popleft, call."""
    queue: deque[tuple[Callable[[int], None], int]] = deque()
    append, popleft = queue.append, queue.popleft

    def member() -> tuple[Callable[[int], None], Callable[[Callable[[int], None]], None]]:
        onward: Callable[[int], None] = ignore

        def receive(value: int) -> None:
            if value:
                append((onward, value - 1))

        def link(other: Callable[[int], None]) -> None:
            nonlocal onward
            onward = other

        return receive, link

    members = [member() for _ in range(RING)]
    for place, (_, link) in enumerate(members):
        link(members[(place + 1) % RING][0])
    begun = time.perf_counter()
    append((members[0][0], HOPS))
    while queue:
        receive, value = popleft()
        receive(value)
    return (time.perf_counter() - begun) / HOPS * 1e9


def shared(cortex: Cortex, duration_s: float, *, emits: bool, feeds: bool) -> dict[str, float]:
    """Let a thread emit to one circuit, and a receptor of another feed itself, for so long.

    Returns:
        emissions and deliveries (of the receptor that feeds itself) per second, and the longest gap between
        two of each in seconds; 0 for whom did not take part.
    """
    until = time.perf_counter() + duration_s
    deliveries = emissions = received = 0
    delivery_gap = emission_gap = 0.0
    delivered_at = time.perf_counter()

    def feed(value: int) -> None:
        nonlocal deliveries, delivery_gap, delivered_at
        now = time.perf_counter()
        delivery_gap = max(delivery_gap, now - delivered_at)
        delivered_at = now
        deliveries += 1
        if now < until:
            feeding.emit(value)

    def receive(_: int) -> None:
        nonlocal received
        received += 1

    def emit() -> None:
        nonlocal emissions, emission_gap
        last = time.perf_counter()
        while last < until:
            if emissions - received < MOST_WAITING:
                target.emit(1)
                emissions += 1
                now = time.perf_counter()
                emission_gap = max(emission_gap, now - last)
                last = now
            else:
                time.sleep(0.001)

    with cortex.circuit() as fed, cortex.circuit() as own:
        target: Pipe[int] = fed.pipe(receive)
        feeding: Pipe[int] = own.pipe(feed)
        emitter = threading.Thread(target=emit)
        if feeds:
            feeding.emit(1)
        if emits:
            emitter.start()
            emitter.join()
        own.wait()
        fed.wait()
    if received != emissions:
        raise SystemExit(f"{cortex.provider}: {received} of {emissions} emissions were received")
    return {
        "emissions_per_s": emissions / duration_s,
        "emission_gap_s": emission_gap,
        "deliveries_per_s": deliveries / duration_s,
        "delivery_gap_s": delivery_gap,
    }


def parked_share(cortex: Cortex) -> float:
    """Return the share of one processor that a million parked circuits take, over ten seconds."""
    gc.collect()
    gc.disable()
    try:
        circuits = [cortex.circuit() for _ in range(PARKED)]
        pipes = [circuit.pipe(spin.bind()) for circuit in circuits]
        for pipe in pipes:
            pipe.emit(0)
        for circuit in circuits:
            circuit.wait()
        if any(pipe.state.count != 1 for pipe in pipes):
            raise SystemExit(f"{cortex.provider}: a circuit of the parked population was not visited once")
        time.sleep(1)
        begun, used = time.perf_counter(), time.process_time()
        time.sleep(PARKED_S)
        share = (time.process_time() - used) / (time.perf_counter() - begun)
        for circuit in circuits:
            circuit.close()
        return share
    finally:
        gc.enable()


@click.command()
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(results: Path) -> None:
    """Measure, print a table, keep the run."""
    names = ours()
    cortices = {name: substrates.cortex(name) for name in names}
    evidence = Evidence(results, "lanes", "all")
    rows: list[list[str]] = []
    figures: dict[str, Any] = {"schema": 1, "workload": "lanes", "providers": {name: {} for name in names}}
    broken: list[str] = []

    def tell(what: str, name: str, value: float, text: str, bound: str = "", good: bool = True) -> None:
        figures["providers"][name][what] = value
        rows.append([what, name, text, bound, ("yes" if good else "NO") if bound else ""])
        if not good:
            broken.append(f"{what} of {name}: {text}, bound {bound}")
        click.echo(f"{what} of {name}: {text}", err=True)

    def told(what: str, name: str, value: float, unit: str, most: float | None) -> None:
        bound = "" if most is None else f"{most:g} {unit}"
        tell(what, name, value, f"{value:.4g} {unit}", bound, most is None or value <= most)

    samples: dict[str, list[float]] = {name: [] for name in names}
    for cortex in cortices.values():
        verify(cortex, EMISSIONS, "a plain pipe")
    for turn in range(TURNS):  # interleaved, so that a change of the machine's mood meets both
        for name in names if turn % 2 == 0 else reversed(names):
            samples[name].append(emission_ns(cortices[name], EMISSIONS))
    for name in names:
        cost = median(samples[name])
        tell("emission_ns", name, cost, f"{cost:.0f} ns", "600 ns", cost <= MOST_EMISSION_NS)
    ratio = median(a / r for a, r in zip(samples["alpha"], samples["reference"], strict=True))
    tell("emission_ratio", "alpha", ratio, f"{ratio:.2f} x reference", "1.05 x", ratio <= 1.05)
    bursts: dict[str, list[float]] = {name: [] for name in names}
    hops: dict[str, list[float]] = {name: [] for name in ["bare", *names]}
    for turn in range(BURSTS):
        for name in names if turn % 2 == 0 else reversed(names):
            bursts[name].append(emission_ns(cortices[name], BURST))
    for turn in range(TURNS):
        for name in ["bare", *names] if turn % 2 == 0 else [*reversed(names), "bare"]:
            hops[name].append(trampoline_ns() if name == "bare" else hop_ns(cortices[name]))
    for name in names:
        told("burst_ns", name, median(bursts[name]), "ns", MOST_BURST_NS.get(name))
        told("hop_ns", name, median(hops[name]), "ns", MOST_HOP_NS.get(name))
        ratio = median(mine / bare for mine, bare in zip(hops[name], hops["bare"], strict=True))
        told("hop_ratio", name, ratio, "x a bare deque", MOST_HOP_RATIO.get(name))
    for name in names:
        both = shared(cortices[name], SHARED_S, emits=True, feeds=True)
        alone = shared(cortices[name], ALONE_S, emits=True, feeds=False)
        alone["deliveries_per_s"] = shared(cortices[name], ALONE_S, emits=False, feeds=True)[
            "deliveries_per_s"
        ]
        for what in ("emissions_per_s", "deliveries_per_s"):
            share = both[what] / alone[what]
            text = f"{both[what]:,.0f}, {share:.0%} of alone"
            tell(f"shared_{what}", name, both[what], text, f"{LEAST_SHARE:.0%}", share >= LEAST_SHARE)
        for what in ("emission_gap_s", "delivery_gap_s"):
            gap = both[what]
            bound = f"{MOST_GAP_S * 1e3:.0f} ms"
            tell(f"shared_{what}", name, gap, f"{gap * 1e3:.1f} ms", bound, gap < MOST_GAP_S)
    measures: list[tuple[str, Callable[[Cortex], float]]] = [
        (f"{busy}_{lane}_delay_s", lambda cortex, lane=lane, busy=busy: delay_s(cortex, lane, busy))  # type: ignore[misc]
        for lane in ("object", "kernel")
        for busy in ("blocked", "endless")
    ]
    for what, measure in measures:
        for name in names:
            delay = measure(cortices[name])
            tell(what, name, delay, f"{delay * 1e3:.1f} ms", "50 ms", delay < MOST_DELAY_S)
    natives = [name for name in names if "native-kernels" in spi.load(name).capabilities]
    for name, cost in kernel_hop_ns({name: cortices[name] for name in natives}).items():
        good = cost <= MOST_KERNEL_HOP_NS
        tell("kernel_hop_ns", name, cost, f"{cost:.1f} ns", f"{MOST_KERNEL_HOP_NS:g} ns", good)
    for name in natives:
        share = parked_share(cortices[name])
        good = share < MOST_PARKED_SHARE
        tell("parked_share", name, share, f"{share:.3%} of one processor", "1 %", good)

    text = table(["measure", "provider", "median or longest", "bound", "kept"], rows)
    click.echo(text)
    described = {name: environment.describe(spi.load(name), cortices[name]) for name in names}
    evidence.conclude(text, {**figures, "verified": True, "broken": broken}, described)
    click.echo(f"kept in {evidence.folder}", err=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
