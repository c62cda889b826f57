"""Faults of cells, ports, pins, basins, sinks and tickers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from substrates import ContextError

from ..toy.cells import Basin, Capture, Cell, Pin, Port, Sink
from ..toy.engine import Circuit, Item
from ..toy.names import Subject
from ..toy.pipes import Pipe
from ..toy.tickers import Ticker
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.kind(
    "cell",
    fault="takes a value that is false for none",
    file="test_cells.py",
    test="test_a_cell_holds_values_that_are_false",
    says=r"1 is 0",
)
class _KeepsWhatIsTrue(Cell):
    def update(self, value: Any) -> None:
        self.held = value or self.held


@faults.kind(
    "cell",
    fault="keeps the first value of a cell",
    file="test_cells.py",
    test="test_the_last_value_wins",
    says=r"1 == 5",
)
class _KeepsTheFirst(Cell):
    updated = False

    def update(self, value: Any) -> None:
        if not self.updated:
            super().update(value)
        self.updated = True


@faults.kind(
    "port",
    fault="changes a port inside the callback that asks for it",
    file="test_ports.py",
    test="test_an_operation_in_the_own_context_is_not_done_inline",
    says=r"\[1, 0\] == \[0, 0\]",
)
class _ChangesAtOnce(Port):
    def queue(self, call: Callable[[], object]) -> None:
        if self.circuit.inside:
            self.circuit.isolate(self.subject, call)
        else:
            super().queue(call)


@faults.kind(
    "port",
    fault="keeps None in a port when an update returns it",
    file="test_port_failures.py",
    test="test_an_update_that_fails_keeps_the_value",
    says=r"the port sent no value",
)
class _KeepsNothing(Port):
    def transform(self, function: Callable[[Any], Any]) -> None:
        self.set(function(self.held))


@faults.kind(
    "port",
    fault="sends the value that a port has at the call",
    file="test_ports.py",
    test="test_a_port_sends_what_it_holds_at_each_turn",
    says=r"\[0, 0, 0\] == \[1, 3, 6\]",
)
class _SendsWhatIsThereNow(Port):
    def emit(self, target: Any, /) -> None:
        now = self.held
        own = self.cortex.pipe_given(target, "emit", "target", self.subject)
        self.queue(lambda: own.emit(now))


@faults.kind(
    "pin",
    fault="shows a pin to everybody",
    file="test_pins.py",
    test="test_a_pin_is_refused_to_outside_contexts",
    says=r"'int'> is ContextError",
)
class _OpenToAll(Pin):
    def guard(self, operation: str) -> None:
        """Let everybody in."""


@faults.kind(
    "pin",
    fault="shows a pin to other circuits",
    file="test_pins.py",
    test="test_a_pin_is_refused_to_other_circuits",
    says=r"'int'> is ContextError",
)
class _OpenToCircuits(Pin):
    def guard(self, operation: str) -> None:
        if self.cortex.running.current is None:
            raise ContextError(f"{operation}: outside of circuits")


@faults.kind(
    "basin",
    fault="keeps the oldest values in a basin",
    file="test_basins.py",
    test="test_a_basin_keeps_the_newest_values",
    says=r"\[1\] == \[5\]",
)
class _KeepsTheOldest(Basin):
    def keep(self, value: Any) -> None:
        if len(self.values) < self.capacity:
            self.values.append(value)


@faults.kind(
    "basin",
    fault="keeps one value more than a basin's capacity",
    file="test_basins.py",
    test="test_a_basin_keeps_the_newest_values",
    says=r"\[4, 5\] == \[5\]",
)
class _KeepsOneTooMany(Basin):
    def keep(self, value: Any) -> None:
        self.values.append(value)
        if len(self.values) > self.capacity + 1:
            self.values.popleft()


@faults.kind(
    "basin",
    fault="keeps in a basin what it has drained",
    file="test_basins.py",
    test="test_a_drain_gives_the_values_oldest_first_and_they_are_gone",
    says=r"\[7, 8\] == \[\]",
)
class _DrainsAgain(Basin):
    def empty(self, target: Pipe) -> None:
        for value in list(self.values):
            target.emit(value)


@faults.kind(
    "basin",
    fault="drains a basin before its turn",
    file="test_basins.py",
    test="test_a_drain_holds_what_was_emitted_before_it_and_not_what_came_after",
    says=r"\(\[\], \[\]\) == \(\[1\], \[2\]\)",
)
class _DrainsAtOnce(Basin):
    def drain(self, target: Any, /) -> None:
        self.empty(self.cortex.pipe_given(target, "drain", "target", self.subject))


@faults.kind(
    "sink",
    fault="names the circuit as the emitter, whoever emits",
    file="test_captures.py",
    test="test_an_emission_from_outside_names_the_caller",
    says=r"name=tck.circuit,type=Current,.* is Subject\[name=MainThread",
)
class _NamesTheCircuit(Sink):
    def emitter(self) -> Subject:
        return self.circuit.current.subject


@faults.kind(
    "circuit",
    fault="names who began the cascade as the emitter",
    file="test_captures.py",
    test="test_the_immediate_emitter_counts_not_the_first_cause",
    says=r"name=capture.first,type=Current,.* is Subject\[name=tck.circuit",
)
class _NamesTheFirstCause(Circuit):
    def perform(self, item: Item) -> None:
        first = self.emitter
        inside = getattr(item, "emitter", None) is self.current
        if inside:
            item.emitter = first  # type: ignore[attr-defined]
        super().perform(item)


@faults.kind(
    "sink",
    fault="names the endpoint as the channel of a capture",
    file="test_captures.py",
    test="test_a_captures_subject_is_the_channels",
    says=r"name=tck.circuit,type=Pipe,.* is Subject\[name=a,type=Pipe",
)
class _NamesTheEndpoint(Sink):
    def capture(self, subject: Subject, value: Any) -> None:  # noqa: ARG002
        self.endpoint.emit(Capture(value, self.endpoint.subject, self.emitter()))


@faults.kind(
    "ticker",
    fault="counts ticks from one",
    file="test_tickers.py",
    test="test_ticks_count_up_from_zero",
    says=r"\[1, 2, 3, 4, 5, 6\] == \[0, 1",
)
class _FromOne(Ticker):
    def schedule(self) -> None:
        self.next = max(1, self.next)
        super().schedule()


@faults.kind(
    "ticker",
    fault="catches up all ticks of a stall",
    file="test_tickers.py",
    test="test_a_stall_gives_no_burst_and_leaves_no_gap",
    says=r"\[0, 1, 2, 3, 4, 5, ...\] == \[0, 1\]",
)
class _CatchesUp(Ticker):
    def after(self, due_ns: int, now_ns: int) -> int:  # noqa: ARG002
        return due_ns + self.interval_ns


@faults.kind(
    "ticker",
    fault="lets the error of a late wake add up",
    file="test_tickers.py",
    test="test_a_late_wake_shortens_the_next_wait",
    says=r"\[1, 1, 2, 2, 3, 3\] ==",
)
class _Drifts(Ticker):
    def after(self, due_ns: int, now_ns: int) -> int:  # noqa: ARG002
        return now_ns + self.interval_ns


@faults.kind(
    "ticker",
    fault="ticks before the first interval is over",
    file="test_tickers.py",
    test="test_the_first_tick_comes_after_one_interval",
    says=r"\[0\] == \[\]",
)
class _TicksAtOnce(Ticker):
    def schedule(self) -> None:
        if self.next == 0:
            self.due_ns -= self.interval_ns
        super().schedule()


@faults.kind(
    "ticker",
    fault="goes on ticking after the ticker's close",
    file="test_ticker_ends.py",
    test="test_a_closed_ticker_ticks_no_more",
    says=r"== \[0, 1, 2, 3\]",
)
class _TicksAfterClose(Ticker):
    def stop(self) -> None:
        """Go on."""


@faults.kind(
    "ticker",
    fault="sends ticks to another circuit past its own",
    file="test_tickers.py",
    test="test_a_tick_for_another_circuit_passes_its_own_circuit_first",
    says=r"\[0, 1, 2\] == \[\]",
)
class _TicksPastItsCircuit(Ticker):
    def tick(self) -> None:
        with self.turn:
            if not self.stopped:
                self.target.emit(self.next)
                self.next += 1
                self.due_ns += self.interval_ns
                self.schedule()


MUTANTS: Final = tuple(faults.mutants)
