"""Waiting is bounded, and a failure says what did not happen."""

from __future__ import annotations

import threading
from time import perf_counter

import pytest

from substrates_tck.waits import BoundExceeded, Event, Gate, Task, until


def test_an_event_that_is_not_set_is_named() -> None:
    with pytest.raises(BoundExceeded, match=r"not within 0\.01 s: the value was received"):
        Event(0.01, "the value was received").wait()


def test_an_event_that_is_set_is_waited_for_once_and_for_all() -> None:
    event = Event(5, "it is set")
    event.set("a value")
    event.wait()

    assert event.is_set()


def test_a_gate_that_nobody_reaches_is_a_failure() -> None:
    with pytest.raises(BoundExceeded, match="reached the gate"):
        Gate(0.01).await_entered()


def test_a_gate_holds_until_it_is_released() -> None:
    gate, passed = Gate(5), threading.Event()

    def run() -> None:
        gate.hold()
        passed.set()

    task = Task(run, (), 5)
    gate.await_entered()

    assert not passed.is_set()
    gate.release()
    task.result()
    assert passed.is_set()


def test_a_task_hands_back_what_its_function_gave_or_raised() -> None:
    assert Task(divmod, (7, 2), 5).result() == (3, 1)
    with pytest.raises(ZeroDivisionError):
        Task(divmod, (7, 0), 5).result()


def test_a_task_that_does_not_end_is_a_failure() -> None:
    released = threading.Event()
    task = Task(released.wait, (5,), 0.01)

    with pytest.raises(BoundExceeded, match="ended"):
        task.result()
    released.set()


def test_a_condition_that_never_holds_is_a_failure_in_time() -> None:
    start = perf_counter()

    with pytest.raises(BoundExceeded, match="it is so"):
        until(lambda: False, "it is so", 0.05)

    assert perf_counter() - start < 2
