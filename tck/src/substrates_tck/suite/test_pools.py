"""Lookups and pools: one thing per name, made once, whoever asks at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ConfigurationError,
    Cortex,
    Current,
    Lookup,
    Name,
    Pipe,
    Pool,
    ProviderMismatchFault,
    Resource,
    Source,
    Subject,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit, NewGate
from substrates_tck.foreigners import (
    FOREIGN_NAMES,
    FOREIGN_PIPES,
    FOREIGN_SUBJECTS,
    DuckResource,
    ForeignCircuit,
)
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer
from substrates_tck.outcomes import refused
from substrates_tck.waits import Background, Gate, Settle, Together

LOOKUPS = ["conduit", "sink", "bank", "root pool", "derived pool", "recipe pool"]


class Thing:
    """Something that a pool makes; no two are equal."""

    def __init__(self, of: object) -> None:
        self.of = of


def _lookup(kind: str, cortex: Cortex, circuit: Circuit) -> Lookup[Any]:
    made: dict[str, Callable[[], Lookup[Any]]] = {
        "conduit": lambda: circuit.conduit(int),
        "sink": lambda: circuit.sink(circuit.pipe()),
        "bank": lambda: circuit.bank(int),
        "root pool": lambda: cortex.pool(Thing),
        "derived pool": lambda: cortex.pool(Thing).pool(Thing),
        "recipe pool": lambda: circuit.conduit(int).pool(cortex.fiber(int).diff()),
    }
    return made[kind]()


@rule("LOOKUP-GET-01")
@pytest.mark.parametrize("kind", LOOKUPS)
def test_a_subject_or_a_component_stands_for_its_name(
    kind: str, cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit
) -> None:
    lookup = _lookup(kind, cortex, circuit)
    other = new_circuit("lookup.other")
    name = cortex.name("lookup.other")

    found = lookup.get(other)

    assert isinstance(lookup, Lookup)
    assert found is not None
    assert lookup.get(other.subject) is found
    assert lookup.get(other.subject.name) is found
    assert lookup.get(name) is found
    assert lookup.get("lookup.other") is found
    assert lookup.get(other.pipe("lookup.other", [])) is found, "whatever the component"
    assert lookup.get(circuit) is not found


@rule("LOOKUP-GET-02", "COMMON-VALID-06", "ERR-ABSENT-01")
@pytest.mark.parametrize("kind", LOOKUPS)
def test_looking_up_nothing_is_refused(kind: str, cortex: Cortex, circuit: Circuit) -> None:
    lookup: Any = _lookup(kind, cortex, circuit)

    refused(AbsentValueError, lookup.get, None)


@rule("LOOKUP-GET-02", "COMMON-VALID-06", "ERR-PROV-01", "ERR-FAULT-03", "SPI-MIX-13")
@pytest.mark.parametrize("form", ["name", "subject", "substrate"])
@pytest.mark.parametrize("kind", LOOKUPS)
def test_looking_up_by_what_the_provider_did_not_make_is_refused(
    kind: str, form: str, cortex: Cortex, circuit: Circuit
) -> None:
    lookup: Any = _lookup(kind, cortex, circuit)
    foreigners: list[Any] = {
        "name": [make("foreign") for make in FOREIGN_NAMES],
        "subject": [make(circuit.subject) for make in FOREIGN_SUBJECTS],
        "substrate": [
            *(make(circuit.subject) for make in FOREIGN_PIPES),
            DuckResource(circuit.subject),
            ForeignCircuit(circuit.subject, circuit.current),
        ],
    }[form]

    for foreign in foreigners:
        fault = refused(ProviderMismatchFault, lookup.get, foreign)
        assert fault.operation == "get"
        assert isinstance(fault.subject, Subject)
        if kind in {"conduit", "sink", "bank"}:
            assert fault.subject is lookup.subject


@rule("LOOKUP-GET-02", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("kind", LOOKUPS)
def test_looking_up_by_what_has_no_name_is_a_plain_type_error(
    kind: str, cortex: Cortex, circuit: Circuit
) -> None:
    lookup: Any = _lookup(kind, cortex, circuit)

    for unrelated in (42, 1.5, object(), ["a"]):
        with pytest.raises(TypeError) as error:
            lookup.get(unrelated)
        assert not isinstance(error.value, SubstratesError), unrelated
    refused(ConfigurationError, lookup.get, "a..b")


# -- root pools


@rule("POOL-ROOT-01")
def test_making_a_pool_computes_nothing(cortex: Cortex) -> None:
    calls: list[object] = []
    derived_calls: list[object] = []

    pool = cortex.pool(calls.append)
    further = pool.pool(derived_calls.append)

    assert isinstance(pool, Pool)
    assert isinstance(further, Pool)
    assert calls == []
    assert derived_calls == []


@rule("POOL-ROOT-01", "POOL-DERIVE-06", "ERR-ABSENT-01", "COMMON-VALID-06")
@pytest.mark.parametrize("kind", ["root", "derived", "conduit", "sink"])
def test_a_pool_of_no_function_is_refused(kind: str, cortex: Cortex, circuit: Circuit) -> None:
    makers: dict[str, Any] = {
        "root": cortex.pool,
        "derived": cortex.pool(Thing).pool,
        "conduit": circuit.conduit(int).pool,
        "sink": circuit.sink(circuit.pipe()).pool,
    }
    make = makers[kind]

    refused(AbsentValueError, make, None)
    with pytest.raises(TypeError) as error:
        make(42)
    assert not isinstance(error.value, SubstratesError)


@rule("POOL-ONCE-02")
def test_the_function_runs_once_for_each_name_with_the_name(cortex: Cortex) -> None:
    names: list[Name] = []

    def make(name: Name) -> Thing:
        names.append(name)
        return Thing(name)

    pool = cortex.pool(make)
    first = pool.get("pool.a")
    for _ in range(3):
        assert pool.get("pool.a") is first
        assert pool.get(cortex.name("pool.a")) is first
    other = pool.get("pool.b")

    assert other is not first
    assert names == [cortex.name("pool.a"), cortex.name("pool.b")]
    assert first.of is cortex.name("pool.a")


@rule("POOL-ONCE-02")
def test_the_function_runs_in_the_context_of_the_first_lookup(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    contexts: dict[str, Current] = {}

    def make(name: Name) -> Thing:
        contexts[str(name)] = cortex.current()
        return Thing(name)

    pool = cortex.pool(make)
    pipe: Pipe[str] = circuit.pipe(pool.get)
    pool.get("caller")
    pipe.emit("caller")
    pipe.emit("circuit")
    wait(circuit)
    pool.get("circuit")

    assert contexts["caller"] is cortex.current()
    assert contexts["circuit"] is circuit.current


@rule("POOL-ONCE-02", "COMMON-ABSENT-05")
@pytest.mark.parametrize("value", [0, False, "", (), 0.0], ids=repr)
@pytest.mark.parametrize("kind", ["root", "derived"])
def test_a_value_that_is_false_is_a_value(kind: str, value: object, cortex: Cortex) -> None:
    calls: list[object] = []

    def make(of: object) -> object:
        calls.append(of)
        return value

    pool: Pool[object] = cortex.pool(make) if kind == "root" else cortex.pool(Thing).pool(make)

    assert pool.get("pool.a") is value
    assert pool.get("pool.a") is value
    assert len(calls) == 1


def _busy(of: object) -> Thing:
    """Make a thing, and take long enough for other threads to come by."""
    sum(range(3000))
    return Thing(of)


@rule("POOL-RACE-03")
@pytest.mark.parametrize("kind", ["root", "derived", "both"])
def test_racing_lookups_make_one_thing(
    kind: str, cortex: Cortex, together: Together, interleaved: None
) -> None:
    for number in range(10):
        calls: list[object] = []
        found: list[Thing] = []

        def make(of: object, calls: list[object] = calls) -> Thing:
            calls.append(of)
            return _busy(of)

        pool: Pool[Thing] = {
            "root": lambda: cortex.pool(make),
            "derived": lambda: cortex.pool(Thing).pool(make),
            "both": lambda: cortex.pool(make).pool(make),
        }[kind]()

        def get(_: int, pool: Pool[Thing] = pool, found: list[Thing] = found, n: int = number) -> None:
            found.append(pool.get(f"race.{n}"))

        together(20, get)

        assert len(calls) == (2 if kind == "both" else 1)
        assert len(found) == 20
        assert len(set(found)) == 1


@rule("POOL-RACE-03")
@derived
def test_those_who_ask_while_a_thing_is_made_wait_for_it(
    cortex: Cortex, background: Background, gate: Gate
) -> None:
    calls: list[Name] = []

    def make(name: Name) -> Thing:
        calls.append(name)
        gate.hold()
        return Thing(name)

    pool = cortex.pool(make)
    first = background(pool.get, "held")
    gate.await_entered()
    others = [background(pool.get, "held") for _ in range(5)]
    assert not first.done
    gate.release()

    assert {task.result() for task in others} == {first.result()}
    assert len(calls) == 1


@rule("POOL-RACE-03")
@derived
def test_a_name_that_is_being_made_does_not_hold_up_another(
    cortex: Cortex, background: Background, gate: Gate
) -> None:
    def make(name: Name) -> Thing:
        if str(name) == "held":
            gate.hold()
        return Thing(pool.get("needed")) if str(name) == "needing" else Thing(name)

    pool: Pool[Thing] = cortex.pool(make)
    held = background(pool.get, "held")
    gate.await_entered()

    needing = background(pool.get, "needing").result()

    assert not gate.released
    assert needing.of is pool.get("needed")
    gate.release()
    held.result()


@rule("POOL-FAIL-04", "POOL-DERIVE-07")
@pytest.mark.parametrize("kind", ["root", "derived"])
def test_what_the_function_raised_is_raised_again_without_calling_it(kind: str, cortex: Cortex) -> None:
    calls: list[str] = []
    failure = ValueError("raised by a pool's function")

    def make(of: Any) -> Thing:
        name = str(of.of) if isinstance(of, Thing) else str(of)
        calls.append(name)
        if name == "bad":
            raise failure
        return Thing(of)

    pool: Pool[Thing] = cortex.pool(make) if kind == "root" else cortex.pool(Thing).pool(make)

    for _ in range(3):
        assert refused(ValueError, pool.get, "bad") is failure
    good = pool.get("good")

    assert calls == ["bad", "good"]
    assert pool.get("good") is good
    assert refused(ValueError, pool.get, "bad") is failure
    assert calls == ["bad", "good"]


@rule("POOL-FAIL-04", "POOL-RACE-03")
@derived
def test_racing_lookups_of_a_failing_name_all_get_the_one_failure(
    cortex: Cortex, together: Together, interleaved: None
) -> None:
    for number in range(5):
        raised: list[ValueError] = []
        caught: list[BaseException] = []

        def make(name: Name, raised: list[ValueError] = raised) -> Thing:
            sum(range(3000))
            raised.append(ValueError(str(name)))
            raise raised[-1]

        pool = cortex.pool(make)

        def get(
            _: int, pool: Pool[Thing] = pool, caught: list[BaseException] = caught, n: int = number
        ) -> None:
            caught.append(refused(ValueError, pool.get, f"race.{n}"))

        together(10, get)

        assert len(raised) == 1
        assert len(caught) == 10
        assert all(error is raised[0] for error in caught)


@rule("POOL-FAIL-04")
@derived
def test_the_traceback_of_a_failure_does_not_grow(cortex: Cortex) -> None:
    def fail(name: Name) -> Thing:
        raise ValueError("raised by a pool's function")

    pool = cortex.pool(fail)
    lengths: list[int] = []
    for _ in range(10):
        traceback = refused(ValueError, pool.get, "bad").__traceback__
        length = 0
        while traceback is not None:
            length += 1
            traceback = traceback.tb_next
        lengths.append(length)

    assert len(set(lengths)) == 1, lengths


@rule("POOL-ABSENT-05")
@pytest.mark.parametrize("kind", ["root", "derived"])
def test_a_function_that_returns_nothing_is_an_absent_value_once_and_for_all(
    kind: str, cortex: Cortex
) -> None:
    calls: list[object] = []

    def make(of: object) -> object:
        return calls.append(of)  # type: ignore[func-returns-value]  # what the test is about

    pool: Pool[object] = cortex.pool(make) if kind == "root" else cortex.pool(Thing).pool(make)

    for _ in range(2):
        refused(AbsentValueError, pool.get, "bad")
    assert len(calls) == 1


@rule("POOL-FAIL-04")
@derived
def test_a_function_that_needs_its_own_result_fails_instead_of_waiting_for_itself(
    cortex: Cortex, background: Background
) -> None:
    def make(name: Name) -> Thing:
        return Thing(pool.get(name))

    pool: Pool[Thing] = cortex.pool(make)

    for _ in range(2):
        task = background(pool.get, "itself")
        with pytest.raises(RuntimeError):
            task.result()


# -- derived pools


@rule("POOL-DERIVE-06")
def test_a_derived_pool_computes_from_the_bases_value_once(cortex: Cortex) -> None:
    base_calls: list[Name] = []
    calls: list[str] = []

    def text(name: Name) -> str:
        base_calls.append(name)
        return str(name)

    def length(value: str) -> Thing:
        calls.append(value)
        return Thing(len(value))

    texts = cortex.pool(text)
    lengths = texts.pool(length)
    doubled = lengths.pool(lambda thing: Thing(thing.of * 2))  # type: ignore[operator]  # an int

    found = doubled.get("four.teen.chars")

    assert found.of == 30
    assert doubled.get("four.teen.chars") is found
    assert lengths.get("four.teen.chars") is lengths.get("four.teen.chars")
    assert lengths.get("ab").of == 2
    assert texts.get("ab") == "ab"
    assert base_calls == [cortex.name("four.teen.chars"), cortex.name("ab")]
    assert calls == ["four.teen.chars", "ab"]


@rule("POOL-DERIVE-06")
def test_a_conduits_pipes_may_be_wrapped_once_for_each_name(circuit: Circuit, wait: Settle) -> None:
    class Sensor:
        def __init__(self, pipe: Pipe[int]) -> None:
            self.pipe = pipe

    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    sensors: Pool[Sensor] = conduit.pool(Sensor)

    sensor = sensors.get("sensor.a")
    assert {sensors.get("sensor.a") for _ in range(100)} == {sensor}
    assert sensors.get("sensor.b") is not sensor
    assert sensor.pipe is conduit.get("sensor.a")
    sensor.pipe.emit(1)
    wait(circuit)

    assert observer.received == [("sensor.a", 1)]


@rule("POOL-DERIVE-07", "POOL-FAIL-04")
@pytest.mark.parametrize("reason", ["raises", "returns None"])
def test_a_bases_failure_is_the_derived_pools_and_its_function_is_not_called(
    reason: str, cortex: Cortex
) -> None:
    calls: list[object] = []
    failure = ValueError("raised by the base")

    def make(name: Name) -> object:
        if reason == "raises":
            raise failure
        return None

    base = cortex.pool(make)
    pool = base.pool(calls.append)

    for _ in range(2):
        if reason == "raises":
            assert refused(ValueError, pool.get, "bad") is failure
            assert refused(ValueError, base.get, "bad") is failure
        else:
            refused(AbsentValueError, pool.get, "bad")
    assert calls == []


@rule("POOL-INDEP-08")
def test_two_pools_of_one_function_have_caches_of_their_own(cortex: Cortex, circuit: Circuit) -> None:
    base = cortex.pool(Thing)
    conduit = circuit.conduit(int)

    assert cortex.pool(Thing).get("a") is not cortex.pool(Thing).get("a")
    assert base.pool(Thing) is not base.pool(Thing)
    first, second = base.pool(Thing).get("a"), base.pool(Thing).get("a")
    assert first is not second
    assert first.of is second.of
    assert conduit.pool(Thing).get("a") is not conduit.pool(Thing).get("a")


@rule("POOL-OWN-09", "RESOURCE-01")
def test_a_pool_owns_nothing(cortex: Cortex, new_circuit: NewCircuit) -> None:
    pool = cortex.pool(new_circuit)
    circuit = pool.get("pooled")
    conduit_pool = circuit.conduit(int).pool(lambda pipe: pipe)

    for each in (pool, conduit_pool):
        assert not isinstance(each, Resource)
        assert not isinstance(each, Source)
        assert not hasattr(each, "close")
    del pool
    assert circuit.conduit(int).get("a") is not None
    assert circuit.subject.name is cortex.name("pooled")


@rule("POOL-CELL-10", "REGISTRAR-CROSS-05")
def test_a_pool_of_cells_mirrors_the_latest_values_of_channels(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    cells = cortex.pool(lambda name: circuit.cell(name, 0))
    conduit = circuit.conduit(int)
    pipes: Any = cells.pool(lambda cell: cell.pipe())

    conduit.subscribe(circuit.subscriber("mirror", pipes))
    for name, value in (("left", 1), ("right", 2), ("left", 3)):
        conduit.get(name).emit(value)
    wait(circuit)

    assert cells.get("left").get() == 3
    assert cells.get("right").get() == 2
    assert cells.get("left").subject.name is cortex.name("left")


@rule("POOL-SUBFAIL-11", "SUBSCRIBER-FAIL-09")
@derived
def test_a_failing_pool_fails_the_channels_callback_and_hurts_nobody_else(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    asked: list[str] = []
    received: list[int] = []
    observer = Observer(circuit)

    def make(name: Name) -> Pipe[int]:
        asked.append(str(name))
        if str(name) == "bad":
            raise RuntimeError("raised by a pool's function")
        return circuit.pipe(received.append)

    conduit.subscribe(circuit.subscriber("failing", cortex.pool(make)))
    observer.watch(conduit)
    for name in ("bad", "good", "bad", "good"):
        conduit.get(name).emit(1)
    wait(circuit)

    assert asked == ["bad", "good"]
    assert received == [1, 1]
    assert observer.names == ["bad", "good"]
    assert observer.values == [1, 1, 1, 1]


@rule("POOL-SUBFAIL-11", "REGISTRAR-ABSENT-04")
@derived
def test_a_pool_of_things_that_are_no_pipes_fails_the_callback(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    before = int(cortex.facts()["faults"])
    numbers: Any = cortex.pool(lambda name: 42)

    conduit.subscribe(circuit.subscriber("wrong", numbers))
    observer.watch(conduit)
    conduit.get("a").emit(1)
    conduit.get("a").emit(2)
    wait(circuit)

    assert int(cortex.facts()["faults"]) == before + 1
    assert observer.values == [1, 2]


@rule("POOL-RACE-03", "SUBSCRIBER-CREATE-02")
@derived
def test_a_circuit_and_a_caller_that_race_for_a_name_get_one_thing(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle, new_gate: NewGate, background: Background
) -> None:
    circuit = new_circuit("pool.race")
    gate = new_gate()
    calls: list[Name] = []
    received: list[int] = []

    def make(name: Name) -> Pipe[int]:
        calls.append(name)
        gate.hold()
        return circuit.pipe(received.append)

    pool: Pool[Pipe[int]] = cortex.pool(make)
    conduit = circuit.conduit(int)
    conduit.subscribe(circuit.subscriber("bridge", pool))
    first = background(pool.get, "a")
    gate.await_entered()
    conduit.get("a").emit(1)
    gate.release()
    wait(circuit)

    first.result().emit(2)
    wait(circuit)
    assert len(calls) == 1
    assert received == [1, 2]
