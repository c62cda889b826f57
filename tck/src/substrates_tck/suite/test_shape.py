"""The shape of the api: which types there are, what each can do, and that a provider makes them all."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import substrates
from substrates import (
    Bank,
    Basin,
    Capture,
    Cell,
    Change,
    Circuit,
    Closure,
    Conduit,
    Cortex,
    Current,
    Extent,
    Fiber,
    Flow,
    Id,
    Lookup,
    Name,
    Pin,
    Pipe,
    Pool,
    Port,
    Pulse,
    Receptor,
    Registrar,
    Resource,
    Routing,
    Run,
    Scope,
    Sink,
    Slot,
    Source,
    State,
    Subject,
    Subscriber,
    Subscription,
    Substrate,
    Ticker,
    Window,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Settle

TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(Bank, Basin, Capture, Cell, Change, Circuit, Closure, Conduit, Cortex, Current, Extent, Fiber),
        *(Flow, Id, Lookup, Name, Pin, Pipe, Pool, Port, Pulse, Receptor, Registrar, Resource, Routing),
        *(Run, Scope, Sink, Slot, Source, State, Subject, Subscriber, Subscription, Ticker, Window),
    )
}
"""The types that the contract requires."""
SUBSTRATES: set[type[Any]] = {
    *(Bank, Basin, Cell, Circuit, Conduit, Cortex, Current, Pin, Pipe, Port, Scope, Sink, Source, Subscriber),
    *(Subscription, Ticker),
}
RESOURCES: set[type[Any]] = {Bank, Circuit, Conduit, Source, Subscriber, Subscription, Ticker}
KINDS = [
    *("cortex", "circuit", "conduit", "bank", "sink", "cell", "port", "pin", "ticker", "pipe", "current"),
    *("scope", "basin", "subscriber", "subscription"),
]

each_type = pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)


class Color(enum.Enum):
    """An enumeration, for a slot."""

    RED = "red"


def realized(cortex: Cortex, circuit: Circuit, wait: Settle) -> dict[type[Any], list[Any]]:
    """Return instances of each type, made or met as a user would."""
    found: dict[type[Any], list[Any]] = {kind: [] for kind in TYPES.values()}

    def meet(kind: Any, *instances: Any) -> None:
        found[kind].extend(instances)

    def subscribed(subject: Subject[Any], registrar: Registrar[Any]) -> None:
        meet(Subject, subject)
        meet(Registrar, registrar)
        registrar.register(Receptor.of())

    conduit: Conduit[int] = circuit.conduit(int)
    bank: Bank[int] = circuit.bank(int)
    endpoint: Pipe[Capture[int]] = circuit.pipe(lambda capture: meet(Capture, capture))
    sink: Sink[int] = circuit.sink(endpoint)
    basin, cell, port, pin = circuit.basin(1), circuit.cell(0), circuit.port(0), circuit.pin(0)
    ticker = circuit.ticker(1000, circuit.pipe())
    subscriber: Subscriber[int] = circuit.subscriber("tck.shape", subscribed)
    subscription = conduit.subscribe(subscriber)
    fiber, flow = cortex.fiber(int), cortex.flow(int)
    windows = flow.window(2).pipe(circuit.pipe(lambda window: meet(Window, window)))
    runs = flow.run().pipe(circuit.pipe(lambda run: meet(Run, run)))
    changes = flow.change().pipe(circuit.pipe(lambda change: meet(Change, change)))
    scope = cortex.scope("tck.shape")
    closure = scope.closure(ticker)
    pool = cortex.pool(lambda name: name)
    slot = cortex.slot(Color.RED)

    meet(Cortex, cortex)
    meet(Circuit, circuit)
    meet(Conduit, conduit, bank.get("a"))
    meet(Source, conduit)
    meet(Bank, bank)
    meet(Sink, sink)
    meet(Basin, basin)
    meet(Cell, cell)
    meet(Port, port)
    meet(Pin, pin)
    meet(Ticker, ticker)
    meet(Subscriber, subscriber)
    meet(Subscription, subscription)
    meet(Resource, circuit, conduit, bank, ticker, subscriber, subscription)
    meet(Pipe, circuit.pipe(), conduit.get("a"), sink.get("a"), basin.pipe(), cell.pipe())
    meet(Pipe, windows, runs, changes)
    meet(Fiber, fiber)
    meet(Flow, flow)
    meet(Scope, scope)
    meet(Closure, closure)
    meet(Pool, conduit, sink, pool, pool.pool(str), conduit.pool(fiber), sink.pool(flow))
    meet(Lookup, bank, *found[Pool])
    meet(Current, cortex.current(), circuit.current)
    meet(Name, circuit.subject.name)
    meet(Id, circuit.subject.id)
    meet(Subject, circuit.subject, pin.subject)
    meet(Extent, circuit.subject, circuit.subject.name, scope)
    meet(State, circuit.subject.state, cortex.state())
    meet(Slot, slot)
    meet(Routing, *Routing)
    meet(Receptor, Receptor.NOOP, Receptor.of())
    pulse = circuit.pulse()
    meet(Pulse, pulse)

    conduit.get("a").emit(1)
    sink.get("a").emit(1)
    for value in (1, 1, 2):
        for pipe in (windows, runs, changes):
            pipe.emit(value)
    wait(circuit)
    ticker.close()
    scope.close()
    return found


@rule("SHAPE-INV-01", "TYPE-DIST-02")
def test_the_required_types_are_exported_and_distinct() -> None:
    assert len(TYPES) == 36
    assert len(set(TYPES.values())) == 36
    for name, kind in {**TYPES, "Substrate": Substrate, "Fault": substrates.Fault}.items():
        assert getattr(substrates, name) is kind
        assert name in substrates.__all__
        assert inspect.isclass(kind)


@rule("SHAPE-INV-01")
@each_type
def test_a_required_type_can_be_asked_for_with_isinstance(kind: type[Any]) -> None:
    assert not isinstance(object(), kind)
    assert issubclass(kind, kind)


@rule("TYPE-DIST-02", "TYPE-EQ-01")
@derived
def test_classifiers_are_equal_to_themselves_alone() -> None:
    for kind in TYPES.values():
        assert [other for other in TYPES.values() if other == kind] == [kind]
        assert hash(kind) == hash(getattr(substrates, kind.__name__))


@rule("SHAPE-INV-01")
@derived
def test_what_a_module_says_it_exports_is_there() -> None:
    assert len(set(substrates.__all__)) == len(substrates.__all__)
    for name in substrates.__all__:
        assert hasattr(substrates, name), name


@rule("SHAPE-REAL-02")
def test_a_provider_makes_every_type(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    found = realized(cortex, circuit, wait)

    assert {kind.__name__ for kind, instances in found.items() if instances} == set(TYPES)
    wrong = [
        (kind.__name__, instance)
        for kind, instances in found.items()
        for instance in instances
        if not isinstance(instance, kind)
    ]
    assert wrong == []


@rule("SHAPE-SUBSTRATE-03")
@each_type
def test_which_types_have_a_subject(kind: type[Any]) -> None:
    assert issubclass(kind, Substrate) == (kind in SUBSTRATES or kind is Resource)


@rule("SHAPE-SUBSTRATE-03")
def test_which_instances_have_a_subject(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    found = realized(cortex, circuit, wait)

    for kind in SUBSTRATES:
        for instance in found[kind]:
            assert isinstance(instance.subject, Subject), kind
            assert instance.subject is instance.subject
    others: list[Any] = [Subject, Id, State, Slot, Fiber, Flow, Registrar, Closure, Capture]
    for kind in (*others, Window, Pulse, Run, Change):
        for instance in found[kind]:
            assert not isinstance(instance, Substrate), kind


@rule("SHAPE-RESOURCE-04", "RES-01", "RESOURCE-01")
@each_type
def test_which_types_are_resources(kind: type[Any]) -> None:
    assert issubclass(kind, Resource) == (kind in RESOURCES or kind is Resource)


@rule("SHAPE-RESOURCE-04", "RES-01", "RESOURCE-01")
def test_which_instances_are_resources(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    found = realized(cortex, circuit, wait)

    for kind in RESOURCES:
        for instance in found[kind]:
            assert isinstance(instance, Resource)
            assert callable(instance.close)
    others: list[Any] = [
        *(Basin, Cell, Current, Pin, Pipe, Port, Scope, Sink, Capture, Registrar, Fiber, Flow, Subject, Name),
        *(State, Cortex, Closure, Window, Receptor, Id, Slot),
    ]
    for kind in others:
        for instance in found[kind]:
            assert not isinstance(instance, Resource), kind
            if kind is not Scope:
                assert not hasattr(instance, "close"), kind
    for instance in found[Pool]:
        assert isinstance(instance, Resource) == isinstance(instance, Conduit)


@rule("SHAPE-SOURCE-06")
@each_type
def test_which_types_are_sources_pools_lookups_and_extents(kind: type[Any]) -> None:
    assert issubclass(kind, Source) == (kind in {Source, Conduit})
    assert issubclass(kind, Pool) == (kind in {Pool, Conduit, Sink})
    assert issubclass(kind, Lookup) == (kind in {Lookup, Pool, Bank, Conduit, Sink})
    assert issubclass(kind, Extent) == (kind in {Extent, Name, Subject, Scope})


@rule("SHAPE-SOURCE-06")
def test_which_instances_are_sources_pools_lookups_and_extents(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    capable: dict[type[Any], set[type[Any]]] = {
        Source: {Conduit},
        Pool: {Conduit, Sink, Pool},
        Lookup: {Conduit, Sink, Pool, Bank},
        Extent: {Name, Subject, Scope},
    }
    found = realized(cortex, circuit, wait)
    found = {kind: found[kind] for kind in found if kind not in {Source, Lookup, Extent, Resource}}

    for capability, kinds in capable.items():
        for kind, instances in found.items():
            if kind is Pool and capability is Source:
                continue
            for instance in instances:
                assert isinstance(instance, capability) == (kind in kinds), (capability, kind)


@rule("SHAPE-SOURCE-06")
def test_operations_that_a_kind_must_not_have(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    found = realized(cortex, circuit, wait)
    absent: dict[str, set[type[Any]]] = {
        "subscribe": {Circuit, Bank, Sink, Cell, Port, Pin, Basin, Pipe, Subscriber, Subscription, Ticker},
        "emit": {Circuit, Conduit, Bank, Sink, Cell, Pin, Basin, Ticker, Subscriber, Subscription},
        "get": {Port, Basin, Circuit, Pipe, Ticker},
        "register": {Circuit, Conduit, Subscriber},
    }

    for operation, kinds in absent.items():
        for kind in kinds:
            assert found[kind]
            for instance in found[kind]:
                assert not hasattr(instance, operation), (kind, operation)


class Keeping(Receptor[Any]):
    """Keeps what it receives."""

    def __init__(self) -> None:
        self.received: list[Any] = []

    def receive(self, value: Any, /) -> None:
        self.received.append(value)


@rule("SHAPE-OPS-07", "RECEPTOR-01")
def test_a_receptor_consumes_by_receive(circuit: Circuit, wait: Settle) -> None:
    receptor = Keeping()

    receptor.receive(7)
    circuit.pipe(receptor).emit(8)
    wait(circuit)

    assert receptor.received == [7, 8]
    assert Receptor.NOOP.receive(7) is None


@rule("SHAPE-OPS-07")
@derived
@pytest.mark.parametrize("place", ["pipe", "registrar", "peek"])
def test_a_receptor_or_a_callable_does_everywhere(
    place: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    receptor, called = Keeping(), list[Any]()
    take: tuple[Receptor[Any] | Callable[[Any], object], ...] = (receptor, called.append)

    def give(receiver: Receptor[Any] | Callable[[Any], object]) -> None:
        if place == "pipe":
            circuit.pipe(receiver).emit(1)
        elif place == "peek":
            cortex.fiber().peek(receiver).pipe(circuit.pipe()).emit(1)
        else:
            conduit: Conduit[Any] = circuit.conduit()
            conduit.subscribe(circuit.subscriber("n", lambda _, registrar: registrar.register(receiver)))
            conduit.get("a").emit(1)

    for receiver in take:
        give(receiver)
    wait(circuit)

    assert (receptor.received, called) == ([1], [1])


@rule("SHAPE-OPS-07", "STATE-ITER-15")
def test_a_state_is_traversed_as_python_does(cortex: Cortex) -> None:
    state = cortex.state().state("a", 1).state("b", 2)

    assert next(iter(state)).value == 2
    assert [slot.value for slot in state] == [2, 1]
    assert len(state) == 2


@rule("SHAPE-OPS-07")
@derived
def test_pipes_are_neither_callable_nor_iterable(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    for pipe in realized(cortex, circuit, wait)[Pipe]:
        assert not callable(pipe)
        assert not hasattr(pipe, "__iter__")
        assert not hasattr(pipe, "receive")


def of_each_kind(cortex: Cortex, circuit: Circuit) -> list[Substrate]:
    """Return one component of each kind, in the order of `KINDS`."""
    conduit: Conduit[int] = circuit.conduit()
    bank: Bank[int] = circuit.bank()
    subscriber: Subscriber[int] = circuit.subscriber("n", lambda subject, registrar: None)
    sink: Sink[int] = circuit.sink(circuit.pipe())
    return [
        *(cortex, circuit, conduit, bank, sink, circuit.cell(0), circuit.port(0), circuit.pin(0)),
        *(circuit.ticker(1000, circuit.pipe()), circuit.pipe(), circuit.current, cortex.scope()),
        *(circuit.basin(1), subscriber, conduit.subscribe(subscriber)),
    ]


@rule("CIRCUIT-ID-06", "ID-KINDS-03", "ID-UNIQ-01", "TYPE-DIST-02", "TYPE-EQ-01", "SUBJECT-IDENT-02")
def test_fifteen_kinds_have_distinct_classifiers_and_ids(cortex: Cortex, new_circuit: NewCircuit) -> None:
    first, second = (of_each_kind(cortex, new_circuit()) for _ in range(2))

    assert len(first) == len(KINDS) == 15
    assert len({component.subject.type for component in first}) == 15
    assert len({component.subject.id for component in first}) == 15
    assert [each.subject.type for each in first] == [each.subject.type for each in second]
    assert [each.subject.type.__name__.lower() for each in first] == KINDS
    ids = {each.subject.id for each in (*first, *second)}
    assert len(ids) == 29  # the cortex is the same
    for component in (*first, *second):
        assert component.subject is component.subject
        assert isinstance(component, component.subject.type)


@rule("SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04", "SUBJECT-WITHIN-05", "SUBJECT-ITER-06")
def test_subjects_form_a_chain_up_to_the_cortex(cortex: Cortex, circuit: Circuit) -> None:
    conduit: Conduit[int] = circuit.conduit()
    bank: Bank[int] = circuit.bank()
    sink: Sink[int] = circuit.sink(circuit.pipe())
    cell = circuit.cell(0)
    subscription = conduit.subscribe(circuit.subscriber("n", lambda subject, registrar: None))
    chains: list[list[Substrate]] = [
        [conduit.get("a"), conduit, circuit, cortex],
        [subscription, conduit, circuit, cortex],
        [cell.pipe(), cell, circuit, cortex],
        [sink, circuit, cortex],
        [bank, circuit, cortex],
        [circuit, cortex],
        [cortex],
    ]

    for chain in chains:
        subjects: list[Subject[Any]] = [component.subject for component in chain]
        assert list(subjects[0]) == subjects
        assert subjects[0].depth == len(subjects)
        assert subjects[0].extremity is cortex.subject
        for above in subjects[1:]:
            assert subjects[0].within(above)
            assert not above.within(subjects[0])


@rule("SUBJECT-CHAIN-03")
def test_a_recipes_pipe_is_enclosed_by_the_pipe_that_it_wraps(cortex: Cortex, circuit: Circuit) -> None:
    target: Pipe[int] = circuit.pipe("tck.target", print)
    first = cortex.flow(int).map(abs).pipe(target)
    second = cortex.fiber(int).diff().pipe(first)
    third = cortex.flow(int).map(abs).pipe(second)

    assert list(third.subject) == [
        *(third.subject, second.subject, first.subject, target.subject),
        *(circuit.subject, cortex.subject),
    ]
    assert [pipe.subject.depth for pipe in (target, first, second, third)] == [3, 4, 5, 6]
    assert all(pipe.subject.name is target.subject.name for pipe in (first, second, third))
    assert len({pipe.subject.id for pipe in (target, first, second, third)}) == 4
