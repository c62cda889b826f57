"""Conduits and what holds values, for type checkers: what they must accept, and what they must refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from substrates import (
    Bank,
    Basin,
    Capture,
    Cell,
    Circuit,
    Conduit,
    Cortex,
    Name,
    Pin,
    Pipe,
    Pool,
    Port,
    Registrar,
    Routing,
    Sink,
    Subject,
    Subscription,
)


def conduits_are_typed_by_a_class(cortex: Cortex, circuit: Circuit) -> None:
    """A class says what a conduit carries; without one it is anything."""
    assert_type(circuit.conduit(int), Conduit[int])
    assert_type(circuit.conduit("orders", int), Conduit[int])
    assert_type(circuit.conduit("orders", int, routing=Routing.STEM), Conduit[int])
    assert_type(circuit.conduit(), Conduit[Any])
    conduit = circuit.conduit("orders", int)
    assert_type(conduit.get("a"), Pipe[int])
    conduit.get("a").emit("x")  # type: ignore[arg-type]
    assert_type(conduit.pool(cortex.flow(str).map(int)), Pool[Pipe[str]])
    assert_type(conduit.pool(cortex.fiber(int).diff()), Pool[Pipe[int]])
    assert_type(conduit.pool(str), Pool[str])
    to_text = cortex.flow(int).map(str)
    conduit.pool(to_text)  # type: ignore[arg-type]
    bank = circuit.bank(int)
    assert_type(bank, Bank[int])
    assert_type(bank.get("x"), Conduit[int])


def subscribers_fit_their_sources(circuit: Circuit) -> None:
    """A subscriber of other values does not fit."""
    conduit = circuit.conduit("orders", int)

    def on_channel(subject: Subject[Pipe[int]], registrar: Registrar[int]) -> None:
        registrar.register(print)
        registrar.register(circuit.pipe(print))

    assert_type(conduit.subscribe(circuit.subscriber("watch", on_channel)), Subscription)
    assert_type(conduit.subscribe(on_channel), Subscription)
    mirror = circuit.conduit("mirror", int)
    conduit.subscribe(circuit.subscriber("bridge", mirror))
    words = circuit.conduit("words", str)
    words.subscribe(on_channel)  # type: ignore[arg-type]


def values_are_typed_by_what_they_begin_with(cortex: Cortex, circuit: Circuit) -> None:
    """The initial value gives the type."""
    cell = circuit.cell(0)
    assert_type(cell, Cell[int])
    assert_type(cell.get(), int)
    assert_type(circuit.cell("name", "text"), Cell[str])
    port = circuit.port(0)
    assert_type(port, Port[int])
    port.update(lambda value: value + 1)
    port.update("x", lambda value, text: value + len(text))
    port.replace("x")  # type: ignore[arg-type]
    assert_type(circuit.pin(1.5), Pin[float])
    assert_type(circuit.basin(int, 3), Basin[int])

    def keep(capture: Capture[int]) -> None:
        assert_type(capture.emission, int)

    endpoint: Pipe[Capture[int]] = circuit.pipe(keep)
    sink = circuit.sink(endpoint)
    assert_type(sink, Sink[int])
    assert_type(sink.get("a"), Pipe[int])

    def tick(number: int) -> None:
        del number

    ticks: Pipe[int] = circuit.pipe(tick)
    circuit.ticker(timedelta(seconds=1), ticks)
    words: Pipe[str] = circuit.pipe(print)
    circuit.ticker(1.0, words)  # type: ignore[arg-type]

    def length(name: Name) -> int:
        return len(str(name))

    assert_type(cortex.pool(length), Pool[int])
    assert_type(cortex.pool(length).pool(str), Pool[str])
