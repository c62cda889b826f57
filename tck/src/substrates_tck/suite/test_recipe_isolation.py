"""Recipes: no two attachments share any state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from substrates import Change, Cortex, ManualClock, Run
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    TimedVector,
    Vector,
    add,
    cases,
    compared,
    confirm,
    copied,
    ms,
    play,
    positive,
)
from substrates_tck.waits import Settle

OTHERS: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
    "RISO-31": ([5, 5], []),
    "RISO-32": ([1, 2], [1, 2]),
    "RISO-33": ([1, 2], []),
}
"""Where the second attachment gets other values than the first: what it gets, and what must come out."""


@cases(
    *(
        Vector(f"{row} COMMON-MAT-01 COMMON-MAT-02", text, call, inputs, outputs, derived=True)
        for row, text, call, inputs, outputs in (
            ("RISO-01", "guard(0, c > p)", lambda f: f.guard(0, lambda p, c: c > p), [5, 3, 7], [5, 7]),
            ("RISO-02", "high(CMP)", lambda f: f.high(compare=compared), [3, 5, 2], [3, 5]),
            ("RISO-03", "low(CMP)", lambda f: f.low(compare=compared), [5, 3, 7], [5, 3]),
            ("RISO-04", "limit(2)", lambda f: f.limit(2), [1, 2, 3], [1, 2]),
            ("RISO-05", "skip(2)", lambda f: f.skip(2), [1, 2, 3], [3]),
            ("RISO-06", "every(2)", lambda f: f.every(2), [1, 2, 3, 4], [2, 4]),
            ("RISO-07", "inhibit(1)", lambda f: f.inhibit(1), [1, 2, 3], [1, 3]),
            ("RISO-08", "delay(1, 0)", lambda f: f.delay(1, 0), [1, 2, 3], [0, 1, 2]),
            ("RISO-09", "diff()", lambda f: f.diff(), [1, 1, 2], [1, 2]),
            ("RISO-10", "diff(5)", lambda f: f.diff(5), [5, 7, 7, 5], [7, 5]),
            ("RISO-11", "distinct()", lambda f: f.distinct(), [1, 2, 1], [1, 2]),
            ("RISO-12", "distinct(2)", lambda f: f.distinct(2), [1, 2, 3, 1], [1, 2, 3, 1]),
            ("RISO-13", "change(v div 10)", lambda f: f.change(lambda v: v // 10), [5, 7, 13], [5, 13]),
            ("RISO-14", "reduce(0, add)", lambda f: f.reduce(0, add), [1, 2, 3], [1, 3, 6]),
            (
                "RISO-15",
                "relate(0, c - p)",
                lambda f: f.relate(0, lambda p, c: c - p),
                [10, 15, 13],
                [10, 5, -2],
            ),
            (
                "RISO-16",
                "integrate(0, add, s >= 10)",
                lambda f: f.integrate(0, add, lambda s: s >= 10),
                [3, 4, 5, 6],
                [12],
            ),
            ("RISO-17", "rolling(2, add, 0)", lambda f: f.rolling(2, add, 0), [1, 2, 3], [3, 5]),
            ("RISO-18", "tumble(2, add, 0)", lambda f: f.tumble(2, add, 0), [1, 2, 3, 4], [3, 7]),
            ("RISO-19", "edge(0, c > p)", lambda f: f.edge(0, lambda p, c: c > p), [1, 2, 0, 3], [1, 2, 3]),
            ("RISO-20", "pulse(v > 5)", lambda f: f.pulse(lambda v: v > 5), [3, 7, 8], [7]),
            ("RISO-21", "steady(2)", lambda f: f.steady(2), [5, 5, 5, 7], [5]),
            ("RISO-22", "streak(2, v < 0)", lambda f: f.streak(2, lambda v: v < 0), [-1, -2, -3], [-2]),
            (
                "RISO-23",
                "when(pos, F.every(2))",
                lambda f: f.when(positive, f.cortex.fiber().every(2)),
                [1, 2, -1, 3],
                [2, -1],
            ),
            (
                "RISO-31",
                "hysteresis(v >= 10, v <= 2)",
                lambda f: f.hysteresis(lambda v: v >= 10, lambda v: v <= 2),
                [10, 5],
                [10, 5],
            ),
            ("RISO-32", "take_while(v < 5)", lambda f: f.take_while(lambda v: v < 5), [9, 1], []),
            ("RISO-33", "drop_while(v < 5)", lambda f: f.drop_while(lambda v: v < 5), [9, 1], [9, 1]),
        )
    ),
    *(
        Vector(f"{row} COMMON-MAT-01 COMMON-MAT-02", text, call, inputs, outputs, derived=True, flow=True)
        for row, text, call, inputs, outputs in (
            ("RISO-24", "scan(0, add)", lambda f: f.scan(lambda: 0, add), [1, 2, 3], [1, 3, 6]),
            (
                "RISO-25",
                "relate(0, c - p)",
                lambda f: f.relate(0, lambda p, c: c - p),
                [10, 15, 13],
                [10, 5, -2],
            ),
            ("RISO-26", "run()", lambda f: f.run(), [7, 7, 9], [Run(7, 1), Run(7, 2), Run(9, 1)]),
            ("RISO-27", "change()", lambda f: f.change(), [1, 1, 2], [Change(1, 2, 2)]),
            ("RISO-28", "window(2)", lambda f: copied(f.window(2)), [1, 2, 3], [[1], [1, 2], [2, 3]]),
            ("RISO-29", "fiber(F.diff())", lambda f: f.fiber(f.cortex.fiber().diff()), [1, 1, 2], [1, 2]),
            (
                "RISO-30",
                "flow(L.scan(0, add))",
                lambda f: f.flow(f.cortex.flow().scan(lambda: 0, add)),
                [1, 2],
                [1, 3],
            ),
        )
    ),
    TimedVector(
        "RISO-34 COMMON-MAT-01 COMMON-MAT-02",
        "every(ms(10))",
        lambda f: f.every(ms(10)),
        [(0, 1), (10, 2), (15, 3), (20, 4)],
        [2, 4],
        derived=True,
    ),
    TimedVector(
        "RISO-35 COMMON-MAT-01 COMMON-MAT-02",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (1, 7), (11, 7), (12, 9)],
        [7, 7, 9],
        derived=True,
    ),
    TimedVector(
        "RISO-36 COMMON-MAT-01 COMMON-MAT-02",
        "window(ms(10), 10)",
        lambda f: copied(f.window(ms(10), 10)),
        [(0, 1), (5, 2), (12, 3)],
        [[1], [1, 2], [2, 3]],
        derived=True,
        flow=True,
    ),
)
def test_two_attachments_do_not_touch_each_other(
    case: Vector, cortex: Cortex, new_circuit: NewCircuit, clock: ManualClock, wait: Settle
) -> None:
    others = OTHERS.get(case.rules.split()[0], (case.inputs, case.outputs))
    other = type(case)(case.rules, case.text, case.call, *others)
    streams = [case.inputs, other.inputs]
    recipe = case.recipe(cortex)

    if isinstance(case, TimedVector):
        received = play(recipe, streams, new_circuit("tck.timed", clock=clock), wait, clock)
    else:
        received = play(recipe, streams, new_circuit("tck.circuit"), wait)

    confirm(case, received[0], " (first attachment)")
    confirm(other, received[1], " (second attachment)")


@rule("COMMON-MAT-02")
@derived
def test_attachments_on_several_circuits_do_not_touch_each_other(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    recipe = cortex.flow(int).scan(lambda: 0, add).fiber(cortex.fiber(int).every(2))
    received: list[list[int]] = [[] for _ in range(4)]
    circuits = [new_circuit(f"tck.circuit{number}") for number in range(4)]
    pipes = [recipe.pipe(circuit.pipe(out.append)) for circuit, out in zip(circuits, received, strict=True)]
    for value in (1, 2, 3, 4):
        for number, pipe in enumerate(pipes):
            pipe.emit(value + 10 * number)
    wait(*circuits)

    assert received == [[3, 10], [23, 50], [43, 90], [63, 130]]
