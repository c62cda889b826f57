"""Conduits: named channels, the same pipe for the same name, and nothing done before they emit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    Conduit,
    Cortex,
    Pipe,
    Pool,
    ProviderMismatchFault,
    Resource,
    Routing,
    Subject,
    Substrate,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_FIBERS, FOREIGN_FLOWS, FOREIGN_NAMES
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer
from substrates_tck.outcomes import refused
from substrates_tck.waits import Settle, Together

FORMS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "()": ((), {}),
    "(type)": ((int,), {}),
    "(name)": (("conduit.made",), {}),
    "(name, type)": (("conduit.made", int), {}),
    "(routing)": ((), {"routing": Routing.STEM}),
    "(type, routing)": ((int,), {"routing": Routing.PIPE}),
    "(name, routing)": (("conduit.made",), {"routing": Routing.PIPE}),
    "(name, type, routing)": (("conduit.made", int), {"routing": Routing.STEM}),
    "(generic type)": ((list[int],), {}),
    "(name, union type)": (("conduit.made", int | str), {}),
}


@rule("CONDUIT-CREATE-01", "CONDUIT-CREATE-02", "CIRCUIT-FACT-02", "CIRCUIT-FACT-05", "COMMON-NAME-07")
@pytest.mark.parametrize("form", FORMS)
def test_a_conduit_may_be_made_with_or_without_name_type_and_routing(
    form: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    arguments, keywords = FORMS[form]
    name = cortex.name("conduit.made") if "name" in form else circuit.subject.name
    make: Any = circuit.conduit

    conduit: Conduit[Any] = make(*arguments, **keywords)
    observer = Observer(circuit)
    observer.watch(conduit)
    conduit.get("a").emit("of any type")
    wait(circuit)

    assert isinstance(conduit, Conduit)
    assert isinstance(conduit, Pool)
    assert isinstance(conduit, Resource)
    assert isinstance(conduit, Substrate)
    assert conduit.subject is conduit.subject
    assert conduit.subject.name is name
    assert conduit.subject.type is Conduit
    assert conduit.subject.enclosure is circuit.subject
    assert conduit.subject.depth == 3
    assert observer.received == [("a", "of any type")]


@rule("CONDUIT-CREATE-01", "CIRCUIT-FACT-04", "ERR-ABSENT-01", "STEM-ENUM-01", "COMMON-VALID-06")
@pytest.mark.parametrize("form", ["(None)", "(None, type)", "(name, None)", "(type, routing=None)"])
def test_an_absent_argument_of_conduit_is_refused(form: str, circuit: Circuit) -> None:
    make: Any = circuit.conduit
    arguments, keywords = {
        "(None)": ((None,), {}),
        "(None, type)": ((None, int), {}),
        "(name, None)": (("n", None), {}),
        "(type, routing=None)": ((int,), {"routing": None}),
    }[form]

    refused(AbsentValueError, lambda: make(*arguments, **keywords))


@rule("CONDUIT-CREATE-01", "CIRCUIT-FACT-04", "ERR-PROV-01", "ERR-FAULT-03", "COMMON-VALID-06")
@pytest.mark.parametrize("kind", FOREIGN_NAMES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("form", ["(name)", "(name, type)"])
def test_a_conduits_name_that_the_provider_did_not_make_is_refused(
    form: str, kind: Any, circuit: Circuit
) -> None:
    arguments = (kind("foreign"), int)[: 1 + (form == "(name, type)")]

    fault = refused(ProviderMismatchFault, circuit.conduit, *arguments)

    assert fault.subject is circuit.subject
    assert fault.operation == "conduit"


@rule("CONDUIT-CREATE-01", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("form", ["(42)", "(name, 42)", "(routing='stem')", "(name, type, 42)"])
def test_an_argument_of_conduit_of_an_unrelated_type_is_a_plain_type_error(
    form: str, circuit: Circuit
) -> None:
    make: Any = circuit.conduit
    arguments, keywords = {
        "(42)": ((42,), {}),
        "(name, 42)": (("n", 42), {}),
        "(routing='stem')": ((), {"routing": "stem"}),
        "(name, type, 42)": (("n", int, 42), {}),
    }[form]

    with pytest.raises(TypeError) as error:
        make(*arguments, **keywords)

    assert not isinstance(error.value, SubstratesError)


# -- channels


@rule("CONDUIT-GET-03", "CIRCUIT-FACT-06", "COMMON-FRESH-09")
def test_the_same_name_gives_the_same_pipe_and_another_name_or_conduit_another(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    name = cortex.name("channel.a")
    first, second = circuit.conduit("equal", int), circuit.conduit("equal", int)
    observer = Observer(circuit)
    observer.watch(first)

    pipe = first.get(name)
    for _ in range(100):
        assert first.get(name) is pipe
        assert first.get("channel.a") is pipe
    others = [first.get("channel.b"), first.get("channel"), second.get(name)]
    wait(circuit)

    assert len({id(each) for each in [pipe, *others]}) == 4
    assert len({each.subject.id for each in [pipe, *others]}) == 4
    assert observer.channels == []


@rule("CONDUIT-GET-04", "CIRCUIT-FACT-06")
@pytest.mark.parametrize("threads", [10, 20])
def test_racing_lookups_of_one_name_agree(
    threads: int, circuit: Circuit, together: Together, interleaved: None
) -> None:
    for number in range(10):
        conduit = circuit.conduit(int)
        found: list[Pipe[int]] = []
        name = f"race.{number}"

        together(threads, lambda _, c=conduit, f=found, n=name: f.append(c.get(n)))  # type: ignore[misc]

        assert len(found) == threads
        assert len({id(pipe) for pipe in found}) == 1
        assert found[0] is conduit.get(name)


@rule("CONDUIT-GET-04", "CIRCUIT-FACT-06")
def test_racing_lookups_of_a_hundred_names_give_a_hundred_pipes(
    circuit: Circuit, together: Together, interleaved: None
) -> None:
    conduit = circuit.conduit(int)
    found: list[list[Pipe[int]]] = [[] for _ in range(10)]

    def get(number: int) -> None:
        # Each thread begins elsewhere, so that each name is somebody's first.
        for step in range(100):
            found[number].append(conduit.get(f"channel.{(step + 10 * number) % 100}"))

    together(10, get)

    assert len({id(pipe) for pipes in found for pipe in pipes}) == 100
    for pipes in found:
        assert len(set(map(id, pipes))) == 100


@rule("CONDUIT-GET-05", "SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04")
@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
def test_a_channels_subject_is_enclosed_by_the_conduits(
    named: bool, cortex: Cortex, circuit: Circuit
) -> None:
    conduit = circuit.conduit("conduit.chain", int) if named else circuit.conduit(int)
    name = cortex.name("channel.chain")
    pipe = conduit.get(name)

    subject = pipe.subject

    assert isinstance(pipe, Pipe)
    assert subject is pipe.subject
    assert subject is conduit.get(name).subject
    assert subject.type is Pipe
    assert subject.name is name
    assert list(subject) == [subject, conduit.subject, circuit.subject, cortex.subject]
    assert subject.depth == 4


@rule("CONDUIT-EMIT-06", "PIPE-EMIT-02", "ERR-ABSENT-01", "COMMON-VALID-06")
def test_emitting_none_to_a_channel_is_refused_and_queues_nothing(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    pipe: Any = conduit.get("a")

    refused(AbsentValueError, pipe.emit, None)
    wait(circuit)
    assert observer.channels == []
    pipe.emit(1)
    refused(AbsentValueError, pipe.emit, None)
    wait(circuit)

    assert observer.values == [1]


@rule("CONDUIT-EMIT-06", "CIRCUIT-ORDER-01", "CIRCUIT-ORDER-05")
def test_a_channels_values_arrive_in_the_order_of_emission_everywhere(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    first, second = Observer(circuit), Observer(circuit)
    first.watch(conduit)
    second.watch(conduit)

    for number in range(100):
        conduit.get("a").emit(number)
    wait(circuit)

    assert first.values == list(range(100))
    assert second.values == first.values


@rule("COMMON-ABSENT-05", "CONDUIT-EMIT-06")
def test_a_channel_takes_every_value_but_none(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    values = [0, False, "", (), [], {}, 0.0, b""]
    conduit = circuit.conduit(object)
    observer = Observer(circuit)
    observer.watch(conduit)
    derived_pool = conduit.pool(cortex.flow(object).map(lambda value: value))

    for value in values:
        conduit.get("a").emit(value)
        derived_pool.get("a").emit(value)
    wait(circuit)

    assert len(observer.values) == 2 * len(values)
    assert all(
        received is value
        for received, value in zip(
            observer.values, [value for value in values for _ in range(2)], strict=True
        )
    )


@rule("CONDUIT-EMIT-07", "CIRCUIT-FACT-05")
def test_conduits_of_one_circuit_do_not_hear_each_other(circuit: Circuit, wait: Settle) -> None:
    texts, numbers = circuit.conduit("texts", str), circuit.conduit("numbers", int)
    text, number = Observer(circuit), Observer(circuit)
    text.watch(texts)
    number.watch(numbers)

    texts.get("a").emit("one")
    numbers.get("a").emit(1)
    wait(circuit)

    assert text.received == [("a", "one")]
    assert number.received == [("a", 1)]


@rule("CONDUIT-EMIT-07", "CIRCUIT-ORDER-03")
def test_ten_producers_with_a_channel_each_lose_nothing_and_cross_nowhere(
    circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 10, 5000
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)

    def produce(producer: int) -> None:
        pipe = conduit.get(f"channel.{producer}")
        for number in range(count):
            pipe.emit(number)

    together(producers, produce)
    wait(circuit)

    assert len(observer.received) == producers * count
    by_channel: dict[str, list[int]] = {}
    for name, value in observer.received:
        by_channel.setdefault(name, []).append(value)
    assert sorted(by_channel) == [f"channel.{producer}" for producer in range(producers)]
    assert all(values == list(range(count)) for values in by_channel.values())
    assert len(observer.channels) == producers


# -- pools of recipes


@rule("CONDUIT-POOLFLOW-08", "COMMON-ABSENT-05")
def test_a_pool_of_a_flow_takes_what_the_flow_takes(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(str)
    observer = Observer(circuit)
    observer.watch(conduit)

    def positive(value: int) -> str | None:
        return str(value) if value > 0 else None

    named = conduit.pool(cortex.flow(int).map(lambda value: f"n={value}"))
    dropping = conduit.pool(cortex.flow(int).map(positive))
    for value in (1, 42):
        named.get("named").emit(value)
    for value in (1, -1, 2, -2):
        dropping.get("dropping").emit(value)
    wait(circuit)

    assert observer.of("named") == ["n=1", "n=42"]
    assert observer.of("dropping") == ["1", "2"]


@rule("CONDUIT-POOLFIBER-09", "CIRCUIT-FACT-16")
def test_a_pool_of_a_fiber_runs_it_ahead_of_the_channel(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)

    changes, first_two = conduit.pool(cortex.fiber(int).diff()), conduit.pool(cortex.fiber(int).limit(2))
    for value in (1, 1, 2, 2, 3):
        changes.get("changes").emit(value)
    for value in (1, 2, 3):
        first_two.get("two").emit(value)
    wait(circuit)

    assert observer.of("changes") == [1, 2, 3]
    assert observer.of("two") == [1, 2]


@rule("CONDUIT-POOLSTATE-10", "POOL-ONCE-02")
def test_a_recipe_is_attached_once_for_each_name_and_shares_no_state(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    pool = conduit.pool(cortex.fiber(int).diff())

    assert pool.get("a") is pool.get("a")
    assert pool.get("a") is not pool.get("b")
    assert pool.get("a") is not conduit.get("a")
    for value in (1, 1, 2):
        pool.get("a").emit(value)
        pool.get("b").emit(value)
    wait(circuit)

    assert observer.of("a") == [1, 2]
    assert observer.of("b") == [1, 2]


@rule("CONDUIT-POOLSTATE-10", "POOL-INDEP-08")
def test_two_pools_of_one_recipe_have_states_of_their_own(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    fiber = cortex.fiber(int).limit(1)

    first, second = conduit.pool(fiber), conduit.pool(fiber)
    for value in (1, 2):
        first.get("a").emit(value)
        second.get("a").emit(value)
    wait(circuit)

    assert first.get("a") is not second.get("a")
    assert observer.values == [1, 1]


@rule("CONDUIT-POOLCOMP-11")
@pytest.mark.parametrize("form", ["recipe", "function"])
def test_composed_flows_run_in_the_order_of_the_text(
    form: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    numbers, texts = circuit.conduit(int), circuit.conduit(str)
    number, text = Observer(circuit), Observer(circuit)
    number.watch(numbers)
    text.watch(texts)
    parse: Any = cortex.flow(str).map(int).map(lambda value: value + 1)
    show: Any = cortex.flow(int).map(str).fiber(cortex.fiber(str).diff())
    parsing, showing = (
        (numbers.pool(parse), texts.pool(show))
        if form == "recipe"
        else (numbers.pool(parse.pipe), texts.pool(show.pipe))
    )

    for value in ("10", "41"):
        parsing.get("a").emit(value)
    for each in (1, 1, 2, 2, 1):
        showing.get("a").emit(each)
    wait(circuit)

    assert number.values == [11, 42]
    assert text.values == ["1", "2", "1"]


@rule("CONDUIT-POOLARG-12", "POOL-DERIVE-06", "ERR-ABSENT-01", "COMMON-VALID-06")
def test_an_absent_recipe_is_refused(circuit: Circuit) -> None:
    pool: Any = circuit.conduit(int).pool

    refused(AbsentValueError, pool, None)


@rule("CONDUIT-POOLARG-12", "ERR-PROV-01", "ERR-FAULT-03", "COMMON-VALID-06")
@pytest.mark.parametrize(
    "kind",
    dict.fromkeys((*FOREIGN_FIBERS, *FOREIGN_FLOWS)),
    ids=lambda kind: kind.__name__,
)
def test_a_recipe_that_the_provider_did_not_make_is_refused_at_once(
    kind: Callable[[Subject[Any]], Any], circuit: Circuit
) -> None:
    conduit: Any = circuit.conduit(int)

    fault = refused(ProviderMismatchFault, conduit.pool, kind(circuit.subject))

    assert fault.subject is conduit.subject
    assert fault.operation == "pool"


@rule("CONDUIT-POOLARG-12", "ERR-CAT-01")
@derived
def test_what_is_neither_recipe_nor_function_is_a_plain_type_error(circuit: Circuit) -> None:
    conduit: Any = circuit.conduit(int)

    with pytest.raises(TypeError) as error:
        conduit.pool(42)

    assert not isinstance(error.value, SubstratesError)


@rule("CONDUIT-DIRECT-13")
@derived
def test_emissions_through_a_recipe_and_past_it_reach_the_channel(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    tenfold = conduit.pool(cortex.flow(int).map(lambda value: 10 * value))

    tenfold.get("a").emit(1)
    conduit.get("a").emit(2)
    tenfold.get("a").emit(3)
    wait(circuit)

    assert sorted(observer.values) == [2, 10, 30]
    assert observer.names == ["a"]
    assert observer.channels[0] is conduit.get("a").subject


# -- the end


@rule("CONDUIT-CLOSE-14", "PIPE-LIFE-01")
def test_a_closed_conduit_delivers_nothing_that_comes_later(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    subscription = observer.watch(conduit)
    pipe = conduit.get("a")

    pipe.emit(1)
    pipe.emit(2)
    conduit.close()
    pipe.emit(3)
    conduit.get("new").emit(4)
    wait(circuit)
    pipe.emit(5)
    subscription.close()
    conduit.close()
    conduit.close(wait=True)
    wait(circuit)

    assert observer.received == [("a", 1), ("a", 2)]
    assert observer.ended == [subscription]


@rule("CONDUIT-CLOSE-15", "PIPE-LIFE-01")
def test_the_pipes_of_a_closed_conduit_may_be_emitted_to(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    before, derived_before = conduit.get("a"), conduit.pool(cortex.fiber(int).diff()).get("a")

    conduit.close()
    before.emit(1)
    derived_before.emit(1)
    wait(circuit)
    before.emit(2)
    derived_before.emit(2)
    wait(circuit)

    assert before.subject.enclosure is conduit.subject


@rule("CONDUIT-CLOSE-15")
@derived
def test_lookups_of_a_closed_conduit_do_not_raise(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    before = conduit.get("a")
    conduit.close(wait=True)

    assert conduit.get("a") is before
    assert conduit.get("b") is conduit.get("b")
    conduit.get("b").emit(1)
    conduit.pool(cortex.fiber(int).diff()).get("c").emit(1)
    wait(circuit)


@rule("CONDUIT-CLOSE-15", "PIPE-LIFE-01")
@derived
def test_lookups_of_a_conduit_whose_circuit_is_closed_do_not_raise(circuit: Circuit, wait: Settle) -> None:
    conduit = circuit.conduit(int)
    observer = Observer(circuit)
    observer.watch(conduit)
    before = conduit.get("a")
    circuit.close(wait=True)

    assert conduit.get("a") is before
    conduit.get("a").emit(1)
    conduit.get("b").emit(2)
    wait(circuit)

    assert observer.channels == []


# -- how much is done


@rule("SUBSCRIBER-LAZY-03", "SUBSCRIPTION-CLOSE-05")
@derived
def test_a_subscription_to_ten_thousand_channels_costs_nothing_until_they_emit(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    count, some = 10_000, 100
    conduit = circuit.conduit(int)
    pipes = [conduit.get(f"scale.{number}") for number in range(count)]
    observer = Observer(circuit)
    done: list[tuple[int, int]] = []

    def note() -> None:
        wait(circuit)
        done.append((len(observer.channels), int(cortex.facts()["rebuilds"]) - before))

    wait(circuit)
    before = int(cortex.facts()["rebuilds"])
    observer.watch(conduit)
    note()
    for pipe in pipes[:some] * 2:
        pipe.emit(1)
    note()
    for pipe in pipes:
        pipe.emit(2)
    note()

    assert done == [(0, 0), (some, some), (count, count)]
    assert len(set(observer.channels)) == count
    assert len(observer.received) == 2 * some + count


@rule("SUBSCRIBER-LAZY-04", "SUBSCRIPTION-CLOSE-05")
@derived
def test_a_change_of_subscriptions_makes_a_channel_rebuild_once_when_it_emits(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    conduit = circuit.conduit(int)
    pipes = [conduit.get(f"rebuild.{number}") for number in range(100)]
    first, second = Observer(circuit), Observer(circuit)
    first.watch(conduit)
    for pipe in pipes:
        pipe.emit(0)
    wait(circuit)
    before = int(cortex.facts()["rebuilds"])

    for _ in range(5):
        second.watch(conduit).close()
    wait(circuit)
    unchanged = int(cortex.facts()["rebuilds"]) - before
    for pipe in pipes[:10] * 3:
        pipe.emit(1)
    wait(circuit)

    assert unchanged == 0
    assert int(cortex.facts()["rebuilds"]) - before == 10
    assert second.channels == []
    assert len(first.channels) == 100
    assert len(first.received) == 130


@rule("CONDUIT-GET-03", "COMMON-FRESH-09")
@derived
def test_conduits_of_two_circuits_have_channels_of_their_own(new_circuit: NewCircuit, wait: Settle) -> None:
    one, two = new_circuit("same"), new_circuit("same")
    first, second = one.conduit("same", int), two.conduit("same", int)
    observer = Observer(one)
    observer.watch(first)

    second.get("a").emit(2)
    first.get("a").emit(1)
    wait(one, two)

    assert first.get("a") is not second.get("a")
    assert observer.values == [1]
