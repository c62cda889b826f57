"""Recipes: where and when their stages run, and what becomes of values that are absent, or fail."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest

from substrates import Circuit, Cortex, Fiber, ManualClock, Pipe, Run
from substrates.errors import AbsentValueError
from substrates_tck.fixtures import NewCircuit, Until
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    FUNCTIONS,
    Boom,
    Check,
    TimedVector,
    Vector,
    add,
    boom,
    cases,
    copied,
    fails_at,
    ms,
    play,
    positive,
)
from substrates_tck.waits import Gate, Settle, Together

NAN = float("nan")


def _pair() -> tuple[int, int]:
    """Return a new object each time, equal to all others."""
    values = [1, 2]
    return (values[0], values[1])


# -- execution context and time


@rule("COMMON-EXEC-01")
def test_emitting_to_a_recipe_returns_before_any_stage_runs(
    cortex: Cortex, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    seen: list[object] = []
    pipe = cortex.fiber(int).peek(lambda _: seen.append(cortex.current())).pipe(circuit.pipe())
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    pipe.emit(1)
    before = seen.copy()
    gate.release()
    wait(circuit)

    assert before == []
    assert len(seen) == 1
    assert seen[0] is circuit.current
    assert seen[0] is not cortex.current()


@rule("COMMON-EXEC-02")
def test_one_value_at_a_time_passes_all_stages_in_order(
    cortex: Cortex, circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    log: list[tuple[str, tuple[int, int], object]] = []
    received: list[tuple[int, int]] = []

    def logging(stage: str) -> Callable[[tuple[int, int]], None]:
        return lambda value: log.append((stage, value, cortex.current()))

    recipe = cortex.fiber(tuple[int, int]).peek(logging("first")).peek(logging("second"))
    pipe = recipe.pipe(circuit.pipe(received.append))

    together(3, lambda thread: [pipe.emit((thread, number)) for number in range(200)])
    wait(circuit)

    assert [entry[:2] for entry in log] == [(stage, v) for v in received for stage in ("first", "second")]
    assert all(context is circuit.current for _, _, context in log)
    for thread in range(3):
        assert [number for of, number in received if of == thread] == list(range(200))


@rule("COMMON-EXEC-03")
def test_a_recipe_runs_where_the_hop_is_that_it_is_attached_to(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    first, second = new_circuit("tck.first"), new_circuit("tck.second")
    at_stage: list[tuple[int, object]] = []
    at_end: list[tuple[int, object]] = []
    end: Pipe[int] = first.pipe(lambda v: at_end.append((v, cortex.current())))
    stage = cortex.fiber(int).guard(positive).diff().peek(lambda v: at_stage.append((v, cortex.current())))
    pipe = stage.pipe(second.pipe(end))
    for value in (1, 1, -2, 3, 3, 4):
        pipe.emit(value)
    wait(second, first)

    assert [value for value, _ in at_stage] == [1, 3, 4]
    assert [value for value, _ in at_end] == [1, 3, 4]
    assert all(context is second.current for _, context in at_stage)
    assert all(context is first.current for _, context in at_end)


@rule("COMMON-EXEC-04")
@derived
def test_what_a_stage_emits_to_its_own_circuit_waits_for_its_end(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    log: list[str] = []

    def stage(value: int) -> None:
        log.append(f"stage {value}")
        if value < 3:
            pipe.emit(value + 1)
        log.append(f"end {value}")

    pipe = cortex.fiber(int).peek(stage).pipe(circuit.pipe(lambda v: log.append(f"received {v}")))
    pipe.emit(1)
    pipe.emit(10)
    wait(circuit)

    assert log == [f"{what} {value}" for value in (1, 2, 3, 10) for what in ("stage", "end", "received")]


@rule("COMMON-EXEC-05")
@derived
def test_the_stages_and_the_receptor_behind_them_are_one_step(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[list[int]] = []
    errors: list[BaseException] = []

    def receive(window: Any) -> None:
        try:
            values: list[int] = []
            window.for_each(values.append)
            received.append(values)
        except Exception as error:
            errors.append(error)

    head = cortex.flow(int).window(2).pipe(circuit.pipe(receive))

    def emit_both(_value: int) -> None:
        head.emit(1)
        head.emit(2)

    circuit.pipe(emit_both).emit(0)
    wait(circuit)

    assert errors == []
    assert received == [[1], [1, 2]]


@rule("COMMON-EXEC-06")
@derived
def test_the_effects_of_all_stages_are_visible_after_a_wait(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: dict[str, int] = {}
    recipe = cortex.flow(int).fiber(cortex.fiber(int).peek(lambda v: seen.update(first=v)))
    pipe = recipe.map(lambda v: v * 2).pipe(circuit.pipe(lambda v: seen.update(last=v)))
    after = []
    for value in range(1, 51):
        pipe.emit(value)
        wait(circuit)
        after.append(seen.copy())

    assert after == [{"first": value, "last": value * 2} for value in range(1, 51)]


@rule("COMMON-EXEC-07")
def test_a_cascade_has_one_reading_of_the_clock(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[list[int]] = []
    head = copied(cortex.flow(int).window(ms(5), 10)).pipe(timed.pipe(received.append))

    def later(_value: int) -> None:
        clock.advance(ms(25))
        head.emit(2)

    transit: Pipe[int] = timed.pipe(later)

    def ingress(_value: int) -> None:
        head.emit(1)
        transit.emit(0)

    timed.pipe(ingress).emit(0)
    wait(timed)

    assert received == [[1], [1, 2]]


@rule("COMMON-EXEC-07")
def test_a_value_from_another_circuit_has_a_reading_of_its_own(
    cortex: Cortex, timed: Circuit, clock: ManualClock, new_circuit: NewCircuit, wait: Settle
) -> None:
    received: list[list[int]] = []
    head = copied(cortex.flow(int).window(ms(5), 10)).pipe(timed.pipe(received.append))
    other = new_circuit("tck.other")
    hop: Pipe[int] = other.pipe(head)
    head.emit(1)
    wait(timed)
    clock.advance(ms(25))
    hop.emit(2)
    wait(other, timed)

    assert received == [[1], [2]]


@cases(
    TimedVector(
        "COMMON-EXEC-08",
        "window(ms(5), 10)",
        lambda f: copied(f.window(ms(5), 10)),
        [(0, 1), (25, 2)],
        [[1], [2]],
        flow=True,
    ),
)
def test_separate_values_have_separate_readings(case: TimedVector, check: Check) -> None:
    check(case)


@rule("COMMON-EXEC-08")
def test_values_that_waited_together_have_separate_readings(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    sampled = cortex.fiber(int).every(ms(10)).pipe(timed.pipe(received.append))
    step: Pipe[int] = timed.pipe(lambda _: clock.advance(ms(10)))
    for value in range(4):
        sampled.emit(value)
        step.emit(0)
    wait(timed)

    assert received == [1, 2, 3]


# -- absence


@rule("COMMON-ABS-01")
@pytest.mark.parametrize("shape", ["identity", "guard", "map"])
def test_emitting_nothing_is_refused_and_admits_nothing(
    shape: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[Any] = []
    fiber: Fiber[Any] = cortex.fiber().peek(seen.append)
    recipe = {"identity": cortex.fiber(), "guard": fiber.guard(positive), "map": cortex.flow(fiber).map(str)}
    pipe = recipe[shape].pipe(circuit.pipe(seen.append))

    with pytest.raises(AbsentValueError):
        pipe.emit(None)
    wait(circuit)

    assert seen == []


@cases(
    *(
        Vector("COMMON-ABS-02", f"{text} absent at 2", call, [1, 2, 3], outputs, derived=True, flow=flow)
        for text, call, outputs, flow in (
            ("replace", lambda f: f.replace(lambda v: None if v == 2 else v), [1, 3], False),
            ("map", lambda f: f.map(lambda v: None if v == 2 else v), [1, 3], True),
            ("reduce", lambda f: f.reduce(0, lambda _, v: None if v == 2 else v), [1, 3], False),
            ("relate", lambda f: f.relate(0, lambda _, v: None if v == 2 else v), [1, 3], False),
            ("flow relate", lambda f: f.relate(0, lambda _, v: None if v == 2 else v), [1, 3], True),
            (
                "integrate",
                lambda f: f.integrate(0, lambda _, v: None if v == 2 else v, lambda _: True),
                [1, 3],
                False,
            ),
            ("rolling", lambda f: f.rolling(1, lambda _, v: None if v == 2 else v, 0), [1, 3], False),
            ("tumble", lambda f: f.tumble(1, lambda _, v: None if v == 2 else v, 0), [1, 3], False),
            ("scan", lambda f: f.scan(lambda: 0, lambda _, v: None if v == 2 else v), [1, 3], True),
            (
                "scan emit",
                lambda f: f.scan(lambda: 0, lambda _, v: v, lambda s: None if s == 2 else s),
                [1, 3],
                True,
            ),
            (
                "scan emit_with",
                lambda f: f.scan(lambda: 0, lambda _, v: v, emit_with=lambda _, v: None if v == 2 else v),
                [1, 3],
                True,
            ),
        )
    ),
)
def test_what_is_absent_is_not_passed(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector(
        "COMMON-ABS-03", "replace(v - 1)", lambda f: f.replace(lambda v: v - 1), [1, 2], [0, 1], derived=True
    ),
    Vector("COMMON-ABS-03", "map('')", lambda f: f.map(lambda _: ""), [1], [""], derived=True, flow=True),
    *(
        Vector(
            "COMMON-ABS-03",
            f"{text} falsy",
            call,
            [0, False, "", [], 0.0],
            [0, False, "", [], 0.0],
            derived=True,
            flow=flow,
        )
        for text, call, flow in (
            ("replace", lambda f: f.replace(lambda v: v), False),
            ("reduce", lambda f: f.reduce(None, lambda _, v: v), False),
            ("relate", lambda f: f.relate(None, lambda _, v: v), False),
            ("integrate", lambda f: f.integrate(None, lambda _, v: v, lambda _: True), False),
            ("rolling", lambda f: f.rolling(1, lambda _, v: v, 1), False),
            ("tumble", lambda f: f.tumble(1, lambda _, v: v, 1), False),
            ("map", lambda f: f.map(lambda v: v), True),
            ("scan", lambda f: f.scan(lambda: 1, lambda _, v: v), True),
        )
    ),
)
def test_what_is_falsy_is_passed(case: Vector, check: Check) -> None:
    check(case)


# -- failure


@rule("COMMON-THROW-01")
@derived
@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        *((operator, Boom) for operator in FUNCTIONS),
        *(("replace", kind) for kind in (KeyboardInterrupt, SystemExit, StopIteration)),
    ],
)
def test_what_a_function_raises_reaches_nobody(
    operator: str, kind: type[BaseException], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []

    def function(*_arguments: Any) -> Any:
        if configured:
            raise kind
        return 1

    configured = False
    recipe = FUNCTIONS[operator](cortex.fiber(), cortex.flow(), function)
    configured = True
    pipe = recipe.pipe(circuit.pipe(received.append))
    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)
    circuit.pipe(received.append).emit(42)
    wait(circuit)

    # The first record and the first candidate are noted without a call.
    assert received == ([1, 42] if operator == "high by compare" else [42])


@cases(
    Vector(
        "COMMON-THROW-02",
        "peek(boom() if v == 2 else 0)",
        lambda f: f.peek(fails_at(2, lambda _: 0)),
        [1, 2, 3],
        [1, 3],
    ),
    Vector(
        "COMMON-THROW-04",
        "limit(2).peek(boom() if v == 1 else 0)",
        lambda f: f.limit(2).peek(fails_at(1, lambda _: 0)),
        [1, 2, 3],
        [2],
        derived=True,
    ),
    Vector(
        "COMMON-THROW-04",
        "diff().peek(boom() if v == 5 else 0)",
        lambda f: f.diff().peek(fails_at(5, lambda _: 0)),
        [5, 5, 6],
        [6],
        derived=True,
    ),
    Vector(
        "COMMON-THROW-04",
        "tumble(2, add, 0).peek(boom() if v == 3 else 0)",
        lambda f: f.tumble(2, add, 0).peek(fails_at(3, lambda _: 0)),
        [1, 2, 3, 4],
        [7],
        derived=True,
    ),
    *(
        Vector(
            "COMMON-THROW-04",
            f"{text}.peek(boom() if v == 1 else 0)",
            call,
            [1, 2, 3, 4],
            outputs,
            derived=True,
        )
        for text, call, outputs in (
            ("inhibit(1)", lambda f: f.inhibit(1).peek(fails_at(1, lambda _: 0)), [3]),
            ("delay(1, 1)", lambda f: f.delay(1, 1).peek(fails_at(1, lambda _: 0)), [2, 3]),
            ("distinct()", lambda f: f.distinct().peek(fails_at(1, lambda _: 0)), [2, 3, 4]),
            ("reduce(0, add)", lambda f: f.reduce(0, add).peek(fails_at(1, lambda _: 0)), [3, 6, 10]),
            ("every(1)", lambda f: f.every(1).peek(fails_at(1, lambda _: 0)), [2, 3, 4]),
            ("pulse(pos)", lambda f: f.pulse(positive).peek(fails_at(1, lambda _: 0)), []),
            (
                "hysteresis(v == 1, False)",
                lambda f: f.hysteresis(lambda v: v == 1, lambda _: False).peek(fails_at(1, lambda _: 0)),
                [2, 3, 4],
            ),
            (
                "drop_while(False)",
                lambda f: f.drop_while(lambda v: v > 1).peek(fails_at(1, lambda _: 0)),
                [2, 3, 4],
            ),
        )
    ),
    Vector(
        "FLOW-SCAN-08 COMMON-THROW-05",
        "scan(0, boom() if v < 0 else n + 1)",
        lambda f: f.scan(lambda: 0, lambda n, v: boom() if v < 0 else n + 1),
        [10, -1, 20],
        [1, 2],
        flow=True,
    ),
    Vector(
        "FLOW-SCAN-09 COMMON-THROW-05",
        "scan(0, n + 1, boom() if n == 2 else n)",
        lambda f: f.scan(lambda: 0, lambda n, _: n + 1, lambda n: boom() if n == 2 else n),
        [10, 10, 10],
        [1, 3],
        flow=True,
    ),
    Vector(
        "FLOW-RELATE-04 COMMON-THROW-05",
        "flow relate(0, boom() if c == 2 else p, c)",
        lambda f: f.relate(0, fails_at(2, lambda p, c: (p, c))),
        [1, 2, 3],
        [(0, 1), (2, 3)],
        flow=True,
    ),
    Vector("COMMON-THROW-07", "above(0)", lambda f: f.above(0), [1, "x", 2], [1, 2], derived=True),
    Vector("COMMON-THROW-07", "high()", lambda f: f.high(), [1, "x", 2], [1, 2], derived=True),
    Vector("COMMON-THROW-07", "clamp(0, 10)", lambda f: f.clamp(0, 10), [1, "x", 20], [1, 10], derived=True),
)
def test_what_fails_is_dropped_where_it_fails(case: Vector, check: Check) -> None:
    check(case)


@rule("COMMON-THROW-03")
@derived
def test_a_failure_does_not_touch_other_chains(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: dict[str, list[int]] = {name: [] for name in ("failing", "sibling", "side", "other")}
    failing = cortex.fiber(int).tee(circuit.pipe(received["side"].append)).peek(fails_at(2, lambda _: 0))
    targets = [
        failing.pipe(circuit.pipe(received["failing"].append)),
        circuit.pipe(received["sibling"].append),
        cortex.fiber(int).limit(2).pipe(circuit.pipe(received["other"].append)),
    ]
    pipe: Pipe[int] = circuit.pipe(targets)
    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)

    assert received == {"failing": [1, 3], "sibling": [1, 2, 3], "side": [1, 2, 3], "other": [1, 2]}


@rule("COMMON-THROW-06")
@derived
def test_a_failure_is_told(cortex: Cortex, circuit: Circuit, wait: Settle, eventually: Until) -> None:
    told: list[tuple[Any, BaseException]] = []
    before = int(cortex.facts()["faults"])
    pipe = cortex.fiber(int).guard(boom).pipe(circuit.pipe("orders", lambda _: None))
    cortex.on_fault(lambda subject, error: told.append((subject, error)))
    try:
        pipe.emit(1)
        wait(circuit)
        eventually(lambda: told, "the hook was called")
    finally:
        cortex.on_fault(None)

    assert int(cortex.facts()["faults"]) == before + 1
    assert [type(error) for _, error in told] == [Boom]
    assert told[0][0] is pipe.subject


# -- equality


@cases(
    *(
        Vector(
            "COMMON-EQ-01", f"{text} of equal objects", call, [_pair(), _pair(), _pair()], outputs, flow=flow
        )
        for text, call, outputs, flow in (
            ("diff()", lambda f: f.diff(), [(1, 2)], False),
            ("diff((1, 2))", lambda f: f.diff(_pair()), [], False),
            ("distinct()", lambda f: f.distinct(), [(1, 2)], False),
            ("distinct(2)", lambda f: f.distinct(2), [(1, 2)], False),
            ("change(v)", lambda f: f.change(lambda v: v), [(1, 2)], False),
            ("heartbeat(ms(1000000))", lambda f: f.heartbeat(ms(1_000_000)), [(1, 2)], False),
            ("steady(3)", lambda f: f.steady(3), [(1, 2)], False),
            ("run()", lambda f: f.run(), [Run((1, 2), 1), Run((1, 2), 2), Run((1, 2), 3)], True),
            ("change()", lambda f: f.change(), [], True),
        )
    ),
    Vector("COMMON-EQ-02", "diff()", lambda f: f.diff(), [1, True, 1.0, 2], [1, 2], derived=True),
    Vector("COMMON-EQ-02", "distinct()", lambda f: f.distinct(), [1, True, 1.0, 2], [1, 2], derived=True),
)
def test_equal_values_are_equal_by_value(case: Vector, check: Check) -> None:
    check(case)


@rule("COMMON-EQ-03")
@derived
@pytest.mark.parametrize(
    ("operator", "arguments"),
    [("diff", ()), ("distinct", ()), ("distinct", (5,)), ("steady", (1,)), ("heartbeat", (ms(1_000_000),))],
    ids=["diff()", "distinct()", "distinct(5)", "steady(1)", "heartbeat()"],
)
def test_a_nan_equals_itself_alone(
    operator: str, arguments: tuple[Any, ...], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    recipe = methodcaller(operator, *arguments)(cortex.fiber(float))
    other = float("nan")

    received = play(recipe, [[NAN, NAN, other, other]], circuit, wait)[0]

    assert [id(value) for value in received] == [id(NAN), id(other)]
