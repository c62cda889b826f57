"""What the TCK does not see of scopes: what they let go of, and interrupts while they close."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import substrates
from substrates import Circuit, ClosedFault, Cortex
from substrates_base import Circuit as BaseCircuit
from substrates_base.scopes import Scope


@pytest.fixture
def cortex(provider: str) -> Cortex:
    return substrates.cortex(provider)


@pytest.fixture
def circuits(cortex: Cortex) -> Iterator[list[Circuit]]:
    circuits = [cortex.circuit("scopes") for _ in range(3)]
    yield circuits
    for circuit in circuits:
        circuit.close(wait=True)


def closed(circuit: Circuit) -> bool:
    try:
        circuit.pipe()
    except ClosedFault:
        return True
    return False


def interrupting(times: int, at: Circuit, before: bool) -> Callable[..., None]:
    """Return a `close` that Ctrl-C interrupts `times` times at one circuit, before or behind its work."""
    close = BaseCircuit.close
    left = [times]

    def interrupted(circuit: BaseCircuit, **options: Any) -> None:
        due = circuit is at and left[0] > 0
        if due and before:
            left[0] -= 1
            raise KeyboardInterrupt
        close(circuit, **options)
        if due:
            left[0] -= 1
            raise KeyboardInterrupt

    return interrupted


def test_parent_lets_go_of_a_child_that_is_closed(cortex: Cortex) -> None:
    root = cortex.scope("root")
    assert isinstance(root, Scope)
    kept = root.scope("kept")

    for _ in range(3):
        with root.scope("short"):
            pass

    assert list(root._children) == [kept]
    root.close()
    assert not root._children


@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
def test_interrupt_while_closing_is_raised_once_all_is_closed(
    before: bool, cortex: Cortex, circuits: list[Circuit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseCircuit, "close", interrupting(1, circuits[2], before))
    faults = cortex.facts()["faults"]

    root = cortex.scope("root")
    root.scope("child").register(circuits[0])
    root.register(circuits[1])
    root.closure(circuits[2])

    with pytest.raises(KeyboardInterrupt):
        root.close()

    assert [closed(circuit) for circuit in circuits] == [True, True, True]
    assert cortex.facts()["faults"] == faults


def test_second_interrupt_is_raised_at_once_and_closing_can_be_repeated(
    cortex: Cortex, circuits: list[Circuit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseCircuit, "close", interrupting(2, circuits[1], True))
    root = cortex.scope("root")
    root.scope("child").register(circuits[0])
    root.register(circuits[1])
    root.register(circuits[2])

    with pytest.raises(KeyboardInterrupt):
        root.close()

    assert [closed(circuit) for circuit in circuits] == [False, False, True]
    root.close()
    assert [closed(circuit) for circuit in circuits] == [True, True, True]


def test_interrupt_wherever_python_looks_for_one_leaves_a_scope_that_can_be_closed(cortex: Cortex) -> None:
    """Interrupt a close at each of its calls in turn; closing again closes what is left."""

    class Everywhere:
        """Raises at the call of a function of base, as if Ctrl-C had come then."""

        def __init__(self, at: int) -> None:
            self.left = at

        def __call__(self, frame: Any, event: str, _: Any) -> None:
            if event == "call" and "substrates_base" in frame.f_code.co_filename:
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt

    at, interrupted = 0, True
    while interrupted:
        at += 1
        root = cortex.scope("root")
        held = [cortex.circuit("scopes") for _ in range(3)]
        root.register(held[0])
        root.closure(held[1])
        root.scope("child").register(held[2])
        before = sys.gettrace()
        gc.disable()  # what is raised in a finalizer goes no further
        sys.settrace(Everywhere(at))
        try:
            root.close()
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
            gc.enable()

        root.close()

        assert [closed(circuit) for circuit in held] == [True, True, True], f"interrupted at call {at}"
    assert at > 5


def test_interrupt_of_another_thread_is_a_failure_like_any(
    cortex: Cortex, circuits: list[Circuit], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(BaseCircuit, "close", interrupting(1, circuits[1], True))
    root = cortex.scope("root")
    root.register(circuits[0])
    root.register(circuits[1])

    with caplog.at_level(logging.CRITICAL, "substrates"):
        thread = threading.Thread(target=root.close)
        thread.start()
        thread.join(10)

    assert closed(circuits[0])
