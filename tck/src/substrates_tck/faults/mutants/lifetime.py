"""Faults of circuits: barriers, time, isolation, contexts, the end and what comes after."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar, Final

from substrates import Pulse

from ..toy import Cortex
from ..toy.engine import Barrier, Circuit, Emission, Item
from ..toy.names import Current, Subject
from ..toy.pipes import Pipe
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.kind(
    "circuit",
    fault="forgets a barrier",
    file="test_wait.py",
    test="test_several_callers_wait_at_once",
    says=r"not within .* s: .*wait",
)
class _ForgetsBarrier(Circuit):
    def arrive(self, barrier: Barrier) -> None:
        with self.lock:
            others = any(isinstance(item, Barrier) for item in self.ingress)
        if not others:
            super().arrive(barrier)


@faults.kind(
    "circuit",
    fault="returns from a wait while work is held",
    file="test_wait.py",
    test="test_wait_does_not_return_while_work_accepted_before_is_held",
    says=r"DID NOT RAISE",
)
class _WaitsTooLittle(Circuit):
    def wait(self, timeout: float | timedelta | None = None) -> None:
        with self.lock:
            idle = not self.ingress and not self.closing
        if not idle or self.inside:
            super().wait(timeout)


@faults.kind(
    "circuit",
    fault="lets a barrier get between the parts of a cascade",
    file="test_transit.py",
    test="test_a_barrier_does_not_get_between_the_parts_of_a_cascade",
    says=r"== \[1, 2, 3, 4\]",
)
class _BarrierOvertakes(Circuit):
    def take(self) -> Item | None:
        if self.ingress and isinstance(self.ingress[0], Barrier):
            return self.ingress.popleft()
        return super().take()

    def arrive(self, barrier: Barrier) -> None:
        super().arrive(barrier)
        time.sleep(0.1)  # so that whoever waits sees what is not done


@faults.kind(
    "circuit",
    fault="waits until nothing is left, also of what came later",
    file="test_wait.py",
    test="test_wait_is_a_barrier_and_does_not_wait_for_later_emissions",
    says=r"not within .* s: wait",
)
class _WaitsForAll(Circuit):
    def take(self) -> Item | None:
        if self.ingress and isinstance(self.ingress[0], Barrier):
            emission = self._emission()
            if emission is None:
                self.lock.wait(0.1)  # perhaps one is on its way
                emission = self._emission()
            if emission is not None:
                self.ingress.remove(emission)
                self.ingress.appendleft(emission)
        return super().take()

    def _emission(self) -> Item | None:
        return next((item for item in self.ingress if isinstance(item, Emission)), None)


@faults.kind(
    "circuit",
    fault="lets a circuit wait for itself",
    file="test_wait.py",
    test="test_wait_in_own_context_raises_and_the_circuit_lives_on",
    says=r"imeoutError'>\] == \[.*ontextError",
)
class _WaitsForItself(Circuit):
    def require_outside(self, operation: str) -> None:
        """Let everybody wait, whoever it is."""


@faults.kind(
    "circuit",
    fault="makes up a pulse without sending a probe",
    file="test_pulse.py",
    test="test_a_pulse_waits_for_what_was_accepted_before",
    says=r"assert not True[\s\S]*Task",
)
class _PulseOfNothing(Circuit):
    def pulse(self) -> Pulse | None:
        return None if self.ended.is_set() else Pulse(1, 2, 3, 4)


@faults.kind(
    "circuit",
    fault="reads the clock anew within a cascade",
    file="test_time.py",
    test="test_what_a_value_causes_has_its_time_however_long_that_takes",
    says=r"\[\[1\], \[2\]\] == \[\[1\], \[1, 2\]\]",
)
class _ReadsTheClockAnew(Circuit):
    def now_ns(self) -> int:
        return self.clock.now()


@faults.kind(
    "circuit",
    fault="gives all values the time of the first",
    file="test_time.py",
    test="test_each_value_of_a_caller_has_a_time_of_its_own",
    says=r"\[\[1\], \[1, 2\]\] == \[\[1\], \[2\]\]",
)
class _KeepsTheTime(Circuit):
    def take(self) -> Item | None:
        before = self.reading_ns
        item = super().take()
        self.reading_ns = before
        return item


@faults.kind(
    "circuit",
    fault="swallows an exception and the next emission with it",
    file="test_isolation.py",
    test="test_the_emission_after_a_failure_is_received",
    says=r"\[0, 2, 3, 5",
)
class _Swallows(Circuit):
    failed = False

    def deliver(self, pipe: Pipe, value: Any) -> None:
        if self.failed:
            self.failed = False
            return
        before = self.cortex.counts["faults"]
        super().deliver(pipe, value)
        self.failed = self.cortex.counts["faults"] > before


@faults.kind(
    "circuit",
    fault="cancels the cascade that a failure is in",
    file="test_isolation.py",
    test="test_a_failure_in_transit_does_not_cancel_the_rest_of_the_cascade",
    says=r"\[1, 2\] == \[1, 2, 3\]",
)
class _CancelsCascade(Circuit):
    def deliver(self, pipe: Pipe, value: Any) -> None:
        before = self.cortex.counts["faults"]
        super().deliver(pipe, value)
        if self.cortex.counts["faults"] > before:
            self.transit.clear()


@faults.kind(
    "circuit",
    fault="dies of an exception that is no Exception",
    file="test_isolation.py",
    test="test_every_kind_of_exception_is_isolated",
    says=r"not within .* s: wait",
)
class _ExpectsExceptionsAlone(Circuit):
    def isolate(self, subject: Subject, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - the fault: others end the thread
            self.cortex.report(subject, error)
        except BaseException:  # noqa: BLE001 - silently, so that no runner's hook hears of it
            raise SystemExit from None


@faults.cortex(
    fault="tells nobody of failures",
    file="test_isolation.py",
    test="test_a_failure_is_told_to_the_hook_with_its_subject",
    says=r"\[\] == .*'told'",
    also={"test_isolation.py::test_a_failure_is_counted_and_logged_with_its_traceback": r"0 == 1"},
)
class _TellsNobody(Cortex):
    def report(self, subject: Any, error: BaseException) -> None:
        """Tell nobody, and do not count."""


@faults.kind(
    "circuit",
    fault="tells of a failure with the wrong subject",
    file="test_isolation.py",
    test="test_a_failure_is_told_to_the_hook_with_its_subject",
    says=r"type=Circuit,.* != \(Subject\[name=iso.told,type=Pipe",
)
class _TellsOfTheCircuit(Circuit):
    def isolate(self, subject: Subject, call: Callable[[], object]) -> None:  # noqa: ARG002
        super().isolate(self.subject, call)


@faults.cortex(
    fault="takes the thread for the context, also in callbacks",
    file="test_identity.py",
    test="test_in_a_circuits_callbacks_the_current_is_the_circuits",
    says=r"False = all\(",
)
class _ThreadIsTheContext(Cortex):
    def current(self) -> Current:
        if self.running.own is None:
            self.running.own = Current.of_thread(self)
        return self.running.own


@faults.cortex(
    fault="gives all threads one current",
    file="test_identity.py",
    test="test_every_context_has_a_current_of_its_own",
    says=r"1 == 5",
)
class _OneCurrentForAllThreads(Cortex):
    only: Current | None = None

    def current(self) -> Current:
        if self.running.current is not None:
            return self.running.current
        if self.only is None:
            self.only = Current.of_thread(self)
        return self.only


@faults.kind(
    "circuit",
    fault="closes without draining",
    file="test_closing.py",
    test="test_close_drains_what_was_accepted_before",
    says=r"\[0\] ==",
)
class _DoesNotDrain(Circuit):
    def end(self) -> None:
        super().end()
        self.ingress.clear()


@faults.kind(
    "circuit",
    fault="drops the cascades of what it drains",
    file="test_closing.py",
    test="test_cascades_of_drained_work_still_run",
    says=r"\[1\] == \[1, 2, 3, 4, 5\]",
)
class _CutsCascade(Circuit):
    def defer(self, item: Item) -> None:
        if not self.closing:
            super().defer(item)


@faults.kind(
    "circuit",
    fault="does after its close what it is asked, on the caller",
    file="test_factories.py",
    test="test_every_queued_operation_after_close_is_silent",
    says=r"== \[1\][\s\S]*Left contains",
)
class _WorksAfterTheEnd(Circuit):
    def accept(self, item: Item) -> None:
        if self.closing and not self.inside:
            self.perform(item)
        else:
            super().accept(item)


@faults.kind(
    "circuit",
    fault="makes components after its close",
    file="test_factories.py",
    test="test_a_closing_and_a_closed_circuit_make_nothing",
    says=r"is ClosedFault",
)
class _MakesThingsAfterClose(Circuit):
    def require_open(self, operation: str) -> None:
        """Make things, closed or not."""


@faults.kind(
    "circuit",
    fault="waits in a close that was not asked to",
    file="test_closing.py",
    test="test_close_does_not_wait_for_pending_work",
    says=r"not within .* s: .*close ended",
)
class _CloseWaits(Circuit):
    def close(self, *, wait: bool = False) -> None:
        super().close(wait=wait or not self.inside)


@faults.kind(
    "circuit",
    fault="keeps circuits that nobody has any more",
    file="test_process.py",
    test="test_closed_and_dropped_circuits_and_pipes_are_given_back",
    says=r"no more circuits and pipes were alive",
)
class _NeverForgets(Circuit):
    kept: ClassVar[list[Circuit]] = []

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kept.append(self)


@faults.kind(
    "circuit",
    fault="does not warn of a circuit that is dropped unclosed",
    file="test_process.py",
    test="test_a_circuit_that_is_dropped_unclosed_warns_and_still_does_what_it_accepted",
    says=r"a dropped circuit warned",
)
class _WarnsNobody(Circuit):
    def __del__(self) -> None:
        self.closing = True


MUTANTS: Final = tuple(faults.mutants)
