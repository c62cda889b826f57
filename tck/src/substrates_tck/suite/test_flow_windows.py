"""Windows in flows: which values are in a window, by number and by the circuit's time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ConfigurationError,
    Cortex,
    ManualClock,
    Pipe,
    Window,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Check,
    Refusal,
    Refused,
    TimedVector,
    Vector,
    add,
    boom,
    cases,
    copied,
    ms,
)
from substrates_tck.waits import Settle

vector = partial(Vector, flow=True)
timed_vector = partial(TimedVector, flow=True)
refusal = partial(Refusal, flow=True)


@cases(
    vector(
        "FLOW-WINDOW-01",
        "window(3)",
        lambda flow: copied(flow.window(3)),
        [1, 2, 3, 4, 5],
        [[1], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]],
    ),
    vector(
        "FLOW-WINDOW-01", "window(2)", lambda flow: copied(flow.window(2)), [1, 2, 3], [[1], [1, 2], [2, 3]]
    ),
    vector("FLOW-WINDOW-01", "window(1)", lambda flow: copied(flow.window(1)), [1, 2], [[1], [2]]),
    vector(
        "FLOW-WINDOW-01",
        "window(3) of equal values",
        lambda flow: copied(flow.window(3)),
        [1, 1, 1, 1],
        [[1], [1, 1], [1, 1, 1], [1, 1, 1]],
        derived=True,
    ),
    vector(
        "FLOW-WINDOW-02",
        'map(lambda i: f"v:{i}" if i > 0 else None).window(2)',
        lambda flow: copied(flow.map(lambda i: f"v:{i}" if i > 0 else None).window(2)),
        [1, -2, 3, 4],
        [["v:1"], ["v:1", "v:3"], ["v:3", "v:4"]],
    ),
    vector(
        "FLOW-WINDOW-02",
        "window(2).map(sum).window(2)",
        lambda flow: copied(flow.window(2).map(lambda w: w.reduce(0, add)).window(2)),
        [1, 2, 3],
        [[1], [1, 3], [3, 5]],
        derived=True,
    ),
    vector(
        "FLOW-WINDOW-05",
        "window(2).map(lambda w: w.reduce(0, add))",
        lambda flow: flow.window(2).map(lambda w: w.reduce(0, add)),
        [1, 2, 3],
        [1, 3, 5],
        derived=True,
    ),
    vector(
        "FLOW-WINDOW-05",
        "fiber(F.rolling(2, add, 0))",
        lambda flow: flow.fiber(flow.cortex.fiber().rolling(2, add, 0)),
        [1, 2, 3],
        [3, 5],
        derived=True,
    ),
    vector(
        "FLOW-WINDOW-06",
        "window(2).map(lambda w: boom() if w.last() == 2 else w.reduce(0, add))",
        lambda flow: flow.window(2).map(lambda w: boom() if w.last() == 2 else w.reduce(0, add)),
        [1, 2, 3],
        [1, 5],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOWD-01",
        "window(ms(10), 10)",
        lambda flow: copied(flow.window(ms(10), 10)),
        [(0, 1), (10, 2), (11, 3)],
        [[1], [1, 2], [2, 3]],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOWD-01",
        "window(ms(5), 10)",
        lambda flow: copied(flow.window(ms(5), 10)),
        [(0, 1), (25, 2)],
        [[1], [2]],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOWD-01",
        "window(ms(5), 10) evicts many",
        lambda flow: copied(flow.window(ms(5), 10)),
        [(0, 1), (1, 2), (2, 3), (6, 4), (7, 5), (13, 6)],
        [[1], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [6]],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOWD-01",
        "window(0.005, 10), in seconds",
        lambda flow: copied(flow.window(0.005, 10)),
        [(0, 1), (5, 2), (6, 3)],
        [[1], [1, 2], [2, 3]],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOWD-02",
        "window(days(1), 2)",
        lambda flow: copied(flow.window(timedelta(days=1), 2)),
        [(0, 1), (0, 2), (0, 3)],
        [[1], [1, 2], [2, 3]],
    ),
    timed_vector(
        "FLOW-WINDOWD-02",
        "window(ms(10), 2)",
        lambda flow: copied(flow.window(ms(10), 2)),
        [(0, 1), (4, 2), (8, 3), (13, 4), (30, 5)],
        [[1], [1, 2], [2, 3], [3, 4], [5]],
        derived=True,
    ),
    timed_vector(
        "FLOW-WINDOW-06 FLOW-WINDOWD-01",
        "window(ms(10), 10).map(lambda w: boom() if w.last() == 2 else w.reduce(0, add))",
        lambda flow: flow.window(ms(10), 10).map(lambda w: boom() if w.last() == 2 else w.reduce(0, add)),
        [(0, 1), (10, 2), (11, 3)],
        [1, 5],
        derived=True,
    ),
)
def test_a_vector_comes_out_as_it_must(case: Vector, check: Check) -> None:
    check(case)


@cases(
    refusal("FLOW-WINDOW-04", "window(0)", lambda flow: flow.window(0), ConfigurationError),
    refusal("FLOW-WINDOW-04", "window(-1)", lambda flow: flow.window(-1), ConfigurationError),
    refusal("FLOW-WINDOW-04", "window()", lambda flow: flow.window(), TypeError),
    refusal("FLOW-WINDOW-04", "window(None)", lambda flow: flow.window(None), AbsentValueError, derived=True),
    refusal("FLOW-WINDOW-04", "window(True)", lambda flow: flow.window(True), TypeError, derived=True),
    refusal("FLOW-WINDOW-04", "window(1.0)", lambda flow: flow.window(1.0), TypeError, derived=True),
    refusal("FLOW-WINDOWD-05", "window(None, 1)", lambda flow: flow.window(None, 1), AbsentValueError),
    refusal(
        "FLOW-WINDOWD-05",
        "window(ns(0), 1)",
        lambda flow: flow.window(timedelta(0), 1),
        ConfigurationError,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(ns(-1), 1)",
        lambda flow: flow.window(timedelta(microseconds=-1), 1),
        ConfigurationError,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(sec(2**63 - 1), 1)",
        lambda flow: flow.window(timedelta.max, 1),
        ConfigurationError,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(sec(1), 0)",
        lambda flow: flow.window(timedelta(seconds=1), 0),
        ConfigurationError,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(sec(1), -1)",
        lambda flow: flow.window(timedelta(seconds=1), -1),
        ConfigurationError,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(sec(1), None)",
        lambda flow: flow.window(timedelta(seconds=1), None),
        AbsentValueError,
        derived=True,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(2**63 - 1 seconds as a number, 1)",
        lambda flow: flow.window(2**63 - 1, 1),
        ConfigurationError,
        derived=True,
    ),
    refusal(
        "FLOW-WINDOWD-05",
        "window(nan, 1)",
        lambda flow: flow.window(float("nan"), 1),
        ConfigurationError,
        derived=True,
    ),
    refusal("FLOW-WINDOWD-05", "window('1', 1)", lambda flow: flow.window("1", 1), TypeError, derived=True),
)
def test_a_wrong_argument_is_refused_at_once(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("FLOW-WINDOW-03")
def test_each_attachment_has_values_of_its_own(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    lists: list[list[list[int]]] = [[], []]
    flow = copied(cortex.flow(int).window(2))
    a, b = (flow.pipe(circuit.pipe(received.append)) for received in lists)

    emissions: list[tuple[Pipe[int], int]] = [(a, 1), (b, 10), (a, 2), (b, 20), (b, 30), (a, 3)]
    for pipe, value in emissions:
        pipe.emit(value)
    wait(circuit)

    assert lists == [[[1], [1, 2], [2, 3]], [[10], [10, 20], [20, 30]]]


@rule("FLOW-WINDOW-01")
@derived
@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 64])
def test_a_window_has_the_newest_values_however_many_came(
    capacity: int, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[list[int]] = []
    head = copied(cortex.flow(int).window(capacity)).pipe(circuit.pipe(received.append))

    for value in range(200):
        head.emit(value)
    wait(circuit)

    assert received == [list(range(max(0, last + 1 - capacity), last + 1)) for last in range(200)]


@rule("FLOW-WINDOW-01")
@derived
def test_a_window_holds_the_very_values(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    values = [object(), object()]
    received: list[list[object]] = []
    head = copied(cortex.flow().window(2)).pipe(circuit.pipe(received.append))

    for value in values:
        head.emit(value)
    wait(circuit)

    assert [value is other for value, other in zip(received[-1], values, strict=True)] == [True, True]


@rule("FLOW-WINDOW-01")
@derived
def test_what_flows_emit_are_windows(cortex: Cortex, timed: Circuit, wait: Settle) -> None:
    kinds: list[bool] = []
    target: Pipe[Window[int]] = timed.pipe(lambda window: kinds.append(isinstance(window, Window)))
    flow = cortex.flow(int)

    for head in (flow.window(2).pipe(target), flow.window(ms(1), 2).pipe(target)):
        head.emit(1)
    wait(timed)

    assert kinds == [True, True]


@rule("FLOW-WINDOWD-01")
@derived
def test_a_window_by_time_has_the_newest_values_however_many_came(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[list[int]] = []
    head = copied(cortex.flow(int).window(ms(10), 1000)).pipe(timed.pipe(received.append))

    for value in range(60):
        if value:
            clock.advance(ms(1 + value % 3))
        head.emit(value)
        wait(timed)

    times = [sum(1 + value % 3 for value in range(1, last + 1)) for last in range(60)]
    assert received == [
        [value for value in range(last + 1) if times[last] - times[value] <= 10] for last in range(60)
    ]


@rule("FLOW-WINDOWD-01")
@derived
def test_each_attachment_by_time_has_values_of_its_own(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    lists: list[list[list[int]]] = [[], []]
    flow = copied(cortex.flow(int).window(ms(10), 10))
    heads = [flow.pipe(timed.pipe(received.append)) for received in lists]

    for value, later in ((1, 5), (2, 7), (3, 1)):
        for head in heads:
            head.emit(value)
        wait(timed)
        clock.advance(ms(later))

    assert lists == [[[1], [1, 2], [2, 3]]] * 2


@rule("FLOW-WINDOWD-03", "COMMON-EXEC-07")
@derived
def test_values_of_one_cascade_are_of_one_time(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[list[int]] = []
    head: Pipe[int] = copied(cortex.flow(int).window(ms(5), 10)).pipe(timed.pipe(received.append))

    def follow(value: int) -> None:
        clock.advance(ms(25))
        head.emit(value)

    later: Pipe[int] = timed.pipe(follow)

    def begin(_: object) -> None:
        head.emit(1)
        later.emit(2)

    timed.pipe(begin).emit("begin")
    wait(timed)

    assert received == [[1], [1, 2]]


@rule("FLOW-WINDOWD-04")
@derived
def test_time_alone_emits_nothing(cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle) -> None:
    received: list[list[int]] = []
    head = copied(cortex.flow(int).window(ms(5), 10)).pipe(timed.pipe(received.append))

    head.emit(1)
    wait(timed)
    for _ in range(10):
        clock.advance(ms(5))
        wait(timed)
    assert received == [[1]]

    head.emit(2)
    wait(timed)
    assert received == [[1], [2]]


@rule("FLOW-WINDOWD-04")
@derived
@pytest.mark.parametrize("move", [ManualClock.advance, ManualClock.jump], ids=["advance", "jump"])
def test_a_window_in_use_is_not_shortened_by_time(
    move: Callable[[ManualClock, timedelta], None],
    cortex: Cortex,
    timed: Circuit,
    clock: ManualClock,
    wait: Settle,
) -> None:
    seen: list[tuple[int, int]] = []

    def receive(window: Window[int]) -> None:
        before = window.size()
        move(clock, ms(100))
        seen.append((before, window.size()))

    head = cortex.flow(int).window(ms(5), 10).pipe(timed.pipe(receive))
    head.emit(1)
    wait(timed)
    head.emit(2)
    wait(timed)

    assert seen == [(1, 1), (1, 1)]


@rule("FLOW-WINDOWD-01")
@derived
def test_the_time_of_a_window_is_its_own_circuits(
    cortex: Cortex, new_circuit: NewCircuit, clock: ManualClock, wait: Settle
) -> None:
    other = ManualClock(5)
    circuits = [new_circuit("window.here", clock=clock), new_circuit("window.there", clock=other)]
    lists: list[list[list[int]]] = [[], []]
    flow = copied(cortex.flow(int).window(ms(5), 10))
    heads = [
        flow.pipe(circuit.pipe(received.append)) for circuit, received in zip(circuits, lists, strict=True)
    ]

    for value in (1, 2):
        for head in heads:
            head.emit(value)
        wait(*circuits)
        clock.advance(ms(25))

    assert lists == [[[1], [2]], [[1], [1, 2]]]
