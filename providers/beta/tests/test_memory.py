"""What populations leave behind in the engine."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import substrates
from substrates import kernel

PATIENCE_S = 20.0
CIRCUITS = 20_000
SLAB_BYTES = 256 * 1024
KEPT_SLABS = 2
"""The engine's own: empty ones that are no reason to trim."""


class Tally(kernel.State):
    count: kernel.int64


@kernel.receptor(Tally, kernel.int64)
def tally(ctx: kernel.Context, state: Tally, value: int) -> None:
    state.count += 1


@pytest.fixture(name="cortex")
def _cortex() -> Any:
    return substrates.cortex("beta")


def _held(cortex: Any) -> tuple[int, int, int]:
    facts = cortex.facts()
    return facts["circuits"], facts["pipes"], facts["engine_used_bytes"]


def _until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline, f"not in {PATIENCE_S} s: {what}"
        gc.collect()
        time.sleep(0.001)


def _cycle(cortex: Any, target: Callable[[], Any]) -> None:
    population = [cortex.circuit() for _ in range(CIRCUITS)]
    pipes = [circuit.pipe(target()) for circuit in population]
    for pipe in pipes:
        pipe.emit(1)
    for circuit in population:
        circuit.wait(PATIENCE_S)
        circuit.close()


@pytest.mark.parametrize("kind", ["kernel", "receptor"])
def test_cycles_leave_no_more_than_the_engine_keeps(cortex: Any, kind: str) -> None:
    gc.collect()
    held, before = _held(cortex), cortex.facts()["engine_bytes"]
    received: list[int] = []
    mapped: list[int] = []

    for _ in range(5):
        _cycle(cortex, tally.bind if kind == "kernel" else lambda: received.append)
        _until(lambda: _held(cortex) == held, f"the engine holds {held}")
        mapped.append(cortex.facts()["engine_bytes"])

    assert max(mapped) <= before + 2 * KEPT_SLABS * SLAB_BYTES, mapped
    assert kind == "kernel" or len(received) == 5 * CIRCUITS


def test_nodes_of_a_backlog_that_are_left_keep_no_slabs(cortex: Any) -> None:
    gc.collect()
    held, mapped = _held(cortex), cortex.facts()["engine_bytes"]
    count = [0]
    go = threading.Event()

    def receive(_: int) -> None:
        count[0] += 1

    def run() -> None:
        with cortex.circuit() as gate:
            population = [cortex.circuit() for _ in range(CIRCUITS)]
            pipes = [circuit.pipe(receive) for circuit in population[:100]]
            gate.pipe(lambda _: go.wait(PATIENCE_S)).emit(1)
            for _ in range(3_000):  # each circuit's nodes lie in all slabs
                for pipe in pipes:
                    pipe.emit(1)
            for pipe in [circuit.pipe(receive) for circuit in population[100:]]:
                pipe.emit(1)
            assert cortex.facts()["engine_bytes"] > mapped + 20 * SLAB_BYTES
            go.set()
            for circuit in population:
                circuit.wait(PATIENCE_S)
                circuit.close()

    run()
    _until(lambda: _held(cortex) == held, f"the engine holds {held}")

    assert count[0] == 100 * 3_000 + CIRCUITS - 100
    assert cortex.facts()["engine_bytes"] <= mapped + 2 * KEPT_SLABS * SLAB_BYTES


def test_making_a_pipe_makes_no_subject(cortex: Any) -> None:
    with cortex.circuit() as circuit:
        pipe = circuit.pipe(print)
        circuit.pipe("named", pipe.emit)
        circuit.pipe("forwarding", [pipe])

        assert circuit._subject is None
        assert pipe._subject is None
