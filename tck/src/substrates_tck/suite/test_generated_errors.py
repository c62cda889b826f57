"""Wrong arguments for every public operation, generated from the api (`substrates_tck.generated`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import substrates
from substrates import (
    AbsentValueError,
    Bank,
    Basin,
    Capture,
    Cell,
    Circuit,
    Closure,
    Conduit,
    Cortex,
    Fiber,
    Flow,
    ManualClock,
    Name,
    Pin,
    Pipe,
    Pipes,
    Pool,
    Population,
    Port,
    ProviderMismatchFault,
    Registrar,
    Resource,
    Scope,
    Sink,
    State,
    Subject,
    Subscriber,
    Subscription,
    Ticker,
    Window,
)
from substrates_tck import generated
from substrates_tck.generated import CATEGORIES, Bench, Case, Form
from substrates_tck.marks import derived, kernels, population_kernels, rule
from substrates_tck.outcomes import inside, outcome
from substrates_tck.waits import Settle

Call = Callable[[Any], object]
Setup = Callable[[Bench, Call], Any]
"""Makes a receiver, calls with it, checks that it works as if not called, and returns the outcome."""

NAMED_IN_FAULTS = {
    *("bank", "basin", "cell", "conduit", "pin", "pipe", "port", "sink", "subscriber", "ticker", "register"),
    *("closure", "scope", "get", "drain", "subscribe"),
}
"""Operations whose faults carry their name (ERR-FAULT-03)."""


def check(bench: Bench, condition: Callable[[], object], what: str) -> None:
    """Check that a receiver works."""
    if bench.probing:
        bench.wait(bench.circuit)
        assert condition(), what


def received(bench: Bench, send: Callable[[Pipe[Any]], object]) -> list[Any]:
    """Return what arrives at a new pipe."""
    values: list[Any] = []
    send(bench.circuit.pipe(values.append))
    bench.wait(bench.circuit)
    return values


def _cortex(bench: Bench, call: Call) -> Any:
    cortex = bench.cortex
    result = outcome(lambda: call(cortex))
    check(bench, lambda: str(cortex.name("tck.probe")) == "tck.probe", "the cortex parses names")
    return result


def _circuit(bench: Bench, call: Call) -> Any:
    circuit = bench.circuit
    result = outcome(lambda: call(circuit))
    if bench.probing:
        bench.clock.advance(10)
    return result


def _conduit(bench: Bench, call: Call) -> Any:
    conduit: Conduit[Any] = bench.circuit.conduit()
    values: list[Any] = []

    def subscribed(subject: Subject[Any], registrar: Registrar[Any]) -> None:
        registrar.register(values.append)

    subscription = conduit.subscribe(bench.circuit.subscriber("tck.probe", subscribed))
    result = outcome(lambda: call(conduit))
    conduit.get("tck.channel").emit(1)
    subscription.close()
    conduit.get("tck.channel").emit(2)
    check(bench, lambda: values == [1], "the conduit's one subscriber sees what is emitted")
    return result


def _bank(bench: Bench, call: Call) -> Any:
    bank: Bank[Any] = bench.circuit.bank()
    conduit = bank.get("tck.conduit")
    result = outcome(lambda: call(bank))
    check(bench, lambda: bank.get("tck.conduit") is conduit, "the bank gives its conduit")
    return result


def _sink(bench: Bench, call: Call) -> Any:
    captures: list[Capture[Any]] = []
    endpoint: Pipe[Capture[Any]] = bench.circuit.pipe(captures.append)
    sink: Sink[Any] = bench.circuit.sink(endpoint)
    result = outcome(lambda: call(sink))
    sink.get("tck.channel").emit(1)
    check(bench, lambda: [capture.emission for capture in captures] == [1], "the sink makes one capture")
    return result


def _basin(bench: Bench, call: Call) -> Any:
    basin: Basin[Any] = bench.circuit.basin(10)
    basin.pipe().emit(1)
    result = outcome(lambda: call(basin))
    check(bench, lambda: received(bench, basin.drain) == [1], "the basin keeps its value")
    return result


def _port(bench: Bench, call: Call) -> Any:
    port: Port[Any] = bench.circuit.port(0)
    result = outcome(lambda: call(port))
    check(bench, lambda: received(bench, port.emit) == [0], "the port holds its value")
    return result


def _pin(bench: Bench, call: Call) -> Any:
    pin: Pin[Any] = bench.circuit.pin(0)
    result = inside(bench.circuit, bench.wait, lambda: call(pin))
    check(bench, lambda: inside(bench.circuit, bench.wait, pin.get) == 0, "the pin holds its value")
    return result


def _pipe(bench: Bench, call: Call) -> Any:
    values: list[Any] = []
    pipe: Pipe[Any] = bench.circuit.pipe(values.append)
    result = outcome(lambda: call(pipe))
    pipe.emit(7)
    check(bench, lambda: values == [7], "the pipe receives what is emitted")
    return result


def _recipe(bench: Bench, call: Call, recipe: Fiber[Any] | Flow[Any, Any]) -> Any:
    stages = recipe.stages
    result = outcome(lambda: call(recipe))

    def send(target: Pipe[Any]) -> None:
        pipe = recipe.pipe(target)
        pipe.emit(1)

    check(bench, lambda: recipe.stages is stages, "a recipe never changes")
    check(bench, lambda: received(bench, send) == [1], "the recipe can be attached")
    return result


def _fiber(bench: Bench, call: Call) -> Any:
    return _recipe(bench, call, bench.cortex.fiber().diff())


def _flow(bench: Bench, call: Call) -> Any:
    return _recipe(bench, call, bench.cortex.flow().map(abs))


def _scope(bench: Bench, call: Call) -> Any:
    scope = bench.cortex.scope("tck.outer").scope("tck.scope")
    conduit: Conduit[Any] = bench.circuit.conduit()
    scope.register(conduit)
    result = outcome(lambda: call(scope))
    subscriber: Subscriber[Any] = bench.circuit.subscriber("n", lambda subject, registrar: None)
    conduit.subscribe(subscriber)
    scope.close()
    refused = outcome(lambda: conduit.subscribe(subscriber))
    check(bench, lambda: isinstance(refused, substrates.ClosedFault), "the scope closes what it was given")
    return result


def _closure(bench: Bench, call: Call) -> Any:
    consumed: list[Resource] = []
    conduit: Conduit[Any] = bench.circuit.conduit()
    scope = bench.cortex.scope()
    closure = scope.closure(conduit)
    result = outcome(lambda: call(closure))
    if bench.probing:
        closure.consume(consumed.append)
    scope.close()
    check(bench, lambda: consumed == [conduit], "the closure is still to be consumed")
    return result


def _state(bench: Bench, call: Call) -> Any:
    state = bench.cortex.state().state("tck.kept", 7)
    slots = list(state)
    result = outcome(lambda: call(state))
    check(bench, lambda: list(state) == slots and slots[0].value == 7, "a state never changes")
    return result


def _name(bench: Bench, call: Call) -> Any:
    name = bench.cortex.name("tck.parent.child")
    result = outcome(lambda: call(name))
    check(bench, lambda: str(name / "x") == "tck.parent.child.x", "the name can be extended")
    return result


def _subject(bench: Bench, call: Call) -> Any:
    subject = bench.circuit.pipe().subject
    result = outcome(lambda: call(subject))
    check(bench, lambda: subject.enclosure is bench.circuit.subject, "the subject keeps its place")
    return result


def _pool(bench: Bench, call: Call) -> Any:
    asked: list[Name] = []
    pool = bench.cortex.pool(lambda name: asked.append(name) or [name])  # type: ignore[func-returns-value]
    result = outcome(lambda: call(pool))
    check(bench, lambda: pool.get("tck.a") is pool.get("tck.a"), "the pool gives one thing per name")
    check(bench, lambda: asked == [bench.cortex.name("tck.a")], "the pool's function was called once")
    return result


def _registrar(bench: Bench, call: Call) -> Any:
    results: list[Any] = []
    values: list[Any] = []
    conduit: Conduit[Any] = bench.circuit.conduit()

    def subscribed(subject: Subject[Any], registrar: Registrar[Any]) -> None:
        results.append(outcome(lambda: call(registrar)))
        registrar.register(values.append)

    conduit.subscribe(bench.circuit.subscriber("tck.probe", subscribed))
    conduit.get("tck.channel").emit(1)
    bench.wait(bench.circuit)
    check(bench, lambda: values == [1], "the registrar takes another receiver")
    return results[0]


def _window(bench: Bench, call: Call) -> Any:
    results: list[Any] = []
    seen: list[Any] = []

    def receive(window: Window[Any]) -> None:
        results.append(outcome(lambda: call(window)))
        window.for_each(seen.append)

    pipe = bench.cortex.flow().window(3).pipe(bench.circuit.pipe(receive))
    pipe.emit(1)
    bench.wait(bench.circuit)
    check(bench, lambda: seen == [1], "the window shows its values")
    return results[0]


def _clock(bench: Bench, call: Call) -> Any:
    clock = ManualClock(5)
    result = outcome(lambda: call(clock))
    check(bench, lambda: clock.now() == 5, "the clock stands still")
    return result


def _population(bench: Bench, call: Call) -> Any:
    population = bench.cortex.circuits(2, "tck.population")
    values: list[Any] = []
    result = outcome(lambda: call(population))
    if bench.probing:
        pipes: Pipes[Any] = population.pipes(lambda index, value: values.append((index, value)))
        pipes[1].emit(7)
    population.close(wait=True)
    check(bench, lambda: values == [(1, 7)], "the population's pipes receive what is emitted")
    return result


def _pipes(bench: Bench, call: Call) -> Any:
    values: list[Any] = []
    population = bench.cortex.circuits(2, "tck.population")
    pipes: Pipes[Any] = population.pipes(lambda index, value: values.append((index, value)))
    result = outcome(lambda: call(pipes))
    pipes[1].emit(7)
    population.close(wait=True)
    check(bench, lambda: values == [(1, 7)], "the pipes receive what is emitted, and nothing else")
    return result


def _resource(make: Callable[[Bench], Resource]) -> Setup:
    return lambda bench, call: outcome(lambda: call(make(bench)))


def _subscriber(bench: Bench) -> Subscriber[Any]:
    return bench.circuit.subscriber("n", lambda subject, registrar: None)


def _subscription(bench: Bench) -> Subscription:
    conduit: Conduit[Any] = bench.circuit.conduit()
    return conduit.subscribe(_subscriber(bench))


SETUPS: dict[type[Any] | None, Setup] = {
    None: lambda bench, call: outcome(lambda: call(substrates.cortex)),
    Bank: _bank,
    Basin: _basin,
    Circuit: _circuit,
    Closure: _closure,
    Conduit: _conduit,
    Cortex: _cortex,
    Fiber: _fiber,
    Flow: _flow,
    ManualClock: _clock,
    Name: _name,
    Pin: _pin,
    Pipe: _pipe,
    Pipes: _pipes,
    Pool: _pool,
    Population: _population,
    Port: _port,
    Registrar: _registrar,
    Scope: _scope,
    Sink: _sink,
    State: _state,
    Subject: _subject,
    Subscriber: _resource(_subscriber),
    Subscription: _resource(_subscription),
    Ticker: _resource(lambda bench: bench.circuit.ticker(1, bench.circuit.pipe())),
    Window: _window,
}
WITHOUT_ARGUMENTS = {Capture, Cell}
"""Components that have no operation with arguments."""

CASES = generated.cases()
FORMS: dict[str, Form] = {}
for _form in generated.forms():
    _label = str(_form)
    while _label in FORMS:
        _label += "#"
    FORMS[_label] = _form


def needed(label: str) -> Any:
    """Return the mark for what a form needs of a provider."""
    if "kernel" not in label:
        return ()
    return population_kernels if label.startswith("Population") else kernels


@pytest.fixture
def bench(cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle) -> Bench:
    """Return what arguments are made of."""
    return Bench(cortex, timed, clock, wait)


@rule(
    "ERR-ABSENT-01",
    "ERR-PROV-01",
    "ERR-ARG-01",
    "ERR-CAT-01",
    "COMMON-VALID-06",
    "ERR-FAULT-05",
    "SPI-MIX-13",
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_wrong_argument_is_refused_and_changes_nothing(case: Case, bench: Bench, wait: Settle) -> None:
    make = case.make
    assert make is not None, f"{case.form}: no kind of argument is known for {case.parameter!r}"
    assert case.form.owner in SETUPS, f"{case.form}: no receiver is known"
    circuit = bench.circuit
    arrived: list[int] = []
    pipe: Pipe[int] = circuit.pipe(arrived.append)
    wrong = make(bench)
    pipe.emit(1)
    wait(circuit)
    faults = bench.cortex.facts()["faults"]
    receivers: list[Any] = []

    def operate(receiver: Any) -> object:
        receivers.append(receiver)
        return generated.call(case.form, receiver, bench, case.parameter, wrong)

    error = SETUPS[case.form.owner](bench, operate)
    pipe.emit(2)
    wait(circuit)

    assert isinstance(error, CATEGORIES[case.category]), f"{case.form} gave {error!r}"
    if case.category == "kind":
        assert not isinstance(error, AbsentValueError)
    assert str(error), "the error says nothing"
    assert arrived == [1, 2]
    assert bench.cortex.facts()["faults"] == faults
    if isinstance(error, ProviderMismatchFault):
        assert error.subject is not None
        assert error.operation
        if case.form.operation in NAMED_IN_FAULTS:
            assert error.operation == case.form.operation
        if isinstance(receivers[0], substrates.Substrate):
            assert error.subject is receivers[0].subject


@rule("ERR-CAT-01", "COMMON-VALID-06")
@derived
@pytest.mark.parametrize(
    "form",
    [pytest.param(each, marks=needed(label)) for label, each in FORMS.items()],
    ids=FORMS,
)
def test_valid_arguments_are_taken(form: Form, bench: Bench, wait: Settle) -> None:
    # Were they refused, the errors of the generated cases would say nothing of the wrong arguments.
    bench.probing = False
    faults = bench.cortex.facts()["faults"]

    result = SETUPS[form.owner](bench, lambda receiver: generated.call(form, receiver, bench))
    if isinstance(result, (Circuit, Population)):
        result.close()
    wait(bench.circuit)

    assert not isinstance(result, BaseException), f"{form} raised {result!r}"
    assert bench.cortex.facts()["faults"] == faults


@rule("ERR-ABSENT-01")
@derived
def test_the_generator_knows_every_public_class_and_parameter() -> None:
    known = {owner for owner in SETUPS if owner is not None}
    owners = {case.form.owner for case in CASES.values()} | {form.owner for form in FORMS.values()}

    assert [str(case.form) for case in CASES.values() if case.make is None] == []
    assert {owner for owner in owners if owner is not None} <= known
    assert not WITHOUT_ARGUMENTS & owners
    assert set(generated.UNCHECKED) <= set(substrates.__all__)


@rule("ERR-ABSENT-01")
@derived
def test_every_parameter_that_may_be_absent_is_listed_with_its_reason() -> None:
    refusing = {
        f"{case.form.place}({case.parameter})" for case in CASES.values() if case.category == "absent"
    }
    every = {f"{form.place}({each.name})" for form in FORMS.values() for each in form.parameters}
    allowed = {place for place in every - refusing if not place.endswith(".close(wait)")}

    assert allowed == set(generated.NULLABLE) - {"*.close(wait)"}
