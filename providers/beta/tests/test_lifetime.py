"""Garbage, finalizers and the interpreter's lock, where native code could get them wrong."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import pytest

import substrates

PATIENCE_S = 20.0


@pytest.fixture(name="cortex")
def _cortex() -> Any:
    return substrates.cortex("beta")


def test_receptor_that_closes_over_its_circuit_is_collected(cortex: Any) -> None:
    def make() -> weakref.ref[Any]:
        circuit = cortex.circuit("cycle")
        pipe = circuit.pipe(lambda value: (value, circuit))
        pipe.emit(1)
        circuit.wait(PATIENCE_S)
        return weakref.ref(circuit)

    with pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031 - the warning comes in either
        circuit = make()
        gc.collect()

    assert circuit() is None


def test_backlog_of_a_dropped_circuit_is_delivered(cortex: Any) -> None:
    got: list[int] = []
    done = threading.Event()

    def make() -> None:
        circuit = cortex.circuit()
        go = threading.Event()

        def receive(value: int) -> None:
            go.wait(PATIENCE_S)
            got.append(value)
            if value == 99:
                circuit.close()
                done.set()

        pipe = circuit.pipe(receive)
        for value in range(100):
            pipe.emit(value)
        del pipe
        go.set()

    make()
    gc.collect()

    assert done.wait(PATIENCE_S)
    assert got == list(range(100))


def test_what_a_finalizer_emits_in_the_context_is_delivered(cortex: Any) -> None:
    with cortex.circuit() as circuit:
        got: list[str] = []
        pipe = circuit.pipe(got.append)

        class Last:
            def __del__(self) -> None:
                pipe.emit("last words")

        ignoring = circuit.pipe(lambda value: None)
        for _ in range(20):
            ignoring.emit(Last())
        circuit.wait(PATIENCE_S)
        circuit.wait(PATIENCE_S)

        assert got == ["last words"] * 20


def test_finalizers_of_values_behind_the_end_emit_to_nobody(cortex: Any) -> None:
    other = cortex.circuit()
    got: list[int] = []
    target = other.pipe(got.append)
    circuit = cortex.circuit()
    go = threading.Event()
    holding = circuit.pipe(lambda value: go.wait(PATIENCE_S))

    class Last:
        def __del__(self) -> None:
            holding.emit(1)

    holding.emit(0)
    emitter = threading.Thread(target=lambda: [holding.emit(Last()) for _ in range(100)])
    emitter.start()
    circuit.close()
    emitter.join()
    go.set()
    circuit.wait(PATIENCE_S)
    target.emit(7)
    other.wait(PATIENCE_S)
    other.close()

    assert got == [7]


@pytest.mark.parametrize("kind", ["feeds itself", "is fed"])
def test_receptor_and_busy_thread_share_the_lock(cortex: Any, kind: str) -> None:
    circuit = cortex.circuit()
    received = 0

    def receive(value: int) -> None:
        nonlocal received
        received += 1
        if kind == "feeds itself" and not circuit_closes:
            pipe.emit(value)

    circuit_closes = False
    pipe = circuit.pipe(receive)
    pipe.emit(1)
    turns = 0
    worst_s = 0.0
    last_s = began_s = time.perf_counter()
    while last_s - began_s < 1.0:
        if kind == "is fed":
            pipe.emit(1)
        turns += 1
        now_s = time.perf_counter()
        worst_s = max(worst_s, now_s - last_s)
        last_s = now_s
    circuit_closes = True
    circuit.close(wait=True)

    assert worst_s < 0.25
    assert turns > 10_000
    assert received > 10_000
