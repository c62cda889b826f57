"""The clock for tests: what it takes."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import AbsentValueError, ManualClock

WRONG: list[Any] = ["1", 1.5, object()]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_time_is_refused_when_it_is_given(wrong: Any) -> None:
    clock = ManualClock()

    with pytest.raises(TypeError, match="start_ns="):
        ManualClock(wrong)
    with pytest.raises(TypeError, match="due_ns="):
        clock.call_at(wrong, print)


def test_no_time_is_refused() -> None:
    anything: Any = None

    with pytest.raises(AbsentValueError):
        ManualClock(anything)
    with pytest.raises(AbsentValueError):
        ManualClock().call_at(anything, print)


def test_a_clock_may_start_anywhere() -> None:
    clock = ManualClock(-5)
    called: list[int] = []
    clock.call_at(-10, lambda: called.append(clock.now()))

    clock.advance(1)

    assert (called, clock.now()) == ([-5], 999_999_995)
