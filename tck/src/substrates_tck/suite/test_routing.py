"""Routing: an emission reaches its channel alone, or also those of the enclosing names, leaf first."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import AbsentValueError, Circuit, Conduit, Cortex, Pipe, Registrar, Routing, Subject
from substrates_tck.marks import derived, rule
from substrates_tck.observers import Observer
from substrates_tck.outcomes import refused
from substrates_tck.waits import Gate, Settle, Together


@pytest.fixture
def stem(circuit: Circuit) -> Conduit[Any]:
    """Return a conduit that routes to ancestors."""
    return circuit.conduit("stem", routing=Routing.STEM)


@rule("STEM-ENUM-01")
def test_there_are_two_routings() -> None:
    assert [routing.name for routing in Routing] == ["PIPE", "STEM"]


@rule("STEM-ENUM-01", "CIRCUIT-FACT-04", "BANK-CREATE-01")
@pytest.mark.parametrize("factory", ["conduit", "bank"])
def test_an_absent_routing_is_refused(factory: str, circuit: Circuit) -> None:
    make: Any = getattr(circuit, factory)

    refused(AbsentValueError, lambda: make(int, routing=None))


@rule("STEM-PIPE-02", "ROUTING-01", "STEM-ENUM-01")
@pytest.mark.parametrize("form", ["by default", "by name"])
def test_without_stem_an_emission_reaches_its_own_channel_alone(
    form: str, circuit: Circuit, wait: Settle
) -> None:
    conduit: Conduit[int] = (
        circuit.conduit(int) if form == "by default" else circuit.conduit(int, routing=Routing.PIPE)
    )
    observer = Observer(circuit)
    observer.watch(conduit)

    conduit.get("r.parent").emit(1)
    wait(circuit)
    observer.received.clear()
    conduit.get("r.parent.leaf").emit(2)
    conduit.get("r.parent.leaf").emit(3)
    wait(circuit)

    assert observer.received == [("r.parent.leaf", 2), ("r.parent.leaf", 3)]
    assert observer.names == ["r.parent", "r.parent.leaf"]


@rule("STEM-ORDER-03", "STEM-LAZY-08", "ROUTING-02", "ROUTING-03")
def test_an_emission_reaches_the_leaf_and_then_its_root(
    stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit)
    observer.watch(stem)

    stem.get("app.leaf").emit(1)
    wait(circuit)

    assert observer.received == [("app.leaf", 1), ("app", 1)]
    assert observer.names == ["app.leaf", "app"]


@rule("STEM-ORDER-03", "ROUTING-07")
def test_all_levels_of_one_emission_come_before_the_next_emission(
    stem: Conduit[Any], circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    observer = Observer(circuit)
    observer.watch(stem)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()

    stem.get("a.b").emit(1)
    stem.get("a.b").emit(2)
    stem.get("a.b.c").emit(3)
    gate.release()
    wait(circuit)

    assert observer.received == [
        *[("a.b", 1), ("a", 1)],
        *[("a.b", 2), ("a", 2)],
        *[("a.b.c", 3), ("a.b", 3), ("a", 3)],
    ]


@rule("STEM-ALL-04", "ROUTING-02")
def test_every_level_gets_the_value_once(stem: Conduit[Any], circuit: Circuit, wait: Settle) -> None:
    observer = Observer(circuit)
    observer.watch(stem)

    stem.get("app.service.endpoint").emit("hello")
    wait(circuit)

    assert observer.received == [
        ("app.service.endpoint", "hello"),
        ("app.service", "hello"),
        ("app", "hello"),
    ]


@rule("STEM-ALL-04", "ROUTING-03")
def test_an_ancestor_that_is_observed_alone_gets_all_values_in_order(
    stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit, "app")
    observer.watch(stem)

    for value in (1, 2, 3):
        stem.get("app.service").emit(value)
    wait(circuit)

    assert observer.received == [("app", 1), ("app", 2), ("app", 3)]


@rule("STEM-ALL-04")
@derived
def test_a_name_of_fifty_segments_has_fifty_levels(
    stem: Conduit[Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    name = cortex.name(["deep"] * 50)
    observer = Observer(circuit)
    observer.watch(stem)
    value = object()

    stem.get(name).emit(value)
    wait(circuit)

    assert [len(channel.split(".")) for channel, _ in observer.received] == list(range(50, 0, -1))
    assert all(received is value for received in observer.values)


@rule("STEM-SIBLING-05", "ROUTING-05")
def test_siblings_share_their_ancestors_and_do_not_hear_each_other(
    stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit)
    observer.watch(stem)

    stem.get("app.alice").emit(1)
    stem.get("app.bob").emit(2)
    stem.get("app.alice").emit(3)
    wait(circuit)

    assert observer.of("app") == [1, 2, 3]
    assert observer.of("app.alice") == [1, 3]
    assert observer.of("app.bob") == [2]
    assert sorted(observer.names) == ["app", "app.alice", "app.bob"]


@rule("STEM-ROOT-06", "ROUTING-04")
def test_an_emission_to_a_root_is_delivered_once(stem: Conduit[Any], circuit: Circuit, wait: Settle) -> None:
    observer = Observer(circuit)
    observer.watch(stem)

    stem.get("root").emit(42)
    wait(circuit)

    assert observer.received == [("root", 42)]


@rule("STEM-DOWN-07")
@derived
def test_an_emission_never_goes_down(stem: Conduit[Any], circuit: Circuit, wait: Settle) -> None:
    observer = Observer(circuit)
    observer.watch(stem)
    stem.get("app.mid.leaf").emit(1)
    wait(circuit)
    observer.received.clear()

    stem.get("app").emit(2)
    stem.get("app.mid").emit(3)
    wait(circuit)

    assert observer.received == [("app", 2), ("app.mid", 3), ("app", 3)]


@rule("STEM-LAZY-08", "ROUTING-03")
def test_an_ancestors_callback_runs_once_with_its_subject_though_nobody_looked_it_up(
    stem: Conduit[Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit)
    observer.watch(stem)
    leaves = [stem.get(f"app.leaf{number}") for number in range(10)]
    wait(circuit)
    assert observer.channels == []

    for leaf in leaves * 2:
        leaf.emit(1)
    wait(circuit)

    assert observer.names.count("app") == 1
    assert len(observer.names) == 11
    subject = observer.channels[observer.names.index("app")]
    assert subject.name is cortex.name("app")
    assert subject.type is Pipe
    assert subject.enclosure is stem.subject
    assert len(observer.of("app")) == 20


@rule("STEM-LAZY-08")
@derived
@pytest.mark.parametrize("looked_up", ["before", "after"])
def test_an_ancestor_channel_is_the_one_that_a_lookup_gives(
    looked_up: str, stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit, "app")
    observer.watch(stem)
    before = stem.get("app") if looked_up == "before" else None

    stem.get("app.leaf").emit(1)
    wait(circuit)
    app = stem.get("app")
    app.emit(2)
    wait(circuit)

    assert before is None or before is app
    assert observer.channels[1] is app.subject
    assert observer.received == [("app", 1), ("app", 2)]
    assert observer.names == ["app.leaf", "app"]


@rule("STEM-LATE-09", "ROUTING-06")
def test_a_later_subscription_reaches_all_levels_of_a_chain_that_has_emitted(
    stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    parent, everything = Observer(circuit, "app"), Observer(circuit)
    leaf = stem.get("app.mid.leaf")

    leaf.emit(0)
    wait(circuit)
    parent.watch(stem)
    leaf.emit(1)
    everything.watch(stem)
    leaf.emit(2)
    wait(circuit)

    assert parent.received == [("app", 1), ("app", 2)]
    assert everything.received == [("app.mid.leaf", 2), ("app.mid", 2), ("app", 2)]


@rule("STEM-LATE-09", "SUBSCRIPTION-CLOSE-05", "CONDUIT-CLOSE-14")
@derived
@pytest.mark.parametrize("closed", ["subscription", "conduit"])
def test_a_close_reaches_all_levels(closed: str, stem: Conduit[Any], circuit: Circuit, wait: Settle) -> None:
    observer, other = Observer(circuit), Observer(circuit)
    subscription = observer.watch(stem)
    other.watch(stem)
    leaf = stem.get("app.leaf")
    leaf.emit(1)

    (subscription if closed == "subscription" else stem).close()
    leaf.emit(2)
    stem.get("app.other").emit(3)
    stem.get("app").emit(4)
    wait(circuit)

    assert observer.received == [("app.leaf", 1), ("app", 1)]
    assert observer.names == ["app.leaf", "app"]
    if closed == "subscription":
        assert other.of("app") == [1, 2, 3, 4]
    else:
        assert other.of("app") == [1]


@rule("STEM-PERLEVEL-10")
@derived
def test_state_at_an_ancestor_sees_the_merged_values_of_its_descendants(
    stem: Conduit[Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: dict[str, list[int]] = {}

    def callback(subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        values = received.setdefault(str(subject.name), [])
        registrar.register(cortex.fiber(int).diff().pipe(circuit.pipe(values.append)))

    stem.subscribe(circuit.subscriber("changes", callback))
    for name, value in (("app.a", 1), ("app.b", 1), ("app.a", 2), ("app.b", 2), ("app.a", 1)):
        stem.get(name).emit(value)
    wait(circuit)

    assert received == {"app.a": [1, 2, 1], "app.b": [1, 2], "app": [1, 2, 1]}


@rule("STEM-BANK-11", "CIRCUIT-FACT-07")
def test_a_bank_may_give_conduits_that_route_to_ancestors(circuit: Circuit, wait: Settle) -> None:
    bank = circuit.bank(int, routing=Routing.STEM)
    observer = Observer(circuit)
    observer.watch(bank.get("banked"))

    bank.get("banked").get("app.leaf").emit(1)
    wait(circuit)

    assert observer.names == ["app.leaf", "app"]
    assert observer.values == [1, 1]


@rule("STEM-BANK-11", "STEM-PIPE-02")
@derived
def test_a_bank_gives_conduits_that_do_not_by_default(circuit: Circuit, wait: Settle) -> None:
    bank = circuit.bank(int)
    observer = Observer(circuit)
    observer.watch(bank.get("banked"))

    bank.get("banked").get("app.leaf").emit(1)
    wait(circuit)

    assert observer.received == [("app.leaf", 1)]


@rule("STEM-SIBLING-05", "CIRCUIT-ORDER-03", "CIRCUIT-ORDER-05")
@derived
def test_an_ancestor_loses_nothing_under_racing_producers_on_its_descendants(
    stem: Conduit[Any], circuit: Circuit, wait: Settle, together: Together, interleaved: None
) -> None:
    producers, count = 4, 500
    first, second = Observer(circuit, "app"), Observer(circuit, "app")
    first.watch(stem)
    second.watch(stem)

    def produce(producer: int) -> None:
        pipe = stem.get(f"app.leaf{producer}")
        for number in range(count):
            pipe.emit(producer * count + number)

    together(producers, produce)
    wait(circuit)

    assert sorted(first.values) == list(range(producers * count))
    assert second.values == first.values
    for producer in range(producers):
        mine = [value for value in first.values if value // count == producer]
        assert mine == sorted(mine)
    assert first.names.count("app") == 1


@rule("STEM-ALL-04", "CONDUIT-POOLFIBER-09")
@derived
def test_what_a_recipe_drops_reaches_no_level(
    stem: Conduit[Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit)
    observer.watch(stem)
    pool: Any = stem.pool(cortex.fiber(int).above(0))

    for value in (1, -1, 2):
        pool.get("app.leaf").emit(value)
    wait(circuit)

    assert observer.received == [("app.leaf", 1), ("app", 1), ("app.leaf", 2), ("app", 2)]


@rule("STEM-ALL-04", "ISOL-RECEPTOR-01")
@derived
def test_a_failure_at_one_level_does_not_keep_the_value_from_the_others(
    stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    observer = Observer(circuit)
    calls: list[str] = []

    def callback(subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        def fail(value: object) -> None:
            calls.append(str(subject.name))
            raise RuntimeError(value)

        registrar.register(fail)

    stem.subscribe(circuit.subscriber("failing", callback))
    observer.watch(stem)
    for value in (1, 2):
        stem.get("a.b.c").emit(value)
    wait(circuit)

    assert calls == ["a.b.c", "a.b", "a"] * 2
    assert observer.received == [(name, value) for value in (1, 2) for name in ("a.b.c", "a.b", "a")]


@rule("STEM-ALL-04", "ISOL-RECEPTOR-01")
@derived
@pytest.mark.parametrize("failing", ["a.b.c", "a.b", "a"])
def test_a_level_whose_only_receptor_fails_does_not_keep_the_value_from_the_others(
    failing: str, stem: Conduit[Any], circuit: Circuit, wait: Settle
) -> None:
    log: list[tuple[str, int]] = []

    def callback(subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        name = str(subject.name)

        def receive(value: int) -> None:
            log.append((name, value))
            if name == failing:
                raise RuntimeError(value)

        registrar.register(receive)

    stem.subscribe(circuit.subscriber("one.failing", callback))
    for value in (1, 2):
        stem.get("a.b.c").emit(value)
    wait(circuit)

    assert log == [(name, value) for value in (1, 2) for name in ("a.b.c", "a.b", "a")]
