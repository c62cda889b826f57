"""Faults of pipes, fan-outs, scopes and closures, and of how calls are refused."""

from __future__ import annotations

import copy
from typing import Any, Final

from substrates import AffinityFault, ProviderMismatchFault
from substrates.absent import UNSET

from ..toy import Cortex
from ..toy.engine import Circuit, Emission
from ..toy.names import Name
from ..toy.pipes import Forwarder, Pipe
from ..toy.scopes import Closure, Scope
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.kind(
    "pipe",
    fault="drops an absent value in silence",
    file="test_pipes.py",
    test="test_emitting_none_is_refused_at_once_by_every_kind_of_pipe",
    says=r"DID NOT RAISE",
)
class _TakesNone(Pipe):
    def emit(self, value: Any, /) -> None:
        if value is not None:
            super().emit(value)


@faults.kind(
    "pipe",
    fault="refuses an absent value, but has queued it",
    file="test_pipes.py",
    test="test_none_takes_no_place_in_the_order",
    says=r"\[1, None, 2\] == \[1, 2\]",
)
class _QueuesThenRefuses(Pipe):
    def emit(self, value: Any, /) -> None:
        if value is None:
            self.circuit.accept(Emission(self, value, self.cortex.current()))
        super().emit(value)


@faults.kind(
    "pipe",
    fault="hands over copies of values",
    file="test_pipes.py",
    test="test_a_value_is_handed_over_by_reference",
    says=r"False = all\(",
)
class _Copies(Pipe):
    def emit(self, value: Any, /) -> None:
        super().emit(copy.copy(value))


@faults.kind(
    "circuit",
    fault="gives named pipes the circuit's name",
    file="test_pipes.py",
    test="test_a_named_pipe_has_that_name_and_delivers",
    says=r"Name\('tck.circuit'\) is Name\('pipe.named'\)",
)
class _ForgetsNames(Circuit):
    def new_pipe(self, name: Name, receive: Any, lane: Any) -> Pipe:  # noqa: ARG002
        return super().new_pipe(self.name, receive, lane)


@faults.kind(
    "circuit",
    fault="hands out a pipe of its own after its close",
    file="test_closing.py",
    test="test_making_a_pipe_of_a_closing_circuit_is_refused",
    says=r"DID NOT RAISE",
)
class _HandsOutOwnPipesAfterClose(Circuit):
    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        if len(arguments) == 1 and isinstance(arguments[0], Pipe) and arguments[0].circuit is self:
            return arguments[0]
        return super().pipe(*arguments, lane=lane)


@faults.kind(
    "circuit",
    fault="does not copy the list of a fan-out",
    file="test_pipes.py",
    test="test_the_list_of_targets_is_copied",
    says=r"'C1' != 'A2'",
)
class _KeepsTheList(Circuit):
    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        pipe = super().pipe(*arguments, lane=lane)
        forwarder = getattr(pipe.receiver, "__self__", None)
        if isinstance(forwarder, Forwarder) and isinstance(arguments[-1], list):
            forwarder.targets = arguments[-1]  # type: ignore[assignment]
        return pipe


@faults.kind(
    "forwarder",
    fault="serves the last target of a fan-out first",
    file="test_pipes.py",
    test="test_every_target_gets_every_value_in_list_order",
    says=r"'C1' != 'A1'",
)
class _Backwards(Forwarder):
    def receive(self, value: Any) -> None:
        for target in reversed(self.targets):
            target.emit(value)


@faults.kind(
    "forwarder",
    fault="serves a target that is listed thrice but once",
    file="test_pipes.py",
    test="test_a_target_that_is_listed_three_times_receives_three_times",
    says=r"\[7\] == \[7, 7, 7\]",
)
class _OnceEach(Forwarder):
    def receive(self, value: Any) -> None:
        for target in dict.fromkeys(self.targets):
            target.emit(value)


@faults.kind(
    "pipe",
    fault="forwards to another circuit without taking a turn",
    file="test_pipes.py",
    test="test_a_target_of_another_circuit_gets_a_value_after_its_turn_here",
    says=r"\[1\] == \[\]",
)
class _Shortcut(Pipe):
    def emit(self, value: Any, /) -> None:
        forwarder = getattr(self.receiver, "__self__", None)
        if isinstance(forwarder, Forwarder):
            forwarder.receive(value)
        else:
            super().emit(value)


@faults.kind(
    "scope",
    fault="takes resources that it did not make",
    file="test_errors.py",
    test="test_a_resource_that_the_provider_did_not_make_is_refused",
    says=r"DID NOT RAISE",
)
class _TakesLookAlikes(Scope):
    def _checked(self, resource: Any, operation: str) -> None:
        if not hasattr(resource, "close"):
            super()._checked(resource, operation)


@faults.cortex(
    fault="refuses what another provider made with another category",
    file="test_errors.py",
    test="test_each_category_that_can_arise_is_raised_as_its_own_class",
    says=r"AffinityFault",
)
class _WrongCategory(Cortex):
    def checked(self, given: Any, kind: Any, operation: str, parameter: str, *rest: Any, **more: Any) -> Any:
        try:
            return super().checked(given, kind, operation, parameter, *rest, **more)
        except ProviderMismatchFault as fault:
            raise AffinityFault(fault.subject, operation, str(fault)) from None


@faults.cortex(
    fault="tells in a fault the subject of the argument",
    file="test_errors.py",
    test="test_a_pipe_that_the_provider_did_not_make_is_refused",
    says=r"type=Pipe,.* is Subject\[name=tck.circuit,type=Circuit",
)
class _BlamesTheArgument(Cortex):
    def checked(self, given: Any, kind: Any, operation: str, parameter: str, *rest: Any, **more: Any) -> Any:
        try:
            return super().checked(given, kind, operation, parameter, *rest, **more)
        except ProviderMismatchFault as fault:
            raise ProviderMismatchFault(given.subject, operation, str(fault)) from None


@faults.cortex(
    fault="tells in a fault another operation",
    file="test_errors.py",
    test="test_a_pipe_that_the_provider_did_not_make_is_refused",
    says=r"check_pipe",
)
class _NamesAnotherOperation(Cortex):
    def checked(self, given: Any, kind: Any, operation: str, parameter: str, *rest: Any, **more: Any) -> Any:
        return super().checked(given, kind, f"check_{operation}", parameter, *rest, **more)


@faults.kind(
    "scope",
    fault="closes what is in a scope in the order of registration",
    file="test_scopes.py",
    test="test_resources_are_closed_in_reverse_order_of_their_first_registration_and_once",
    says=r"\[0, 1, 2\] == \[2, 1, 0\]",
)
class _InOrder(Scope):
    def order(self) -> list[Any]:
        return super().order()[::-1]


@faults.kind(
    "scope",
    fault="gives what is registered again a new place",
    file="test_scopes.py",
    test="test_resources_are_closed_in_reverse_order_of_their_first_registration_and_once",
    says=r"\[1, 0, 2\] == \[2, 1, 0\]",
)
class _MovesToTheEnd(Scope):
    def hold(self, resource: Any) -> None:
        self.resources = [held for held in self.resources if held is not resource]
        super().hold(resource)


@faults.kind(
    "scope",
    fault="closes no more when a close in a scope fails",
    file="test_scopes.py",
    test="test_a_resource_that_fails_to_close_does_not_keep_the_others_open",
    says=r"\[2, 1\] == \[2, 1, 0\]",
)
class _StopsAtAFailure(Scope):
    failed = False

    def end(self, resource: Any) -> None:
        if not self.failed:
            try:
                resource.close()
            except BaseException as error:  # noqa: BLE001 - the fault is in what follows
                self.failed = True
                self.cortex.report(self.subject, error)


@faults.kind(
    "scope",
    fault="closes child scopes before own resources",
    file="test_scopes.py",
    test="test_own_resources_are_closed_before_child_scopes",
    says=r"\[2, 0, 3, 1\] == \[3, 1, 2, 0\]",
)
class _ChildrenFirst(Scope):
    def close(self) -> None:
        if not self.closed:
            for child in reversed(self.children):
                child.close()
        super().close()


@faults.kind(
    "scope",
    fault="leaves child scopes open",
    file="test_scopes.py",
    test="test_closing_a_parent_closes_all_descendants",
    says=r"False = all\(",
)
class _ForgetsChildren(Scope):
    def close(self) -> None:
        self.children.clear()
        super().close()


@faults.kind(
    "scope",
    fault="registers with a closed scope",
    file="test_scopes.py",
    test="test_a_closed_scope_refuses_and_leaves_the_resource_untouched",
    says=r"DID NOT RAISE",
)
class _TakesMoreAfterClose(Scope):
    def require_open(self, operation: str) -> None:
        """Take more, closed or not."""


@faults.kind(
    "closure",
    fault="leaves a resource open when the block of its closure fails",
    file="test_scopes.py",
    test="test_what_the_block_raises_is_passed_on_and_the_resource_closed",
    says=r"False = _closed\(",
)
class _ClosesAfterSuccess(Closure):
    def use(self, block: Any) -> None:
        block(self.resource)
        self.resource.close()


@faults.kind(
    "closure",
    fault="lets a closure be consumed twice",
    file="test_scopes.py",
    test="test_consuming_twice_is_a_temporal_error",
    says=r"DID NOT RAISE",
)
class _ConsumesAgain(Closure):
    def consume(self, block: Any, /) -> None:
        self.consumed = False
        super().consume(block)


@faults.kind(
    "closure",
    fault="lets a closure of a closed scope be consumed",
    file="test_scopes.py",
    test="test_consume_does_nothing_once_the_scope_is_closed",
    says=r"== \[\]",
)
class _ConsumesAfterTheScope(Closure):
    def consume(self, block: Any, /) -> None:
        closed = self.scope.closed
        self.scope.closed = closed and self.consumed
        super().consume(block)
        self.scope.closed = closed


@faults.kind(
    "circuit",
    fault="takes a capacity of nothing",
    file="test_basins.py",
    test="test_a_capacity_below_one_is_refused",
    says=r"DID NOT RAISE",
)
class _TakesAnyCapacity(Circuit):
    def basin(self, *arguments: Any) -> Any:
        capacity = arguments[-1]
        return super().basin(*arguments[:-1], max(1, capacity) if isinstance(capacity, int) else capacity)


MUTANTS: Final = tuple(faults.mutants)
