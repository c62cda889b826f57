"""Faults of names, subjects, states and slots."""

from __future__ import annotations

import time
from typing import Any, Final

from substrates import DOUBLE, FLOAT, INTEGER, Pipe, SlotType

from ..toy import Cortex
from ..toy.names import Name, Names, Subject
from ..toy.states import Slot, State
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.kind(
    "names",
    fault="does not intern deep names",
    file="test_names.py",
    test="test_equal_paths_are_one_object",
    says=r"Name\('test.name'\) is Name\('test.name'\)",
)
class _MakesNamesAnew(Names):
    def interned(self, segments: tuple[str, ...]) -> Name:
        return Name(self.cortex, segments) if len(segments) > 1 else super().interned(segments)


@faults.kind(
    "names",
    fault="interns names twice under a race",
    file="test_names.py",
    test="test_interning_is_free_of_races",
    says=r"== \[1, 1, 1",
)
class _ChecksThenInserts(Names):
    def interned(self, segments: tuple[str, ...]) -> Name:
        if segments not in self.table:
            time.sleep(0.001)
            self.table[segments] = made = Name(self.cortex, segments)
            return made
        return self.table[segments]


class _NameWithLooseEnclosure(Name):
    __slots__ = ()

    @property
    def enclosure(self) -> Any:
        return Name(self.cortex, self.segments[:-1]) if len(self.segments) > 1 else None


@faults.kind(
    "names",
    fault="does not intern the enclosures of names",
    file="test_names.py",
    test="test_enclosures_are_interned_too",
    says=r"Name\('a'\) is Name\('a'\)",
)
class _LooseEnclosures(Names):
    def interned(self, segments: tuple[str, ...]) -> Name:
        with self.cortex.lock:
            return self.table.setdefault(segments, _NameWithLooseEnclosure(self.cortex, segments))


@faults.kind(
    "names",
    fault="takes names that differ in case for one",
    file="test_names.py",
    test="test_names_are_compared_exactly",
    says=r"16 == 17",
)
class _IgnoresCase(Names):
    def interned(self, segments: tuple[str, ...]) -> Name:
        return super().interned(tuple(segment.lower() for segment in segments))


@faults.kind(
    "names",
    fault="takes malformed names",
    file="test_names.py",
    test="test_a_malformed_path_is_refused_on_every_route",
    says=r"DID NOT RAISE",
)
class _TakesEmptySegments(Names):
    def check(self, segments: tuple[str, ...]) -> None:
        """Take anything."""


class _NameOfText(Name):
    __slots__ = ()

    def __lt__(self, other: Any) -> Any:
        return str(self) < str(other)

    def __gt__(self, other: Any) -> Any:
        return str(self) > str(other)


@faults.kind(
    "names",
    fault="orders names by their text, not segment by segment",
    file="test_names.py",
    test="test_names_are_totally_ordered",
    says=r"'a-b'",
)
class _OrdersText(Names):
    def interned(self, segments: tuple[str, ...]) -> Name:
        with self.cortex.lock:
            return self.table.setdefault(segments, _NameOfText(self.cortex, segments))


@faults.kind(
    "subject",
    fault="orders subjects by creation alone",
    file="test_identity.py",
    test="test_subjects_are_ordered_by_their_place_in_the_tree",
    says=r"order.a",
)
class _OrderOfCreation(Subject):
    def order(self) -> list[tuple[tuple[str, ...], int]]:
        return [((), self.id.number)]


@faults.kind(
    "subject",
    fault="orders subjects by their own names, whoever their parents are",
    file="test_identity.py",
    test="test_subjects_are_ordered_by_their_place_in_the_tree",
    says=r"parents decide|cortex",
)
class _OrderOfNames(Subject):
    def order(self) -> list[tuple[tuple[str, ...], int]]:
        return [(self.name.segments, self.id.number)]


@faults.cortex(
    fault="encloses pipes by the circuit, whoever made them",
    file="test_conduits.py",
    test="test_a_channels_subject_is_enclosed_by_the_conduits",
    says=r"type=Circuit,.* != Subject\[name=conduit.chain",
)
class _FlatSubjects(Cortex):
    def new_subject(self, kind: type, name: Name, enclosure: Subject | None) -> Subject:
        if kind is Pipe and enclosure is not None and enclosure.depth > 2:
            enclosure = enclosure.enclosure
        return super().new_subject(kind, name, enclosure)


@faults.kind(
    "state",
    fault="keeps the slot that a write replaces",
    file="test_states.py",
    test="test_a_key_written_twice_has_one_slot_in_front",
    says=r"Left contains one more item: \('alpha', 1\)",
)
class _AppendsSlots(State):
    def written(self, slot: Slot, replaced: Slot | None) -> tuple[Slot, ...]:  # noqa: ARG002
        return (slot, *self._slots)


@faults.kind(
    "state",
    fault="leaves a replaced slot where the old one was",
    file="test_states.py",
    test="test_a_key_written_twice_has_one_slot_in_front",
    says=r"\('beta', 2\) != \('alpha', 99\)",
)
class _ReplacesInPlace(State):
    def written(self, slot: Slot, replaced: Slot | None) -> tuple[Slot, ...]:
        if replaced is None:
            return (slot, *self._slots)
        return tuple(slot if other is replaced else other for other in self._slots)


@faults.kind(
    "state",
    fault="takes the name alone for a slot's key",
    file="test_states.py",
    test="test_one_name_holds_a_value_of_each_type",
    says=r"== 8",
)
class _KeysByName(State):
    def found(self, key: Slot) -> Slot | None:
        return next((slot for slot in self._slots if slot.name is key.name), None)

    @staticmethod
    def equal(one: Any, other: Any) -> bool:
        return type(one) is type(other) and State.equal(one, other)


@faults.kind(
    "state",
    fault="makes another state of an equal write",
    file="test_states.py",
    test="test_writing_an_equal_value_returns_the_same_state",
    says=r"State\(.* is State\(",
)
class _NeverTheSame(State):
    @staticmethod
    def equal(one: Any, other: Any) -> bool:  # noqa: ARG004
        return False


@faults.kind(
    "state",
    fault="takes 0.0 and -0.0 for equal, and no NaN for another",
    file="test_states.py",
    test="test_floats_are_equal_if_their_bits_are",
    says=r"State\(Slot\(x: FLOAT = 0.0\)\) is not State",
)
class _EqualNumbers(State):
    @staticmethod
    def equal(one: Any, other: Any) -> bool:
        return one is other or bool(one == other)


@faults.kind(
    "state",
    fault="changes the state that is written from",
    file="test_states.py",
    test="test_a_write_makes_another_state_and_leaves_all_earlier_ones",
    says=r"\('beta', 2\) != \('alpha', 1\)",
)
class _Mutable(State):
    def state(self, *arguments: Any, **keywords: Any) -> State:
        after = super().state(*arguments, **keywords)
        if len(self):
            self._slots = after._slots
        return after


@faults.kind(
    "slot",
    fault="wraps numbers that are out of range",
    file="test_states.py",
    test="test_integers_cover_their_range_and_nothing_beyond",
    says=r"DID NOT RAISE",
)
class _Wraps(Slot):
    @staticmethod
    def whole(operation: str, kind: SlotType[Any], value: Any) -> int:  # noqa: ARG004
        bits = 32 if kind is INTEGER else 64
        wrapped: int = value & ((1 << bits) - 1)
        return wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped


@faults.kind(
    "slot",
    fault="infers a number's type from its size",
    file="test_states.py",
    test="test_the_type_is_inferred_from_the_kind_of_value_never_from_its_size",
    says=r"INTEGER is LONG",
)
class _InfersBySize(Slot):
    @staticmethod
    def inferred(value: Any, operation: str) -> SlotType[Any]:
        small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31
        return INTEGER if small else Slot.inferred(value, operation)


@faults.kind(
    "slot",
    fault="stores more digits than a FLOAT has",
    file="test_states.py",
    test="test_a_float_is_rounded_to_binary32",
    says=r"b'.*' == b'",
)
class _DoesNotRound(Slot):
    @staticmethod
    def real(operation: str, kind: SlotType[Any], value: Any) -> float:
        return Slot.real(operation, DOUBLE if kind is FLOAT else kind, value)


MUTANTS: Final = tuple(faults.mutants)
