"""Kernels: receptors that only compute, on the scalar lanes, in the one order of their circuit."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ClosedFault,
    Cortex,
    Pipe,
    ProviderMismatchFault,
    Subject,
    kernel,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignPipe
from substrates_tck.marks import kernels, members, rule
from substrates_tck.waits import Background, Gate, Settle, Together

pytestmark = [kernels, members]

LOW, HIGH = -(2**63), 2**63 - 1


@pytest.fixture(scope="module")
def library() -> Any:
    """Return the kit's kernels; they are compiled on import."""
    import substrates_tck.kernels as module

    assert isinstance(module, ModuleType)
    return module


def _int64(circuit: Circuit, receive: Any) -> Pipe[int]:
    return circuit.pipe(receive, lane=kernel.int64)


# -- results and states


@rule("KERNEL-RESULT-01", "PIPE-EMIT-01", "KERNEL-STATE-02")
def test_a_kernel_computes_what_python_computes(library: Any, circuit: Circuit, wait: Settle) -> None:
    values = [1, -5, 7, 10**12, 0, -(10**12), 3]
    pipe = circuit.pipe(library.tally.bind())

    for value in values:
        pipe.emit(value)
    wait(circuit)

    state: Any = pipe.state
    assert (state.count, state.total, state.last) == (len(values), sum(values), values[-1])


@rule("KERNEL-RESULT-01")
def test_a_kernel_may_loop_and_branch(library: Any, circuit: Circuit, wait: Settle) -> None:
    def length(number: int) -> int:
        steps = 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        return steps

    pipe = circuit.pipe(library.collatz.bind())
    for number in range(1, 300):
        pipe.emit(number)
    wait(circuit)

    state: Any = pipe.state
    assert state.total == sum(length(number) for number in range(1, 300))
    assert state.last == length(299)


@rule("KERNEL-RESULT-01")
def test_a_kernel_of_doubles_computes_what_python_computes(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    received: list[float] = []
    values = [1.0, 2.5, -3.25, 1e300, 1e-300, 0.1, 12345.678]
    expected, mean = [], 0.0
    for value in values:
        mean += 0.5 * (value - mean)
        expected.append(mean)
    log = circuit.pipe(received.append, lane=kernel.float64)
    pipe = circuit.pipe(library.average.bind(onward=log))

    for value in values:
        pipe.emit(value)
    wait(circuit)

    state: Any = pipe.state
    assert received == expected
    assert (state.count, state.mean) == (len(values), expected[-1])
    assert all(type(value) is float for value in received)


@rule("KERNEL-RESULT-01")
@pytest.mark.parametrize(("value", "by"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (HIGH, 10), (LOW, 3), (0, 5)])
def test_a_kernel_divides_as_python_does(
    value: int, by: int, library: Any, circuit: Circuit, wait: Settle
) -> None:
    pipe = circuit.pipe(library.divide.bind(by=by))

    pipe.emit(value)
    wait(circuit)

    state: Any = pipe.state
    assert (state.quotient, state.remainder) == divmod(value, by)


@rule("KERNEL-STATE-01")
def test_each_pipe_has_a_state_of_its_own_with_the_bound_values(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    binding = library.tally.bind(count=100, total=-7)
    first, second = circuit.pipe(binding), circuit.pipe(binding)

    first.emit(1)
    first.emit(2)
    wait(circuit)

    one: Any = first.state
    other: Any = second.state
    assert (one.count, one.total, one.last) == (102, -4, 2)
    assert (other.count, other.total, other.last) == (100, -7, 0)
    assert isinstance(one, library.Tally)


@rule("KERNEL-STATE-02")
def test_a_state_can_be_read_after_every_wait_and_after_close(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    pipe = circuit.pipe(library.tally.bind())

    for number in range(1, 50):
        pipe.emit(number)
        wait(circuit)
        state: Any = pipe.state
        assert (state.count, state.last) == (number, number)
    circuit.close(wait=True)

    assert pipe.state.count == 49


@rule("KERNEL-STATE-01")
def test_a_states_fields_start_at_their_defaults(library: Any, circuit: Circuit) -> None:
    state: Any = circuit.pipe(library.average.bind()).state

    assert (state.count, state.factor, state.mean, state.onward) == (0, 0.5, 0.0, None)
    looped = circuit.pipe(library.relay.bind())
    own: Any = looped.state
    assert own.here is looped
    assert own.onward is None


@rule("KERNEL-STATE-03")
def test_a_pipe_that_only_a_kernel_knows_stays_alive(library: Any, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(library.forward.bind(onward=_int64(circuit, received.append)))
    gc.collect()

    for number in range(10):
        pipe.emit(number)
        wait(circuit)

    assert received == list(range(10))


@rule("KERNEL-STATE-03")
def test_values_for_a_kernel_that_nobody_refers_to_any_more_are_received(
    library: Any, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    received: list[int] = []
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    for number in range(100):
        circuit.pipe(library.forward.bind(onward=_int64(circuit, received.append))).emit(number)
    gc.collect()
    gate.release()
    wait(circuit)

    assert received == list(range(100))


@rule("KERNEL-STATE-04", "KERNEL-RESULT-01")
def test_integers_wrap_at_64_bits(library: Any, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = circuit.pipe(library.tally.bind(total=HIGH))
    forward = circuit.pipe(library.forward.bind(plus=1, onward=_int64(circuit, received.append)))

    pipe.emit(1)
    forward.emit(HIGH)
    wait(circuit)

    assert pipe.state.total == LOW
    assert received == [LOW]


# -- lanes


def _taking(kind: str, lane: Any, library: Any, circuit: Circuit) -> Pipe[Any]:
    if kind == "no-op":
        return circuit.pipe(lane=lane)
    if kind == "receptor":
        return circuit.pipe(print, lane=lane)
    return circuit.pipe((library.tally if lane is kernel.int64 else library.average).bind())


EVERY_KIND = pytest.mark.parametrize("kind", ["kernel", "receptor", "no-op"])


@rule("KERNEL-LANE-01", "PIPE-EMIT-02")
@EVERY_KIND
def test_what_does_not_fit_an_int64_pipe_is_refused_in_the_caller(
    kind: str, library: Any, circuit: Circuit, wait: Settle
) -> None:
    pipe = _taking(kind, kernel.int64, library, circuit)

    for value in ("1", 1.0, 1.5, b"1", [], object(), 1j, float("nan")):
        with pytest.raises(TypeError) as refused:
            pipe.emit(value)
        assert not isinstance(refused.value, AbsentValueError)
    for value in (HIGH + 1, LOW - 1, 2**64, 10**30):
        with pytest.raises(OverflowError):
            pipe.emit(value)
    with pytest.raises(AbsentValueError):
        pipe.emit(None)
    wait(circuit)

    if kind == "kernel":
        assert pipe.state.count == 0


@rule("KERNEL-LANE-01", "PIPE-EMIT-02")
@EVERY_KIND
def test_what_does_not_fit_a_float64_pipe_is_refused_in_the_caller(
    kind: str, library: Any, circuit: Circuit, wait: Settle
) -> None:
    pipe = _taking(kind, kernel.float64, library, circuit)

    for value in ("1", b"1", bytearray(b"1"), [], object(), 1j):
        with pytest.raises(TypeError) as refused:
            pipe.emit(value)
        assert not isinstance(refused.value, AbsentValueError)
    with pytest.raises(OverflowError):
        pipe.emit(10**400)
    with pytest.raises(AbsentValueError):
        pipe.emit(None)
    wait(circuit)

    if kind == "kernel":
        assert pipe.state.count == 0


class Indexed:
    """An integer in disguise."""

    def __index__(self) -> int:
        return 42


@rule("KERNEL-LANE-01")
def test_every_integer_of_64_bits_fits_an_int64_pipe(library: Any, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    values: list[Any] = [0, 1, -1, LOW, HIGH, True, Indexed(), 2**62, -(2**31)]
    direct = _int64(circuit, received.append)
    through = circuit.pipe(library.forward.bind(onward=direct))

    for value in values:
        direct.emit(value)
        through.emit(value)
        wait(circuit)

    expected = [0, 1, -1, LOW, HIGH, 1, 42, 2**62, -(2**31)]
    assert received == [number for number in expected for _ in range(2)]
    assert {type(number) for number in received} == {int}


@rule("KERNEL-LANE-01")
def test_every_double_fits_a_float64_pipe_bit_for_bit(library: Any, circuit: Circuit, wait: Settle) -> None:
    received: list[float] = []
    values = [0.0, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 1.0000000000000002]
    direct = circuit.pipe(received.append, lane=kernel.float64)
    # With factor 1 and mean 0 the average of a value is the value.
    through = [circuit.pipe(library.average.bind(factor=1.0, onward=direct)) for _ in values]

    for value, pipe in zip(values, through, strict=True):
        direct.emit(value)
        pipe.emit(value)
    wait(circuit)

    for value, got in zip(values, received[::2], strict=True):
        assert math.copysign(1, got) == math.copysign(1, value)
        assert got == value or (math.isnan(got) and math.isnan(value))
    assert len(received) == 2 * len(values)


@rule("KERNEL-LANE-01")
def test_an_integer_fits_a_float64_pipe_as_a_double(circuit: Circuit, wait: Settle) -> None:
    received: list[float] = []
    pipe: Pipe[float] = circuit.pipe(received.append, lane=kernel.float64)

    for value in (3, True, -(10**15), 2**70):
        pipe.emit(value)
    wait(circuit)

    assert received == [3.0, 1.0, -1e15, float(2**70)]
    assert {type(value) for value in received} == {float}


@rule("KERNEL-LANE-02")
def test_a_kernels_emission_is_converted_to_the_lane_of_the_field(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    whole: list[int] = []
    real: list[float] = []
    pipe = circuit.pipe(
        library.convert.bind(
            whole=_int64(circuit, whole.append), real=circuit.pipe(real.append, lane=kernel.float64)
        )
    )

    for value in (2.9, -2.9, 0.0, 1e15):
        pipe.emit(value)
    wait(circuit)

    assert whole == [2, -2, 0, 10**15]
    assert real == [7.0] * 4
    assert {type(value) for value in real} == {float}


# -- binding


@rule("KERNEL-BIND-01", "ERR-PROV-01", "SPI-MIX-13")
def test_a_foreign_pipe_in_a_field_is_refused(library: Any, circuit: Circuit) -> None:
    foreign = ForeignPipe(circuit.subject)
    make = partial(library.forward.bind, onward=foreign)

    with pytest.raises(ProviderMismatchFault):
        circuit.pipe(make())

    state: Any = circuit.pipe(library.forward.bind()).state
    with pytest.raises(ProviderMismatchFault):
        state.onward = foreign
    assert state.onward is None


@rule("KERNEL-BIND-02")
def test_a_pipe_of_another_lane_in_a_field_is_refused(library: Any, circuit: Circuit) -> None:
    wrong: list[Any] = [
        circuit.pipe(),
        circuit.pipe(lane=kernel.float64),
        circuit.pipe(library.average.bind()),
    ]
    state: Any = circuit.pipe(library.forward.bind()).state

    for pipe in [*wrong, 42, "pipe", print]:
        with pytest.raises(TypeError):
            circuit.pipe(library.forward.bind(onward=pipe))
        with pytest.raises(TypeError):
            state.onward = pipe
    with pytest.raises(TypeError):
        circuit.pipe(library.convert.bind(whole=kernel.SELF))

    assert state.onward is None


@rule("KERNEL-BIND-03")
def test_a_value_that_fits_no_field_is_refused(library: Any, circuit: Circuit) -> None:
    def make(**values: Any) -> None:
        circuit.pipe(library.tally.bind(**values))

    for values in ({"counted": 1}, {"count": "1"}, {"count": 1.5}, {"count": None, "unknown": 1}):
        with pytest.raises(TypeError):
            make(**values)
    for number in (HIGH + 1, LOW - 1):
        with pytest.raises(OverflowError):
            make(count=number)
    make(count=HIGH, total=LOW)


@rule("KERNEL-BIND-03")
def test_a_kernels_pipe_takes_its_lane_from_the_kernel(library: Any, circuit: Circuit) -> None:
    pipe: Any = circuit.pipe

    assert circuit.pipe(library.tally.bind()).lane is kernel.INT64
    assert circuit.pipe(library.average.bind()).lane is kernel.FLOAT64
    with pytest.raises(TypeError):
        pipe(library.tally.bind(), lane=kernel.int64)
    with pytest.raises(TypeError):
        pipe("n", library.tally.bind(), lane=kernel.int64)


@rule("KERNEL-STATE-01", "PIPE-ID-01", "PIPE-ID-03")
def test_a_kernels_pipe_has_a_subject_like_any_other(cortex: Cortex, library: Any, circuit: Circuit) -> None:
    unnamed = circuit.pipe(library.tally.bind())
    named = circuit.pipe("kernel.named", library.tally.bind())

    assert unnamed.subject.type is Pipe
    assert unnamed.subject.name is circuit.subject.name
    assert named.subject.name is cortex.name("kernel.named")
    assert unnamed.subject.enclosure is circuit.subject
    assert circuit.pipe(unnamed) is unnamed


@rule("CIRCUIT-CLOSE-03", "CLOSED-02")
def test_a_closed_circuit_makes_no_kernels_pipe(library: Any, circuit: Circuit) -> None:
    circuit.close()

    for arguments in ((library.tally.bind(),), ("n", library.tally.bind())):
        with pytest.raises(ClosedFault) as refused:
            circuit.pipe(*arguments)
        assert refused.value.subject is circuit.subject
        assert refused.value.operation == "pipe"


@rule("KERNEL-STATE-02", "KERNEL-EMIT-03")
def test_a_pipe_field_may_be_set_while_the_circuit_rests(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    first: list[int] = []
    second: list[int] = []
    pipe = circuit.pipe(library.forward.bind())
    state: Any = pipe.state

    for target in (None, _int64(circuit, first.append), _int64(circuit, second.append), None):
        state.onward = target
        assert state.onward is target
        pipe.emit(1)
        wait(circuit)
    gc.collect()

    assert (first, second) == ([1], [1])


# -- order


@rule("CIRCUIT-ORDER-01")
@pytest.mark.parametrize("count", [1, 100, 10_000])
def test_a_kernel_receives_one_callers_values_in_order(
    count: int, library: Any, circuit: Circuit, wait: Settle
) -> None:
    pipe = circuit.pipe(library.ordered.bind())

    for number in range(count):
        pipe.emit(number)
    wait(circuit)

    state: Any = pipe.state
    assert (state.next, state.errors) == (count, 0)


@rule("CIRCUIT-ORDER-02", "CIRCUIT-ORDER-03")
def test_a_kernel_receives_every_producers_values_in_order_and_once(
    library: Any, circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    count = 5000
    pipe = circuit.pipe(library.producers.bind())

    def produce(producer: int) -> None:
        for number in range(count):
            pipe.emit(4 * number + producer)

    together(4, produce)
    wait(circuit)

    state: Any = pipe.state
    assert (state.count, state.errors) == (4 * count, 0)
    assert [state.next0, state.next1, state.next2, state.next3] == [count] * 4


@rule("CIRCUIT-ORDER-03")
def test_counts_are_exact_over_many_kernels_under_many_producers(
    library: Any, new_circuit: NewCircuit, wait: Settle, together: Together, interleaved: None
) -> None:
    circuits = [new_circuit() for _ in range(5)]
    pipes = [circuit.pipe(library.tally.bind()) for circuit in circuits for _ in range(2)]

    def produce(producer: int) -> None:
        for number in range(300):
            for pipe in pipes:
                pipe.emit(number)

    together(8, produce)
    wait(*circuits)

    states: list[Any] = [pipe.state for pipe in pipes]
    assert [state.count for state in states] == [8 * 300] * 10
    assert [state.total for state in states] == [8 * sum(range(300))] * 10


def _mixed(library: Any, circuit: Circuit, log: list[tuple[str, Any]]) -> dict[str, Pipe[Any]]:
    """Return a pipe of each kind, all of which log; a kernel does it through a pipe of its own."""

    def logged(label: str) -> Any:
        return lambda value: log.append((label, value))

    return {
        "object": circuit.pipe(logged("object")),
        "int64": circuit.pipe(logged("int64"), lane=kernel.int64),
        "float64": circuit.pipe(logged("float64"), lane=kernel.float64),
        "kernel": circuit.pipe(library.forward.bind(onward=_int64(circuit, logged("kernel")))),
    }


@rule("KERNEL-ORDER-01", "CIRCUIT-ORDER-04")
def test_one_order_spans_object_pipes_scalar_pipes_and_kernels(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)
    expected = []

    for number in range(500):
        for label in list(pipes)[number % 3 :] if number % 2 else list(pipes):
            pipes[label].emit(number)
            expected.append((label, number))
    wait(circuit)

    assert log == expected


@rule("KERNEL-ORDER-01", "CIRCUIT-ORDER-04")
def test_one_order_spans_all_lanes_while_the_circuit_is_held(
    library: Any, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)
    expected = []
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    for number in range(500):
        for label in pipes:
            pipes[label].emit(number)
            expected.append((label, number))
    gate.release()
    wait(circuit)

    assert log == expected


@rule("KERNEL-ORDER-01", "CIRCUIT-ORDER-06")
def test_turns_of_two_threads_on_two_lanes_are_kept(
    library: Any, circuit: Circuit, wait: Settle, background: Background, bound_s: float
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)
    labels = ["kernel", "object"]
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    def play(player: int) -> None:
        for number in range(200):
            assert turns[player].acquire(timeout=bound_s)
            pipes[labels[player]].emit(number)
            turns[1 - player].release()

    for task in [background(play, 0), background(play, 1)]:
        task.result()
    wait(circuit)

    assert log == [(label, number) for number in range(200) for label in labels]


@rule("KERNEL-ORDER-01", "CIRCUIT-ORDER-02", "CIRCUIT-ORDER-03")
def test_producers_on_all_lanes_of_a_circuit_lose_nothing(
    library: Any, circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)
    labels = list(pipes)

    def produce(producer: int) -> None:
        for number in range(1000):
            pipes[labels[(producer + number) % 4]].emit(producer * 10_000 + number)

    together(4, produce)
    wait(circuit)

    assert len(log) == 4000
    for producer in range(4):
        mine = [(label, value) for label, value in log if value // 10_000 == producer]
        assert mine == [
            (labels[(producer + number) % 4], producer * 10_000 + number) for number in range(1000)
        ]


@rule("KERNEL-EMIT-02", "CIRCUIT-TRANSIT-02")
def test_a_kernels_emissions_are_received_in_their_order_and_breadth_first(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[int] = []
    record = _int64(circuit, log.append)
    inner = circuit.pipe(library.spread.bind(first=record, second=record))
    outer = circuit.pipe(library.spread.bind(first=inner, second=record))

    outer.emit(1)
    wait(circuit)

    # The outer one emits inner(10), record(11), inner(12).
    assert log == [11, 100, 101, 102, 120, 121, 122]


@rule("KERNEL-ORDER-01", "CIRCUIT-TRANSIT-02")
def test_transit_is_one_queue_over_both_lanes(library: Any, circuit: Circuit, wait: Settle) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)

    def receive(value: int) -> None:
        log.append(("root", value))
        for number, label in enumerate(("kernel", "object", "kernel", "int64", "object")):
            pipes[label].emit(10 * value + number)

    circuit.pipe(receive).emit(1)
    wait(circuit)

    assert log == [
        *(("root", 1), ("object", 11), ("int64", 13), ("object", 14)),
        *(("kernel", 10), ("kernel", 12)),
    ]


@rule("KERNEL-EMIT-02", "CIRCUIT-TRANSIT-03", "CIRCUIT-TRANSIT-05")
@pytest.mark.parametrize("later", ["object", "int64", "kernel"])
def test_a_kernels_cascade_ends_before_the_next_ingress_value(
    later: str, library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)
    end = _int64(circuit, lambda value: log.append(("end", value)))
    relay = circuit.pipe(library.relay.bind(burst=7, onward=end))

    for number in range(20):
        relay.emit(500)
        pipes[later].emit(number)
    wait(circuit)

    assert relay.state.count == 20 * 501
    assert log == [entry for number in range(20) for entry in (("end", 7), (later, number))]


@rule("KERNEL-ORDER-01", "CIRCUIT-TRANSIT-04")
def test_ingress_on_the_scalar_lane_does_not_overtake_transit_of_the_object_lane(
    library: Any, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    log: list[tuple[str, Any]] = []
    pipes = _mixed(library, circuit, log)

    def receive(value: int) -> None:
        if value == 1:
            gate.hold()
        if value < 4:
            pipes["kernel"].emit(value)
            root.emit(value + 1)

    root: Pipe[int] = circuit.pipe(receive)
    root.emit(1)
    gate.await_entered()
    for label in ("kernel", "int64", "object"):
        pipes[label].emit(100)
    gate.release()
    wait(circuit)

    assert log == [
        *(("kernel", 1), ("kernel", 2), ("kernel", 3)),
        *(("kernel", 100), ("int64", 100), ("object", 100)),
    ]


@rule("KERNEL-EMIT-02", "CIRCUIT-TRANSIT-06")
def test_a_kernel_may_feed_itself_a_million_times_on_a_native_engine_or_fewer_elsewhere(
    library: Any, circuit: Circuit, wait: Settle, cortex: Cortex, tck_provider: str
) -> None:
    from substrates import spi

    hops = 1_000_000 if "native-kernels" in spi.load(tck_provider).capabilities else 100_000
    pipe = circuit.pipe(library.relay.bind())

    pipe.emit(hops)
    wait(circuit)

    assert pipe.state.count == hops + 1


@rule("KERNEL-EMIT-02", "CIRCUIT-TRANSIT-05")
def test_a_ring_of_kernels_in_one_circuit_runs_in_causal_order(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[int] = []
    record = _int64(circuit, log.append)
    members = [circuit.pipe(library.spread.bind(second=record)) for _ in range(3)]
    for member, onward in pairwise([*members, members[0]]):
        state: Any = member.state
        state.first = onward if onward is not members[0] else None
    members[0].emit(1)
    wait(circuit)

    assert log == [11, 101, 121, 1001, 1021, 1201, 1221]


# -- emissions to other circuits


@rule("KERNEL-EMIT-03", "CIRCUIT-ORDER-09")
def test_what_a_kernel_emits_to_another_circuits_kernel_arrives_in_order(
    library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuits = [new_circuit() for _ in range(4)]
    last = circuits[-1].pipe(library.ordered.bind())
    pipe: Pipe[int] = last
    for circuit in reversed(circuits[:-1]):
        pipe = circuit.pipe(library.forward.bind(onward=pipe))

    for number in range(3000):
        pipe.emit(number)
    wait(*circuits)

    state: Any = last.state
    assert (state.next, state.errors) == (3000, 0)


@rule("KERNEL-EMIT-03", "CIRCUIT-ORDER-09")
def test_what_a_kernel_emits_to_another_circuits_receptor_arrives_in_order(
    cortex: Cortex, library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    here, there = new_circuit(), new_circuit()
    received: list[int] = []
    currents: set[object] = set()

    def receive(value: int) -> None:
        received.append(value)
        currents.add(cortex.current())

    pipe = here.pipe(library.forward.bind(plus=1, onward=_int64(there, receive)))
    for number in range(1000):
        pipe.emit(number)
    wait(here, there)

    assert received == list(range(1, 1001))
    assert currents == {there.current}


@rule("KERNEL-EMIT-03", "CIRCUIT-TRANSIT-08")
def test_a_kernels_emission_to_another_circuit_is_ingress_there(
    library: Any, new_circuit: NewCircuit, wait: Settle, gate: Gate
) -> None:
    here, there = new_circuit(), new_circuit()
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value == 1:
            gate.hold()
        if value < 3:
            target.emit(value + 1)

    target: Pipe[int] = there.pipe(receive, lane=kernel.int64)
    pipe = here.pipe(library.forward.bind(onward=target))
    target.emit(1)
    gate.await_entered()
    pipe.emit(50)
    wait(here)
    gate.release()
    wait(there)

    assert log == [1, 2, 3, 50]


@rule("KERNEL-EMIT-03", "CIRCUIT-AWAIT-09")
def test_tokens_go_round_a_ring_of_circuits_and_every_count_is_exact(
    library: Any, new_circuit: NewCircuit, wait: Settle, new_event: Any
) -> None:
    size, burst, rounds = 50, 40, 10
    end = new_event("the tokens went round")
    circuits = [new_circuit() for _ in range(size)]
    pipes = [circuit.pipe(library.relay.bind(burst=burst)) for circuit in circuits]
    for pipe, onward in pairwise(pipes):
        state: Any = pipe.state
        state.onward = onward
    finish = new_circuit()
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if len(received) == rounds:
            end.set()

    last: Any = pipes[-1].state
    last.onward = _int64(finish, receive)
    for _ in range(rounds):
        pipes[0].emit(burst)
    end.wait()
    wait(*circuits, finish)

    states: list[Any] = [pipe.state for pipe in pipes]
    assert [state.count for state in states] == [rounds * (burst + 1)] * size
    assert received == [burst] * rounds


@rule("KERNEL-EMIT-03", "CIRCUIT-CLOSE-04")
def test_a_kernels_emission_to_a_closed_circuit_is_dropped(
    library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    here, there = new_circuit(), new_circuit()
    target = there.pipe(library.tally.bind())
    pipe = here.pipe(library.forward.bind(onward=target))
    pipe.emit(1)
    wait(here, there)
    there.close(wait=True)

    for number in range(100):
        pipe.emit(number)
    wait(here, there)

    assert target.state.count == 1
    assert pipe.state.count == 101


@rule("KERNEL-EMIT-01")
def test_an_emission_to_no_pipe_is_skipped(library: Any, circuit: Circuit, wait: Settle) -> None:
    log: list[int] = []
    nowhere = circuit.pipe(library.forward.bind())
    partly = circuit.pipe(library.spread.bind(second=_int64(circuit, log.append)))

    for number in range(100):
        nowhere.emit(number)
    partly.emit(1)
    wait(circuit)

    assert nowhere.state.count == 100
    assert log == [11]


@rule("KERNEL-EMIT-04")
@pytest.mark.parametrize("count", [1, 100, 5000, 50_000])
def test_a_kernel_may_emit_any_number_of_values_in_one_call(
    count: int, library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    here, there = new_circuit(), new_circuit()
    own, away = here.pipe(library.ordered.bind()), there.pipe(library.ordered.bind())
    pipe = here.pipe(library.storm.bind(onward=own, other=away))

    pipe.emit(count)
    wait(here, there)

    states: list[Any] = [own.state, away.state]
    assert [(state.next, state.errors) for state in states] == [(count, 0)] * 2


# -- kernels and other pipes


@rule("FANOUT-01", "FANOUT-04", "KERNEL-ORDER-01")
def test_a_fan_out_may_have_kernels_among_its_targets(
    library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    here, there = new_circuit(), new_circuit()
    log: list[int] = []
    own, away = here.pipe(library.tally.bind()), there.pipe(library.tally.bind())
    fan: Pipe[int] = here.pipe([own, away, here.pipe(log.append), own])

    for number in range(10):
        fan.emit(number)
    wait(here, there)

    states: list[Any] = [own.state, away.state]
    assert [state.count for state in states] == [20, 10]
    assert log == list(range(10))


@rule("FANOUT-05", "KERNEL-LANE-01")
def test_a_value_that_does_not_fit_one_target_of_a_fan_out_reaches_the_others(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[Any] = []
    tally = circuit.pipe(library.tally.bind())
    fan: Pipe[Any] = circuit.pipe([tally, circuit.pipe(log.append)])

    for value in (1, "two", 3):
        fan.emit(value)
    wait(circuit)

    assert log == [1, "two", 3]
    assert tally.state.total == 4


@rule("PIPE-KIND-04", "KERNEL-EMIT-03")
def test_a_forwarding_pipe_leads_to_another_circuits_kernel(
    library: Any, new_circuit: NewCircuit, wait: Settle
) -> None:
    here, there = new_circuit(), new_circuit()
    target = there.pipe(library.ordered.bind())
    forwards = [here.pipe(target), here.pipe("n", [target])]

    assert all(pipe is not target for pipe in forwards)
    for number in range(100):
        forwards[0].emit(number)
    wait(here, there)

    state: Any = target.state
    assert (state.next, state.errors) == (100, 0)


@rule("CIRCUIT-EXEC-01", "KERNEL-ORDER-01")
def test_receptors_and_kernels_hand_values_to_and_fro_over_circuits(
    library: Any, new_circuit: NewCircuit, wait: Settle, new_event: Any
) -> None:
    here, there = new_circuit(), new_circuit()
    log: list[int] = []
    over = new_event("the value went to and fro 1000 times")

    def receive(value: int) -> None:
        log.append(value)
        if value < 1000:
            kernel_pipe.emit(value)
        else:
            over.set()

    back = _int64(here, receive)
    kernel_pipe: Pipe[int] = there.pipe(library.forward.bind(plus=1, onward=back))
    back.emit(0)
    over.wait()

    assert log == list(range(1001))


# -- failures and liveness


@pytest.fixture
def faults(cortex: Cortex) -> Iterator[list[Subject[Any] | None]]:
    """Return the subjects that the fault hook is told during the test."""
    told: list[Subject[Any] | None] = []
    cortex.on_fault(lambda subject, error: told.append(subject))
    yield told
    cortex.on_fault(None)


@rule("KERNEL-FAULT-01", "ISO-01", "ISO-07")
def test_a_kernel_that_fails_is_isolated_and_told(
    cortex: Cortex, library: Any, circuit: Circuit, wait: Settle, faults: list[Subject[Any] | None]
) -> None:
    log: list[int] = []
    pipe = circuit.pipe(library.failing.bind(onward=_int64(circuit, log.append)))
    before = cortex.facts()["faults"]

    for value in (1, -1, 2, -2, -3, 3):
        pipe.emit(value)
    wait(circuit)

    assert pipe.state.count == 6
    assert log == [1, -1, 2, -2, -3, 3], "what a kernel emitted before it failed is received"
    assert faults == [pipe.subject] * 3
    assert cortex.facts()["faults"] == int(before) + 3


@rule("KERNEL-FAULT-01", "ISO-07")
def test_a_kernel_that_fails_in_mid_cascade_does_not_cancel_the_rest(
    library: Any, circuit: Circuit, wait: Settle
) -> None:
    log: list[int] = []
    record = _int64(circuit, log.append)
    bad = circuit.pipe(library.failing.bind())
    spread = circuit.pipe(library.spread.bind(first=bad, second=record))

    spread.emit(-1)
    record.emit(5)
    wait(circuit)

    assert log == [-9, 5]
    assert bad.state.count == 2


@rule("CIRCUIT-CLOSE-05", "CIRCUIT-CLOSE-06")
def test_close_drains_kernels_and_their_cascades(
    library: Any, circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    pipe = circuit.pipe(library.relay.bind())
    for _ in range(100):
        pipe.emit(20)
    circuit.close()
    pipe.emit(1000)
    gate.release()
    wait(circuit)

    assert pipe.state.count == 100 * 21


@rule("CIRCUIT-AWAIT-01", "CIRCUIT-EXEC-05")
def test_wait_covers_kernels_again_and_again(library: Any, circuit: Circuit, wait: Settle) -> None:
    pipe = circuit.pipe(library.tally.bind())

    for number in range(1, 500):
        pipe.emit(number)
        wait(circuit)
        assert pipe.state.count == number
