"""What engines get from base and the TCK does not see: jobs, counters, the number of workers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import substrates
from substrates_base import Circuit, Count, Live, Pipe, usable_cores


@pytest.fixture
def circuit(provider: str) -> Iterator[Circuit]:
    circuit = substrates.cortex(provider).circuit("base")
    assert isinstance(circuit, Circuit)
    yield circuit
    circuit.close()
    circuit.wait(10)


def test_jobs_and_emissions_share_one_order(circuit: Circuit) -> None:
    log: list[Any] = []
    pipe = circuit.pipe(log.append)

    for turn in range(100):
        pipe.emit(turn)
        circuit._job(lambda turn=turn: log.append(f"job {turn}"))  # type: ignore[misc]
    circuit.wait(10)

    assert log == [entry for turn in range(100) for entry in (turn, f"job {turn}")]


def test_job_of_a_receptor_is_transit(circuit: Circuit) -> None:
    log: list[Any] = []

    def receive(value: int) -> None:
        circuit._job(lambda: log.append(f"job of {value}"))
        log.append(value)

    hold = threading.Event()
    circuit.pipe(lambda _: hold.wait(10)).emit(0)
    pipe = circuit.pipe(receive)
    pipe.emit(1)
    pipe.emit(2)
    hold.set()
    circuit.wait(10)

    assert log == [1, "job of 1", 2, "job of 2"]


def test_failing_job_is_isolated_and_counted(circuit: Circuit) -> None:
    before = circuit._cortex.faults.count.value()

    circuit._job(lambda: 1 // 0)
    circuit.wait(10)

    assert circuit._cortex.faults.count.value() == before + 1


def test_job_after_close_is_dropped(circuit: Circuit) -> None:
    log: list[int] = []
    circuit._job(lambda: log.append(1))
    circuit.close()

    circuit._job(lambda: log.append(2))
    circuit.wait(10)

    assert log == [1]


def test_counters_are_exact_under_threads() -> None:
    count, live = Count(), Live()

    def work() -> None:
        for _ in range(10_000):
            count.add()
            live.born()
            live.died()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (count.value(), live.value()) == (40_000, 0)


def test_class_with_a_layout_can_be_a_pipe() -> None:
    class Native:  # as an extension type is to Python: memory of its own, and its own `emit`
        __slots__ = ("__weakref__", "_circuit", "_name", "_subject", "emitted")

        def emit(self, value: Any, /) -> None:
            self.emitted = value

    class NativePipe(Native, Pipe):
        __slots__ = ()

    pipe = NativePipe()
    pipe.emit(1)

    assert isinstance(pipe, substrates.Pipe)
    assert pipe.emitted == 1
    assert NativePipe.__basicsize__ == Native.__basicsize__


def test_making_a_pipe_makes_no_subject(circuit: Circuit) -> None:
    class Counter(substrates.Receptor[int]):
        def receive(self, value: int) -> None: ...

    pipe = circuit.pipe(print)
    circuit.pipe("base.named", lambda _: None)
    circuit.pipe(Counter())
    circuit.pipe("base.forwarding", [pipe])

    assert circuit._subject is None
    assert pipe._subject is None


def test_look_alike_is_refused_in_the_name_of_the_circuit(circuit: Circuit) -> None:
    def alike(_: int) -> None: ...

    alike.emit = alike.subject = None  # type: ignore[attr-defined]

    with pytest.raises(substrates.ProviderMismatchFault) as caught:
        circuit.pipe(alike)

    assert caught.value.subject is circuit.subject


def test_workers_are_no_more_than_the_processors_of_this_process() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_nothing_of_base_is_imported_at_its_first_use() -> None:
    program = (
        "import pkgutil, sys, substrates_base as base;"
        "print([each.name for each in pkgutil.iter_modules(base.__path__)"
        " if f'substrates_base.{each.name}' not in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "['arrays']\n"  # it imports NumPy, which is optional and takes long
