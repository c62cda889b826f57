"""Garbage, finalizers and the interpreter's lock, where native code could get them wrong."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import pytest

import substrates

PATIENCE_S = 20.0


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60
    )


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


SPARE = """
import logging, threading, warnings
import substrates
cortex = substrates.cortex("beta")
messages, refused = [], []
class Heard(logging.Handler):
    def emit(self, record):
        messages.append(record.getMessage())
logging.getLogger("substrates").addHandler(Heard())
add_worker = cortex._add_worker
def refuse_once():
    if cortex.hosting and not refused:
        refused.append(True)
        raise RuntimeError("can't start new thread")
    add_worker()
cortex._add_worker = refuse_once

go, running = threading.Event(), threading.Semaphore(0)
def receive(value):
    running.release()
    go.wait(20)
circuits = [cortex.circuit() for _ in range(5)]
pipes = [circuit.pipe(receive) for circuit in circuits]
for pipe in pipes:
    pipe.emit(1)
print(all([running.acquire(timeout=10) for _ in pipes]), messages)
go.set()
for circuit in circuits:
    circuit.close(wait=True)
"""


def test_thread_that_the_system_refuses_is_asked_for_again() -> None:
    ended = run(SPARE)

    warning = "further circuits wait while receptors block: can't start new thread"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"True {[warning]}\n", "")


FORK = """
import os, signal, threading, time, warnings
import substrates
warnings.simplefilter("ignore")  # CPython 3.12 warns of fork with threads, which is what this is about
circuit = substrates.cortex("beta").circuit()
go, main, children = threading.Event(), os.getpid(), []
pipe = circuit.pipe(lambda value: go.wait(20))
signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
pipe.emit(1)
threading.Timer(2, go.set).start()
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    circuit.wait()
except substrates.ForkedProcessError:
    os._exit(0 if os.getpid() != main else 1)
ended, until = (0, 0), time.monotonic() + 10
while not ended[0] and time.monotonic() < until:
    ended = os.waitpid(children[0], os.WNOHANG)
    time.sleep(0.01)
if not ended[0]:
    os.kill(children[0], signal.SIGKILL)
print(ended[0] != 0, ended[1])
circuit.close(wait=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_child_that_a_signal_handler_forks_in_a_wait_waits_no_more() -> None:
    ended = run(FORK)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True 0\n", "")


def test_room_that_a_burst_took_is_given_back(cortex: Any) -> None:
    with cortex.circuit() as circuit:
        received = 0

        def count(value: int) -> None:
            nonlocal received
            received += 1

        counting = circuit.pipe(count)
        bursting = circuit.pipe(lambda value: [counting.emit(1) for _ in range(value)])
        bursting.emit(1)
        circuit.wait(PATIENCE_S)
        before = cortex.facts()["engine_bytes"]
        bursting.emit(300_000)
        circuit.wait(PATIENCE_S)
        assert received == 300_001

    until = time.monotonic() + PATIENCE_S
    while (now := cortex.facts()["engine_bytes"]) > before + 2**20 and time.monotonic() < until:
        time.sleep(0.01)
    assert now <= before + 2**20
