"""Errors: the category tells what went wrong, and a refused call changes nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    AffinityFault,
    Circuit,
    ClosedFault,
    ConfigurationError,
    ContextError,
    Cortex,
    Fault,
    Pipe,
    ProviderMismatchFault,
    Subject,
    SubstratesError,
    TemporalError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import (
    FOREIGN_PIPES,
    DuckResource,
    ForeignCircuit,
    ForeignName,
    ForeignPipe,
    ForeignSubject,
)
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Settle

CATEGORIES: dict[type[SubstratesError], type[Exception]] = {
    AbsentValueError: TypeError,
    ConfigurationError: ValueError,
    ContextError: RuntimeError,
    TemporalError: RuntimeError,
    ProviderMismatchFault: TypeError,
    AffinityFault: ValueError,
    ClosedFault: RuntimeError,
}


@rule("ERR-CAT-01")
@derived
def test_the_seven_categories_can_be_told_apart_and_caught_as_built_ins() -> None:
    for category, builtin in CATEGORIES.items():
        assert issubclass(category, SubstratesError)
        assert issubclass(category, builtin)
        others = [other for other in CATEGORIES if other is not category]
        assert not any(issubclass(category, other) for other in others), category


@rule("ERR-CAT-01")
@derived
def test_each_category_that_can_arise_is_raised_as_its_own_class(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    raised: list[type[BaseException]] = []

    def note(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            raised.append(type(error))

    anything: Any = None
    scope = cortex.scope()
    closure = scope.closure(cortex.circuit())
    closure.consume(lambda resource: None)
    pipe: Pipe[Any] = circuit.pipe(lambda value: note(circuit.wait))
    pipe.emit(1)
    wait(circuit)
    note(lambda: circuit.pipe(anything))
    note(lambda: cortex.name("a..b"))
    note(lambda: closure.consume(lambda resource: None))
    note(lambda: circuit.pipe(ForeignPipe(circuit.subject)))
    circuit.close()
    note(circuit.pipe)
    scope.close()

    assert raised == [
        ContextError,
        AbsentValueError,
        ConfigurationError,
        TemporalError,
        ProviderMismatchFault,
        ClosedFault,
    ]


@rule("ERR-FAULT-01")
@derived
@pytest.mark.parametrize("kind", [Fault, ProviderMismatchFault, AffinityFault, ClosedFault])
def test_a_fault_carries_what_it_was_made_of(kind: type[Fault], circuit: Circuit) -> None:
    cause = ValueError("behind it")

    plain = kind(circuit.subject, "operate", "what was wrong")
    caused = kind(circuit.subject, "operate", "what was wrong", cause)

    for fault in (plain, caused):
        assert fault.subject is circuit.subject
        assert fault.operation == "operate"
        assert str(fault) == "what was wrong"
    assert plain.__cause__ is None
    assert caused.__cause__ is cause


@rule("ERR-FAULT-04")
@derived
def test_faults_are_exactly_provider_affinity_and_closed() -> None:
    faults = {category for category in CATEGORIES if issubclass(category, Fault)}

    assert faults == {ProviderMismatchFault, AffinityFault, ClosedFault}


def _calls_with_pipe(circuit: Circuit, foreign: Any) -> dict[str, Callable[[], object]]:
    own: Pipe[Any] = circuit.pipe()
    return {
        "pipe(x)": lambda: circuit.pipe(foreign),
        "pipe([x])": lambda: circuit.pipe([foreign]),
        "pipe([own, x])": lambda: circuit.pipe([own, foreign]),
        "pipe(name, [x])": lambda: circuit.pipe("n", [foreign]),
    }


@rule("ERR-PROV-01", "FANOUT-09", "PIPE-ID-06", "CIRCUIT-FACT-04", "SPI-MIX-13", "ERR-FAULT-02")
@pytest.mark.parametrize("call", ["pipe(x)", "pipe([x])", "pipe([own, x])", "pipe(name, [x])"])
@pytest.mark.parametrize("kind", FOREIGN_PIPES, ids=lambda kind: kind.__name__)
def test_a_pipe_that_the_provider_did_not_make_is_refused(
    kind: Callable[[Subject[Any]], Any], call: str, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    foreign = kind(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as refused:
        _calls_with_pipe(circuit, foreign)[call]()

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "pipe"
    circuit.pipe(received.append).emit(1)
    wait(circuit)
    assert received == [1]
    assert foreign.received == []


def _calls_with_name(
    cortex: Cortex, circuit: Circuit, name: Any
) -> dict[str, tuple[Subject[Any], Callable[[], object]]]:
    scope = cortex.scope()
    own = cortex.name("own")
    return {
        "circuit": (cortex.subject, lambda: cortex.circuit(name)),
        "scope": (cortex.subject, lambda: cortex.scope(name)),
        "child scope": (scope.subject, lambda: scope.scope(name)),
        "pipe": (circuit.subject, lambda: circuit.pipe(name, print)),
        "fan-out": (circuit.subject, lambda: circuit.pipe(name, [circuit.pipe()])),
        "name": (cortex.subject, lambda: cortex.name(name)),
        "extension": (cortex.subject, lambda: own.name(name)),
        "element": (cortex.subject, lambda: cortex.name(["a", name])),
    }


NAMED = ["circuit", "scope", "child scope", "pipe", "fan-out", "name", "extension", "element"]


@rule("ERR-PROV-01", "CIRCUIT-ID-01", "CORTEX-CIRCUIT-04", "CORTEX-SCOPE-05", "SCOPE-ID-01", "NAME-EXT-12")
@pytest.mark.parametrize("call", NAMED)
def test_a_name_that_the_provider_did_not_make_is_refused(
    call: str, cortex: Cortex, circuit: Circuit
) -> None:
    receiver, operate = _calls_with_name(cortex, circuit, ForeignName("foreign"))[call]

    with pytest.raises(ProviderMismatchFault) as refused:
        operate()

    assert refused.value.subject is receiver
    assert refused.value.operation


@rule(
    "ERR-ABSENT-01", "CIRCUIT-ID-01", "CORTEX-CIRCUIT-04", "CORTEX-SCOPE-05", "SCOPE-ID-01", "NAME-FACTORY-18"
)
@pytest.mark.parametrize("call", NAMED)
def test_an_absent_name_is_refused(call: str, cortex: Cortex, circuit: Circuit) -> None:
    _, operate = _calls_with_name(cortex, circuit, None)[call]

    with pytest.raises(AbsentValueError):
        operate()


@rule("ERR-CAT-01", "ERR-FAULT-04")
@derived
@pytest.mark.parametrize("call", NAMED)
@pytest.mark.parametrize("kind", ["int", "float", "object", "subject", "scope"])
def test_a_name_of_an_unrelated_type_is_a_plain_type_error(
    kind: str, call: str, cortex: Cortex, circuit: Circuit
) -> None:
    unrelated = {
        "int": 42,
        "float": 1.5,
        "object": object(),
        "subject": circuit.subject,  # it has a name, and is none
        "scope": cortex.scope(),
    }[kind]
    _, operate = _calls_with_name(cortex, circuit, unrelated)[call]

    with pytest.raises(TypeError) as refused:
        operate()

    assert not isinstance(refused.value, SubstratesError)


@rule("ERR-PROV-01", "SCOPE-REG-04", "CORTEX-SCOPE-06", "ERR-FAULT-03")
@pytest.mark.parametrize("operation", ["register", "closure"])
@pytest.mark.parametrize("kind", ["duck", "subclass"])
def test_a_resource_that_the_provider_did_not_make_is_refused(
    kind: str, operation: str, cortex: Cortex, circuit: Circuit
) -> None:
    foreign = (
        DuckResource(circuit.subject) if kind == "duck" else ForeignCircuit(circuit.subject, circuit.current)
    )
    scope = cortex.scope()

    with pytest.raises(ProviderMismatchFault) as refused:
        getattr(scope, operation)(foreign)
    scope.close()

    assert refused.value.subject is scope.subject
    assert refused.value.operation == operation
    assert foreign.closed == 0


@rule("SUBJECT-ORDER-11", "ERR-PROV-01")
def test_comparing_with_a_subject_of_nobody_is_refused(circuit: Circuit) -> None:
    foreign: Any = ForeignSubject(circuit.subject)
    subject: Any = circuit.subject

    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(ProviderMismatchFault):
            compare(subject, foreign)


@rule("ERR-FAULT-05", "ERR-ABSENT-01")
def test_a_refused_call_has_no_effect(new_circuit: NewCircuit, wait: Settle) -> None:
    circuit, closed = new_circuit(), new_circuit()
    received: list[int] = []
    pipe: Any = circuit.pipe(received.append)
    late = closed.pipe(received.append)
    anything: Any = circuit.pipe
    closed.close()
    refusals: list[Callable[[], object]] = [
        lambda: anything([pipe, None]),
        lambda: anything([pipe, ForeignPipe(circuit.subject)]),
        lambda: anything(None, received.append),
        lambda: closed.pipe("n", received.append),
        lambda: pipe.emit(None),
    ]

    for refused in refusals:
        with pytest.raises(SubstratesError):
            refused()
    late.emit(1)
    wait(circuit, closed)
    assert received == []

    pipe.emit(1)
    wait(circuit)
    assert received == [1]
