"""Factories in flows: recipes that are made per attachment, for the subject of the pipe that is made."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, get_overloads

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    Cortex,
    Flow,
    Pipe,
    ProviderMismatchFault,
    Subject,
)
from substrates_tck.foreigners import FOREIGN_FIBERS, FOREIGN_FLOWS
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import Check, Refusal, Refused, Vector, add, cases
from substrates_tck.waits import Settle

vector = partial(Vector, flow=True)
refusal = partial(Refusal, flow=True)

Factory = Callable[[Subject[Pipe[Any]]], Any]

KINDS: dict[str, Callable[[Flow[Any, Any], Any], Flow[Any, Any]]] = {
    "fiber": lambda flow, factory: flow.fiber(factory),
    "flow": lambda flow, factory: flow.flow(factory),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def identity(kind: str, cortex: Cortex) -> Any:
    """Return what a factory of `kind` may return: a recipe without operators."""
    return cortex.fiber() if kind == "fiber" else cortex.flow()


def diff(kind: str, cortex: Cortex) -> Any:
    """Return a recipe with a state."""
    return cortex.fiber().diff() if kind == "fiber" else cortex.flow().fiber(cortex.fiber().diff())


@cases(
    vector(
        "FLOW-FACTORY-09",
        'flow(lambda s: L.map(lambda i: f"v:{i}"))',
        lambda flow: flow.flow(lambda s: flow.cortex.flow().map(lambda i: f"v:{i}")),
        [1, 42],
        ["v:1", "v:42"],
    ),
    vector(
        "FLOW-FACTORY-09",
        "map(str).fiber(lambda s: F.diff()).map(len)",
        lambda flow: flow.map(str).fiber(lambda s: flow.cortex.fiber().diff()).map(len),
        [10, 10, 100],
        [2, 3],
        derived=True,
    ),
)
def test_a_vector_comes_out_as_it_must(case: Vector, check: Check) -> None:
    check(case)


@cases(
    refusal("FLOW-FACTORY-05", "fiber(None)", lambda flow: flow.fiber(None), AbsentValueError),
    refusal("FLOW-FACTORY-05", "flow(None)", lambda flow: flow.flow(None), AbsentValueError),
)
def test_a_wrong_argument_is_refused_at_once(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("FLOW-FACTORY-01")
@each_kind
def test_a_factory_is_called_once_per_attachment_in_pipe(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    threads: list[int] = []
    counts: list[int] = []

    def make(subject: Subject[Pipe[Any]]) -> Any:
        threads.append(threading.get_ident())
        return identity(kind, cortex)

    flow = KINDS[kind](cortex.flow(), make)
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


@rule("FLOW-FACTORY-02")
@each_kind
def test_a_factory_gets_the_subject_of_the_pipe_that_is_made(
    kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    seen: list[Subject[Pipe[Any]]] = []

    def make(subject: Subject[Pipe[Any]]) -> Any:
        seen.append(subject)
        return identity(kind, cortex)

    target: Pipe[Any] = circuit.pipe("cfg.target", print)
    head = KINDS[kind](cortex.flow(), make).pipe(target)

    (subject,) = seen
    assert subject is head.subject
    assert subject.name is cortex.name("cfg.target")
    assert subject.enclosure is target.subject
    assert subject.type is Pipe


@rule("FLOW-FACTORY-02")
@each_kind
def test_a_factory_sees_the_name_of_the_channel_that_it_leads_to(
    kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    seen: list[tuple[Any, Any]] = []

    def make(subject: Subject[Pipe[Any]]) -> Any:
        seen.append((subject.name, subject.enclosure))
        return identity(kind, cortex)

    channel = circuit.conduit().get("cfg.key")
    KINDS[kind](cortex.flow(), make).pipe(channel)

    assert seen == [(cortex.name("cfg.key"), channel.subject)]


@rule("FLOW-FACTORY-03")
@each_kind
def test_what_a_factory_returns_has_a_state_per_attachment_even_if_it_is_the_same(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lists: list[list[int]] = [[], []]
    same = diff(kind, cortex)
    flow = KINDS[kind](cortex.flow(), lambda subject: same)
    heads = [flow.pipe(circuit.pipe(received.append)) for received in lists]

    for value in (1, 1, 2):
        for head in heads:
            head.emit(value)
    wait(circuit)

    assert lists == [[1, 2], [1, 2]]


@rule("FLOW-FACTORY-04")
@each_kind
def test_what_a_factory_allocates_belongs_to_its_attachment(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    lists: list[list[int]] = []

    def make(subject: Subject[Pipe[Any]]) -> Any:
        lists.append([])
        peeking = cortex.fiber().peek(lists[-1].append)
        return peeking if kind == "fiber" else cortex.flow(peeking)

    flow = KINDS[kind](cortex.flow(), make)
    a, b = flow.pipe(circuit.pipe()), flow.pipe(circuit.pipe())
    a.emit(1)
    b.emit(2)
    wait(circuit)

    assert lists == [[1], [2]]


@rule("FLOW-FACTORY-06")
@each_kind
def test_a_factory_that_returns_none_makes_pipe_fail_not_the_configuration(
    kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    flow = KINDS[kind](cortex.flow(), lambda subject: None)

    with pytest.raises(AbsentValueError):
        flow.pipe(circuit.pipe())


@rule("FLOW-FACTORY-07")
@each_kind
@pytest.mark.parametrize(
    "error", [ValueError("wanted"), StopIteration("wanted")], ids=lambda e: type(e).__name__
)
def test_what_a_factory_raises_leaves_pipe(
    error: Exception, kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    def make(subject: Subject[Pipe[Any]]) -> Any:
        raise error

    flow = KINDS[kind](cortex.flow(), make)
    with pytest.raises(type(error), match="wanted") as caught:
        flow.pipe(circuit.pipe())

    assert caught.value is error


@rule("FLOW-FACTORY-08")
@derived
@pytest.mark.parametrize(
    ("kind", "foreign"),
    [
        *(("fiber", foreign) for foreign in (*FOREIGN_FIBERS, lambda subject: object())),
        *(("flow", foreign) for foreign in (*FOREIGN_FLOWS, lambda subject: object())),
    ],
    ids=[f"{kind}-{what}" for kind in KINDS for what in ("duck", "foreign", "object")],
)
def test_a_factory_that_returns_a_foreign_recipe_makes_pipe_fail(
    kind: str, foreign: Factory, cortex: Cortex, circuit: Circuit
) -> None:
    flow = KINDS[kind](cortex.flow(), foreign)

    with pytest.raises(ProviderMismatchFault) as caught:
        flow.pipe(circuit.pipe())

    assert caught.value.operation == "pipe" or caught.value.operation == kind


@rule("FLOW-FACTORY-08")
@derived
@each_kind
def test_a_foreign_callable_is_taken_for_a_factory_and_fails_in_pipe(
    kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    class CallableStub:
        def __call__(self, subject: Subject[Pipe[Any]]) -> Any:
            return self

    flow = KINDS[kind](cortex.flow(), CallableStub())
    with pytest.raises(ProviderMismatchFault):
        flow.pipe(circuit.pipe())


@rule("FLOW-FACTORY-10")
def test_a_seed_per_subject_goes_through_a_factory(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    alpha = cortex.name("alpha")

    def make(subject: Subject[Pipe[Any]]) -> Flow[int, int]:
        seed = 1000 if subject.name is alpha else 0
        return cortex.flow(int).scan(lambda: seed, add)

    def register(subject: Subject[Pipe[int]], registrar: Any) -> None:
        registrar.register(received.append)

    conduit = circuit.conduit(int)
    conduit.subscribe(circuit.subscriber("seeds", register))
    flow = cortex.flow(int).flow(make)
    heads = [flow.pipe(conduit.get(name)) for name in ("alpha", "beta")]
    for head in heads:
        head.emit(0)
    for head in heads:
        head.emit(1)
    wait(circuit)

    assert received == [1000, 0, 1001, 1]


@rule("FLOW-FACTORY-11")
@derived
def test_factories_of_one_composition_get_the_same_subject_in_the_order_of_the_chain(
    cortex: Cortex, circuit: Circuit
) -> None:
    seen: list[tuple[str, Subject[Pipe[Any]]]] = []

    def make(label: str, recipe: Any) -> Factory:
        def call(subject: Subject[Pipe[Any]]) -> Any:
            seen.append((label, subject))
            return recipe

        return call

    inner = cortex.flow().fiber(make("c", cortex.fiber()))
    twice = make("a", cortex.fiber())
    flow = cortex.flow().fiber(twice).flow(make("b", inner)).map(str).fiber(twice)
    head = flow.pipe(circuit.pipe())

    assert [label for label, _ in seen] == ["a", "b", "c", "a"]
    assert all(subject is head.subject for _, subject in seen)


@rule("FLOW-FACTORY-11")
@derived
@each_kind
def test_a_failed_attachment_leaves_the_flow_usable(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    answers: list[Any] = [None, object(), diff(kind, cortex)]
    received: list[int] = []
    flow = KINDS[kind](cortex.flow(), lambda subject: answers.pop(0))
    target = circuit.pipe(received.append)

    with pytest.raises(AbsentValueError):
        flow.pipe(target)
    with pytest.raises(ProviderMismatchFault):
        flow.pipe(target)
    head = flow.pipe(target)
    for value in (1, 1, 2):
        head.emit(value)
    wait(circuit)

    assert received == [1, 2]


def _forms(operator: str) -> list[inspect.Signature]:
    method = getattr(Flow, operator)
    return [inspect.signature(form) for form in get_overloads(method) or (method,)]


@rule("FLOW-FACTORY-12", "SHAPE-FLOW-08")
def test_fiber_and_flow_alone_take_a_function_of_a_subject() -> None:
    operators = [name for name, member in vars(Flow).items() if callable(member) and not name.startswith("_")]

    aware = {
        operator
        for operator in operators
        for form in _forms(operator)
        for parameter in form.parameters.values()
        if "Subject" in str(parameter.annotation)
    }

    assert {"map", "scan", "relate", "run", "change", "window", "fiber", "flow"} <= set(operators)
    assert aware == {"fiber", "flow"}


@rule("FLOW-FACTORY-12")
@derived
def test_the_functions_of_operators_get_values_alone(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    given: list[tuple[Any, ...]] = []

    def note(*values: Any) -> Any:
        given.append(values)
        return 0

    start = cortex.flow()
    flows = [start.map(note), start.scan(note, note, note), start.relate(0, note)]
    for flow in flows:
        flow.pipe(circuit.pipe()).emit(1)
    wait(circuit)

    assert sorted(given) == [(), (0,), (0, 1), (0, 1), (1,)]


@rule("SHAPE-FLOW-08", "FLOW-WINDOWD-05")
def test_a_window_of_a_duration_needs_a_capacity(cortex: Cortex) -> None:
    timed = [form for form in _forms("window") if "timedelta" in str(form)]

    assert timed
    for form in timed:
        assert form.parameters["capacity"].default is inspect.Parameter.empty
    window: Any = cortex.flow().window
    with pytest.raises(TypeError):
        window(timedelta(seconds=1))
