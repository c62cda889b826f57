"""Flows: maps, composition, relations, runs, changes, and what attaching one makes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Cell,
    Change,
    Circuit,
    Cortex,
    Fiber,
    Flow,
    Pipe,
    ProviderMismatchFault,
    Run,
    Subject,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_CELLS, FOREIGN_FIBERS, FOREIGN_FLOWS, FOREIGN_PIPES
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Check,
    Refusal,
    Refused,
    Vector,
    add,
    boom,
    cases,
    positive,
)
from substrates_tck.waits import Settle

vector = partial(Vector, flow=True)
refusal = partial(Refusal, flow=True)


def fiber_of(flow: Flow[Any, Any]) -> Fiber[Any]:
    """Return the fiber without operators."""
    return flow.cortex.fiber()


def flow_of(flow: Flow[Any, Any]) -> Flow[Any, Any]:
    """Return the flow without operators."""
    return flow.cortex.flow()


@cases(
    vector(
        "FLOW-MAP-01",
        'map(lambda i: f"v:{i}")',
        lambda flow: flow.map(lambda i: f"v:{i}"),
        [1, 42],
        ["v:1", "v:42"],
    ),
    vector("FLOW-MAP-01", "map(int)", lambda flow: flow.map(int), ["100", "200"], [100, 200]),
    vector(
        "FLOW-MAP-02",
        'map(lambda i: f"+{i}" if i > 0 else None)',
        lambda flow: flow.map(lambda i: f"+{i}" if i > 0 else None),
        [1, -2, 3, -4],
        ["+1", "+3"],
    ),
    vector("FLOW-MAP-02", "map(lambda i: None)", lambda flow: flow.map(lambda i: None), [1, 2], []),
    vector(
        "FLOW-MAP-02 COMMON-ABS-03",
        "map(falsy values)",
        lambda flow: flow.map([0, "", False, (), 0.0].__getitem__),
        [0, 1, 2, 3, 4],
        [0, "", False, (), 0.0],
        derived=True,
    ),
    vector(
        "FLOW-MAP-03",
        "map(lambda v: boom() if v == 2 else v)",
        lambda flow: flow.map(lambda v: boom() if v == 2 else v),
        [1, 2, 3],
        [1, 3],
        derived=True,
    ),
    vector(
        "FLOW-MAP-05",
        "map(lambda v: v + 1).map(lambda v: v * 10)",
        lambda flow: flow.map(lambda v: v + 1).map(lambda v: v * 10),
        [1, 2],
        [20, 30],
    ),
    vector(
        "FLOW-FIBER-01",
        "fiber(F.guard(positive).diff())",
        lambda flow: flow.fiber(fiber_of(flow).guard(positive).diff()),
        [1, 1, -2, 3, 3],
        [1, 3],
    ),
    vector(
        "FLOW-FIBER-01",
        "map(str).fiber(F.diff())",
        lambda flow: flow.map(str).fiber(fiber_of(flow).diff()),
        [5, 5, 10],
        ["5", "10"],
    ),
    vector(
        "FLOW-FIBER-02",
        'fiber(F.guard(positive)).map(lambda i: f"v:{i}")',
        lambda flow: flow.fiber(fiber_of(flow).guard(positive)).map(lambda i: f"v:{i}"),
        [1, -2, 3],
        ["v:1", "v:3"],
    ),
    vector(
        "FLOW-FIBER-02",
        "fiber(F.limit(2)).fiber(F.skip(1))",
        lambda flow: flow.fiber(fiber_of(flow).limit(2)).fiber(fiber_of(flow).skip(1)),
        [1, 2, 3],
        [2],
    ),
    vector(
        "FLOW-FLOW-01",
        'map(lambda i: i + 1).flow(L.map(lambda i: f"v:{i}"))',
        lambda flow: flow.map(lambda i: i + 1).flow(flow_of(flow).map(lambda i: f"v:{i}")),
        [1, 2, 3],
        ["v:2", "v:3", "v:4"],
    ),
    vector(
        "FLOW-FLOW-01",
        'map(str).flow(L.map(lambda s: s != ""))',
        lambda flow: flow.map(str).flow(flow_of(flow).map(lambda s: s != "")),
        [7, 0],
        [True, True],
    ),
    vector(
        "FLOW-FLOW-02",
        "map(x + 1).flow(identity)",
        lambda flow: flow.map(lambda v: v + 1).flow(flow_of(flow)),
        [10],
        [11],
    ),
    vector(
        "FLOW-FLOW-02",
        "identity.flow(map(x + 1))",
        lambda flow: flow.flow(flow_of(flow).map(lambda v: v + 1)),
        [10],
        [11],
    ),
    vector("FLOW-FLOW-02", "identity.flow(identity)", lambda flow: flow.flow(flow_of(flow)), [1, 1], [1, 1]),
    vector(
        "FLOW-RELATE-01",
        'relate(0, lambda p, c: None if p == c else f"{p}->{c}")',
        lambda flow: flow.relate(0, lambda p, c: None if p == c else f"{p}->{c}"),
        [0, 1, 1, 2],
        ["0->1", "1->2"],
    ),
    vector(
        "FLOW-RELATE-01",
        'relate(100, lambda p, c: f"{p}:{c}")',
        lambda flow: flow.relate(100, lambda p, c: f"{p}:{c}"),
        [7, 8],
        ["100:7", "7:8"],
    ),
    vector(
        "FLOW-RELATE-02",
        'relate(0, lambda p, c: f"{p},{c}" if c % 2 else None)',
        lambda flow: flow.relate(0, lambda p, c: f"{p},{c}" if c % 2 else None),
        [2, 3, 4, 5],
        ["2,3", "4,5"],
    ),
    vector(
        "FLOW-RELATE-03",
        'relate(None, lambda p, c: f"{p}->{c}")',
        lambda flow: flow.relate(None, lambda p, c: f"{p}->{c}"),
        [1, 2],
        ["None->1", "1->2"],
    ),
    vector(
        "FLOW-RELATE-04",
        'relate(0, lambda p, c: boom() if c == 2 else f"{p}->{c}")',
        lambda flow: flow.relate(0, lambda p, c: boom() if c == 2 else f"{p}->{c}"),
        [1, 2, 3],
        ["0->1", "2->3"],
    ),
    vector(
        "FLOW-RUN-01",
        "run()",
        lambda flow: flow.run(),
        [7, 7, 7, 9, 7],
        [Run(7, 1), Run(7, 2), Run(7, 3), Run(9, 1), Run(7, 1)],
    ),
    vector("FLOW-RUN-02", "run()", lambda flow: flow.run(), [42], [Run(42, 1)]),
    vector(
        "FLOW-RUN-05",
        "map(tens).run()",
        lambda flow: flow.map(lambda v: v // 10).run(),
        [1, 5, 12],
        [Run(0, 1), Run(0, 2), Run(1, 1)],
        derived=True,
    ),
    vector(
        "FLOW-RUN-01 COMMON-EQ-01",
        "run() of equal tuples",
        lambda flow: flow.map(lambda v: (v,)).run().map(lambda run: run.length),
        [1000, 1000, 1001],
        [1, 2, 1],
        derived=True,
    ),
    vector(
        "FLOW-CHANGE-01",
        "change()",
        lambda flow: flow.change(),
        [1, 1, 1, 2, 2, 3],
        [Change(1, 2, 3), Change(2, 3, 2)],
    ),
    vector("FLOW-CHANGE-02", "change()", lambda flow: flow.change(), [1], []),
    vector("FLOW-CHANGE-02", "change()", lambda flow: flow.change(), [1, 1, 1], []),
    vector(
        "FLOW-CHANGE-03",
        "run().map(length)",
        lambda flow: flow.run().map(lambda run: run.length),
        [1, 1, 1, 2, 2, 3],
        [1, 2, 3, 1, 2, 1],
    ),
    vector(
        "FLOW-CHANGE-03",
        "change().map(length)",
        lambda flow: flow.change().map(lambda change: change.length),
        [1, 1, 1, 2, 2, 3],
        [3, 2],
    ),
    vector(
        "FLOW-CHANGE-05",
        "change()",
        lambda flow: flow.change(),
        [1, 2, 1],
        [Change(1, 2, 1), Change(2, 1, 1)],
        derived=True,
    ),
    vector(
        "FLOW-CHANGE-05",
        "change() of equal tuples",
        lambda flow: flow.map(lambda v: (v,)).change(),
        [1000, 1000, 1001],
        [Change((1000,), (1001,), 2)],
        derived=True,
    ),
    vector(
        "FLOW-PIPE-01",
        'map(lambda i: f"v:{i}")',
        lambda flow: flow.map(lambda i: f"v:{i}"),
        [1],
        ["v:1"],
        derived=True,
    ),
    vector("CORTEX-RECIPE-09 COMMON-VAL-03", "identity", lambda flow: flow, [1, 1, "a", 2], [1, 1, "a", 2]),
    vector(
        "CORTEX-RECIPE-09 COMMON-VAL-06",
        "flow(F.guard(positive))",
        lambda flow: flow.cortex.flow(fiber_of(flow).guard(positive)),
        [-1, 2, -3, 4],
        [2, 4],
    ),
    vector(
        "CORTEX-RECIPE-09 COMMON-VAL-04",
        "flow(int)",
        lambda flow: flow.cortex.flow(int),
        ["a", 1],
        ["a", 1],
    ),
)
def test_a_vector_comes_out_as_it_must(case: Vector, check: Check) -> None:
    check(case)


@cases(
    refusal("FLOW-MAP-04", "map(None)", lambda flow: flow.map(None), AbsentValueError),
    refusal("FLOW-FIBER-03", "fiber(None)", lambda flow: flow.fiber(None), AbsentValueError),
    refusal("FLOW-FIBER-03", "fiber(object())", lambda flow: flow.fiber(object()), ProviderMismatchFault),
    refusal("FLOW-FLOW-04", "flow(None)", lambda flow: flow.flow(None), AbsentValueError),
    refusal("FLOW-FLOW-04", "flow(object())", lambda flow: flow.flow(object()), ProviderMismatchFault),
    refusal("FLOW-RELATE-05", "relate(0, None)", lambda flow: flow.relate(0, None), AbsentValueError),
    refusal("FLOW-MAP-04", "map(42)", lambda flow: flow.map(42), TypeError, derived=True),
    refusal("FLOW-RELATE-05", "relate(0, 42)", lambda flow: flow.relate(0, 42), TypeError, derived=True),
    refusal(
        "CORTEX-RECIPE-09 COMMON-VAL-05",
        "cortex.flow(None)",
        lambda flow: flow.cortex.flow(None),
        AbsentValueError,
    ),
    refusal(
        "CORTEX-RECIPE-09 COMMON-VAL-05",
        "cortex.fiber(None)",
        lambda flow: flow.cortex.fiber(None),
        AbsentValueError,
    ),
    refusal(
        "CORTEX-RECIPE-09", "cortex.flow(42)", lambda flow: flow.cortex.flow(42), TypeError, derived=True
    ),
)
def test_a_wrong_argument_is_refused_at_once(case: Refusal, refused: Refused) -> None:
    refused(case)


# -- composition


@rule("CORTEX-RECIPE-09", "COMMON-VAL-03")
def test_the_cortex_gives_recipes_without_operators(cortex: Cortex) -> None:
    for fiber in (cortex.fiber(), cortex.fiber(int)):
        assert isinstance(fiber, Fiber)
        assert fiber.stages == ()
    for flow in (cortex.flow(), cortex.flow(int), cortex.flow(cortex.fiber())):
        assert isinstance(flow, Flow)
        assert flow.stages == ()


@rule("CORTEX-RECIPE-09", "COMMON-VAL-07")
@pytest.mark.parametrize("foreign", FOREIGN_FIBERS)
def test_the_cortex_wraps_no_foreign_fiber(foreign: Callable[[Subject[Any]], Any], cortex: Cortex) -> None:
    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.flow(foreign(cortex.subject))

    assert caught.value.operation == "flow"


@rule("FLOW-FIBER-03")
@pytest.mark.parametrize("foreign", FOREIGN_FIBERS)
def test_a_flow_is_followed_by_no_foreign_fiber(
    foreign: Callable[[Subject[Any]], Any], cortex: Cortex
) -> None:
    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.flow().fiber(foreign(cortex.subject))

    assert caught.value.operation == "fiber"


@rule("FLOW-FLOW-04")
@pytest.mark.parametrize("foreign", FOREIGN_FLOWS)
def test_a_flow_is_followed_by_no_foreign_flow(
    foreign: Callable[[Subject[Any]], Any], cortex: Cortex
) -> None:
    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.flow().flow(foreign(cortex.subject))

    assert caught.value.operation == "flow"


@rule("FLOW-MAP-05")
def test_attachments_in_a_row_apply_in_the_same_order(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[str] = []
    shown = cortex.flow(float).map(lambda v: f"d:{v}").pipe(circuit.pipe(received.append))
    pipe = cortex.flow(int).map(lambda v: v * 1.5).pipe(shown)

    for value in (10, 20):
        pipe.emit(value)
    wait(circuit)

    assert received == ["d:15.0", "d:30.0"]


@rule("FLOW-FLOW-03")
def test_what_a_flow_is_followed_by_has_a_state_per_attachment(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lists: list[list[int]] = [[], []]
    flow = cortex.flow(int).flow(cortex.flow(int).fiber(cortex.fiber(int).diff()))
    heads = [flow.pipe(circuit.pipe(received.append)) for received in lists]

    for value in (1, 1, 2):
        for head in heads:
            head.emit(value)
    wait(circuit)

    assert lists == [[1, 2], [1, 2]]


@rule("FLOW-FLOW-03", "COMMON-MAT-03")
@derived
def test_both_sides_of_a_composition_have_a_state_of_their_own(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    total = cortex.flow(int).scan(lambda: 0, add)

    head = total.flow(total).pipe(circuit.pipe(received.append))
    for _ in range(4):
        head.emit(1)
    wait(circuit)

    assert received == [1, 3, 6, 10]


@rule("FLOW-MAP-05", "COMMON-VAL-01")
@derived
def test_an_operator_leaves_the_flow_that_it_is_called_on_as_it_was(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    start = cortex.flow(int).map(lambda v: v + 1)
    flows: list[Flow[int, Any]] = [
        start.map(str),
        start.map(lambda v: -v),
        start.fiber(cortex.fiber()),
        start,
    ]
    lists: list[list[Any]] = [[] for _ in flows]

    for flow, received in zip(flows, lists, strict=True):
        flow.pipe(circuit.pipe(received.append)).emit(1)
    wait(circuit)

    assert lists == [["2"], [-2], [2], [2]]


@rule("FLOW-MAP-01", "COMMON-MAT-05")
@derived
def test_a_map_gets_the_very_value_once_and_its_very_result_is_received(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    given: list[object] = []
    received: list[object] = []
    value, result = object(), object()

    def mapped(value: object) -> object:
        given.append(value)
        return result

    cortex.flow().map(mapped).pipe(circuit.pipe(received.append)).emit(value)
    wait(circuit)

    assert len(given) == len(received) == 1
    assert given[0] is value
    assert received[0] is result


# -- runs and changes


@rule("FLOW-RUN-03")
def test_a_run_is_counted_per_attachment(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    first: list[Run[int]] = []
    second: list[Run[int]] = []
    runs = cortex.flow(int).run()
    a, b = runs.pipe(circuit.pipe(first.append)), runs.pipe(circuit.pipe(second.append))

    a.emit(5)
    a.emit(5)
    b.emit(9)
    a.emit(5)
    wait(circuit)

    assert [run.length for run in first] == [1, 2, 3]
    assert [run.length for run in second] == [1]


@rule("FLOW-RUN-04")
def test_each_run_is_an_object_of_its_own_that_keeps_its_values(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Run[int]] = []
    head = cortex.flow(int).run().pipe(circuit.pipe(kept.append))

    for value in (7, 7, 9):
        head.emit(value)
    wait(circuit)

    assert len({id(run) for run in kept}) == 3
    assert [(run.emission, run.length) for run in kept] == [(7, 1), (7, 2), (9, 1)]
    with pytest.raises(AttributeError):
        kept[0].length = 3  # type: ignore[misc]  # what the rule forbids


@rule("FLOW-CHANGE-04")
def test_each_change_is_an_object_of_its_own_that_keeps_its_values(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Change[int]] = []
    head = cortex.flow(int).change().pipe(circuit.pipe(kept.append))

    for value in (1, 1, 2, 3):
        head.emit(value)
    wait(circuit)

    assert len({id(change) for change in kept}) == 2
    assert [(change.from_, change.to, change.length) for change in kept] == [(1, 2, 2), (2, 3, 1)]
    with pytest.raises(AttributeError):
        kept[0].to = 3  # type: ignore[misc]  # what the rule forbids


@rule("FLOW-RUN-05")
@derived
def test_runs_and_changes_have_a_length_of_one_or_more(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lengths: list[int] = []
    target: Pipe[Any] = circuit.pipe(lambda pair: lengths.append(pair.length))
    heads: list[Pipe[int]] = [cortex.flow(int).run().pipe(target), cortex.flow(int).change().pipe(target)]

    for value in (1, 2, 2, 1, 1, 3):
        for head in heads:
            head.emit(value)
    wait(circuit)

    assert len(lengths) == 9
    assert min(lengths) == 1


class Unequal:
    """Cannot be compared."""

    def __eq__(self, other: object) -> bool:
        return bool(boom())

    __hash__ = None  # type: ignore[assignment]  # as Python has it with such an `__eq__`


@rule("FLOW-RUN-06")
@derived
def test_a_run_goes_on_after_a_value_that_cannot_be_compared(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lengths: list[int] = []
    head = cortex.flow().run().map(lambda run: run.length).pipe(circuit.pipe(lengths.append))

    for value in ("a", Unequal(), "a"):
        head.emit(value)
    wait(circuit)

    assert lengths == [1, 2]


@rule("FLOW-RUN-06", "FLOW-CHANGE-01")
@derived
def test_a_change_is_not_made_by_a_value_that_cannot_be_compared(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[Change[object]] = []
    head = cortex.flow(object).change().pipe(circuit.pipe(received.append))

    for value in ("a", Unequal(), "a", "b"):
        head.emit(value)
    wait(circuit)

    assert received == [("a", "b", 2)]


@rule("FLOW-CHANGE-06")
@derived
def test_runs_and_changes_hold_the_latest_of_equal_values(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    runs: list[Run[list[int]]] = []
    changes: list[Change[list[int]]] = []
    heads: list[Pipe[list[int]]] = [
        cortex.flow().run().pipe(circuit.pipe(runs.append)),
        cortex.flow().change().pipe(circuit.pipe(changes.append)),
    ]
    first, second, other = [1], [1], [2]

    for value in (first, second, other):
        for head in heads:
            head.emit(value)
    wait(circuit)

    assert [run.emission is value for run, value in zip(runs, (first, second, other), strict=True)] == [
        True
    ] * 3
    (change,) = changes
    assert change.from_ is second
    assert change.to is other


# -- attaching


@rule("FLOW-PIPE-01")
@derived
def test_attaching_makes_a_new_pipe_each_time_also_of_the_flow_without_operators(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    target = circuit.pipe(received.append)

    for flow in (cortex.flow(int), cortex.flow(int).map(lambda v: v)):
        first, second = flow.pipe(target), flow.pipe(target)
        assert isinstance(first, Pipe)
        assert len({id(pipe) for pipe in (first, second, target)}) == 3
        first.emit(1)
        second.emit(2)
    wait(circuit)

    assert received == [1, 2, 1, 2]


@rule("FLOW-PIPE-01", "COMMON-EXEC-01")
@derived
def test_the_chain_runs_on_the_circuit_of_its_target(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    near, far = new_circuit("flow.near"), new_circuit("flow.far")
    seen: list[Any] = []
    received: list[Any] = []

    def mapped(value: int) -> int:
        seen.append(cortex.current())
        return value

    terminal: Pipe[int] = near.pipe(lambda _: received.append(cortex.current()))
    cortex.flow(int).map(mapped).pipe(far.pipe(terminal)).emit(1)
    wait(far, near)

    assert seen == [far.current]
    assert received == [near.current]


def _flows(cortex: Cortex) -> list[Flow[Any, Any]]:
    return [cortex.flow(), cortex.flow().map(str)]


@rule("FLOW-PIPE-02")
@pytest.mark.parametrize("shape", [0, 1], ids=["identity", "map"])
def test_none_is_no_target(shape: int, cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    absent: Any = None
    received: list[Any] = []
    flow = _flows(cortex)[shape]

    with pytest.raises(AbsentValueError):
        flow.pipe(absent)

    flow.pipe(circuit.pipe(received.append)).emit("1")
    wait(circuit)
    assert received == ["1"]


@rule("FLOW-PIPE-02")
@pytest.mark.parametrize("shape", [0, 1], ids=["identity", "map"])
@pytest.mark.parametrize("foreign", [*FOREIGN_PIPES, *FOREIGN_CELLS])
def test_a_foreign_pipe_or_cell_is_no_target(
    foreign: Callable[[Subject[Any]], Any], shape: int, cortex: Cortex, circuit: Circuit
) -> None:
    with pytest.raises(ProviderMismatchFault) as caught:
        _flows(cortex)[shape].pipe(foreign(circuit.subject))

    assert caught.value.operation == "pipe"


@rule("FLOW-PIPE-02")
@derived
@pytest.mark.parametrize("target", [42, "pipe", print, object()], ids=["int", "str", "callable", "object"])
def test_what_is_neither_pipe_nor_cell_is_no_target(target: Any, cortex: Cortex) -> None:
    with pytest.raises(TypeError):
        cortex.flow().map(str).pipe(target)


@rule("FLOW-PIPE-03", "PIPE-ID-05")
def test_an_attached_pipe_is_enclosed_by_its_target_and_named_as_it(cortex: Cortex, circuit: Circuit) -> None:
    tail: Pipe[int] = circuit.pipe("flow.tail", print)
    increment = cortex.flow(int).map(lambda v: v + 1)
    mid = increment.pipe(tail)
    head = increment.pipe(mid)

    assert head.subject.within(mid.subject)
    assert head.subject.within(tail.subject)
    assert tail.subject.depth + 1 == mid.subject.depth
    assert mid.subject.depth + 1 == head.subject.depth
    assert mid.subject.enclosure is tail.subject
    assert head.subject.enclosure is mid.subject
    assert {pipe.subject.name for pipe in (head, mid, tail)} == {cortex.name("flow.tail")}
    assert len({pipe.subject.id for pipe in (head, mid, tail)}) == 3
    assert all(pipe.subject.type is Pipe for pipe in (head, mid))


@rule("FLOW-PIPE-03")
@derived
def test_an_attached_pipe_of_a_cell_is_within_the_cell(cortex: Cortex, circuit: Circuit) -> None:
    cell = circuit.cell("flow.cell", 0)
    head = cortex.flow(int).map(abs).pipe(cell)

    assert head.subject.within(cell.subject)
    assert head.subject.enclosure is cell.pipe().subject


@rule("FLOW-PIPE-04")
@derived
def test_a_composed_flow_is_one_pipe(cortex: Cortex, circuit: Circuit) -> None:
    target: Pipe[Any] = circuit.pipe()
    flow = cortex.flow().map(str).flow(cortex.flow().map(len).run()).fiber(cortex.fiber().diff().limit(3))

    head = flow.pipe(target)

    assert head.subject.enclosure is target.subject
    assert head.subject.depth == target.subject.depth + 1


@rule("FLOW-PIPE-05")
def test_what_comes_out_of_a_flow_is_the_value_of_its_cell(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    cell = circuit.cell(0)
    head = cortex.flow(int).scan(lambda: 0, add).pipe(cell)

    for value in (1, 2):
        head.emit(value)
    wait(circuit)

    assert cell.get() == 3


@rule("FLOW-PIPE-05")
def test_what_a_flow_drops_leaves_its_cell_as_it_was(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    cell = circuit.cell(0)

    cortex.flow(int).map(lambda v: v if v > 1 else None).pipe(cell).emit(1)
    wait(circuit)

    assert cell.get() == 0


@rule("FLOW-PIPE-05")
def test_a_cell_may_hold_more_than_a_flow_gives(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    start = object()
    cell: Cell[Any] = circuit.cell(start)
    assert cell.get() is start

    cortex.flow(int).map(str).pipe(cell).emit(42)
    wait(circuit)

    assert cell.get() == "42"


@rule("FLOW-PIPE-06")
@derived
def test_suppliers_and_factories_run_in_pipe_and_what_they_raise_leaves_it(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    failing = [True]
    error = ValueError("as the test wants it")
    calls: list[str] = []
    received: list[int] = []

    def supply() -> int:
        calls.append("supplier")
        if failing[0]:
            raise error
        return 10

    def make(subject: Subject[Pipe[Any]]) -> Fiber[int]:
        calls.append("factory")
        return cortex.fiber(int)

    flow = cortex.flow(int).scan(supply, add).fiber(make)
    target = circuit.pipe(received.append)
    assert calls == []
    with pytest.raises(ValueError, match="as the test wants it") as caught:
        flow.pipe(target)
    assert caught.value is error
    assert calls[0] == "supplier"

    failing[0] = False
    calls.clear()
    flow.pipe(target).emit(1)
    wait(circuit)

    assert sorted(calls) == ["factory", "supplier"]
    assert received == [11]


@rule("FLOW-PIPE-06")
@derived
def test_suppliers_and_factories_run_in_the_order_of_the_chain(cortex: Cortex, circuit: Circuit) -> None:
    calls: list[str] = []

    def supplier(label: str) -> Callable[[], None]:
        return lambda: calls.append(label)

    def factory(label: str, recipe: Any) -> Callable[[Subject[Pipe[Any]]], Any]:
        def make(subject: Subject[Pipe[Any]]) -> Any:
            calls.append(label)
            return recipe

        return make

    inner = cortex.flow().scan(supplier("c"), add)
    flow = (
        cortex.flow()
        .scan(supplier("a"), add)
        .flow(factory("b", inner))
        .fiber(factory("d", cortex.fiber()))
        .scan(supplier("e"), add)
    )
    flow.pipe(circuit.pipe())

    assert calls == ["a", "b", "c", "d", "e"]
