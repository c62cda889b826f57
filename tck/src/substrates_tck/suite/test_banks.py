"""Banks: conduits by name, made once, and closed together."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Bank,
    Circuit,
    ClosedFault,
    Conduit,
    Cortex,
    Lookup,
    Pool,
    Resource,
    Routing,
    Source,
    Subscription,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer
from substrates_tck.outcomes import refused
from substrates_tck.waits import Settle, Together


@rule("BANK-CREATE-01", "RESOURCE-01", "CIRCUIT-FACT-07", "COMMON-SUBJ-08", "COMMON-NAME-07")
@pytest.mark.parametrize("form", ["()", "(type)", "(routing)", "(type, routing)"])
def test_a_bank_is_a_lookup_and_a_resource_and_nothing_else(form: str, circuit: Circuit) -> None:
    make: Any = circuit.bank
    arguments = (int,) if "type" in form else ()
    keywords = {"routing": Routing.STEM} if "routing" in form else {}

    bank: Bank[int] = make(*arguments, **keywords)

    assert isinstance(bank, Bank)
    assert isinstance(bank, Lookup)
    assert isinstance(bank, Resource)
    assert not isinstance(bank, Pool)
    assert not isinstance(bank, Source)
    assert not hasattr(bank, "pool")
    assert not hasattr(bank, "subscribe")
    assert bank.subject is bank.subject
    assert bank.subject.type is Bank
    assert bank.subject.enclosure is circuit.subject
    assert bank.subject.name is circuit.subject.name


@rule("BANK-CREATE-01", "CIRCUIT-FACT-04", "STEM-ENUM-01", "ERR-ABSENT-01")
@pytest.mark.parametrize("form", ["(None)", "(type, routing=None)", "(routing=None)"])
def test_an_absent_argument_of_bank_is_refused(form: str, circuit: Circuit) -> None:
    make: Any = circuit.bank
    arguments, keywords = {
        "(None)": ((None,), {}),
        "(type, routing=None)": ((int,), {"routing": None}),
        "(routing=None)": ((), {"routing": None}),
    }[form]

    refused(AbsentValueError, lambda: make(*arguments, **keywords))


@rule("BANK-CREATE-01", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("form", ["('a name')", "(42)", "(type, 42)", "(routing=1)"])
def test_an_argument_of_bank_of_an_unrelated_type_is_a_plain_type_error(form: str, circuit: Circuit) -> None:
    make: Any = circuit.bank
    arguments, keywords = {
        "('a name')": (("a.name",), {}),
        "(42)": ((42,), {}),
        "(type, 42)": ((int, 42), {}),
        "(routing=1)": ((), {"routing": 1}),
    }[form]

    with pytest.raises(TypeError) as error:
        make(*arguments, **keywords)

    assert not isinstance(error.value, SubstratesError)


@rule("BANK-GET-02", "CIRCUIT-FACT-07")
def test_a_name_gives_the_same_conduit_which_has_that_name(cortex: Cortex, circuit: Circuit) -> None:
    bank = circuit.bank(int)
    name = cortex.name("bank.a")

    conduit = bank.get(name)

    assert isinstance(conduit, Conduit)
    assert conduit.subject.name is name
    assert conduit.subject.type is Conduit
    assert conduit.subject.depth == conduit.get("x").subject.depth - 1
    for _ in range(100):
        assert bank.get(name) is conduit
        assert bank.get("bank.a") is conduit


@rule("BANK-GET-03", "CIRCUIT-FACT-07", "COMMON-FRESH-09")
def test_conduits_of_different_names_have_channels_of_their_own(circuit: Circuit, wait: Settle) -> None:
    bank = circuit.bank(int)
    first, second = bank.get("bank.a"), bank.get("bank.b")
    observer = Observer(circuit)
    observer.watch(first)

    first.get("x").emit(1)
    second.get("x").emit(2)
    wait(circuit)

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert first.get("x") is not second.get("x")
    assert observer.values == [1]


@rule("BANK-RACE-04", "CIRCUIT-FACT-07")
def test_racing_lookups_of_one_name_give_one_conduit(
    circuit: Circuit, together: Together, interleaved: None
) -> None:
    for number in range(10):
        bank = circuit.bank(int)
        found: list[Conduit[int]] = []

        def get(_: int, b: Bank[int] = bank, f: list[Conduit[int]] = found, n: int = number) -> None:
            f.append(b.get(f"race.{n}"))

        together(20, get)

        assert len(found) == 20
        assert len(set(map(id, found))) == 1


@rule("BANK-INDEP-05", "COMMON-FRESH-09")
def test_a_bank_shares_no_conduit_with_the_circuit_or_another_bank(circuit: Circuit, wait: Settle) -> None:
    bank, other = circuit.bank(int), circuit.bank(int)
    conduits = [bank.get("same"), other.get("same"), circuit.conduit("same", int)]
    observers = [Observer(circuit) for _ in conduits]
    for observer, conduit in zip(observers, conduits, strict=True):
        observer.watch(conduit)

    for value, conduit in enumerate(conduits):
        conduit.get("x").emit(value)
    wait(circuit)

    assert len(set(map(id, conduits))) == 3
    assert len({conduit.subject.id for conduit in conduits}) == 3
    assert [observer.values for observer in observers] == [[0], [1], [2]]


@rule("BANK-CLOSE-06", "CIRCUIT-FACT-08", "SOURCE-CLOSE-10", "ONCLOSE-PATH-01", "ERR-FAULT-02")
def test_closing_a_bank_closes_its_conduits_and_no_others(circuit: Circuit, wait: Settle) -> None:
    bank, other = circuit.bank(int), circuit.bank(int)
    banked = [bank.get("bank.a"), bank.get("bank.b")]
    others = [circuit.conduit("bank.a", int), other.get("bank.a")]
    observer, outside = Observer(circuit), Observer(circuit)
    subscriptions = [observer.watch(conduit) for conduit in banked]
    for conduit in others:
        outside.watch(conduit)
    for value, conduit in enumerate(banked + others):
        conduit.get("x").emit(value)

    bank.close()
    for conduit in banked + others:
        conduit.get("x").emit(10)
    faults = [refused(ClosedFault, observer.watch, conduit) for conduit in banked]
    wait(circuit)
    outside.watch(others[0])
    outside.watch(others[1])

    assert observer.values == [0, 1], "what was accepted before the close is delivered, nothing later"
    assert outside.values == [2, 3, 10, 10]
    assert len(observer.ended) == 2
    assert set(observer.ended) == set(subscriptions)
    assert outside.ended == []
    for fault, conduit in zip(faults, banked, strict=True):
        assert fault.subject is conduit.subject
        assert fault.operation == "subscribe"
    assert other.get("bank.c") is other.get("bank.c")


@rule("BANK-CLOSE-07", "CIRCUIT-FACT-08", "RESOURCE-03", "ERR-FAULT-02", "ERR-FAULT-03")
@pytest.mark.parametrize("name", ["bank.known", "bank.unknown"])
@pytest.mark.parametrize("waited", [False, True], ids=["closing", "closed"])
def test_a_closed_bank_refuses_known_and_unknown_names(waited: bool, name: str, circuit: Circuit) -> None:
    bank = circuit.bank(int)
    bank.get("bank.known")

    bank.close(wait=waited)
    fault = refused(ClosedFault, bank.get, name)

    assert fault.subject is bank.subject
    assert fault.operation == "get"


@rule("BANK-CLOSE-08", "RESOURCE-02", "RESOURCE-04")
def test_a_bank_may_be_closed_again_and_waited_for(circuit: Circuit, wait: Settle) -> None:
    bank = circuit.bank(int)
    observer = Observer(circuit)
    subscriptions = {observer.watch(bank.get(f"bank.{number}")) for number in range(5)}

    bank.close()
    bank.close(wait=True)
    ended = list(observer.ended)
    bank.close(wait=True)
    bank.close()
    wait(circuit)

    assert set(ended) == subscriptions
    assert observer.ended == ended


@rule("BANK-CLOSE-08")
@derived
def test_a_conduit_of_a_bank_may_be_closed_by_itself(circuit: Circuit, wait: Settle) -> None:
    bank = circuit.bank(int)
    closed, open_ = bank.get("bank.closed"), bank.get("bank.open")
    observer = Observer(circuit)
    one, two = observer.watch(closed), observer.watch(open_)

    closed.close()
    open_.get("x").emit(1)
    wait(circuit)
    assert observer.ended == [one]
    assert observer.values == [1]
    assert bank.get("bank.closed") is closed
    bank.close(wait=True)

    assert observer.ended == [one, two]


@rule("BANK-CIRC-09", "CLOSED-05", "COMMON-CLOSED-10", "ERR-FAULT-02")
@pytest.mark.parametrize("waited", [False, True], ids=["closing", "closed"])
def test_an_open_bank_of_a_closed_circuit_refuses_new_names_in_the_circuits_name(
    waited: bool, circuit: Circuit
) -> None:
    bank = circuit.bank(int)
    bank.get("bank.known")

    circuit.close(wait=waited)
    fault = refused(ClosedFault, bank.get, "bank.new")

    assert fault.subject is circuit.subject
    assert fault.operation


@rule("BANK-CIRC-09")
@derived
def test_an_open_bank_of_a_closed_circuit_still_gives_what_it_has(circuit: Circuit) -> None:
    bank = circuit.bank(int)
    conduit = bank.get("bank.known")

    circuit.close(wait=True)
    assert bank.get("bank.known") is conduit
    bank.close()

    assert refused(ClosedFault, bank.get, "bank.known").subject is bank.subject


@rule("BANK-CLOSE-06", "BANK-CLOSE-07", "BANK-RACE-04")
@derived
def test_a_conduit_that_was_got_in_a_race_with_the_banks_close_is_closed_in_the_end(
    new_circuit: NewCircuit, wait: Settle, together: Together, interleaved: None
) -> None:
    circuit = new_circuit("bank.race")
    for number in range(20):
        bank = circuit.bank(int)
        observer = Observer(circuit)
        got: list[Conduit[int]] = []
        subscriptions: list[Subscription] = []
        unexpected: list[BaseException] = []

        def act(
            thread: int,
            bank: Bank[int] = bank,
            observer: Observer = observer,
            got: list[Conduit[int]] = got,
            subscriptions: list[Subscription] = subscriptions,
            unexpected: list[BaseException] = unexpected,
            number: int = number,
        ) -> None:
            if thread == 0:
                sum(range(50 * number))
                bank.close()
                return
            for name in range(20):
                try:
                    conduit = bank.get(f"race.{thread % 2}.{name}")
                    got.append(conduit)
                    subscriptions.append(observer.watch(conduit))
                except ClosedFault:
                    return
                except BaseException as error:
                    unexpected.append(error)
                    return

        together(4, act)
        bank.close(wait=True)
        wait(circuit)

        assert unexpected == []
        for conduit in got:
            refused(ClosedFault, observer.watch, conduit)
        assert len(observer.ended) == len(subscriptions)
        assert set(observer.ended) == set(subscriptions)


@rule("RES-02")
@derived
def test_a_bank_is_a_context_manager_that_waits_and_closes(circuit: Circuit) -> None:
    observer = Observer(circuit)

    with circuit.bank(int) as bank:
        observer.watch(bank.get("bank.a"))
        for number in range(100):
            bank.get("bank.a").get("x").emit(number)

    assert observer.values == list(range(100)), "what was accepted in the block was waited for"
    refused(ClosedFault, bank.get, "bank.a")
