"""Isolation: what client code raises is seen by nobody but the fault hook and the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from substrates import Circuit, ConfigurationError, Cortex, Pipe, Registrar, Subject, Subscription
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, each_lane, members, rule
from substrates_tck.observers import registering
from substrates_tck.waits import Settle

pytestmark = members


class OwnError(Exception):
    """An exception of the client."""


class OwnBaseError(BaseException):
    """One that `except Exception` lets through."""


FAILURES = [
    RuntimeError("raised by a receptor"),
    OwnError("raised by a receptor"),
    StopIteration(),
    RecursionError(),
    MemoryError(),
    GeneratorExit(),
    SystemExit(3),
    KeyboardInterrupt(),
    OwnBaseError("raised by a receptor"),
]


@pytest.fixture
def faults(cortex: Cortex) -> Iterator[list[tuple[Subject[Any] | None, BaseException]]]:
    """Return what the fault hook is told during the test."""
    told: list[tuple[Subject[Any] | None, BaseException]] = []
    cortex.on_fault(lambda subject, error: told.append((subject, error)))
    yield told
    cortex.on_fault(None)


@rule("ISO-01")
@each_lane
def test_a_thousand_failures_do_not_stop_the_circuit(lane: object, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def fail(value: int) -> None:
        raise RuntimeError(value)

    failing: Pipe[int] = circuit.pipe(fail, lane=lane)
    sound = circuit.pipe(received.append)
    for number in range(1000):
        failing.emit(number)
    wait(circuit)
    sound.emit(10_000)
    sound.emit(10_001)
    circuit.close(wait=True)

    assert received == [10_000, 10_001]


@rule("ISO-01", "ISO-02")
@each_lane
def test_the_emission_after_a_failure_is_received(lane: object, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(int(value))
        if value % 3 == 0:
            raise RuntimeError("every third")

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    for number in range(100):
        pipe.emit(number)
    wait(circuit)

    assert received == list(range(100))


@rule("ISO-02", "FANOUT-05")
def test_a_failing_receptor_does_not_deprive_its_siblings_even_when_it_is_first(
    circuit: Circuit, wait: Settle
) -> None:
    calls: list[int] = []
    received: list[int] = []

    def fail(value: int) -> None:
        calls.append(value)
        raise RuntimeError(value)

    both = circuit.pipe([circuit.pipe(fail), circuit.pipe(received.append)])
    for number in range(100):
        both.emit(number)
    wait(circuit)

    assert calls == list(range(100)), "a failing receptor is still called every time"
    assert received == list(range(100))


@rule("ISO-07")
@derived
@each_lane
def test_a_failure_in_transit_does_not_cancel_the_rest_of_the_cascade(
    lane: object, circuit: Circuit, wait: Settle
) -> None:
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value == 1:
            pipe.emit(2)
            pipe.emit(3)
        if value == 2:
            raise RuntimeError("in mid-cascade")

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    pipe.emit(1)
    wait(circuit)

    assert log == [1, 2, 3]


@rule("ISO-07")
@derived
def test_what_a_receptor_emitted_before_it_failed_is_received(circuit: Circuit, wait: Settle) -> None:
    log: list[int] = []

    def receive(value: int) -> None:
        log.append(value)
        if value == 1:
            pipe.emit(2)
            raise RuntimeError("after emitting")

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(1)
    pipe.emit(100)
    wait(circuit)

    assert log == [1, 2, 100]


@rule("ISO-08", "PIPE-EMIT-03")
def test_callers_never_see_a_receptors_failure(circuit: Circuit, wait: Settle) -> None:
    def fail(value: int) -> None:
        raise RuntimeError(value)

    pipe = circuit.pipe(fail)
    for number in range(10):
        pipe.emit(number)
        wait(circuit)
    circuit.close()
    wait(circuit)
    circuit.close(wait=True)


@rule("ISO-08")
def test_a_receptor_never_sees_the_failure_of_what_it_emits_to(new_circuit: NewCircuit, wait: Settle) -> None:
    first, second = new_circuit(), new_circuit()
    seen: list[str] = []

    def fail(value: int) -> None:
        raise RuntimeError(value)

    def receive(value: int) -> None:
        try:
            own.emit(value)
            away.emit(value)
        except RuntimeError:
            seen.append("failed")
        else:
            seen.append("fine")

    own: Pipe[int] = first.pipe(fail)
    away: Pipe[int] = second.pipe(fail)
    pipe = first.pipe(receive)
    pipe.emit(1)
    wait(first, second)
    pipe.emit(2)
    wait(first, second)

    assert seen == ["fine", "fine"]


@rule("ISO-10")
@derived
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@each_lane
def test_every_kind_of_exception_is_isolated(
    failure: BaseException, lane: object, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        if value == 1:
            raise failure

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    for number in range(4):
        pipe.emit(number)
    wait(circuit)
    pipe.emit(4)
    wait(circuit)

    assert received == [0, 1, 2, 3, 4]


@rule("ISO-10")
@derived
def test_endless_recursion_in_a_receptor_is_isolated(circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []

    def recurse(value: int) -> int:
        return recurse(value + 1) + 1

    def receive(value: int) -> None:
        received.append(value)
        recurse(value)

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    pipe.emit(2)
    wait(circuit)

    assert received == [1, 2]


@rule("ISO-09")
@derived
def test_a_failure_is_told_to_the_hook_with_its_subject(
    circuit: Circuit, wait: Settle, faults: list[tuple[Subject[Any] | None, BaseException]]
) -> None:
    failure = OwnError("told")

    def fail(value: int) -> None:
        raise failure

    pipe = circuit.pipe("iso.told", fail)
    pipe.emit(1)
    wait(circuit)

    assert faults == [(pipe.subject, failure)]


@rule("ISO-09")
@derived
def test_a_failure_is_counted_and_logged_with_its_traceback(
    cortex: Cortex, circuit: Circuit, wait: Settle, caplog: pytest.LogCaptureFixture
) -> None:
    failure = OwnError("logged")

    def fail(value: int) -> None:
        raise failure

    pipe = circuit.pipe("iso.logged", fail)
    before = cortex.facts()["faults"]
    with caplog.at_level(logging.ERROR, logger="substrates"):
        pipe.emit(1)
        wait(circuit)

    records = [record for record in caplog.records if record.exc_info and record.exc_info[1] is failure]
    assert len(records) == 1
    assert records[0].name == "substrates"
    assert "iso.logged" in records[0].getMessage()
    assert cortex.facts()["faults"] == int(before) + 1


@rule("ISO-09")
@derived
@pytest.mark.parametrize(
    "failure", [RuntimeError(), SystemExit(), OwnBaseError()], ids=lambda it: type(it).__name__
)
def test_a_hook_that_fails_stops_nothing(
    failure: BaseException, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []

    def hook(subject: object, error: BaseException) -> None:
        raise failure

    def receive(value: int) -> None:
        received.append(value)
        raise RuntimeError(value)

    cortex.on_fault(hook)
    try:
        pipe = circuit.pipe(receive)
        for number in range(3):
            pipe.emit(number)
        wait(circuit)
    finally:
        cortex.on_fault(None)

    assert received == [0, 1, 2]


@rule("ISO-09")
@derived
def test_an_exception_that_cannot_be_shown_stops_nothing(circuit: Circuit, wait: Settle) -> None:
    class Unshowable(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        __str__ = __repr__

    received: list[int] = []

    def receive(value: int) -> None:
        received.append(value)
        raise Unshowable

    pipe = circuit.pipe(receive)
    pipe.emit(1)
    pipe.emit(2)
    wait(circuit)

    assert received == [1, 2]


@rule("ISO-09", "ERR-ABSENT-01")
@derived
def test_a_hook_that_is_no_callable_is_refused(cortex: Cortex) -> None:
    with pytest.raises(TypeError):
        cortex.on_fault(42)  # type: ignore[arg-type]  # what the test is about


@rule("ISO-09")
@derived
def test_a_hook_whose_coroutines_nobody_would_await_is_refused(cortex: Cortex) -> None:
    async def hook(subject: Subject[Any] | None, error: BaseException) -> None: ...

    with pytest.raises(ConfigurationError):
        cortex.on_fault(hook)


@rule("ISO-01", "ISO-09")
@derived
def test_logging_that_raises_neither_stops_the_circuit_nor_hides_the_failure(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    class Hostile(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise SystemExit("no log for you")

    log = logging.getLogger("substrates")
    hostile = Hostile()
    received: list[int] = []

    def receive(value: int) -> None:
        if value % 2:
            raise ValueError(value)
        received.append(value)

    pipe = circuit.pipe(receive)
    before = int(cortex.facts()["faults"])
    log.addFilter(hostile)
    try:
        for value in range(6):
            pipe.emit(value)
        wait(circuit)
    finally:
        log.removeFilter(hostile)

    assert received == [0, 2, 4]
    assert int(cortex.facts()["faults"]) == before + 3


@rule("ISOL-RECEPTOR-01", "ISO-02", "ISO-01")
@pytest.mark.parametrize("place", ["same subscription", "other subscription"])
def test_a_failing_receptor_of_a_channel_deprives_nobody_and_is_called_every_time(
    place: str, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    calls: list[int] = []
    received: list[int] = []

    def fail(value: int) -> None:
        calls.append(value)
        raise RuntimeError(value)

    if place == "same subscription":
        conduit.subscribe(circuit.subscriber("both", registering(fail, received.append)))
    else:
        conduit.subscribe(circuit.subscriber("failing", registering(fail)))
        conduit.subscribe(circuit.subscriber("sound", registering(received.append)))
    for number in range(100):
        conduit.get("a").emit(number)
    wait(circuit)

    assert calls == list(range(100))
    assert received == list(range(100))


@rule("ISOL-RECEPTOR-01", "ISO-10")
@derived
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_every_kind_of_exception_of_a_channels_receptor_is_isolated(
    failure: BaseException, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []

    def fail(value: int) -> None:
        raise failure

    conduit.subscribe(circuit.subscriber("both", registering(fail, received.append, fail, received.append)))
    for number in (1, 2):
        conduit.get("a").emit(number)
    wait(circuit)

    assert received == [1, 1, 2, 2]


@rule("ISOL-RECEPTOR-01", "ISO-08", "PIPE-EMIT-03")
def test_callers_of_a_conduit_never_see_a_failure(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)

    def fail(*arguments: object) -> None:
        raise RuntimeError("raised by a callback")

    subscription = conduit.subscribe(circuit.subscriber("receptor", registering(fail)), fail)
    conduit.subscribe(circuit.subscriber("callback", fail), fail)
    for number in range(3):
        conduit.get("a").emit(number)
        wait(circuit)
    circuit.pulse()
    subscription.close(wait=True)
    conduit.close(wait=True)
    circuit.close(wait=True)


@rule("ISOL-LIVE-02", "ISO-01", "ISO-03")
def test_after_a_thousand_failing_dispatches_the_circuit_is_alive(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []

    def fail(value: int) -> None:
        raise RuntimeError(value)

    conduit.subscribe(circuit.subscriber("failing", registering(fail)))
    for number in range(1000):
        conduit.get(f"channel.{number % 10}").emit(number)
    wait(circuit)
    conduit.subscribe(circuit.subscriber("sound", registering(received.append)))
    conduit.get("channel.0").emit(10_000)
    conduit.get("channel.1").emit(10_001)
    circuit.close(wait=True)

    assert received == [10_000, 10_001]


@rule("ISOL-OP-03", "ISO-05", "CONDUIT-POOLFIBER-09")
def test_a_failing_operator_drops_that_emission_for_its_chain_alone(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    peeked: list[int] = []
    received: list[tuple[str, int]] = []

    def fail_on_two(value: int) -> None:
        if value == 2:
            raise RuntimeError(value)

    def callback(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(lambda value: received.append((str(subject.name), value)))

    conduit.subscribe(circuit.subscriber("sound", callback))
    pool = conduit.pool(cortex.fiber(int).peek(fail_on_two).peek(peeked.append))
    for number in (1, 2, 3):
        pool.get("a").emit(number)
        conduit.get("b").emit(number)
    wait(circuit)

    assert peeked == [1, 3]
    assert [value for name, value in received if name == "a"] == [1, 3]
    assert [value for name, value in received if name == "b"] == [1, 2, 3]


@rule("ISO-01", "ISOL-LIVE-02", "ISOL-ONCLOSE-04")
def test_failures_in_every_kind_of_callback_do_not_stop_the_circuit(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    received: list[int] = []
    calls: list[str] = []

    def failing(label: str) -> Any:
        def fail(*arguments: object) -> None:
            calls.append(label)
            raise RuntimeError(label)

        return fail

    receptor = circuit.subscriber("receptor", registering(failing("receptor")))
    subscription: Subscription = conduit.subscribe(receptor, failing("close callback"))
    conduit.subscribe(circuit.subscriber("callback", failing("callback")))
    conduit.subscribe(circuit.subscriber("sound", registering(received.append)))
    operator = cortex.fiber(int).guard(failing("operator")).pipe(circuit.pipe(received.append))
    port = circuit.port(0)
    for number in range(2):
        conduit.get("a").emit(number)
        operator.emit(100)
        port.update(failing("transform"))
    subscription.close()
    conduit.get("a").emit(2)
    wait(circuit)
    conduit.get("a").emit(3)
    wait(circuit)

    assert sorted(calls) == sorted(["callback", "close callback", *2 * ["operator", "receptor", "transform"]])
    assert received == [0, 1, 2, 3]


@rule("ISO-09")
@derived
@pytest.mark.parametrize("kind", ["receptor", "callback", "close callback"])
def test_the_failures_of_a_subscribers_callbacks_are_told_to_the_hook(
    kind: str, circuit: Circuit, wait: Settle, faults: list[tuple[Subject[Any] | None, BaseException]]
) -> None:
    failure = OwnError("told")
    conduit = circuit.conduit(int)

    def fail(*arguments: object) -> None:
        raise failure

    callback: Any = fail if kind == "callback" else registering(fail) if kind == "receptor" else registering()
    subscriber = circuit.subscriber("iso.told", callback)
    if kind == "close callback":
        conduit.subscribe(subscriber, fail).close()
    else:
        conduit.subscribe(subscriber)
    conduit.get("a").emit(1)
    wait(circuit)

    assert [error for _, error in faults] == [failure]
    (subject, _), *_ = faults
    assert subject is not None
    assert circuit.subject in list(subject)
