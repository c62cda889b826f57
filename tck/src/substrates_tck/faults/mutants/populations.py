"""Faults of populations: their order, their checks, their members and their end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..toy.engine import Circuit
from ..toy.pipes import Pipe
from ..toy.populations import MemberPipes, Population
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()
FILE: Final = "test_populations.py"


@faults.kind(
    "member-pipes",
    fault="emits to a population back to front",
    file=FILE,
    test="test_the_order_is_that_of_a_loop_over_the_pipes",
    says=r"\[\['value 8'",
)
class _BackToFront(MemberPipes):
    def pairs(self, values: Any, where: Any) -> list[tuple[Pipe, Any]]:
        return super().pairs(values, where)[::-1]


@faults.kind(
    "member-pipes",
    fault="skips the first index",
    file=FILE,
    test="test_indices_choose_members_from_both_ends",
    says=r"\[\['b', 'c'\], \[\], \[\], \[\], \[\]\] ==",
)
class _SkipsTheFirstIndex(MemberPipes):
    def pairs(self, values: Any, where: Any) -> list[tuple[Pipe, Any]]:
        pairs = super().pairs(values, where)
        return pairs if where is None else pairs[1:]


@faults.kind(
    "member-pipes",
    fault="gives one number for all to the first member alone",
    file=FILE,
    test="test_one_number_goes_to_every_member",
    says=r"\[\[7.*\], \[8.*\], \[\], \[\], \[\]\] ==",
)
class _GivesOneNumberToOne(MemberPipes):
    def pairs(self, values: Any, where: Any) -> list[tuple[Pipe, Any]]:
        pairs = super().pairs(values, where)
        return pairs[:1] if isinstance(values, int) else pairs


@faults.kind(
    "member-pipes",
    fault="admits values before it has checked the last one",
    file=FILE,
    test="test_a_last_value_that_does_not_fit_the_lane_refuses_all",
    says=r"nothing was to be admitted",
)
class _AdmitsBeforeItChecks(MemberPipes):
    def emit(self, values: Any, /, *, where: Any = None) -> None:
        if where is None and isinstance(values, list) and len(values) == len(self.pipes):
            for pipe, value in zip(self.pipes, values, strict=True):
                pipe.emit(value)
            return
        super().emit(values, where=where)


@faults.kind(
    "member-pipes",
    fault="takes negative indices for distances from the second last",
    file=FILE,
    test="test_indices_choose_members_from_both_ends",
    says=r"\['a', 'd'\]",
)
class _CountsFromTheSecondLast(MemberPipes):
    def places(self, where: Any) -> list[int]:
        return [max(place - 1, -len(self)) if place < 0 else place for place in super().places(where)]


@faults.kind(
    "member-pipes",
    fault="takes booleans for indices",
    file=FILE,
    test="test_booleans_choose_members",
    says=r"\[\[\], \['a', 'b",
)
class _TakesBooleansForIndices(MemberPipes):
    def places(self, where: Any) -> list[int]:
        if isinstance(where, list) and where and all(isinstance(each, bool) for each in where):
            return [int(each) for each in where if each]
        return super().places(where)


@faults.kind(
    "member-pipes",
    fault="stops at a closed member",
    file=FILE,
    test="test_values_for_closed_members_are_dropped_and_the_others_get_theirs",
    says=r"\[\['a'\], \[\], \[\], \[\], \[\]\] ==",
)
class _StopsAtAClosedMember(MemberPipes):
    def emit(self, values: Any, /, *, where: Any = None) -> None:
        for pipe, value in self.pairs(values, where):
            if pipe.circuit.closing:
                return
            self.admit(pipe, value)


@faults.kind(
    "member-pipes",
    fault="calls the receptor with the number of the pipe from the end",
    file=FILE,
    test="test_the_callable_gets_the_index_and_the_value_in_the_members_context",
    says=r"'for 4'",
)
class _NumbersFromTheEnd(MemberPipes):
    def __init__(self, population: Population, name: Any, receive: Callable[..., object], lane: Any) -> None:
        last = len(population) - 1
        super().__init__(population, name, lambda index, value: receive(last - index, value), lane)


@faults.kind(
    "population",
    fault="does not wait for the last member",
    file=FILE,
    test="test_wait_waits_for_the_one_member_that_is_busy",
    says=r"DID NOT RAISE",
)
class _ForgetsTheLast(Population):
    def barriers(self) -> Sequence[Circuit]:
        return self.circuits[:-1]


@faults.kind(
    "population",
    fault="makes another member for the same index",
    file=FILE,
    test="test_an_index_gives_the_same_member_every_time",
    says=r" is ",
)
class _ForgetsItsMembers(Population):
    def member(self, index: int) -> Circuit:
        found = super().member(index)
        other = type(found)(self.cortex, found.name, found.clock)
        other.population = self
        self.circuits[index] = other
        found.close()
        return other

    def __del__(self) -> None:
        self.end()
        super().__del__()


@faults.kind(
    "population",
    fault="leaves one member open",
    file=FILE,
    test="test_closing_a_population_closes_every_member",
    says=r"ClosedFault was to be raised",
)
class _LeavesOneOpen(Population):
    def end(self) -> None:
        for circuit in self.circuits[:-1]:
            circuit.close()


@faults.kind(
    "population",
    fault="counts negative indices wrongly",
    file=FILE,
    test="test_a_negative_index_counts_from_the_end",
    says=r"population\[-5\]",
)
class _CountsBackwards(Population):
    def member(self, index: int) -> Circuit:
        return self.circuits[-index - 1] if -len(self.circuits) <= index < 0 else super().member(index)


@faults.kind(
    "population",
    fault="lets a member await all",
    file=FILE,
    test="test_waiting_in_a_members_context_is_refused_and_changes_nothing",
    says=r"ontextError",
)
class _LetsAMemberAwait(Population):
    def require_outside(self, operation: str) -> None:
        if operation != "await":
            super().require_outside(operation)


MUTANTS: Final = tuple(faults.mutants)
