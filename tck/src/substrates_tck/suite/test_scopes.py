"""Scopes and closures: resources that end together, and one that ends with a block."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ClosedFault,
    Closure,
    Conduit,
    Cortex,
    Extent,
    Resource,
    Scope,
    Subscription,
    TemporalError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.outcomes import noted
from substrates_tck.waits import Settle


def _closed(circuit: Circuit) -> bool:
    try:
        circuit.pipe()
    except ClosedFault:
        return True
    return False


@rule("SCOPE-ID-01", "CORTEX-SCOPE-05")
def test_an_unnamed_scope_is_new_and_has_a_name(cortex: Cortex) -> None:
    first, second = cortex.scope(), cortex.scope()

    assert first is not second
    assert first.subject is not second.subject
    assert first.subject.id is not second.subject.id
    for scope in (first, second):
        assert scope.subject.type is Scope
        assert str(scope.subject.name)
        assert scope.subject.enclosure is cortex.subject
        scope.close()


@rule("SCOPE-ID-01", "CORTEX-SCOPE-05")
def test_a_named_scope_is_new_and_has_that_name(cortex: Cortex) -> None:
    name = cortex.name("scope.named")
    first, second = cortex.scope(name), cortex.scope(name)

    assert first is not second
    assert first.subject.name is name
    assert second.subject.name is name
    assert first.subject is first.subject
    assert cortex.scope("scope.named").subject.name is name


@rule("SCOPE-ID-02", "CORTEX-SCOPE-06")
def test_a_childs_enclosure_is_its_parent_and_a_root_has_none(cortex: Cortex) -> None:
    root = cortex.scope("root")
    child = root.scope("child")
    grandchild = child.scope()
    name = cortex.name("child")

    assert root.enclosure is None
    assert child.enclosure is root
    assert grandchild.enclosure is child
    assert child.subject.name is name
    assert grandchild.extremity is root
    assert [scope.depth for scope in (root, child, grandchild)] == [1, 2, 3]
    assert root.scope("child") is not child
    root.close()


@rule("SCOPE-ID-03", "CORTEX-SCOPE-06")
def test_a_scope_is_an_extent(cortex: Cortex) -> None:
    root = cortex.scope("root")
    child = root.scope("child")
    grandchild = child.scope("grandchild")

    assert isinstance(root, Extent)
    assert grandchild.within(child)
    assert grandchild.within(root)
    assert not child.within(grandchild)
    assert not root.within(root)
    assert list(grandchild) == [grandchild, child, root]
    for scope in (root, child, grandchild):
        assert str(scope) == scope.path()
        assert scope.part in scope.path()


@rule("SCOPE-REG-01", "SCOPE-CLOSE-01", "CORTEX-SCOPE-06")
def test_closing_a_scope_closes_what_was_registered(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    scope = cortex.scope()
    circuits = [new_circuit() for _ in range(3)]
    received: list[int] = []
    pipes = [circuit.pipe(received.append) for circuit in circuits]

    assert [scope.register(circuit) for circuit in circuits] == circuits
    scope.close()
    for pipe in pipes:
        pipe.emit(1)
    wait(*circuits)

    assert received == []
    assert all(_closed(circuit) for circuit in circuits)


class Recorder:
    """Notes in which order the circuits of a scope are closed, by wrapping their `close`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, circuits: list[Circuit]) -> None:
        self.closed: list[int] = []
        self.failing: set[int] = set()
        kind: Any = type(circuits[0])
        original = kind.close
        places = {id(circuit): place for place, circuit in enumerate(circuits)}

        def close(circuit: Circuit, *, wait: bool = False) -> None:
            place = places.get(id(circuit))
            if place is not None:
                self.closed.append(place)
                if place in self.failing:
                    raise RuntimeError("close fails")
            original(circuit, wait=wait)

        monkeypatch.setattr(kind, "close", close)


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch, new_circuit: NewCircuit) -> pytest.MonkeyPatch:
    """Return what patches the provider's circuits; skip where their class is sealed."""
    kind = type(new_circuit())
    try:
        monkeypatch.setattr(kind, "close", kind.close)
    except (AttributeError, TypeError):
        pytest.skip(f"{kind.__qualname__} is sealed: the order of closing cannot be observed from outside")
    return monkeypatch


@rule("SCOPE-REG-02", "SCOPE-CLOSE-02")
def test_resources_are_closed_in_reverse_order_of_their_first_registration_and_once(
    cortex: Cortex, new_circuit: NewCircuit, patched: pytest.MonkeyPatch
) -> None:
    circuits = [new_circuit() for _ in range(3)]
    recorder = Recorder(patched, circuits)
    scope = cortex.scope()

    for place in (0, 1, 2, 0, 1):
        assert scope.register(circuits[place]) is circuits[place]
    scope.close()

    assert recorder.closed == [2, 1, 0]


@rule("SCOPE-REG-03")
def test_a_resource_that_is_closed_already_is_tolerated(cortex: Cortex, new_circuit: NewCircuit) -> None:
    scope = cortex.scope()
    before, meanwhile, after = (new_circuit() for _ in range(3))
    before.close(wait=True)

    for circuit in (before, meanwhile, after):
        scope.register(circuit)
    meanwhile.close()
    scope.close()

    assert all(_closed(circuit) for circuit in (before, meanwhile, after))


@rule("SCOPE-REG-04", "ERR-ABSENT-01")
def test_an_absent_resource_is_refused(cortex: Cortex) -> None:
    scope: Any = cortex.scope()

    for operation in (scope.register, scope.closure):
        with pytest.raises(AbsentValueError):
            operation(None)
        with pytest.raises(TypeError) as unrelated:
            operation(42)
        assert not isinstance(unrelated.value, AbsentValueError)
    scope.close()


@rule("SCOPE-CLOSE-03", "CORTEX-SCOPE-06")
def test_closing_a_scope_again_does_nothing(
    cortex: Cortex, new_circuit: NewCircuit, patched: pytest.MonkeyPatch
) -> None:
    circuits = [new_circuit()]
    recorder = Recorder(patched, circuits)
    scope = cortex.scope()
    scope.register(circuits[0])

    for _ in range(4):
        scope.close()

    assert recorder.closed == [0]


@rule("SCOPE-CLOSE-04")
def test_a_resource_that_fails_to_close_does_not_keep_the_others_open(
    cortex: Cortex, new_circuit: NewCircuit, patched: pytest.MonkeyPatch
) -> None:
    circuits = [new_circuit() for _ in range(3)]
    recorder = Recorder(patched, circuits)
    recorder.failing = {1}
    scope = cortex.scope()
    for circuit in circuits:
        scope.register(circuit)

    scope.close()

    assert recorder.closed == [2, 1, 0]
    assert _closed(circuits[0])
    assert _closed(circuits[2])
    recorder.failing = set()


@rule("SCOPE-CLOSE-05", "CORTEX-SCOPE-06")
def test_closing_a_parent_closes_all_descendants(cortex: Cortex, new_circuit: NewCircuit) -> None:
    root = cortex.scope("root")
    child, anonymous = root.scope("child"), root.scope()
    grandchild = child.scope("grandchild")
    circuits = [scope.register(new_circuit()) for scope in (child, anonymous, grandchild)]

    root.close()

    assert all(_closed(circuit) for circuit in circuits)
    for scope in (root, child, anonymous, grandchild):
        with pytest.raises(ClosedFault):
            scope.scope()


@rule("SCOPE-CLOSE-05")
def test_a_child_may_be_closed_before_its_parent(cortex: Cortex, new_circuit: NewCircuit) -> None:
    root = cortex.scope()
    child = root.scope()
    mine, theirs = root.register(new_circuit()), child.register(new_circuit())

    child.close()
    assert _closed(theirs)
    assert not _closed(mine)
    root.close()

    assert _closed(mine)


@rule("SCOPE-CLOSE-06", "CLOSED-08", "CORTEX-SCOPE-06", "ERR-FAULT-02", "ERR-FAULT-03")
@pytest.mark.parametrize("operation", ["register", "closure", "scope", "named scope"])
def test_a_closed_scope_refuses_and_leaves_the_resource_untouched(
    operation: str, cortex: Cortex, circuit: Circuit
) -> None:
    scope = cortex.scope()
    scope.close()

    arguments: tuple[Any, ...] = {"scope": (), "named scope": ("child",)}.get(operation, (circuit,))
    operation = operation.removeprefix("named ")

    with pytest.raises(ClosedFault) as refused:
        getattr(scope, operation)(*arguments)

    assert refused.value.subject is scope.subject
    assert refused.value.operation == operation
    assert not _closed(circuit)


@rule("SCOPE-CLOSE-07")
@derived
def test_own_resources_are_closed_before_child_scopes(
    cortex: Cortex, new_circuit: NewCircuit, patched: pytest.MonkeyPatch
) -> None:
    circuits = [new_circuit() for _ in range(4)]
    recorder = Recorder(patched, circuits)
    root = cortex.scope()
    first, second = root.scope(), root.scope()
    for scope, circuit in zip((first, root, second, root), circuits, strict=True):
        scope.register(circuit)

    root.close()

    assert recorder.closed == [3, 1, 2, 0]


@rule("SCOPE-CLOSE-08", "CIRCUIT-CLOSE-04")
def test_closing_a_scope_closes_what_an_unconsumed_closure_holds(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    scope = cortex.scope()
    scope.closure(circuit)

    scope.close()
    pipe.emit(1)
    wait(circuit)

    assert received == []
    assert _closed(circuit)


@rule("SCOPE-CLOSE-09", "SHAPE-SCOPE-05")
def test_a_scope_is_a_context_manager_that_closes_on_an_error_too(
    cortex: Cortex, new_circuit: NewCircuit
) -> None:
    circuit, failing = new_circuit(), new_circuit()
    error = ValueError("raised in the block")

    with cortex.scope() as scope:
        scope.register(circuit)

    def fail() -> None:
        with cortex.scope() as inner:
            inner.register(failing)
            raise error

    with pytest.raises(ValueError, match="raised in the block") as raised:
        fail()

    assert raised.value is error
    assert _closed(circuit)
    assert _closed(failing)
    assert not isinstance(scope, Resource)


@rule("CLOSURE-01")
def test_consume_gives_the_open_resource_to_the_block_once_and_here(cortex: Cortex, circuit: Circuit) -> None:
    seen: list[tuple[object, bool]] = []

    with cortex.scope() as scope:
        closure = scope.closure(circuit)
        assert isinstance(closure, Closure)
        closure.consume(lambda resource: seen.append((resource, _closed(resource))))
        assert len(seen) == 1

    assert seen[0][0] is circuit
    assert seen[0][1] is False


@rule("CLOSURE-02")
def test_the_resource_is_closed_when_consume_returns(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)

    with cortex.scope() as scope:
        scope.closure(circuit).consume(lambda resource: pipe.emit(1))
        assert _closed(circuit)
        pipe.emit(2)
        wait(circuit)

    assert received == [1]


@rule("CLOSURE-03")
@pytest.mark.parametrize(
    "error", [ValueError("in the block"), SystemExit(3)], ids=lambda it: type(it).__name__
)
def test_what_the_block_raises_is_passed_on_and_the_resource_closed(
    error: BaseException, cortex: Cortex, circuit: Circuit
) -> None:
    def fail(resource: Circuit) -> None:
        raise error

    with cortex.scope() as scope:
        closure = scope.closure(circuit)
        with pytest.raises(type(error)) as raised:
            closure.consume(fail)

    assert raised.value is error
    assert _closed(circuit)


@rule("CLOSURE-04")
def test_consume_does_nothing_once_the_scope_is_closed(cortex: Cortex, new_circuit: NewCircuit) -> None:
    scope = cortex.scope()
    closures = [scope.closure(new_circuit()) for _ in range(2)]
    seen: list[object] = []
    closures[0].consume(lambda resource: None)

    scope.close()
    for closure in closures:
        closure.consume(seen.append)

    assert seen == []


@rule("CLOSURE-05", "CORTEX-SCOPE-06")
def test_a_closure_is_the_same_until_it_is_consumed_and_then_a_new_one(
    cortex: Cortex, circuit: Circuit
) -> None:
    seen: list[object] = []
    with cortex.scope() as scope:
        first, second = scope.closure(circuit), scope.closure(circuit)
        assert first is second
        first.consume(seen.append)
        third = scope.closure(circuit)
        assert third is not first
        third.consume(seen.append)

    assert seen == [circuit, circuit]


@rule("CLOSURE-06")
@derived
def test_consuming_twice_is_a_temporal_error(cortex: Cortex, circuit: Circuit) -> None:
    seen: list[object] = []
    with cortex.scope() as scope:
        closure = scope.closure(circuit)
        closure.consume(seen.append)
        with pytest.raises(TemporalError):
            closure.consume(seen.append)

    assert len(seen) == 1


@rule("CLOSURE-07")
@derived
def test_an_absent_block_leaves_the_closure_usable(cortex: Cortex, circuit: Circuit) -> None:
    seen: list[object] = []
    with cortex.scope() as scope:
        closure: Any = scope.closure(circuit)
        with pytest.raises(AbsentValueError):
            closure.consume(None)
        assert not _closed(circuit)
        closure.consume(seen.append)

    assert seen == [circuit]


@rule("SCOPE-REG-02", "CLOSURE-04")
@derived
def test_a_resource_both_registered_and_in_a_closure_is_closed_once(
    cortex: Cortex, new_circuit: NewCircuit, patched: pytest.MonkeyPatch
) -> None:
    circuits = [new_circuit()]
    recorder = Recorder(patched, circuits)
    with cortex.scope() as scope:
        scope.register(circuits[0])
        scope.closure(circuits[0])

    assert recorder.closed == [0]


@rule("SCOPE-CLOSE-03", "SCOPE-CLOSE-05")
@derived
def test_closing_a_deep_tree_of_scopes_closes_the_innermost_resource(cortex: Cortex) -> None:
    root = cortex.scope()
    scope = root
    for _ in range(3000):
        scope = scope.scope()
    circuit = scope.register(cortex.circuit())

    root.close()

    with pytest.raises(ClosedFault):
        circuit.pipe()
    with pytest.raises(ClosedFault):
        scope.scope()


class Subscribed:
    """Subscriptions to a conduit, and the order in which their ends are told."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.conduit: Conduit[int] = circuit.conduit(int)
        self.told: list[int] = []
        self.received: list[int] = []

    def subscribe(self, number: int, failure: BaseException | None = None) -> Subscription:
        def ended(subscription: Subscription) -> None:
            self.told.append(number)
            if failure is not None:
                raise failure

        return self.conduit.subscribe(
            self.circuit.subscriber("scoped", registering(self.received.append)), ended
        )


@rule("SCOPE-CLOSE-02", "ONCLOSE-SCOPE-08", "SCOPE-REG-02", "SCOPE-CLOSE-03")
def test_subscriptions_in_a_scope_are_closed_in_reverse_and_once(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    subscriptions = [subscribed.subscribe(number) for number in (1, 2, 3)]
    scope = cortex.scope()

    for place in (0, 1, 2, 0, 1):
        assert scope.register(subscriptions[place]) is subscriptions[place]
    for _ in range(4):
        scope.close()
    wait(circuit)
    subscribed.conduit.get("a").emit(1)
    wait(circuit)

    assert subscribed.told == [3, 2, 1]
    assert subscribed.received == []


@rule("SCOPE-CLOSE-01", "SCOPE-CLOSE-02")
@pytest.mark.parametrize("kind", ["bank", "conduit", "subscriber", "subscription"])
def test_a_scope_closes_every_kind_of_resource(
    kind: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    bank = circuit.bank(int)
    conduit = bank.get("scoped")
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    resources: dict[str, Resource] = {
        "bank": bank,
        "conduit": conduit,
        "subscriber": observer.subscriber,
        "subscription": subscription,
    }

    with cortex.scope() as scope:
        assert scope.register(resources[kind]) is resources[kind]
        conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(circuit)

    assert observer.values == [1]
    assert observer.ended == [subscription]


@rule("SCOPE-CLOSE-02")
@derived
def test_a_scope_closes_a_circuits_parts_before_the_circuit(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    with cortex.scope() as scope:
        circuit = scope.register(new_circuit("scope.parts"))
        subscribed = Subscribed(circuit)
        scope.register(subscribed.conduit)
        scope.register(subscribed.subscribe(1))
        subscribed.subscribe(2)
        subscribed.conduit.get("a").emit(1)
    wait(circuit)

    assert subscribed.told == [1, 2]
    assert subscribed.received == [1, 1]
    assert _closed(circuit)


@rule("SCOPE-CLOSE-04", "ISOL-ONCLOSE-04")
def test_a_close_callback_that_raises_does_not_keep_the_other_resources_open(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    scope = cortex.scope()
    scope.register(subscribed.subscribe(1))
    scope.register(subscribed.subscribe(2, RuntimeError("raised by a close callback")))
    scope.register(subscribed.subscribe(3))

    scope.close()
    wait(circuit)

    assert subscribed.told == [3, 2, 1]


@rule("SCOPE-REG-03", "SCOPE-CLOSE-03")
def test_a_subscription_that_ended_otherwise_is_tolerated(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    before, meanwhile, after = (subscribed.subscribe(number) for number in (1, 2, 3))
    before.close(wait=True)

    with cortex.scope() as scope:
        for subscription in (before, meanwhile, after):
            scope.register(subscription)
        meanwhile.close()
        wait(circuit)
    wait(circuit)

    assert subscribed.told == [1, 2, 3]


@rule("SCOPE-CLOSE-07")
@derived
def test_own_subscriptions_end_before_those_of_child_scopes(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    root = cortex.scope()
    first, second = root.scope(), root.scope()
    for number, scope in enumerate((first, root, second, root)):
        scope.register(subscribed.subscribe(number))

    root.close()
    wait(circuit)

    assert subscribed.told == [3, 1, 2, 0]


@rule("SCOPE-CLOSE-08", "CLOSURE-04")
def test_closing_a_scope_ends_a_subscription_that_an_unconsumed_closure_holds(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    seen: list[object] = []
    scope = cortex.scope()
    closure = scope.closure(subscribed.subscribe(1))

    scope.close()
    subscribed.conduit.get("a").emit(1)
    wait(circuit)
    closure.consume(seen.append)

    assert subscribed.received == []
    assert subscribed.told == [1]
    assert seen == []


@rule("CLOSURE-01", "CLOSURE-02", "CLOSURE-03")
@pytest.mark.parametrize("failure", [None, ValueError("in the block")], ids=["returns", "raises"])
def test_a_subscription_ends_with_the_block_that_consumes_it(
    failure: ValueError | None, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    subscribed = Subscribed(circuit)
    subscription = subscribed.subscribe(1)

    def block(resource: Subscription) -> None:
        assert resource is subscription
        subscribed.conduit.get("a").emit(1)
        wait(circuit)
        if failure is not None:
            raise failure

    with cortex.scope() as scope:
        raised = noted(scope.closure(subscription).consume, block)
        subscribed.conduit.get("a").emit(2)
        wait(circuit)

    assert raised is failure
    assert subscribed.received == [1]
    assert subscribed.told == [1]
