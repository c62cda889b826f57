"""Recipes before circuit pipes and in derived pools of conduits and sinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Capture,
    Cell,
    Circuit,
    Conduit,
    Cortex,
    Fiber,
    Flow,
    Pipe,
    Pool,
    ProviderMismatchFault,
    Subject,
)
from substrates_tck.foreigners import FOREIGN_FIBERS, FOREIGN_FLOWS
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import Check, Vector, add, boom, cases, positive
from substrates_tck.waits import Settle

Subscribed = Callable[..., list[tuple[str, Any]]]


@pytest.fixture
def subscribed(circuit: Circuit) -> Subscribed:
    """Return a function that subscribes to a conduit and returns what comes: channel and value."""

    def subscribe(conduit: Conduit[Any]) -> list[tuple[str, Any]]:
        received: list[tuple[str, Any]] = []

        def register(subject: Subject[Pipe[Any]], registrar: Any) -> None:
            name = str(subject.name)
            registrar.register(lambda value: received.append((name, value)))

        conduit.subscribe(circuit.subscriber("maps.subscriber", register))
        return received

    return subscribe


# -- before a circuit's pipe

vector = partial(Vector, "PIPE-COMP-05")


@cases(
    vector("guard(> 0)", lambda fiber: fiber.guard(positive), [-1, 0, 1, 5], [1, 5]),
    vector("diff()", lambda fiber: fiber.diff(), [1, 1, 2, 2, 3], [1, 2, 3]),
    vector("limit(3)", lambda fiber: fiber.limit(3), list(range(10)), [0, 1, 2]),
    vector("every(3)", lambda fiber: fiber.every(3), list(range(10)), [2, 5, 8]),
    vector("reduce(0, add)", lambda fiber: fiber.reduce(0, add), [1, 2, 3], [1, 3, 6]),
    vector(
        "above(5).below(15)",
        lambda fiber: fiber.above(5).below(15),
        list(range(20)),
        list(range(6, 15)),
    ),
    vector(
        "guard(> 0).diff().limit(3)",
        lambda fiber: fiber.guard(positive).diff().limit(3),
        [-1, 1, 1, 2, 3, 4, 5],
        [1, 2, 3],
    ),
)
def test_a_vector_comes_out_as_it_must(case: Vector, check: Check) -> None:
    check(case)


@rule("PIPE-ID-05")
def test_an_attached_pipe_has_a_subject_of_its_own_enclosed_by_its_targets(
    cortex: Cortex, circuit: Circuit
) -> None:
    targets: list[Pipe[int]] = [circuit.pipe(), circuit.pipe(print)]
    recipes: list[Fiber[int] | Flow[int, int]] = [
        cortex.fiber(int).guard(positive).diff(),
        cortex.flow(int).map(abs),
    ]

    for target, recipe in zip(targets, recipes, strict=True):
        pipe = recipe.pipe(target)
        assert pipe.subject is not target.subject
        assert pipe.subject.id is not target.subject.id
        assert pipe.subject.enclosure is target.subject
        assert pipe.subject.depth == target.subject.depth + 1
        assert pipe.subject.type is Pipe
        assert pipe.subject is pipe.subject


@rule("PIPE-ID-05")
@derived
def test_two_attachments_have_two_ids(cortex: Cortex, circuit: Circuit) -> None:
    target: Pipe[int] = circuit.pipe()
    first, second = cortex.fiber(int).pipe(target), cortex.fiber(int).pipe(target)

    assert first.subject.id is not second.subject.id
    assert first.subject.id != second.subject.id


@rule("PIPE-VAR-01")
def test_a_consumer_of_a_wider_type_stays_the_same_pipe(circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    wide: Pipe[object] = circuit.pipe(received.append)

    narrow: Pipe[int] = circuit.pipe(wide)
    narrow.emit(1)
    wait(circuit)

    assert narrow is wide
    assert received == [1]


@rule("PIPE-VAR-02")
def test_a_fiber_takes_a_pipe_of_a_wider_type(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    wide: Pipe[object] = circuit.pipe(received.append)

    narrow: Pipe[int] = cortex.fiber(int).guard(positive).pipe(wide)
    for value in (-1, 2):
        narrow.emit(value)
    wait(circuit)

    assert received == [2]


@rule("PIPE-VAR-02")
def test_a_fiber_takes_a_cell_of_a_wider_type(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    wide: Cell[Any] = circuit.cell("start")

    narrow: Pipe[int] = cortex.fiber(int).guard(positive).pipe(wide)
    for value in (-1, 7):
        narrow.emit(value)
    wait(circuit)

    assert wide.get() == 7


@rule("PIPE-VAR-02")
def test_a_flow_takes_a_pipe_of_a_wider_type(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    wide: Pipe[object] = circuit.pipe(received.append)

    narrow: Pipe[str] = cortex.flow(str).map(int).pipe(wide)
    narrow.emit("3")
    wait(circuit)

    assert received == [3]


@rule("PIPE-VAR-02")
def test_a_flow_takes_a_cell_of_a_wider_type(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    wide: Cell[Any] = circuit.cell("start")

    narrow: Pipe[str] = cortex.flow(str).map(int).pipe(wide)
    narrow.emit("42")
    wait(circuit)

    assert wide.get() == 42


@rule("PMAP-01")
def test_a_map_attaches_to_a_pipe_that_has_a_fiber(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    distinct: Pipe[int] = cortex.fiber(int).diff().pipe(circuit.pipe(received.append))
    head: Pipe[str] = cortex.flow(str).map(int).pipe(distinct)

    for value in ("1", "1", "2", "2", "1"):
        head.emit(value)
    wait(circuit)

    assert received == [1, 2, 1]


# -- in pools of conduits


@rule("CIRCUIT-FACT-16")
def test_a_fiber_composes_with_a_conduit_through_a_pool(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(int)
    received = subscribed(conduit)

    pipe = conduit.pool(cortex.fiber(int).limit(2)).get("test")
    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)

    assert received == [("test", 1), ("test", 2)]


def _mapped(conduit: Conduit[Any], flow: Flow[Any, Any]) -> Pool[Pipe[Any]]:
    return conduit.pool(flow)


def _attached(conduit: Conduit[Any], flow: Flow[Any, Any]) -> Pool[Pipe[Any]]:
    return conduit.pool(flow.pipe)


def _attached_in_turn(conduit: Conduit[Any], flow: Flow[Any, Any]) -> Pool[Pipe[Any]]:
    return conduit.pool(lambda pipe: pipe).pool(flow.pipe)


each_way = pytest.mark.parametrize(
    "pooled", [_mapped, _attached, _attached_in_turn], ids=["flow", "flow.pipe", "pool of a pool"]
)
Pooled = Callable[[Conduit[Any], Flow[Any, Any]], Pool[Pipe[Any]]]


@rule("PMAP-02")
@each_way
def test_what_is_emitted_to_a_derived_pool_reaches_subscribers_transformed(
    pooled: Pooled, cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit("maps.conduit", str)
    received = subscribed(conduit)

    pipe = pooled(conduit, cortex.flow(int).map(str)).get("test")
    for value in (42, 99):
        pipe.emit(value)
    wait(circuit)

    assert received == [("test", "42"), ("test", "99")]


@rule("PMAP-02")
def test_what_is_emitted_to_a_pool_of_a_fiber_reaches_subscribers_filtered(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(int)
    received = subscribed(conduit)

    pipe = conduit.pool(cortex.fiber(int).guard(positive)).get("test")
    for value in (42, -1, 99):
        pipe.emit(value)
    conduit.get("test").emit(-7)
    wait(circuit)

    assert received == [("test", 42), ("test", 99), ("test", -7)]


@rule("PMAP-03")
def test_what_a_map_drops_never_reaches_subscribers(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(str)
    received = subscribed(conduit)

    pipe = conduit.pool(cortex.flow(int).map(lambda v: str(v) if v > 0 else None)).get("test")
    for value in (1, -1, 2, -2):
        pipe.emit(value)
    wait(circuit)

    assert received == [("test", "1"), ("test", "2")]


@rule("PMAP-04")
def test_a_pools_function_runs_once_per_name_and_names_keep_their_order(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(str)
    received = subscribed(conduit)
    made: list[str] = []

    def attach(pipe: Pipe[str]) -> Pipe[int]:
        made.append(str(pipe.subject.name))
        total = [0]

        def summed(value: int) -> str:
            total[0] += value
            return str(total[0])

        return cortex.flow(int).map(summed).pipe(pipe)

    pool = conduit.pool(attach)
    for name, value in (("a", 10), ("b", 100), ("a", 20), ("b", 200)):
        pool.get(name).emit(value)
    wait(circuit)

    assert made == ["a", "b"]
    assert received == [("a", "10"), ("b", "100"), ("a", "30"), ("b", "300")]


@rule("PMAP-04")
@pytest.mark.parametrize("kind", ["fiber", "flow"])
def test_a_pools_recipe_has_a_state_per_name(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(int)
    received = subscribed(conduit)
    diff = cortex.fiber(int).diff()
    pool: Pool[Pipe[int]] = conduit.pool(diff) if kind == "fiber" else conduit.pool(cortex.flow(diff))

    for value in (1, 1, 2):
        for name in ("a", "b"):
            pool.get(name).emit(value)
    wait(circuit)

    assert received == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@rule("PMAP-05")
def test_every_subscriber_sees_the_mapped_value_and_the_map_runs_once(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(str)
    lists = [subscribed(conduit), subscribed(conduit)]
    mapped: list[int] = []

    def show(value: int) -> str:
        mapped.append(value)
        return f"s:{value}"

    conduit.pool(cortex.flow(int).map(show)).get("test").emit(1)
    wait(circuit)

    assert lists == [[("test", "s:1")], [("test", "s:1")]]
    assert mapped == [1]


@rule("PMAP-06")
@pytest.mark.parametrize("name", [None, "maps.named"], ids=["anonymous", "named"])
@pytest.mark.parametrize(
    ("values", "shown"),
    [([1, 1, 2, 2, 1], ["1", "2", "1"]), ([5, 5, 10], ["5", "10"])],
    ids=["1 1 2 2 1", "5 5 10"],
)
def test_a_map_and_a_fiber_work_per_name(
    name: str | None,
    values: list[int],
    shown: list[str],
    cortex: Cortex,
    circuit: Circuit,
    wait: Settle,
    subscribed: Subscribed,
) -> None:
    conduit: Conduit[str] = circuit.conduit(str) if name is None else circuit.conduit(name, str)
    received = subscribed(conduit)

    pool = conduit.pool(cortex.flow(int).map(str).fiber(cortex.fiber(str).diff()))
    for value in values:
        for channel in ("a", "b"):
            pool.get(channel).emit(value)
    wait(circuit)

    assert received == [(channel, value) for value in shown for channel in ("a", "b")]


@rule("PMAP-07")
def test_a_map_does_not_change_the_name_that_captures_carry(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: list[Capture[str]] = []
    conduit = circuit.conduit(str)
    sink = circuit.sink(circuit.pipe(captures.append))
    conduit.subscribe(circuit.subscriber("maps.sink", sink))
    pool = conduit.pool(cortex.flow(int).map(str))

    pool.get("test").emit(1)
    pool.get("test").emit(2)
    wait(circuit)

    assert pool.get("test") is pool.get(cortex.name("test"))
    assert [(capture.subject.name, capture.emission) for capture in captures] == [
        (cortex.name("test"), "1"),
        (cortex.name("test"), "2"),
    ]


@rule("PMAP-08")
@derived
def test_a_conduit_pools_no_absent_recipe(circuit: Circuit) -> None:
    absent: Any = None

    with pytest.raises(AbsentValueError):
        circuit.conduit().pool(absent)


@rule("PMAP-08")
@derived
@pytest.mark.parametrize("foreign", [*FOREIGN_FIBERS, *FOREIGN_FLOWS])
def test_a_conduit_pools_no_foreign_recipe(foreign: Callable[[Subject[Any]], Any], circuit: Circuit) -> None:
    conduit = circuit.conduit()

    with pytest.raises(ProviderMismatchFault) as caught:
        conduit.pool(foreign(circuit.subject))

    assert caught.value.operation == "pool"


@rule("PMAP-08")
def test_a_pools_function_that_fails_fails_every_get_of_that_name(circuit: Circuit) -> None:
    error = ValueError("as the test wants it")
    calls: list[str] = []

    def make(pipe: Pipe[Any]) -> Any:
        name = str(pipe.subject.name)
        calls.append(name)
        if name == "raises":
            raise error
        return None if name == "none" else pipe

    conduit = circuit.conduit()
    pool = conduit.pool(make)

    for _ in range(2):
        with pytest.raises(ValueError, match="as the test wants it") as caught:
            pool.get("raises")
        assert caught.value is error
        with pytest.raises(AbsentValueError):
            pool.get("none")
        assert pool.get("good") is conduit.get("good")
    assert calls == ["raises", "none", "good"]


@rule("PMAP-08")
@derived
def test_a_recipe_that_cannot_be_attached_fails_every_get_of_that_name(
    cortex: Cortex, circuit: Circuit
) -> None:
    calls: list[object] = []

    def supply() -> int:
        calls.append("supplier")
        return int(boom())

    pool = circuit.conduit().pool(cortex.flow().scan(supply, add))
    errors: list[BaseException] = []
    for _ in range(2):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - told below
            pool.get("test")
        errors.append(caught.value)

    assert calls == ["supplier"]
    assert errors[0] is errors[1]
    assert type(errors[0]).__name__ == "Boom"


@rule("PMAP-09")
def test_a_stage_that_fails_in_a_pooled_pipe_drops_that_emission_alone(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(int)
    received = subscribed(conduit)
    peeked: list[int] = []
    fiber = cortex.fiber(int).peek(lambda v: boom() if v == 2 else None).peek(peeked.append)

    pipe = conduit.pool(fiber).get("test")
    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)

    assert peeked == [1, 3]
    assert received == [("test", 1), ("test", 3)]


@rule("PMAP-09")
@derived
def test_a_map_that_fails_in_a_pooled_pipe_drops_that_emission_alone(
    cortex: Cortex, circuit: Circuit, wait: Settle, subscribed: Subscribed
) -> None:
    conduit = circuit.conduit(str)
    received = subscribed(conduit)

    pool = conduit.pool(cortex.flow(int).map(lambda v: str(boom() if v == 2 else v)))
    for value in (1, 2, 3):
        for name in ("a", "b"):
            pool.get(name).emit(value)
    wait(circuit)

    assert received == [("a", "1"), ("b", "1"), ("a", "3"), ("b", "3")]


# -- in pools of sinks


@rule("PMAP-11")
def test_a_fiber_before_a_sink_keeps_values_from_becoming_captures(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: list[Capture[int]] = []
    sink = circuit.sink(circuit.pipe(captures.append))

    pipe = sink.pool(cortex.fiber(int).diff()).get("test")
    for value in (1, 1, 2):
        pipe.emit(value)
    wait(circuit)

    assert [capture.emission for capture in captures] == [1, 2]
    assert {capture.subject.name for capture in captures} == {cortex.name("test")}


@rule("PMAP-11")
@derived
def test_a_map_before_a_sink_is_what_its_captures_hold(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    captures: list[Capture[str]] = []
    sink = circuit.sink(circuit.pipe(captures.append))

    pipe = sink.pool(cortex.flow(int).map(lambda v: f"v:{v}" if v > 0 else None)).get("test")
    for value in (1, -1, 2):
        pipe.emit(value)
    wait(circuit)

    assert [capture.emission for capture in captures] == ["v:1", "v:2"]
