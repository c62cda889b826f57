"""Pipes: every form of making one, and what each does with a value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from substrates import AbsentValueError, Circuit, Cortex, Pipe, Receptor, Resource, kernel
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.observers import Observer, registering
from substrates_tck.waits import Gate, Settle

pytestmark = members


@rule("PIPE-ID-01", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "SUBJECT-CHAIN-03")
def test_an_unnamed_pipe_has_its_circuits_name_and_is_enclosed_by_it(new_circuit: NewCircuit) -> None:
    circuit, other = new_circuit("pipe.owner"), new_circuit("pipe.other")
    target: Pipe[int] = circuit.pipe()
    pipes: list[Pipe[int]] = [
        circuit.pipe(print),
        target,
        circuit.pipe([target, target]),
        circuit.pipe(other.pipe()),
        circuit.pipe(lane=kernel.int64),
        circuit.pipe(print, lane=kernel.float64),
    ]

    for pipe in pipes:
        assert pipe.subject.type is Pipe
        assert pipe.subject.name is circuit.subject.name
        assert pipe.subject.enclosure is circuit.subject
        assert pipe.subject.depth == 3
        assert pipe.subject.id is not None


@rule("PIPE-ID-02", "CIRCUIT-FACT-01", "ID-UNIQ-01")
def test_pipes_made_apart_have_subjects_and_ids_of_their_own(circuit: Circuit) -> None:
    def receive(value: int) -> None: ...

    pipes: list[Pipe[int]] = [circuit.pipe() for _ in range(3)]
    pipes += [circuit.pipe(receive) for _ in range(3)]
    pipes += [circuit.pipe("pipe.same", receive) for _ in range(3)]
    pipes += [circuit.pipe("pipe.same", [pipes[0]]) for _ in range(3)]

    assert len({id(pipe) for pipe in pipes}) == len(pipes)
    assert len({id(pipe.subject) for pipe in pipes}) == len(pipes)
    assert len({pipe.subject.id for pipe in pipes}) == len(pipes)


@rule("PIPE-ID-03", "CIRCUIT-FACT-02")
def test_a_named_pipe_has_that_name_and_delivers(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    name = cortex.name("pipe.named")

    pipe = circuit.pipe(name, received.append)
    pipe.emit(42)
    wait(circuit)

    assert pipe.subject.name is name
    assert pipe.subject.enclosure is circuit.subject
    assert received == [42]


@rule("PIPE-ID-03")
@derived
def test_a_string_is_accepted_as_a_pipes_name(cortex: Cortex, circuit: Circuit) -> None:
    assert circuit.pipe("pipe.string", print).subject.name is cortex.name("pipe.string")


@rule("SUBJECT-IDENT-02", "SUBJECT-PROPS-01")
def test_a_pipes_subject_is_the_same_object_every_time(circuit: Circuit) -> None:
    pipe: Pipe[int] = circuit.pipe()

    assert pipe.subject is pipe.subject
    assert pipe.subject.id is pipe.subject.id


@rule("PIPE-ID-06", "RES-01")
def test_a_pipe_is_no_resource(cortex: Cortex, circuit: Circuit) -> None:
    pipe: Pipe[int] = circuit.pipe()

    assert not isinstance(pipe, Resource)
    assert not hasattr(pipe, "close")
    with cortex.scope() as scope, pytest.raises(TypeError):
        scope.register(pipe)  # type: ignore[type-var]  # what the rule says


@rule("PIPE-EMIT-01")
@pytest.mark.parametrize("values", [["first", "second", "third"], [42], [1.5, (), {}, False, 0, ""]])
def test_each_value_is_received_once_and_in_order(values: list[Any], circuit: Circuit, wait: Settle) -> None:
    received: list[Any] = []
    pipe = circuit.pipe(received.append)

    for value in values:
        pipe.emit(value)
    wait(circuit)

    assert received == values
    assert [type(value) for value in received] == [type(value) for value in values]


def _kinds(circuit: Circuit, other: Circuit) -> dict[str, Pipe[Any]]:
    own, away = circuit.pipe(print), other.pipe(print)
    return {
        "receptor": own,
        "no-op": circuit.pipe(),
        "named": circuit.pipe("kinds.named", print),
        "forward": circuit.pipe(away),
        "fan-out": circuit.pipe([own, away]),
        "named fan-out": circuit.pipe("kinds.fan", [own]),
        "named no-op": circuit.pipe("kinds.none", []),
        "int64": circuit.pipe(print, lane=kernel.int64),
        "float64": circuit.pipe(print, lane=kernel.float64),
        "int64 no-op": circuit.pipe(lane=kernel.int64),
    }


KINDS = [
    *("receptor", "no-op", "named", "forward", "fan-out", "named fan-out", "named no-op"),
    *("int64", "float64", "int64 no-op"),
]


@rule("PIPE-EMIT-02", "ERR-ABSENT-01")
@pytest.mark.parametrize("kind", KINDS)
def test_emitting_none_is_refused_at_once_by_every_kind_of_pipe(kind: str, new_circuit: NewCircuit) -> None:
    pipe = _kinds(new_circuit(), new_circuit())[kind]

    with pytest.raises(AbsentValueError):
        pipe.emit(None)


@rule("PIPE-EMIT-02")
@pytest.mark.parametrize("kind", KINDS)
def test_emitting_none_is_refused_in_own_context_and_queues_nothing(
    kind: str, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit = new_circuit()
    pipe = _kinds(circuit, new_circuit())[kind]
    errors: list[BaseException] = []

    def receive(value: int) -> None:
        try:
            pipe.emit(None)
        except BaseException as error:
            errors.append(error)

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert [type(error) for error in errors] == [AbsentValueError]


@rule("PIPE-EMIT-02")
@each_lane
def test_none_takes_no_place_in_the_order(lane: object, circuit: Circuit, wait: Settle) -> None:
    received: list[Any] = []
    pipe: Pipe[Any] = circuit.pipe(received.append, lane=lane)

    pipe.emit(1)
    with pytest.raises(AbsentValueError):
        pipe.emit(None)
    pipe.emit(2)
    wait(circuit)

    assert received == [1, 2]


@rule("PIPE-EMIT-02")
@derived
def test_emitting_none_is_refused_on_a_closed_circuit_too(circuit: Circuit, wait: Settle) -> None:
    pipe = circuit.pipe(print)
    circuit.close(wait=True)

    with pytest.raises(AbsentValueError):
        pipe.emit(None)


@rule("PIPE-EMIT-04")
@derived
def test_a_value_is_handed_over_by_reference(new_circuit: NewCircuit, wait: Settle) -> None:
    first, second = new_circuit(), new_circuit()
    received: list[object] = []
    sentinel = object()
    target = second.pipe(received.append)

    first.pipe([target, first.pipe(target)]).emit(sentinel)
    wait(first, second)

    assert len(received) == 2
    assert all(value is sentinel for value in received)


@rule("PIPE-EMIT-05")
@derived
def test_a_pipe_may_travel_as_a_value(circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    pipe = circuit.pipe(received.append)

    pipe.emit(pipe)
    wait(circuit)

    assert len(received) == 1
    assert received[0] is pipe


@rule("PIPE-KIND-01", "CIRCUIT-FACT-04", "ERR-ABSENT-01")
def test_absent_arguments_of_pipe_are_refused(circuit: Circuit, wait: Settle) -> None:
    pipe: Any = circuit.pipe

    for arguments in [(None,), (None, print), ("n", None), (None, None), (None, [circuit.pipe()])]:
        with pytest.raises(AbsentValueError):
            pipe(*arguments)
    with pytest.raises(AbsentValueError):
        pipe(print, lane=None)

    received: list[int] = []
    circuit.pipe(received.append).emit(1)
    wait(circuit)
    assert received == [1]


@rule("PIPE-KIND-01")
@derived
@pytest.mark.parametrize(
    "argument",
    [42, "text", b"bytes", 1.5, object(), [42], ["ab"], [print]],
    ids=["int", "str", "bytes", "float", "object", "list of int", "list of str", "list of callable"],
)
def test_what_is_no_target_is_a_type_error(argument: object, circuit: Circuit) -> None:
    pipe: Any = circuit.pipe

    with pytest.raises(TypeError) as refused:
        pipe(argument)

    assert not isinstance(refused.value, AbsentValueError)


@rule("PIPE-KIND-01")
@derived
def test_there_is_no_named_pipe_to_a_pipe_and_no_third_argument(circuit: Circuit) -> None:
    pipe: Any = circuit.pipe

    for arguments in [("n", circuit.pipe()), ("n", print, print), (42, print)]:
        with pytest.raises(TypeError) as refused:
            pipe(*arguments)
        assert not isinstance(refused.value, AbsentValueError)


@rule("PIPE-KIND-02")
def test_a_no_op_pipe_takes_values_and_discards_them(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    nothing: Pipe[int] = circuit.pipe()
    observable = circuit.pipe(received.append)

    for number in range(100):
        nothing.emit(number)
    observable.emit(-1)
    wait(circuit)

    assert received == [-1]


@rule("PIPE-KIND-03", "PIPE-VAR-01", "CIRCUIT-FACT-01")
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_of_the_same_circuit_is_returned_itself(kind: str, new_circuit: NewCircuit) -> None:
    circuit = new_circuit()
    pipe = _kinds(circuit, new_circuit())[kind]

    assert circuit.pipe(pipe) is pipe
    assert circuit.pipe(circuit.pipe(pipe)) is pipe


@rule("PIPE-VAR-01")
def test_a_consumer_of_a_wider_type_is_delivered_to_through_pipe(circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    wide: Pipe[object] = circuit.pipe(received.append)
    narrow: Pipe[int] = circuit.pipe(wide)

    narrow.emit(1)
    wait(circuit)

    assert narrow is wide
    assert received == [1]


@rule("PIPE-KIND-04")
def test_a_target_of_another_circuit_gets_a_value_after_its_turn_here(
    new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    here, there = new_circuit("pipe.here"), new_circuit("pipe.there")
    received: list[int] = []
    target = there.pipe(received.append)
    forward = here.pipe(target)
    here.pipe(gate.hold).emit(0)
    gate.await_entered()

    forward.emit(1)
    wait(there)
    assert forward is not target
    assert received == []
    gate.release()
    wait(here, there)

    assert received == [1]


@rule("PIPE-KIND-04", "CIRCUIT-ORDER-09")
def test_a_forwarding_pipe_keeps_the_order(new_circuit: NewCircuit, wait: Settle) -> None:
    here, there = new_circuit(), new_circuit()
    received: list[int] = []
    forward = here.pipe(there.pipe(received.append))

    for number in range(1000):
        forward.emit(number)
    wait(here, there)

    assert received == list(range(1000))


@rule("PIPE-CTX-01", "PIPE-COMP-06")
@pytest.mark.parametrize("length", [2, 3, 10])
def test_in_a_chain_of_circuits_each_receptor_runs_in_its_own(
    length: int, cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuits = [new_circuit() for _ in range(length)]
    seen: list[list[object]] = [[] for _ in circuits]
    pipe: Pipe[int] | None = None

    def receive(place: int, onward: Pipe[int] | None, value: int) -> None:
        seen[place].append(cortex.current())
        if onward is not None:
            onward.emit(value)

    for place in reversed(range(length)):
        pipe = circuits[place].pipe(partial(receive, place, pipe))
    assert pipe is not None
    for number in range(10):
        pipe.emit(number)
    wait(*circuits)

    assert [len(each) for each in seen] == [10] * length
    assert all(
        current is circuit.current for circuit, each in zip(circuits, seen, strict=True) for current in each
    )
    assert len({circuit.current for circuit in circuits}) == length


@rule("PIPE-CTX-02")
def test_pipes_of_different_circuits_deliver_independently(new_circuit: NewCircuit, wait: Settle) -> None:
    circuits = [new_circuit() for _ in range(2)]
    received: list[list[int]] = [[] for _ in circuits]
    pipes = [circuit.pipe(each.append) for circuit, each in zip(circuits, received, strict=True)]

    for number, pipe in enumerate(pipes):
        pipe.emit(number)
    wait(*circuits)

    assert received == [[0], [1]]


@rule("PIPE-COMP-01")
def test_a_thousand_pipes_to_pipes_deliver_once(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    for _ in range(1000):
        pipe = circuit.pipe(pipe)

    pipe.emit(42)
    wait(circuit)

    assert received == [42]


@rule("PIPE-COMP-01")
def test_a_thousand_named_forwarding_pipes_deliver_once(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(received.append)
    for _ in range(1000):
        pipe = circuit.pipe("pipe.hop", [pipe])

    pipe.emit(42)
    wait(circuit)

    assert received == [42]


@rule("PIPE-COMP-02")
def test_a_chain_of_receptors_delivers_the_final_value(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append)

    def add(onward: Pipe[int], number: int, value: int) -> None:
        onward.emit(value + number)

    for number in range(100):
        pipe = circuit.pipe(partial(add, pipe, number))
    pipe.emit(0)
    wait(circuit)

    assert received == [4950]


@rule("PIPE-COMP-02")
def test_two_receptors_compose(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    last = circuit.pipe(received.append)
    double: Pipe[Any] = circuit.pipe(lambda value: last.emit(value * 2))
    pipe: Pipe[Any] = circuit.pipe(lambda value: double.emit(value + 1))

    pipe.emit(5)
    pipe.emit(10)
    wait(circuit)

    assert received == [12, 22]


@rule("PIPE-COMP-04")
def test_all_sinks_that_one_receptor_feeds_get_the_value(circuit: Circuit, wait: Settle) -> None:
    received: list[list[int]] = [[], [], []]
    sinks = [circuit.pipe(each.append) for each in received]

    def receive(value: int) -> None:
        for sink in sinks:
            sink.emit(value)

    circuit.pipe(receive).emit(42)
    wait(circuit)

    assert received == [[42]] * 3


@rule("PIPE-COMP-06")
def test_a_receptor_behind_a_hop_runs_in_its_owners_context_once(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[object] = []
    inner: Pipe[Any] = circuit.pipe(lambda value: seen.append(cortex.current()))
    circuit.pipe(circuit.pipe(inner)).emit(1)
    wait(circuit)

    assert len(seen) == 1
    assert seen[0] is circuit.current


@rule("FANOUT-01", "FANOUT-10")
def test_every_target_gets_every_value_in_list_order(circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    targets: list[Pipe[int]] = [circuit.pipe(partial(_log, log, label)) for label in "ABC"]
    fan = circuit.pipe(targets)

    for number in (1, 2, 3):
        fan.emit(number)
    wait(circuit)

    assert log == ["A1", "B1", "C1", "A2", "B2", "C2", "A3", "B3", "C3"]


def _log(log: list[str], label: str, value: int) -> None:
    log.append(f"{label}{value}")


@rule("FANOUT-02")
def test_a_target_that_is_listed_three_times_receives_three_times(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    target = circuit.pipe(received.append)

    circuit.pipe([target] * 3).emit(7)
    wait(circuit)

    assert received == [7, 7, 7]


@rule("FANOUT-03")
def test_the_list_of_targets_is_copied(circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    targets: list[Pipe[int]] = [circuit.pipe(partial(_log, log, label)) for label in "AB"]
    fan = circuit.pipe(targets)

    targets.append(circuit.pipe(partial(_log, log, "C")))
    fan.emit(1)
    wait(circuit)
    targets.clear()
    fan.emit(2)
    wait(circuit)

    assert log == ["A1", "B1", "A2", "B2"]


@rule("FANOUT-03")
@derived
def test_any_iterable_of_targets_is_taken_once(circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    targets = [circuit.pipe(partial(_log, log, label)) for label in "AB"]

    def generate() -> Iterator[Pipe[int]]:
        yield from targets

    for fan in (circuit.pipe(generate()), circuit.pipe(tuple(targets)), circuit.pipe("n", iter(targets))):
        fan.emit(1)
        fan.emit(2)
    wait(circuit)

    assert log == ["A1", "B1", "A2", "B2"] * 3


@rule("FANOUT-04")
def test_targets_of_other_circuits_run_on_their_own(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    first, second = new_circuit("fan.first"), new_circuit("fan.second")
    seen: dict[str, list[object]] = {"first": [], "second": []}

    def receive(label: str, value: int) -> None:
        seen[label].extend((value, cortex.current()))

    fan = first.pipe([first.pipe(partial(receive, "first")), second.pipe(partial(receive, "second"))])
    fan.emit(5)
    wait(first, second)

    assert seen == {"first": [5, first.current], "second": [5, second.current]}


@rule("FANOUT-05")
def test_a_failing_target_does_not_stop_its_siblings(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def fail(value: int) -> None:
        raise RuntimeError(value)

    ten: Pipe[Any] = circuit.pipe(lambda value: received.append(value * 10))
    hundred: Pipe[Any] = circuit.pipe(lambda value: received.append(value * 100))
    circuit.pipe([ten, circuit.pipe(fail), hundred]).emit(1)
    wait(circuit)

    assert received == [10, 100]


@rule("FANOUT-06")
def test_an_unnamed_fan_out_to_nobody_is_a_no_op_pipe(circuit: Circuit, wait: Settle) -> None:
    nothing: Pipe[int] = circuit.pipe([])

    for number in range(10):
        nothing.emit(number)
    wait(circuit)

    assert nothing.subject.type is Pipe
    assert nothing.subject.enclosure is circuit.subject
    assert circuit.pipe(()) is not nothing


@rule("FANOUT-07", "CIRCUIT-FACT-01")
def test_an_unnamed_fan_out_to_one_is_the_pipe_to_it(new_circuit: NewCircuit, wait: Settle) -> None:
    circuit, other = new_circuit(), new_circuit()
    received: list[int] = []
    own, away = circuit.pipe(received.append), other.pipe(received.append)

    forward = circuit.pipe([away])
    forward.emit(1)
    wait(circuit, other)

    assert circuit.pipe([own]) is own
    assert forward is not away
    assert forward.subject.enclosure is circuit.subject
    assert received == [1]


@rule("FANOUT-08", "CIRCUIT-FACT-01")
def test_a_named_fan_out_is_always_a_new_pipe_of_that_name(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    log: list[str] = []
    name = cortex.name("fan.named")
    target, second = circuit.pipe(partial(_log, log, "A")), circuit.pipe(partial(_log, log, "B"))

    none: Pipe[int] = circuit.pipe(name, [])
    one = circuit.pipe(name, [target])
    two = circuit.pipe(name, [target, second])
    none.emit(1)
    one.emit(8)
    two.emit(3)
    wait(circuit)

    assert log == ["A8", "A3", "B3"]
    assert one is not target
    assert all(pipe.subject.name is name for pipe in (none, one, two))
    assert len({pipe.subject.id for pipe in (none, one, two)}) == 3
    assert circuit.pipe(name, [target]) is not one


@rule("FANOUT-09", "ERR-ABSENT-01")
def test_absent_arguments_of_a_fan_out_are_refused(circuit: Circuit, wait: Settle) -> None:
    pipe: Any = circuit.pipe
    received: list[int] = []
    target = circuit.pipe(received.append)

    for arguments in [([target, None],), ([None],), ("n", None), ("n", [target, None]), (None, [target])]:
        with pytest.raises(AbsentValueError):
            pipe(*arguments)

    target.emit(1)
    wait(circuit)
    assert received == [1]


@rule("FANOUT-10")
def test_a_fan_out_is_owned_by_the_circuit_that_made_it(
    new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    owner, first, second = new_circuit("fan.owner"), new_circuit(), new_circuit()
    received: list[int] = []
    fan = owner.pipe([first.pipe(received.append), second.pipe(received.append)])
    owner.pipe(gate.hold).emit(0)
    gate.await_entered()

    fan.emit(1)
    wait(first, second)
    assert received == [], "a value has its turn on the owner first"
    gate.release()
    wait(owner, first, second)

    assert received == [1, 1]
    assert fan.subject.enclosure is owner.subject
    assert fan.subject.name is owner.subject.name


class Collector:
    """A receptor in one of the forms that the contract allows."""

    def __init__(self) -> None:
        self.received: list[int] = []

    def receive(self, value: int) -> int:
        self.received.append(value)
        return value

    def __call__(self, value: int) -> None:
        raise AssertionError("an object with `receive` is received by that")


class Subclass(Receptor[int]):
    """A receptor by inheritance."""

    def __init__(self) -> None:
        self.received: list[int] = []

    def receive(self, value: int, /) -> None:
        self.received.append(value)


@rule("RECEPTOR-01")
@pytest.mark.parametrize(
    "form", ["function", "method", "bound append", "lambda", "receive", "subclass", "partial"]
)
def test_every_form_of_receptor_receives(form: str, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    collector, subclass = Collector(), Subclass()

    def function(value: int) -> str:
        received.append(value)
        return "ignored"

    receptors: dict[str, tuple[Any, list[int]]] = {
        "function": (function, received),
        "method": (collector.receive, collector.received),
        "bound append": (received.append, received),
        "lambda": (lambda value: received.append(value) or 7, received),  # type: ignore[func-returns-value]
        "receive": (collector, collector.received),
        "subclass": (subclass, subclass.received),
        "partial": (partial(_store, received), received),
    }
    receptor, into = receptors[form]
    pipe = circuit.pipe(receptor)
    for number in (1, 2, 3):
        pipe.emit(number)
    wait(circuit)

    assert into == [1, 2, 3]


def _store(into: list[int], value: int) -> None:
    into.append(value)


@rule("RECEPTOR-01", "SHAPE-OPS-07")
def test_a_receptor_consumes_by_receive() -> None:
    subclass = Subclass()

    subclass.receive(7)

    assert subclass.received == [7]
    assert isinstance(subclass, Receptor)


@rule("RECEPTOR-01", "PIPE-KIND-01")
@derived
def test_a_coroutine_function_is_refused_as_a_receptor(circuit: Circuit) -> None:
    async def receive(value: int) -> None: ...

    class Asynchronous:
        async def receive(self, value: int) -> None: ...

    class Called:
        async def __call__(self, value: int) -> None: ...

    receptors: list[Any] = [receive, Asynchronous(), Called(), partial(receive), Called().__call__]
    for receptor in receptors:
        with pytest.raises((ValueError, TypeError), match="coroutine"):
            circuit.pipe(receptor)


@rule("RECEPTOR-02")
def test_a_receptor_may_hold_state_of_its_own(circuit: Circuit, wait: Settle) -> None:
    subclass = Subclass()
    first, second = circuit.pipe(subclass), circuit.pipe(subclass)

    first.emit(1)
    second.emit(2)
    first.emit(3)
    wait(circuit)

    assert subclass.received == [1, 2, 3]


@rule("RECEPTOR-03")
def test_the_shared_no_op_receptor(circuit: Circuit, wait: Settle) -> None:
    own = Subclass()

    assert Receptor.of() is Receptor.NOOP
    assert Receptor.of(own) is own
    with pytest.raises(AbsentValueError):
        Receptor.of(None)  # type: ignore[arg-type]  # what the rule says
    circuit.pipe(Receptor.NOOP).emit(1)
    wait(circuit)


@rule("PIPE-EMIT-01")
@derived
def test_a_pipe_tells_its_lane(circuit: Circuit) -> None:
    assert circuit.pipe().lane is kernel.OBJECT
    assert circuit.pipe(print).lane is kernel.OBJECT
    assert circuit.pipe(lane=kernel.int64).lane is kernel.INT64
    assert circuit.pipe(print, lane=kernel.float64).lane is kernel.FLOAT64
    assert circuit.pipe(print, lane=object).lane is kernel.OBJECT
    with pytest.raises(TypeError):
        circuit.pipe(print, lane="int64")
    with pytest.raises(TypeError):
        circuit.pipe().state  # noqa: B018 - reading it is what the test is about


@rule("PIPE-ID-04", "CONDUIT-GET-05")
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_a_channels_pipe_is_enclosed_by_its_conduit(named: bool, cortex: Cortex, circuit: Circuit) -> None:
    conduit = circuit.conduit("pipe.conduit", int) if named else circuit.conduit(int)
    subject = conduit.get("pipe.channel").subject

    assert [str(each.name) for each in subject] == [
        "pipe.channel",
        "pipe.conduit" if named else str(circuit.subject.name),
        str(circuit.subject.name),
        str(cortex.subject.name),
    ]
    assert subject.enclosure is conduit.subject
    assert subject.depth == 4


@rule("PIPE-COMP-03", "PIPE-COMP-04")
def test_a_circuits_pipe_may_be_registered_on_a_channel(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    others: list[int] = []
    conduit = circuit.conduit(int)
    conduit.subscribe(
        circuit.subscriber("bridge", registering(circuit.pipe(received.append), circuit.pipe(others.append)))
    )

    for value in (10, 20, 30):
        conduit.get("a").emit(value)
    wait(circuit)

    assert received == [10, 20, 30]
    assert others == [10, 20, 30]


@rule("PIPE-KIND-03", "FANOUT-01")
def test_channels_may_be_the_targets_of_pipes(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    first, second = conduit.get("a"), conduit.get("b")
    observer = Observer(circuit)
    observer.watch(conduit)

    both: Pipe[int] = circuit.pipe([first, second])
    both.emit(1)
    both.emit(2)
    wait(circuit)

    assert circuit.pipe(first) is first
    assert observer.received == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@rule("PIPE-LIFE-01")
def test_a_channels_pipe_outlives_its_conduit_and_its_circuit(cortex: Cortex) -> None:
    circuit = cortex.circuit("pipes.gone")
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    pipe = conduit.get("a")
    pipe.emit(1)
    conduit.close(wait=True)
    pipe.emit(2)
    circuit.close(wait=True)
    pipe.emit(3)
    del circuit, conduit
    pipe.emit(4)

    assert observer.values == [1]
    assert str(pipe.subject.name) == "a"
