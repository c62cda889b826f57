"""States and slots as a user writes them, for mypy: what it must accept, and what it must refuse."""

from __future__ import annotations

from enum import Enum
from typing import assert_type

from substrates import DOUBLE, FLOAT, INTEGER, NAME, STRING, Cortex, Name, Slot, State


class Mode(Enum):
    """A constant is a value."""

    DEBUG = 1


def infers(cortex: Cortex, name: Name) -> None:
    """A slot is generic in its value, and a lookup gives that value."""
    state = cortex.state().state("a", 1).state(name, "text").state(Mode.DEBUG).state("f", 1, type=FLOAT)
    assert_type(cortex.slot("a", True), Slot[bool])
    assert_type(cortex.slot("a", 1), Slot[int])
    assert_type(cortex.slot("a", 1.0), Slot[float])
    assert_type(cortex.slot(name, "text"), Slot[str])
    assert_type(cortex.slot(name, name), Slot[Name])
    assert_type(cortex.slot(name, state), Slot[State])
    assert_type(cortex.slot(Mode.DEBUG), Slot[Name])
    assert_type(cortex.slot("a", 1, type=INTEGER), Slot[int])
    assert_type(cortex.slot("a", 1, type=DOUBLE), Slot[float])
    assert_type(cortex.slot("a", "b.c", type=NAME), Slot[Name])
    assert_type(state.value(cortex.slot("a", 0)), int)
    assert_type(state[cortex.slot("a", "default")], str)
    assert_type(state.state(cortex.slot("a", 2)), State)
    wider: Slot[float] = cortex.slot("a", 1)
    assert_type(wider.value, float)


def refuses(cortex: Cortex, state: State) -> None:
    """Each of these is a mistake; mypy says so, or the exemption would be unused."""
    cortex.slot("a", object())  # type: ignore[call-overload]
    cortex.slot("a", "text", type=INTEGER)  # type: ignore[misc]
    cortex.slot("a", 1, type=STRING)  # type: ignore[misc]
    cortex.slot("a")  # type: ignore[call-overload]
    state.state("a", b"bytes")  # type: ignore[call-overload]
    state.state("a")  # type: ignore[call-overload]
    state.value("a")  # type: ignore[arg-type]
    cortex.slot("a", 1).value = 2  # type: ignore[misc]
