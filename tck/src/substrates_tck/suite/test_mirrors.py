"""Mirrors: conduits that are fed by a subscriber of another one through a pool of a recipe."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from substrates import Capture, Circuit, Conduit, Cortex, Pipe, Pool, Source, Subject, Subscription
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import add
from substrates_tck.waits import Settle


class Watched(Protocol):
    """Subscribes to a source and tells what comes."""

    def __call__(self, source: Source[Any], circuit: Circuit | None = None, /) -> list[tuple[str, Any]]:
        """Return a list that fills: channel and value."""


@pytest.fixture
def watched(circuit: Circuit) -> Watched:
    """Return a function that subscribes to a source, by default one of `circuit`."""
    own = circuit

    def watch(source: Source[Any], circuit: Circuit | None = None, /) -> list[tuple[str, Any]]:
        received: list[tuple[str, Any]] = []

        def register(subject: Subject[Pipe[Any]], registrar: Any) -> None:
            name = str(subject.name)
            registrar.register(lambda value: received.append((name, value)))

        source.subscribe((circuit or own).subscriber("mirror.watcher", register))
        return received

    return watch


def bridge(source: Source[Any], pool: Pool[Pipe[Any]], circuit: Circuit) -> Subscription:
    """Feed what `pool` leads to by what `source` emits."""
    return source.subscribe(circuit.subscriber("mirror.bridge", pool))


@rule("MIRROR-MAP-01", "PMAP-10")
def test_a_mirror_has_the_sources_channels_with_mapped_values(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source = circuit.conduit("mirror.source", int)
    mirror = circuit.conduit("mirror.mirror", str)
    received = watched(mirror)
    bridge(source, mirror.pool(cortex.flow(int).map(lambda i: f"value:{i}")), circuit)

    for value in (1, 2, 3):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", "value:1"), ("test", "value:2"), ("test", "value:3")]


@rule("MIRROR-MAP-01", "PMAP-10")
def test_a_mirror_routes_channels_separately(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received = watched(mirror)
    bridge(source, mirror.pool(cortex.flow(int).map(lambda i: f"value:{i}")), circuit)

    for name, value in (("a", 1), ("b", 2), ("a", 3)):
        source.get(name).emit(value)
    wait(circuit)

    assert received == [("a", "value:1"), ("b", "value:2"), ("a", "value:3")]


@rule("MIRROR-MAP-01", "PMAP-10")
def test_a_mirrors_channel_has_the_name_of_the_sources_and_an_id_of_its_own(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    seen: list[tuple[str, Subject[Pipe[Any]]]] = []

    def watch(label: str, conduit: Conduit[Any]) -> None:
        def note(subject: Subject[Pipe[Any]], registrar: Any) -> None:
            seen.append((label, subject))

        conduit.subscribe(circuit.subscriber(f"mirror.{label}", note))

    watch("source", source)
    watch("mirror", mirror)
    bridge(source, mirror.pool(cortex.flow(int).map(str)), circuit)
    source.get("test").emit(1)
    wait(circuit)

    assert [label for label, _ in seen] == ["source", "mirror"]
    (_, here), (_, there) = seen
    assert here.name is there.name is cortex.name("test")
    assert here.id is not there.id
    assert here.id != there.id
    assert there.enclosure is mirror.subject


@rule("MIRROR-FN-02")
def test_a_function_composes_several_stages_of_a_mirror(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received = watched(mirror)

    def attach(pipe: Pipe[str]) -> Pipe[int]:
        shown = cortex.flow(int).map(lambda i: f"fn:{i}").pipe(pipe)
        return cortex.fiber(int).diff().pipe(shown)

    bridge(source, mirror.pool(attach), circuit)
    for value in (1, 1, 2):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", "fn:1"), ("test", "fn:2")]


@rule("MIRROR-FN-02")
def test_a_composed_flow_feeds_a_mirror(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received = watched(mirror)
    flow = cortex.flow(int).map(lambda i: i + 1).flow(cortex.flow(int).map(lambda i: f"n={i}"))

    bridge(source, mirror.pool(flow), circuit)
    for value in (1, 41):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", "n=2"), ("test", "n=42")]


@rule("MIRROR-FN-02", "PMAP-10")
def test_a_fiber_feeds_a_mirror(cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(int)
    received = watched(mirror)

    bridge(source, mirror.pool(cortex.fiber(int).diff()), circuit)
    for value in (1, 1, 2):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", 1), ("test", 2)]


@rule("MIRROR-FN-02")
@derived
def test_a_mirror_without_a_recipe_shows_the_same_values(
    circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(int)
    received = watched(mirror)

    bridge(source, mirror, circuit)
    for value in (1, 2):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", 1), ("test", 2)]


@rule("MIRROR-DROP-03", "PMAP-10")
def test_what_a_map_drops_does_not_reach_the_mirror(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received = watched(mirror)
    flow = cortex.flow(int).map(lambda v: f"odd:{v}" if v % 2 else None)

    bridge(source, mirror.pool(flow), circuit)
    for value in (1, 2, 3, 4, 5):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", "odd:1"), ("test", "odd:3"), ("test", "odd:5")]


@rule("MIRROR-STATE-04", "PMAP-10")
def test_a_mirrors_recipe_has_a_state_per_channel(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(int)
    received = watched(mirror)
    bridge(source, mirror.pool(cortex.fiber(int).diff()), circuit)

    for value in (1, 1, 2):
        for name in ("a", "b"):
            source.get(name).emit(value)
    wait(circuit)

    assert received == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@rule("MIRROR-STATE-04")
@derived
def test_a_mirrors_scan_sums_per_channel(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(int)
    received = watched(mirror)
    bridge(source, mirror.pool(cortex.flow(int).scan(lambda: 0, add)), circuit)

    for name, value in (("a", 1), ("b", 10), ("a", 2), ("b", 20)):
        source.get(name).emit(value)
    wait(circuit)

    assert received == [("a", 1), ("b", 10), ("a", 3), ("b", 30)]


@rule("MIRROR-CHAIN-05", "PMAP-10")
def test_mirrors_of_mirrors_settle_in_one_wait(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, doubled, limited = (circuit.conduit(int) for _ in range(3))
    received = watched(limited)
    bridge(source, doubled.pool(cortex.flow(int).map(lambda v: v * 2)), circuit)
    bridge(doubled, limited.pool(cortex.fiber(int).limit(2)), circuit)

    for value in (1, 2, 3, 4):
        source.get("test").emit(value)
    wait(circuit)

    assert received == [("test", 2), ("test", 4)]


@rule("MIRROR-CHAIN-05")
def test_a_mirror_feeds_a_sink_and_a_basin(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    captures: list[Capture[str]] = []
    basin = circuit.basin(10)
    drained: list[Capture[str]] = []
    for endpoint in (circuit.pipe(captures.append), basin.pipe()):
        mirror.subscribe(circuit.subscriber("mirror.sink", circuit.sink(endpoint)))
    bridge(source, mirror.pool(cortex.flow(int).map(lambda v: f"val:{v}")), circuit)

    for value in (10, 20):
        source.get("test").emit(value)
    basin.drain(circuit.pipe(drained.append))
    wait(circuit)

    for kept in (captures, drained):
        assert [capture.emission for capture in kept] == ["val:10", "val:20"]
        assert {capture.subject.name for capture in kept} == {cortex.name("test")}


@rule("MIRROR-CLOSE-06")
def test_closing_the_bridge_stops_the_feed_alone(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror, other = circuit.conduit(int), circuit.conduit(str), circuit.conduit(int)
    received, elsewhere, watching = watched(mirror), watched(other), watched(source)
    bridging = bridge(source, mirror.pool(cortex.flow(int).map(str)), circuit)

    for value in (1, 2):
        source.get("test").emit(value)
    other.get("other").emit(1)
    bridging.close()
    for value in (3, 4):
        source.get("test").emit(value)
    other.get("other").emit(2)
    mirror.get("test").emit("direct")
    wait(circuit)

    assert received == [("test", "1"), ("test", "2"), ("test", "direct")]
    assert elsewhere == [("other", 1), ("other", 2)]
    assert watching == [("test", 1), ("test", 2), ("test", 3), ("test", 4)]


@rule("MIRROR-CROSS-07")
@derived
def test_a_mirror_may_belong_to_another_circuit(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle, watched: Watched
) -> None:
    here, there = new_circuit("mirror.here"), new_circuit("mirror.there")
    source, mirror = here.conduit(int), there.conduit(str)
    received = watched(mirror, there)
    contexts: list[Any] = []

    def show(value: int) -> str:
        contexts.append(cortex.current())
        return f"value:{value}"

    bridge(source, mirror.pool(cortex.flow(int).map(show)), here)
    for value in range(5):
        for name in ("a", "b"):
            source.get(name).emit(value)
    wait(here, there)

    assert received == [(name, f"value:{value}") for value in range(5) for name in ("a", "b")]
    assert contexts == [there.current] * 10


@rule("MIRROR-CLOSE-08")
def test_closing_in_any_order_and_again_is_safe_and_ends_all(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received: list[str] = []

    def register(subject: Subject[Pipe[str]], registrar: Any) -> None:
        registrar.register(received.append)

    watching = mirror.subscribe(circuit.subscriber("mirror.watcher", register))
    bridging = bridge(source, mirror.pool(cortex.flow(int).map(str)), circuit)
    source.get("test").emit(1)
    for resource in (bridging, mirror, watching, mirror):
        resource.close()
    source.get("test").emit(2)
    mirror.get("test").emit("direct")
    wait(circuit)

    assert received == ["1"]


@rule("MIRROR-CLOSE-08")
@derived
@pytest.mark.parametrize("order", ["mbw", "mwb", "wmb", "wbm", "bwm", "bmw", "smbw", "mm"])
def test_the_order_of_closes_does_not_matter(
    order: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    received: list[str] = []

    def register(subject: Subject[Pipe[str]], registrar: Any) -> None:
        registrar.register(received.append)

    watching = mirror.subscribe(circuit.subscriber("mirror.watcher", register))
    bridging = bridge(source, mirror.pool(cortex.flow(int).map(str)), circuit)
    resources = {"m": mirror, "b": bridging, "w": watching, "s": source}
    source.get("test").emit(1)
    for letter in order:
        resources[letter].close()
    source.get("test").emit(2)
    mirror.get("test").emit("direct")
    wait(circuit)

    assert received == ["1"]


@rule("MIRROR-CLOSE-08")
@derived
def test_closing_the_mirror_leaves_its_source_alone(
    cortex: Cortex, circuit: Circuit, wait: Settle, watched: Watched
) -> None:
    source, mirror = circuit.conduit(int), circuit.conduit(str)
    watching = watched(source)
    bridge(source, mirror.pool(cortex.flow(int).map(str)), circuit)

    mirror.close()
    for value in (1, 2):
        source.get("test").emit(value)
    wait(circuit)

    assert watching == [("test", 1), ("test", 2)]
