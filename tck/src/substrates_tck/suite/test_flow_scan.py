"""Scans: a state per attachment, and what is made of it with each value."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from substrates import AbsentValueError, Circuit, ConfigurationError, Cortex, Flow, Pipe
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import Check, Refusal, Refused, Vector, add, boom, cases
from substrates_tck.waits import Settle

vector = partial(Vector, flow=True)
refusal = partial(Refusal, flow=True)


def zero() -> int:
    """Supply the usual first state."""
    return 0


def first(state: Any, _value: Any = None) -> Any:
    """Project to the state."""
    return state


def added_or_raised(state: int, value: int) -> int:
    """Count, but not what is below zero."""
    return int(boom()) if value < 0 else state + 1


@cases(
    vector(
        "FLOW-SCAN-02",
        "scan(lambda: (0, 0), lambda s, v: (s[0] + v, s[1] + 1), lambda s: s[0] / s[1])",
        lambda flow: flow.scan(lambda: (0, 0), lambda s, v: (s[0] + v, s[1] + 1), lambda s: s[0] / s[1]),
        [10, 20, 30],
        [10.0, 15.0, 20.0],
    ),
    vector(
        "FLOW-SCAN-02",
        "scan(lambda: 0, add, lambda s: s)",
        lambda flow: flow.scan(zero, add, lambda s: s),
        [1, 2],
        [1, 3],
    ),
    vector(
        "FLOW-SCAN-03",
        "scan(lambda: (0, 0), lambda s, v: (s[0] + 1, s[1] + v))",
        lambda flow: flow.scan(lambda: (0, 0), lambda s, v: (s[0] + 1, s[1] + v)),
        [2, 3, -1],
        [(1, 2), (2, 5), (3, 4)],
    ),
    vector(
        "FLOW-SCAN-03",
        "scan(lambda: 0, lambda s, v: s)",
        lambda flow: flow.scan(zero, lambda s, v: s),
        [1, 2, 3],
        [0, 0, 0],
        derived=True,
    ),
    vector(
        "FLOW-SCAN-04",
        "scan(lambda: 0, add, emit_with=lambda s, v: (s, v))",
        lambda flow: flow.scan(zero, add, emit_with=lambda s, v: (s, v)),
        [5, 10, 7],
        [(5, 5), (15, 10), (22, 7)],
    ),
    vector(
        "FLOW-SCAN-05",
        "scan(lambda: (0, 0), sum and count, lambda s: s[0] if s[1] >= 3 else None)",
        lambda flow: flow.scan(
            lambda: (0, 0), lambda s, v: (s[0] + v, s[1] + 1), lambda s: s[0] if s[1] >= 3 else None
        ),
        [1, 2, 3, 4],
        [6, 10],
    ),
    vector(
        "FLOW-SCAN-05",
        "scan(lambda: 0, add, emit_with=lambda s, v: None if v % 2 == 0 else s)",
        lambda flow: flow.scan(zero, add, emit_with=lambda s, v: None if v % 2 == 0 else s),
        [1, 2, 3, 4],
        [1, 6],
    ),
    vector(
        "FLOW-SCAN-06",
        "scan(lambda: None, lambda s, v: (v,) if s is None else s + (v,), lambda s: s)",
        lambda flow: flow.scan(lambda: None, lambda s, v: (v,) if s is None else (*s, v), lambda s: s),
        [1, 2, 3],
        [(1,), (1, 2), (1, 2, 3)],
    ),
    vector(
        "FLOW-SCAN-07",
        "scan(lambda: 0, lambda s, v: None if v < 0 else (100 if s is None else s) + v, lambda s: s)",
        lambda flow: flow.scan(
            zero, lambda s, v: None if v < 0 else (100 if s is None else s) + v, lambda s: s
        ),
        [1, -2, 3],
        [1, 103],
    ),
    vector(
        "FLOW-SCAN-07",
        "scan(lambda: 0, lambda s, v: None if v < 0 else (s or 0) + v, lambda s: -1 if s is None else s)",
        lambda flow: flow.scan(
            zero, lambda s, v: None if v < 0 else (s or 0) + v, lambda s: -1 if s is None else s
        ),
        [1, -2, 3],
        [1, -1, 3],
    ),
    vector(
        "FLOW-SCAN-07",
        "scan(lambda: 0, lambda s, v: None if v < 0 else (s or 0) + v)",
        lambda flow: flow.scan(zero, lambda s, v: None if v < 0 else (s or 0) + v),
        [1, -2, 3],
        [1, 3],
    ),
    vector(
        "FLOW-SCAN-07",
        "scan(lambda: 0, None below zero, emit_with=lambda s, v: (s, v))",
        lambda flow: flow.scan(
            zero, lambda s, v: None if v < 0 else (s or 0) + v, emit_with=lambda s, v: (s, v)
        ),
        [1, -2, 3],
        [(1, 1), (None, -2), (3, 3)],
        derived=True,
    ),
    vector(
        "FLOW-SCAN-08",
        "scan(lambda: 0, lambda n, v: boom() if v < 0 else n + 1, lambda n: n)",
        lambda flow: flow.scan(zero, added_or_raised, lambda n: n),
        [10, -1, 20],
        [1, 2],
    ),
    vector(
        "FLOW-SCAN-08",
        "scan(lambda: 0, lambda n, v: boom() if v < 0 else n + 1, emit_with=lambda n, v: n)",
        lambda flow: flow.scan(zero, added_or_raised, emit_with=lambda n, v: n),
        [10, -1, 20],
        [1, 2],
    ),
    vector(
        "FLOW-SCAN-08",
        "scan(lambda: 0, lambda n, v: boom() if v < 0 else n + 1)",
        lambda flow: flow.scan(zero, added_or_raised),
        [10, -1, 20],
        [1, 2],
        derived=True,
    ),
    vector(
        "FLOW-SCAN-09",
        "scan(lambda: 0, lambda n, v: n + 1, lambda n: boom() if n == 2 else n)",
        lambda flow: flow.scan(zero, lambda n, v: n + 1, lambda n: boom() if n == 2 else n),
        [10, 10, 10],
        [1, 3],
    ),
    vector(
        "FLOW-SCAN-09",
        "scan(lambda: 0, lambda n, v: n + 1, emit_with=lambda n, v: boom() if n == 2 else n)",
        lambda flow: flow.scan(zero, lambda n, v: n + 1, emit_with=lambda n, v: boom() if n == 2 else n),
        [10, 10, 10],
        [1, 3],
    ),
    vector(
        "FLOW-SCAN-14",
        'map(lambda i: i * 2).scan(lambda: 0, add, lambda s: s).map(lambda s: f"sum={s}").fiber(F.diff())',
        lambda flow: (
            flow.map(lambda i: i * 2)
            .scan(zero, add, lambda s: s)
            .map(lambda s: f"sum={s}")
            .fiber(flow.cortex.fiber().diff())
        ),
        [1, 2, 0, 3],
        ["sum=2", "sum=6", "sum=12"],
    ),
)
def test_a_vector_comes_out_as_it_must(case: Vector, check: Check) -> None:
    check(case)


@cases(
    refusal("FLOW-SCAN-13", "scan(None, add)", lambda flow: flow.scan(None, add), AbsentValueError),
    refusal("FLOW-SCAN-13", "scan(zero, None)", lambda flow: flow.scan(zero, None), AbsentValueError),
    refusal(
        "FLOW-SCAN-13", "scan(None, add, first)", lambda flow: flow.scan(None, add, first), AbsentValueError
    ),
    refusal(
        "FLOW-SCAN-13", "scan(zero, None, first)", lambda flow: flow.scan(zero, None, first), AbsentValueError
    ),
    refusal(
        "FLOW-SCAN-13", "scan(zero, add, None)", lambda flow: flow.scan(zero, add, None), AbsentValueError
    ),
    refusal(
        "FLOW-SCAN-13",
        "scan(None, add, emit_with=first)",
        lambda flow: flow.scan(None, add, emit_with=first),
        AbsentValueError,
    ),
    refusal(
        "FLOW-SCAN-13",
        "scan(zero, None, emit_with=first)",
        lambda flow: flow.scan(zero, None, emit_with=first),
        AbsentValueError,
    ),
    refusal(
        "FLOW-SCAN-13",
        "scan(zero, add, emit_with=None)",
        lambda flow: flow.scan(zero, add, emit_with=None),
        AbsentValueError,
    ),
    refusal("FLOW-SCAN-13", "scan(0, add)", lambda flow: flow.scan(0, add), TypeError, derived=True),
    refusal("FLOW-SCAN-13", "scan(zero, 0)", lambda flow: flow.scan(zero, 0), TypeError, derived=True),
    refusal(
        "FLOW-SCAN-13", "scan(zero, add, 0)", lambda flow: flow.scan(zero, add, 0), TypeError, derived=True
    ),
    refusal(
        "FLOW-SCAN-13",
        "scan(zero, add, first, emit_with=first)",
        lambda flow: flow.scan(zero, add, first, emit_with=first),
        TypeError,
        derived=True,
    ),
)
def test_a_wrong_argument_is_refused_at_once(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("FLOW-SCAN-13")
@derived
def test_coroutine_functions_are_refused(cortex: Cortex) -> None:
    async def coroutine(*_values: object) -> None: ...

    calls: list[Callable[[Flow[Any, Any]], object]] = [
        lambda flow: flow.scan(coroutine, add),
        lambda flow: flow.scan(zero, coroutine),
        lambda flow: flow.scan(zero, add, coroutine),
        lambda flow: flow.scan(zero, add, emit_with=coroutine),
    ]
    for call in calls:
        with pytest.raises(ConfigurationError):
            call(cortex.flow())


FORMS: dict[str, Callable[[Flow[Any, Any], Any, Any], Flow[Any, Any]]] = {
    "state": lambda flow, supplier, step: flow.scan(supplier, step),
    "emit": lambda flow, supplier, step: flow.scan(supplier, step, first),
    "emit_with": lambda flow, supplier, step: flow.scan(supplier, step, emit_with=first),
}
each_form = pytest.mark.parametrize("form", FORMS)


@rule("FLOW-SCAN-01")
@each_form
def test_the_supplier_is_called_once_per_attachment_in_pipe(
    form: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    threads: list[int] = []
    counts: list[int] = []

    def supply() -> int:
        threads.append(threading.get_ident())
        return 0

    flow = FORMS[form](cortex.flow(), supply, add)
    counts.append(len(threads))
    heads: list[Pipe[Any]] = []
    for _ in range(3):
        heads.append(flow.pipe(circuit.pipe()))
        counts.append(len(threads))
    for head in heads:
        head.emit(1)
        head.emit(2)
    wait(circuit)

    assert counts == [0, 1, 2, 3]
    assert threads == [threading.get_ident()] * 3


class Moments(NamedTuple):
    """What a running z-score needs (Welford)."""

    number: int
    mean: float
    squares: float

    def with_value(self, value: float) -> Moments:
        """Return what they are with one value more."""
        number, off = self.number + 1, value - self.mean
        mean = self.mean + off / number
        return Moments(number, mean, self.squares + off * (value - mean))

    def score(self, value: float) -> float | None:
        """Return how many standard deviations a value is off the mean."""
        if self.number < 2:
            return None
        return (value - self.mean) / math.sqrt(self.squares / (self.number - 1))


@rule("FLOW-SCAN-04")
def test_a_running_z_score_needs_the_state_and_the_value(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[float] = []
    flow = cortex.flow(float).scan(lambda: Moments(0, 0.0, 0.0), Moments.with_value, emit_with=Moments.score)
    head = flow.pipe(circuit.pipe(received.append))

    for value in (10.0, 12.0, 14.0):
        head.emit(value)
    wait(circuit)

    assert received == [pytest.approx(0.7071, abs=1e-4), pytest.approx(1.0)]


@rule("FLOW-SCAN-03")
def test_the_very_state_is_emitted_as_often_as_the_step_returns_it(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    state = object()
    received: list[object] = []
    head = cortex.flow(int).scan(lambda: state, lambda s, v: s).pipe(circuit.pipe(received.append))

    for value in (1, 2):
        head.emit(value)
    wait(circuit)

    assert len(received) == 2
    assert all(value is state for value in received)


@rule("FLOW-SCAN-02")
@derived
def test_step_and_projection_are_called_once_per_value_with_what_they_need(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    calls: list[tuple[Any, ...]] = []

    def step(state: int, value: int) -> int:
        calls.append(("step", state, value))
        return state + value

    def emit(*values: int) -> int:
        calls.append(("emit", *values))
        return values[0]

    start = cortex.flow(int)
    heads = [flow.pipe(circuit.pipe()) for flow in (start.scan(zero, step, emit),)]
    heads += [start.scan(zero, step, emit_with=emit).pipe(circuit.pipe())]
    for head in heads:
        head.emit(1)
        head.emit(2)
    wait(circuit)

    assert calls == [
        *(("step", 0, 1), ("emit", 1), ("step", 1, 2), ("emit", 3)),
        *(("step", 0, 1), ("emit", 1, 1), ("step", 1, 2), ("emit", 3, 2)),
    ]


@rule("FLOW-SCAN-08")
@derived
def test_a_step_that_raises_has_no_projection_and_its_changes_in_place_stay(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    projected: list[int] = []
    received: list[list[int]] = []

    def step(state: list[int], value: int) -> list[int]:
        state.append(value)
        return state if value > 0 else [int(boom())]

    def emit(state: list[int], value: int) -> list[int]:
        projected.append(value)
        return list(state)

    start: list[int] = []
    flow = cortex.flow(int).scan(lambda: start, step, emit_with=emit)
    head = flow.pipe(circuit.pipe(received.append))
    for value in (1, -2, 3):
        head.emit(value)
    wait(circuit)

    assert projected == [1, 3]
    assert received == [[1], [1, -2, 3]]


@rule("FLOW-SCAN-10")
@each_form
@pytest.mark.parametrize(
    "error", [ValueError("wanted"), StopIteration("wanted")], ids=lambda e: type(e).__name__
)
def test_what_a_supplier_raises_leaves_pipe(
    error: Exception, form: str, cortex: Cortex, circuit: Circuit
) -> None:
    def supply() -> int:
        raise error

    flow = FORMS[form](cortex.flow(), supply, add)
    with pytest.raises(type(error), match="wanted") as caught:
        flow.pipe(circuit.pipe())

    assert caught.value is error


class Total:
    """A sum that is changed in place."""

    def __init__(self) -> None:
        self.value = 0

    def with_value(self, value: int) -> Total:
        """Add a value to this very object."""
        self.value += value
        return self


@rule("FLOW-SCAN-11")
def test_each_attachment_has_the_state_that_its_supplier_made(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lists: list[list[int]] = [[], []]
    flow = cortex.flow(int).scan(Total, Total.with_value, lambda total: total.value)
    a, b = (flow.pipe(circuit.pipe(received.append)) for received in lists)

    for one, other in ((1, 100), (2, 200)):
        a.emit(one)
        b.emit(other)
    wait(circuit)

    assert lists == [[1, 3], [100, 300]]


@rule("FLOW-SCAN-12")
@derived
def test_what_a_supplier_shares_is_shared_and_never_copied(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lists: list[list[int]] = [[], []]
    shared = Total()
    flow = cortex.flow(int).scan(lambda: shared, Total.with_value, lambda total: total.value)
    a, b = (flow.pipe(circuit.pipe(received.append)) for received in lists)

    a.emit(1)
    b.emit(10)
    wait(circuit)

    assert lists == [[1], [11]]
    assert shared.value == 11
