"""What is alpha's own: adoption of circuits, handles, memory, blocked kernels. The contract is the TCK's."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import substrates
from substrates import Circuit, kernel

CLOSE_S = 10.0


class Step(kernel.State):
    """Counts, then hands the value on, one less, while it is positive."""

    count: kernel.int64
    onward: kernel.Pipe


@kernel.receptor(Step, kernel.int64)
def step(ctx: kernel.Context, state: Step, value: int) -> None:
    state.count += 1
    if value > 0:
        ctx.emit(state.onward, value - 1)


class Nap(kernel.State):
    """Sleeps as many nanoseconds as the value says."""

    count: kernel.int64


NAP = """
#include <time.h>
#include "substrates_kernel.h"
int32_t nap(substrates_context *context, void *memory, uint64_t bits) {
    (void)context;
    struct timespec duration = {(time_t)(bits / 1000000000), (long)(bits % 1000000000)};
    nanosleep(&duration, NULL);
    ++*(int64_t *)memory;
    return 0;
}
"""


@pytest.fixture(scope="module")
def nap(compile_library: Callable[[str], Path]) -> kernel.Kernel[int]:
    library = ctypes.CDLL(str(compile_library(NAP)))
    address = ctypes.cast(library.nap, ctypes.c_void_p).value
    assert address is not None
    return kernel.from_address(address, Nap, kernel.int64, name="nap")


@pytest.fixture
def cortex() -> substrates.Cortex:
    return substrates.cortex("alpha")


@pytest.fixture
def make(cortex: substrates.Cortex) -> Iterator[Callable[[], Circuit]]:
    made: list[Circuit] = []

    def circuit() -> Circuit:
        made.append(cortex.circuit("test"))
        return made[-1]

    yield circuit
    for each in made:
        each.close()
    for each in made:
        each.wait(CLOSE_S)


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition` holds; fail naming `what` after ten seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within 10 s: {what}"
        time.sleep(0.001)


def fact(cortex: substrates.Cortex, name: str) -> int:
    return int(cortex.facts()[name])


def test_adopting_a_circuit_under_fire_loses_nothing(make: Callable[[], Circuit]) -> None:
    for _ in range(30):
        circuit = make()
        counting = circuit.pipe(step.bind())
        emitted = 0
        going = threading.Event()
        stop = threading.Event()

        def produce(pipe: substrates.Pipe[Any], going: threading.Event, stop: threading.Event) -> None:
            nonlocal emitted
            while not stop.is_set():
                pipe.emit(0)
                emitted += 1
                going.set()

        producer = threading.Thread(target=produce, args=(counting, going, stop))
        producer.start()
        assert going.wait(10)

        seen: list[str] = []
        circuit.pipe(seen.append).emit("adopted")
        stop.set()
        producer.join()
        circuit.wait(10)

        assert seen == ["adopted"]
        assert counting.state.count == emitted


def test_transit_in_mid_cascade_survives_adoption(make: Callable[[], Circuit]) -> None:
    circuit = make()
    counting = circuit.pipe(step.bind())
    counting.state.onward = counting
    counting.emit(3_000_000)

    seen: list[int] = []
    after = circuit.pipe(seen.append)  # adopts the circuit while the cascade runs
    at_adoption = counting.state.count
    after.emit(1)
    circuit.wait(60)

    assert seen == [1]
    assert at_adoption < 3_000_001, "the cascade was over before the circuit was adopted"
    assert counting.state.count == 3_000_001


def test_values_from_kernels_and_from_python_share_one_order(make: Callable[[], Circuit]) -> None:
    target, source = make(), make()
    seen: list[Any] = []
    objects = target.pipe(seen.append)
    scalars = target.pipe(seen.append, lane=kernel.int64)
    kernels = source.pipe(step.bind(onward=scalars))

    for turn in range(200):
        objects.emit(f"python {turn}")
        kernels.emit(turn + 1)
        source.wait(10)  # the kernel's emission is accepted now, and precedes the next turn's
    target.wait(10)

    assert seen == [value for turn in range(200) for value in (f"python {turn}", turn)]


def test_handle_of_a_dropped_pipe_reaches_nobody(
    cortex: substrates.Cortex, make: Callable[[], Circuit]
) -> None:
    circuit, other = make(), make()
    target = other.pipe(step.bind())
    source = circuit.pipe(step.bind(onward=target))
    cells = memoryview(bytearray(8)).cast("q")
    cells[0] = source.state._ints[1]
    source.state.onward = None
    other.wait(10)
    del target  # nobody keeps it now
    pipes = fact(cortex, "pipes")
    reused = other.pipe(step.bind())  # in the memory of the one that is gone
    assert fact(cortex, "pipes") == pipes + 1

    source.state._ints[1] = cells[0]
    source.emit(1)
    circuit.wait(10)
    other.wait(10)

    assert reused.state.count == 0


def test_bound_pipes_live_as_long_as_the_state_that_refers_to_them(make: Callable[[], Circuit]) -> None:
    circuit, other = make(), make()
    source = circuit.pipe(step.bind(onward=other.pipe(step.bind())))
    gc.collect()

    source.emit(1)
    circuit.wait(10)
    other.wait(10)

    assert source.state.onward.state.count == 1


def test_everything_dropped_gives_its_memory_back(cortex: substrates.Cortex) -> None:
    gc.collect()
    until(lambda: fact(cortex, "engine_used_bytes") < 10_000, "the memory of earlier tests is given back")
    circuits, pipes = fact(cortex, "circuits"), fact(cortex, "pipes")
    mapped, used = fact(cortex, "engine_bytes"), fact(cortex, "engine_used_bytes")
    population = [cortex.circuit() for _ in range(50_000)]
    wired = [circuit.pipe(step.bind()) for circuit in population]
    for pipe in wired:
        pipe.emit(0)
    for circuit in population:
        circuit.wait(10)
        circuit.close()
    assert fact(cortex, "engine_used_bytes") >= used + 50_000 * 128

    del circuit, pipe, population, wired
    gc.collect()

    until(lambda: fact(cortex, "circuits") == circuits, "circuits are gone")
    until(lambda: fact(cortex, "pipes") == pipes, "pipes are gone")
    until(lambda: fact(cortex, "engine_bytes") < mapped + 3_000_000, "slabs are unmapped")


def test_rings_dropped_in_mid_flight_are_collected(cortex: substrates.Cortex) -> None:
    gc.collect()
    circuits = fact(cortex, "circuits")
    for _ in range(50):
        ring = [cortex.circuit() for _ in range(5)]
        pipes = [circuit.pipe(step.bind()) for circuit in ring]
        for at, pipe in enumerate(pipes):
            pipe.state.onward = pipes[(at + 1) % 5]
            pipe.emit(500)
        for circuit in ring:
            circuit.close()
        del ring, pipes, circuit, pipe

    gc.collect()

    until(lambda: fact(cortex, "circuits") <= circuits, "circuits are gone")


def test_blocked_kernels_get_workers_that_retire(
    cortex: substrates.Cortex, make: Callable[[], Circuit], nap: kernel.Kernel[int]
) -> None:
    usual = fact(cortex, "workers")
    blocked = [make() for _ in range(8)]
    for circuit in blocked:
        circuit.pipe(nap.bind()).emit(500_000_000)
    probe = make()
    counting = probe.pipe(step.bind())

    begun = time.monotonic()
    counting.emit(0)
    probe.wait(10)
    waited_s = time.monotonic() - begun

    assert counting.state.count == 1
    assert waited_s < 0.45, "the probe waited for the blocked kernels"
    for circuit in blocked:
        circuit.wait(10)
    until(lambda: fact(cortex, "workers") <= usual + 1, "added workers retire")


def test_state_of_more_fields_than_a_mask_has_bits(make: Callable[[], Circuit]) -> None:
    fields: dict[str, Any] = {f"n{at}": kernel.int64 for at in range(70)} | {"own": kernel.Pipe}
    wide: Any = type("Wide", (kernel.State,), {"__annotations__": fields, "own": kernel.SELF})
    pipe = make().pipe(kernel.from_address(1, wide, kernel.int64).bind(n69=5))

    state = pipe.state
    assert (state.n0, state.n69, state.own is pipe) == (0, 5, True)


def test_state_larger_than_a_slab_object(make: Callable[[], Circuit]) -> None:
    fields: dict[str, Any] = {f"n{at}": kernel.int64 for at in range(1000)}
    large: Any = type("Large", (kernel.State,), {"__annotations__": fields})
    pipe = make().pipe(kernel.from_address(1, large, kernel.int64).bind(n999=7))

    state = pipe.state
    assert (state.n0, state.n999) == (0, 7)


class Source(kernel.State):
    """Emits numbers to another circuit, as many as the value says."""

    number: kernel.int64
    here: kernel.Pipe = kernel.SELF
    out: kernel.Pipe


@kernel.receptor(Source, kernel.int64)
def source(ctx: kernel.Context, state: Source, value: int) -> None:
    ctx.emit(state.out, state.number)
    state.number += 1
    if value > 0:
        ctx.emit(state.here, value - 1)


def test_emitting_beside_a_flooding_kernel_is_not_held_up(make: Callable[[], Circuit]) -> None:
    flooding, flooded = make(), make()
    numbers: list[int] = []
    words: list[str] = []
    scalars = flooded.pipe(numbers.append, lane=kernel.int64)
    objects = flooded.pipe(words.append)
    flooding.pipe(source.bind(out=scalars)).emit(1_999_999)

    longest_s = 0.0
    for _ in range(50):
        begun = time.monotonic()
        objects.emit("beside")
        longest_s = max(longest_s, time.monotonic() - begun)
    flooding.wait(60)
    flooded.wait(60)

    assert longest_s < 0.5, "an emission moved what the kernel had emitted"
    assert numbers == list(range(2_000_000))
    assert words == ["beside"] * 50


def test_pipe_that_the_collector_has_finalized_is_dead_not_dangling(make: Callable[[], Circuit]) -> None:
    circuit = make()
    outcomes: list[str] = []
    fresh: list[Any] = []

    class Cycle:
        def __init__(self, pipe: Any) -> None:
            self.me, self.pipe = self, pipe

        def __del__(self) -> None:
            fresh.append(circuit.pipe(step.bind(count=7)))
            try:
                self.pipe.emit(1)
                self.pipe.state.count = 100
                outcomes.append("written")  # finalized before its pipe, which is alive then
            except RuntimeError:
                outcomes.append("refused")

    for _ in range(200):
        pipe: Any = circuit.pipe(step.bind())
        Cycle(pipe)
        del pipe
    gc.collect()
    circuit.wait(10)

    assert len(outcomes) == 200
    assert all(pipe.state.count == 7 for pipe in fresh)


class Finalized:
    """Garbage that calls something when the collector comes upon it, in the thread that it was made in."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._own = self
        self._thread = threading.get_ident()

    def __del__(self) -> None:
        if threading.get_ident() == self._thread:
            self._call()


@pytest.mark.parametrize("outer", ["scalar", "kernel", "object"])
@pytest.mark.parametrize("inner", ["scalar", "kernel", "object"])
def test_a_finalizer_may_make_the_other_part_of_a_circuit_while_one_is_made(
    inner: str, outer: str, cortex: substrates.Cortex
) -> None:
    def use(kind: str, circuit: Circuit, received: list[int]) -> Callable[[], int]:
        """Make a pipe and emit once; return what tells how often it has received."""
        if kind == "kernel":
            pipe = circuit.pipe(step.bind())
            pipe.emit(0)
            return lambda: int(pipe.state.count)
        lane = kernel.int64 if kind == "scalar" else kernel.Lane.OBJECT
        circuit.pipe(received.append, lane=lane).emit(0)
        return lambda: len(received)

    thresholds = gc.get_threshold()
    counts: list[list[int]] = []
    gc.collect()
    gc.freeze()
    try:
        for trial in range(150):
            gc.disable()
            circuit = cortex.circuit("finalizer")
            calls: list[Callable[[], int]] = []

            def use_inner(circuit: Circuit = circuit, calls: list[Callable[[], int]] = calls) -> None:
                calls.append(use(inner, circuit, []))

            Finalized(use_inner)
            gc.set_threshold(trial + 1)
            gc.enable()
            calls.append(use(outer, circuit, []))
            gc.disable()
            gc.collect()
            circuit.wait(CLOSE_S)
            counts.append([call() for call in calls])
            circuit.close()
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        gc.enable()

    # Of those that the collector came upon in another thread, there is one count.
    assert set(map(tuple, counts)) <= {(1,), (1, 1)}
    assert counts.count([1, 1]) > 100
