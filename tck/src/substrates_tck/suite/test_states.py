"""States, slots and their types, with the contract's vectors."""

from __future__ import annotations

import copy
import enum
import itertools
import math
import pickle
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    NAME,
    STATE,
    STRING,
    AbsentValueError,
    ConfigurationError,
    Cortex,
    ProviderMismatchFault,
    Slot,
    SlotType,
    State,
    SubstratesError,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_SLOTS, FOREIGN_STATES, ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Settle, Together

TYPES: dict[str, SlotType[Any]] = {
    "BOOLEAN": BOOLEAN,
    "INTEGER": INTEGER,
    "LONG": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "NAME": NAME,
    "STATE": STATE,
}
EVERY_TYPE = pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
REFERENCES = pytest.mark.parametrize("kind", [STRING, NAME, STATE], ids=["STRING", "NAME", "STATE"])
OPERATIONS: dict[str, Callable[..., Any]] = {
    "slot": lambda cortex, *arguments, **keywords: cortex.slot(*arguments, **keywords),
    "state": lambda cortex, *arguments, **keywords: cortex.state().state(*arguments, **keywords),
}
EVERY_OPERATION = pytest.mark.parametrize("operation", OPERATIONS)
READS: dict[str, Callable[[State, Any], Any]] = {
    "value": lambda state, slot: state.value(slot),
    "[]": lambda state, slot: state[slot],
    "in": lambda state, slot: slot in state,
}
MAX_FLOAT = 3.4028234663852886e38
MAX_DOUBLE = 1.7976931348623157e308
FLOATS = {
    "smallest": 2.0**-149,
    "-smallest": -(2.0**-149),
    "max": MAX_FLOAT,
    "-max": -MAX_FLOAT,
    "next above 1": 1 + 2.0**-23,
    "0": 0.0,
    "-0": -0.0,
    "inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
}
DOUBLES = FLOATS | {
    "smallest": 5e-324,
    "-smallest": -5e-324,
    "max": MAX_DOUBLE,
    "-max": -MAX_DOUBLE,
    "next above 1": 1.0000000000000002,
}
Samples = dict[SlotType[Any], tuple[Any, Any]]
BOUNDS = {INTEGER: 2**31, LONG: 2**63}


class Mode(enum.Enum):
    """One enumeration."""

    DEBUG = 1
    RELEASE = 2


class Level(enum.Enum):
    """Another."""

    LOW = 1
    MEDIUM = 2


class Text(str, enum.Enum):  # noqa: UP042 - an enumeration of strings as they were made before StrEnum
    """One whose constants are strings too."""

    HELLO = "hello"


class Number(enum.IntEnum):
    """One whose constants are ints too."""

    SEVEN = 7


def _samples(cortex: Cortex) -> Samples:
    """Return two values of each type."""
    return {
        BOOLEAN: (True, False),
        INTEGER: (42, 43),
        LONG: (123456789, 2**40),
        FLOAT: (3.140000104904175, -0.5),
        DOUBLE: (2.718281828, 1e300),
        STRING: ("hello", ""),
        NAME: (cortex.name("state.value.a"), cortex.name("state.value.b")),
        STATE: (cortex.state().state("inner", 1), cortex.state()),
    }


def _pairs(state: State) -> list[tuple[str, Any]]:
    return [(str(slot.name), slot.value) for slot in state]


def _bits(number: float) -> bytes:
    return struct.pack("<d", number)


@rule("STATE-EMPTY-01", "STATE-ITER-15")
def test_the_first_state_has_no_slots(cortex: Cortex) -> None:
    state = cortex.state()

    assert isinstance(state, State)
    assert list(state) == []
    assert list(reversed(state)) == []
    assert len(state) == 0
    with pytest.raises(StopIteration):
        next(iter(state))


@rule("SUBJECT-PROPS-01", "CIRCUIT-ID-04", "CORTEX-CIRCUIT-04")
def test_a_subjects_state_is_there_empty_and_fixed(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit = new_circuit("state.subject")
    components = [cortex, circuit, circuit.pipe(), circuit.current, cortex.current(), cortex.scope()]
    before = [component.subject.state for component in components]
    before[0].state("a", 1)
    circuit.pipe().emit(1)
    wait(circuit)
    circuit.close(wait=True)

    for component, state in zip(components, before, strict=True):
        subject: Any = component.subject
        assert isinstance(state, State)
        assert list(state) == []
        assert subject.state is state
        with pytest.raises(AttributeError):
            subject.state = cortex.state()


@rule("STATE-PERSIST-02", "STATE-SAME-07")
def test_a_write_makes_another_state_and_leaves_all_earlier_ones(cortex: Cortex) -> None:
    empty = cortex.state()
    base = empty.state("alpha", 1)
    derived_ = base.state("beta", 2)
    overwritten = derived_.state("alpha", 99)

    assert len({id(state) for state in (empty, base, derived_, overwritten)}) == 4
    assert _pairs(empty) == []
    assert _pairs(base) == [("alpha", 1)]
    assert _pairs(derived_) == [("beta", 2), ("alpha", 1)]
    assert _pairs(overwritten) == [("alpha", 99), ("beta", 2)]
    assert base.value(cortex.slot("alpha", 0)) == 1


@rule("STATE-PERSIST-02")
def test_states_written_from_one_do_not_see_each_other(cortex: Cortex) -> None:
    base = cortex.state().state("alpha", 1)
    branches = [base.state("branch", number) for number in range(3)]

    assert [_pairs(branch) for branch in branches] == [
        [("branch", number), ("alpha", 1)] for number in range(3)
    ]
    assert _pairs(base) == [("alpha", 1)]


@rule("STATE-KEY-03", "SLOT-SELECT-06")
def test_one_name_holds_a_value_of_each_type(cortex: Cortex) -> None:
    name = cortex.name("state.key")
    state = cortex.state()
    for kind, (value, _) in _samples(cortex).items():
        state = state.state(name, value, type=kind)

    assert len(state) == 8
    for kind, (value, other) in _samples(cortex).items():
        stored = state.value(cortex.slot(name, other, type=kind))
        assert (stored == value) if kind is not STATE else (_pairs(stored) == [("inner", 1)])


@rule("STATE-KEY-03", "SLOT-SELECT-06")
def test_equal_numbers_of_different_types_coexist(cortex: Cortex) -> None:
    state = cortex.state().state("n", 10, type=INTEGER).state("n", 10, type=LONG)
    state = state.state("n", 10.0, type=FLOAT).state("n", 10.0, type=DOUBLE).state("n", True)

    assert [slot.type for slot in state] == [BOOLEAN, DOUBLE, FLOAT, LONG, INTEGER]
    state = state.state("n", 20, type=LONG)
    assert state.value(cortex.slot("n", 0, type=INTEGER)) == 10
    assert state.value(cortex.slot("n", 0, type=LONG)) == 20


@rule("STATE-KEY-03")
def test_the_key_is_the_name_however_it_was_built(cortex: Cortex) -> None:
    state = cortex.state().state("a.b", 1)
    for name in (cortex.name(["a", "b"]), cortex.name("a") / "b", cortex.name("a.b")):
        assert state.value(cortex.slot(name, 0)) == 1
        assert len(state.state(name, 2)) == 1
    assert state.value(cortex.slot("b", 0)) == 0
    assert state.value(cortex.slot("a", 0)) == 0


@rule("STATE-UPSERT-04")
def test_the_last_value_of_a_key_wins(cortex: Cortex) -> None:
    state = cortex.state()
    for number in range(1, 6):
        state = state.state("counter", number)

    assert _pairs(state) == [("counter", 5)]
    assert len(state) == 1


@rule("STATE-UPSERT-04", "STATE-ORDER-05")
def test_a_key_written_twice_has_one_slot_in_front(cortex: Cortex) -> None:
    state = cortex.state().state("alpha", 1).state("beta", 2).state("alpha", 99).state("gamma", 3)

    assert _pairs(state) == [("gamma", 3), ("alpha", 99), ("beta", 2)]
    assert len(state) == 3


@rule("STATE-ORDER-05", "STATE-ITER-15")
def test_traversal_goes_from_the_newest_write(cortex: Cortex) -> None:
    state = cortex.state().state("alpha", 1).state("beta", 2).state("gamma", 3)

    assert _pairs(state) == [("gamma", 3), ("beta", 2), ("alpha", 1)]
    assert _pairs(state.state("beta", 9)) == [("beta", 9), ("gamma", 3), ("alpha", 1)]
    assert _pairs(state.state("alpha", 9)) == [("alpha", 9), ("gamma", 3), ("beta", 2)]


@rule("STATE-SAME-06", "STATE-ORDER-05")
@EVERY_TYPE
def test_writing_an_equal_value_returns_the_same_state(kind: SlotType[Any], cortex: Cortex) -> None:
    value, other = _samples(cortex)[kind]
    state = cortex.state().state("k", value, type=kind).state("later", 1)

    assert state.state("k", value, type=kind) is state
    assert state.state(cortex.slot("k", value, type=kind)) is state
    changed = state.state("k", other, type=kind)
    assert changed is not state
    assert [str(slot.name) for slot in changed] == ["k", "later"]
    assert changed.state("k", value, type=kind) is not changed


@rule("STATE-SAME-06")
def test_an_equal_write_anywhere_does_not_reorder(cortex: Cortex) -> None:
    state = cortex.state().state("alpha", 1).state("beta", 2)

    assert state.state("alpha", 1) is state
    assert state.state("beta", 2) is state
    assert _pairs(state) == [("beta", 2), ("alpha", 1)]


@rule("STATE-SAME-06")
def test_equal_text_is_equal_whatever_object_it_is(cortex: Cortex) -> None:
    state = cortex.state().state("text", "ab" * 50).state("number", 10**15)

    assert state.state("text", "".join(["ab"] * 50)) is state
    assert state.state("number", int("1000000000000000")) is state


@rule("STATE-SAME-06", "STATE-SAME-07", "STATE-IEEE-12")
@derived
@pytest.mark.parametrize("kind", [FLOAT, DOUBLE], ids=["FLOAT", "DOUBLE"])
def test_floats_are_equal_if_their_bits_are(kind: SlotType[float], cortex: Cortex) -> None:
    zero = cortex.state().state("x", 0.0, type=kind)
    negative = zero.state("x", -0.0, type=kind)
    nan = zero.state("x", math.nan, type=kind)

    assert negative is not zero
    assert [_bits(slot.value) for slot in negative] == [_bits(-0.0)]
    assert negative.state("x", -0.0, type=kind) is negative
    assert negative.state("x", 0.0, type=kind) is not negative
    assert zero.state("x", 0.0, type=kind) is zero
    other = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_2000_0000))[0]
    for same in (math.nan, float("nan"), -math.nan, other):
        assert nan.state("x", same, type=kind) is nan
    assert nan.state("x", 0.0, type=kind) is not nan


@rule("STATE-SAME-06", "STATE-TYPES-10")
@derived
def test_nested_states_equal_themselves_alone(cortex: Cortex) -> None:
    inner, twin = cortex.state().state("a", 1), cortex.state().state("a", 1)
    state = cortex.state().state("inner", inner)

    assert state.state("inner", inner) is state
    assert state.state("inner", twin) is not state
    assert state.state("inner", twin).value(cortex.slot("inner", inner)) is twin
    assert inner != twin


@rule("STATE-SAME-07")
def test_a_different_value_makes_a_different_state(cortex: Cortex) -> None:
    state = cortex.state().state("k", 5)

    assert state.state("k", 6) is not state
    assert _pairs(state) == [("k", 5)]
    assert _pairs(state.state("k", 6)) == [("k", 6)]


@rule("STATE-VALUE-08", "SLOT-TEMPLATE-05")
@pytest.mark.parametrize("read", ["value", "[]"])
@EVERY_TYPE
def test_a_lookup_gives_the_stored_value_else_the_slots_own(
    kind: SlotType[Any], read: str, cortex: Cortex
) -> None:
    stored, template = _samples(cortex)[kind]
    slot = cortex.slot("k", template, type=kind)
    state = cortex.state().state("k", stored, type=kind)

    assert READS[read](state, slot) is state.value(slot)
    assert READS[read](state, slot) == stored
    assert READS[read](cortex.state(), slot) == template
    assert READS[read](cortex.state().state("other", stored, type=kind), slot) == template
    assert slot.value == template


@rule("STATE-VALUE-08")
def test_a_value_of_another_type_counts_as_missing(cortex: Cortex) -> None:
    state = cortex.state().state("n", 10, type=INTEGER).state("text", "stored")

    assert state.value(cortex.slot("n", 999)) == 999
    assert state.value(cortex.slot("n", "default")) == "default"
    assert state.value(cortex.slot("n", 1.0)) == 1.0
    assert state.value(cortex.slot("text", cortex.name("stored"))) is cortex.name("stored")
    assert state.value(cortex.slot("missing", "default")) == "default"


@rule("STATE-VALUE-08")
@derived
def test_membership_asks_for_name_and_type(cortex: Cortex) -> None:
    state = cortex.state().state("n", 10)

    assert cortex.slot("n", 0) in state
    assert next(iter(state)) in state
    assert cortex.slot("n", 10, type=INTEGER) not in state
    assert cortex.slot("m", 10) not in state


@rule("STATE-SLOT-09")
@EVERY_TYPE
def test_writing_a_slot_is_writing_its_name_value_and_type(kind: SlotType[Any], cortex: Cortex) -> None:
    value, other = _samples(cortex)[kind]
    slot = cortex.slot("k", value, type=kind)
    state = cortex.state().state("k", other, type=kind).state("j", 1).state(slot)

    assert [(str(each.name), each.type) for each in state] == [("k", kind), ("j", LONG)]
    assert state.value(cortex.slot("k", other, type=kind)) == value
    assert state.state(slot.name, slot.value, type=slot.type) is state


@rule("STATE-SLOT-09", "STATE-UPSERT-04")
def test_slots_of_one_key_replace_each_other(cortex: Cortex) -> None:
    one, two, three = (cortex.slot("k", number) for number in (1, 2, 3))
    state = cortex.state()
    for slot in (one, two, three, one):
        state = state.state(slot)

    assert _pairs(state) == [("k", 1)]
    assert [slot.value for slot in (one, two, three)] == [1, 2, 3]


@rule("STATE-SLOT-09", "STATE-VALUE-08", "ERR-ABSENT-01")
@pytest.mark.parametrize("call", ["state", *READS])
def test_an_absent_slot_is_refused(call: str, cortex: Cortex) -> None:
    state: Any = cortex.state()

    with pytest.raises(AbsentValueError):
        state.state(None) if call == "state" else READS[call](state, None)


@rule("STATE-SLOT-09", "STATE-VALUE-08", "ERR-PROV-01", "SPI-MIX-13", "ERR-FAULT-02")
@pytest.mark.parametrize("call", ["state", *READS])
@pytest.mark.parametrize("kind", FOREIGN_SLOTS, ids=lambda kind: kind.__name__)
def test_a_slot_that_the_provider_did_not_make_is_refused(
    kind: Callable[[Slot[Any]], Any], call: str, cortex: Cortex
) -> None:
    state = cortex.state().state("k", 1)
    foreign = kind(cortex.slot("k", 2))

    with pytest.raises(ProviderMismatchFault) as refused:
        state.state(foreign) if call == "state" else READS[call](state, foreign)

    assert refused.value.subject is cortex.subject
    assert refused.value.operation == call or call in ("[]", "in")
    assert _pairs(state) == [("k", 1)]


@rule("STATE-SLOT-09", "STATE-VALUE-08", "ERR-CAT-01")
@derived
@pytest.mark.parametrize("call", ["state", *READS])
@pytest.mark.parametrize("unrelated", [42, "k", object(), Exception], ids=["int", "str", "object", "class"])
def test_a_slot_of_an_unrelated_type_is_a_plain_type_error(unrelated: Any, call: str, cortex: Cortex) -> None:
    state: Any = cortex.state()

    with pytest.raises(TypeError) as refused:
        state.state(unrelated) if call == "state" else READS[call](state, unrelated)

    assert not isinstance(refused.value, SubstratesError)


@rule("STATE-TYPES-10")
def test_all_types_are_stored_in_one_state_and_come_back_exactly(cortex: Cortex) -> None:
    samples = _samples(cortex)
    state = cortex.state()
    for kind, (value, _) in samples.items():
        state = state.state(f"of.{kind.name}", value, type=kind)

    assert len(state) == 8
    for kind, (value, other) in samples.items():
        stored = state.value(cortex.slot(f"of.{kind.name}", other, type=kind))
        assert type(stored) is type(value)
        assert stored == value
    for kind in (NAME, STATE):
        assert state.value(cortex.slot(f"of.{kind.name}", samples[kind][1], type=kind)) is samples[kind][0]


@rule("STATE-TYPES-10", "SLOT-TYPE-02")
@derived
def test_the_type_is_inferred_from_the_kind_of_value_never_from_its_size(cortex: Cortex) -> None:
    inferred: dict[SlotType[Any], list[Any]] = {
        BOOLEAN: [True, False],
        LONG: [0, 1, -1, 2**31, 2**63 - 1, -(2**63)],
        DOUBLE: [0.0, 1.0, 0.5, math.nan],
        STRING: ["", "text"],
        NAME: [cortex.name("a")],
        STATE: [cortex.state()],
    }

    for kind, values in inferred.items():
        for value in values:
            assert cortex.slot("n", value).type is kind
            assert [slot.type for slot in cortex.state().state("n", value)] == [kind]


@rule("STATE-TYPES-10", "SLOT-PROPS-01")
@derived
def test_what_is_stored_is_of_the_plain_kind(cortex: Cortex) -> None:
    class Real(float):
        """A float that is more."""

    numbers: list[tuple[Any, Any, type]] = [
        (Number.SEVEN, 7, int),
        (Text.HELLO, "hello", str),
        (Real(0.5), 0.5, float),
    ]
    for given, plain, kind in numbers:
        stored = cortex.slot("n", given).value
        assert type(stored) is kind
        assert stored == plain


@rule("STATE-TYPES-10")
@derived
def test_a_string_is_a_name_and_an_int_a_number_where_the_type_says_so(cortex: Cortex) -> None:
    assert cortex.slot("n", "a.b", type=NAME).value is cortex.name("a.b")
    for kind in (FLOAT, DOUBLE):
        value = cortex.slot("n", 3, type=kind).value
        assert type(value) is float
        assert value == 3.0


@rule("STATE-RANGE-11")
@EVERY_OPERATION
@pytest.mark.parametrize("kind", BOUNDS, ids=["INTEGER", "LONG"])
def test_integers_cover_their_range_and_nothing_beyond(
    kind: SlotType[int], operation: str, cortex: Cortex
) -> None:
    bound = BOUNDS[kind]
    for value in (-bound, -bound + 1, -1, 0, bound - 1):
        assert cortex.slot("n", value, type=kind).value == value
        assert [slot.value for slot in cortex.state().state("n", value, type=kind)] == [value]
    for value in (-bound - 1, bound, 2 * bound, 10**5000):
        with pytest.raises(ConfigurationError):
            OPERATIONS[operation](cortex, "n", value, type=kind)


@rule("STATE-RANGE-11")
@EVERY_OPERATION
@derived
def test_an_int_beyond_long_is_refused_without_a_type_too(operation: str, cortex: Cortex) -> None:
    for value in (2**63, -(2**63) - 1):
        with pytest.raises(ConfigurationError):
            OPERATIONS[operation](cortex, "n", value)


@rule("STATE-IEEE-12")
@pytest.mark.parametrize("value", FLOATS.values(), ids=FLOATS)
def test_a_float_keeps_its_bits(value: float, cortex: Cortex) -> None:
    slot = cortex.slot("x", value, type=FLOAT)

    assert struct.pack("<f", slot.value) == struct.pack("<f", value)
    assert _bits(cortex.state().state(slot).value(cortex.slot("x", 7.0, type=FLOAT))) == _bits(value)


@rule("STATE-IEEE-12")
@pytest.mark.parametrize("value", DOUBLES.values(), ids=DOUBLES)
def test_a_double_keeps_its_bits(value: float, cortex: Cortex) -> None:
    slot = cortex.slot("x", value)

    assert slot.type is DOUBLE
    assert _bits(slot.value) == _bits(value)
    assert _bits(cortex.state().state(slot).value(cortex.slot("x", 7.0))) == _bits(value)


@rule("STATE-IEEE-12")
@derived
def test_a_float_is_rounded_to_binary32(cortex: Cortex) -> None:
    rounded = {
        3.14: 3.140000104904175,
        0.1: 0.10000000149011612,
        1 + 2.0**-24: 1.0,  # half way, to even
        1 + 3 * 2.0**-24: 1 + 2.0**-22,
        2.0**-150: 0.0,
        2.0**-150 * 1.5: 2.0**-149,
        16777217.0: 16777216.0,
        3.4028235e38: MAX_FLOAT,
        3.4028235677973362e38: MAX_FLOAT,
    }

    for value, nearest in rounded.items():
        slot = cortex.slot("x", value, type=FLOAT)
        assert _bits(slot.value) == _bits(nearest)
        state = cortex.state().state("x", value, type=FLOAT)
        assert _bits(state.value(cortex.slot("x", 7.0, type=FLOAT))) == _bits(nearest)
        assert state.state("x", nearest, type=FLOAT) is state
    assert _bits(cortex.slot("x", -(2.0**-150), type=FLOAT).value) == _bits(-0.0)


@rule("STATE-IEEE-12", "STATE-RANGE-11")
@EVERY_OPERATION
@derived
def test_a_number_that_its_type_cannot_hold_is_refused(operation: str, cortex: Cortex) -> None:
    beyond: list[tuple[float, SlotType[float]]] = [
        (3.4028235677973366e38, FLOAT),
        (-3.4028235677973366e38, FLOAT),
        (1e39, FLOAT),
        (MAX_DOUBLE, FLOAT),
        (10**39, FLOAT),
        (10**400, FLOAT),
        (10**400, DOUBLE),
        (10**5000, DOUBLE),
        (2**53 + 1, DOUBLE),
    ]

    for value, kind in beyond:
        with pytest.raises(ConfigurationError):
            OPERATIONS[operation](cortex, "x", value, type=kind)


@rule("STATE-ABSENT-13", "SLOT-ABSENT-03", "ERR-ABSENT-01")
@EVERY_OPERATION
@EVERY_TYPE
def test_an_absent_name_or_value_is_refused(kind: SlotType[Any], operation: str, cortex: Cortex) -> None:
    value, _ = _samples(cortex)[kind]
    absent: list[tuple[tuple[Any, Any], dict[str, Any]]] = [
        ((None, value), {}),
        ((None, value), {"type": kind}),
        (("n", None), {}),
        (("n", None), {"type": kind}),
        (("n", value), {"type": None}),
    ]

    for arguments, keywords in absent:
        with pytest.raises(AbsentValueError):
            OPERATIONS[operation](cortex, *arguments, **keywords)


@rule("STATE-ABSENT-13", "SLOT-ABSENT-03", "ERR-PROV-01", "SPI-MIX-13")
@EVERY_OPERATION
@pytest.mark.parametrize("value", [1, "text", None], ids=["int", "str", "name"])
def test_a_name_that_the_provider_did_not_make_is_refused(value: Any, operation: str, cortex: Cortex) -> None:
    own = cortex.name("n") if value is None else value

    with pytest.raises(ProviderMismatchFault) as refused:
        OPERATIONS[operation](cortex, ForeignName("n"), own)

    assert refused.value.subject is cortex.subject
    assert refused.value.operation == operation


@rule("STATE-ABSENT-13", "SLOT-ABSENT-03", "ERR-PROV-01", "SPI-MIX-13")
@EVERY_OPERATION
@pytest.mark.parametrize("typed", [False, True], ids=["inferred", "typed"])
@pytest.mark.parametrize("make", [ForeignName, *FOREIGN_STATES], ids=lambda make: make.__name__)
def test_a_value_that_the_provider_did_not_make_is_refused(
    make: Callable[[Any], Any], typed: bool, operation: str, cortex: Cortex
) -> None:
    name = make is ForeignName
    foreign = make("foreign") if name else make(cortex.state().state("a", 1))
    keywords = {"type": NAME if name else STATE} if typed else {}

    with pytest.raises(ProviderMismatchFault) as refused:
        OPERATIONS[operation](cortex, "n", foreign, **keywords)

    assert refused.value.subject is cortex.subject
    assert refused.value.operation == operation


@rule("STATE-ABSENT-13", "SLOT-ABSENT-03", "ERR-ARG-01")
@EVERY_OPERATION
@derived
def test_a_malformed_name_is_refused(operation: str, cortex: Cortex) -> None:
    for arguments in (("a..b", 1), ("", 1)):
        with pytest.raises(ConfigurationError):
            OPERATIONS[operation](cortex, *arguments)
    with pytest.raises(ConfigurationError):
        OPERATIONS[operation](cortex, "n", "a..b", type=NAME)


@rule("STATE-ABSENT-13", "SLOT-ABSENT-03", "ERR-CAT-01")
@EVERY_OPERATION
@derived
def test_arguments_of_unrelated_types_are_plain_type_errors(operation: str, cortex: Cortex) -> None:
    samples = {kind: value for kind, (value, _) in _samples(cortex).items()}
    accepted = {(INTEGER, LONG), (LONG, INTEGER), (FLOAT, DOUBLE), (DOUBLE, FLOAT), (NAME, STRING)}
    accepted |= {(real, whole) for real in (FLOAT, DOUBLE) for whole in (INTEGER, LONG)}
    unrelated: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        *((("n", value), {}) for value in (object(), 1j, b"bytes", [1], (), {"a": 1}, int, Mode.DEBUG)),
        *((("n", 1), {"type": kind}) for kind in (int, "LONG", object(), SlotType("LONG"))),
        *(((name, 1), {}) for name in (42, 1.5, object(), Mode.DEBUG)),
        *(
            (("n", samples[value]), {"type": kind})
            for kind, value in itertools.permutations(TYPES.values(), 2)
            if (kind, value) not in accepted
        ),
        ((), {}),
        (("n",), {}),
        ((cortex.name("n"),), {}),
        (("n", 1, LONG), {}),
        ((Mode.DEBUG,), {"type": NAME}),
        (("n",), {"type": NAME}),
    ]

    for arguments, keywords in unrelated:
        with pytest.raises(TypeError) as refused:
            OPERATIONS[operation](cortex, *arguments, **keywords)
        assert not isinstance(refused.value, SubstratesError), (arguments, keywords)


@rule("STATE-ENUM-14")
def test_constants_of_one_enumeration_replace_each_other(cortex: Cortex) -> None:
    state = cortex.state().state(Mode.DEBUG).state(Level.MEDIUM).state(Mode.RELEASE)

    assert [(slot.name, slot.type, slot.value) for slot in state] == [
        (cortex.name(Mode), NAME, cortex.name(Mode.RELEASE)),
        (cortex.name(Level), NAME, cortex.name(Level.MEDIUM)),
    ]
    assert state.state(Mode.RELEASE) is state
    assert state.state(Level.MEDIUM) is state
    assert state.value(cortex.slot(Mode.DEBUG)) is cortex.name(Mode.RELEASE)
    assert state.value(cortex.slot(cortex.name(Mode), cortex.name("x"))) is cortex.name(Mode.RELEASE)


@rule("STATE-ENUM-14", "SLOT-ENUM-07")
def test_a_name_written_under_an_enumerations_name_overrides_its_constant(cortex: Cortex) -> None:
    overridden = cortex.name("OVERRIDDEN")
    state = cortex.state().state(Mode.DEBUG).state(cortex.name(Mode), overridden)

    assert len(state) == 1
    assert state.value(cortex.slot(Mode.DEBUG)) is overridden
    assert state.state(cortex.name(Mode), "text").value(cortex.slot(Mode.DEBUG)) is overridden


@rule("SLOT-ENUM-07")
@pytest.mark.parametrize("constant", [Mode.DEBUG, Level.LOW, Text.HELLO, Number.SEVEN], ids=str)
def test_the_slot_of_a_constant_is_named_for_its_enumeration(constant: enum.Enum, cortex: Cortex) -> None:
    slot = cortex.slot(constant)

    assert slot.name is cortex.name(type(constant))
    assert slot.type is NAME
    assert slot.value is cortex.name(constant)
    assert slot.value.part == constant.name
    assert slot.value.enclosure is slot.name
    assert cortex.state().value(slot) is slot.value


@rule("SLOT-ABSENT-03", "STATE-ENUM-14", "ERR-ABSENT-01")
@EVERY_OPERATION
def test_an_absent_constant_is_refused(operation: str, cortex: Cortex) -> None:
    with pytest.raises(AbsentValueError):
        OPERATIONS[operation](cortex, None)


@rule("STATE-ITER-15", "SHAPE-OPS-07")
def test_all_traversals_agree(cortex: Cortex) -> None:
    state = cortex.state().state("a", 1).state("b", 2).state("c", 3)
    slots = list(state)
    iterator = iter(state)
    other = iter(state)

    assert len(state) == 3
    assert list(state) == slots
    assert list(reversed(state)) == slots[::-1]
    assert [next(iterator), next(other), next(iterator), next(iterator)] == [slots[0], *slots]
    with pytest.raises(StopIteration):
        next(iterator)
    assert all(isinstance(slot, Slot) for slot in slots)


@rule("STATE-ITER-15", "STATE-PERSIST-02")
@derived
def test_a_write_during_traversal_does_not_disturb_it(cortex: Cortex) -> None:
    state = cortex.state().state("a", 1).state("b", 2).state("c", 3)
    seen = []
    latest = state
    for slot in state:
        latest = latest.state(slot.name, -slot.value).state(f"new.{slot.name}", 0)
        seen.append(slot.value)

    assert seen == [3, 2, 1]
    assert len(latest) == 6


@rule("STATE-IMMUT-16", "SLOT-INDEP-04")
def test_states_and_slots_cannot_be_changed(cortex: Cortex) -> None:
    slot: Any = cortex.slot("a", 1)
    state: Any = cortex.state().state(slot)

    for target in (slot, state):
        for attribute in ("name", "type", "value", "state", "other"):
            with pytest.raises(AttributeError):
                setattr(target, attribute, 2)
            with pytest.raises(AttributeError):
                delattr(target, attribute)
    with pytest.raises(TypeError):
        state[slot] = 2
    with pytest.raises(TypeError):
        del state[slot]
    assert _pairs(state) == [("a", 1)]
    assert slot.value == 1


@rule("STATE-IMMUT-16", "STATE-PERSIST-02")
@derived
def test_threads_that_write_from_one_state_do_not_disturb_each_other(
    cortex: Cortex, together: Together, interleaved: None
) -> None:
    base = cortex.state()
    for number in range(20):
        base = base.state(f"base.{number}", number)
    before = list(base)
    results: dict[int, State] = {}

    def write(number: int) -> None:
        state = base
        for turn in range(200):
            state = state.state(f"base.{turn % 20}", number * 1000 + turn).state("own", turn)
        results[number] = state

    together(4, write)

    assert list(base) == before
    assert sorted(results) == [0, 1, 2, 3]
    for number, state in results.items():
        expected = {f"base.{turn % 20}": number * 1000 + turn for turn in range(200)} | {"own": 199}
        assert dict(_pairs(state)) == expected
        assert len(state) == 21


@rule("SLOT-PROPS-01")
@pytest.mark.parametrize("route", ["name", "str", "parts", "stepwise"])
@EVERY_TYPE
def test_a_slot_has_the_name_value_and_type_it_was_made_of(
    kind: SlotType[Any], route: str, cortex: Cortex
) -> None:
    name = cortex.name("slot.props")
    given: Any = {
        "name": name,
        "str": "slot.props",
        "parts": cortex.name(["slot", "props"]),
        "stepwise": cortex.name("slot") / "props",
    }[route]
    value, _ = _samples(cortex)[kind]
    if kind is STATE:
        value = cortex.state().state("fixed", 1)
    slot = cortex.slot(given, value, type=kind)

    assert isinstance(slot, Slot)
    for _ in range(3):
        assert slot.name is name
        assert slot.type is kind
        assert slot.value == value


@rule("SLOT-TYPE-02", "TYPE-EQ-01")
@EVERY_TYPE
def test_types_are_equal_for_equal_kinds_and_distinct_otherwise(kind: SlotType[Any], cortex: Cortex) -> None:
    value, other = _samples(cortex)[kind]
    slots = [
        cortex.slot("a", value, type=kind),
        cortex.slot("b", other, type=kind),
        *cortex.state().state("c", value, type=kind),
    ]

    for slot in slots:
        assert slot.type == kind
        assert hash(slot.type) == hash(kind)
        assert [each for each in TYPES.values() if slot.type == each] == [kind]
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert copy.deepcopy(kind) is kind


@rule("SLOT-TYPE-02")
def test_there_are_eight_types_of_slots(cortex: Cortex) -> None:
    types = {
        cortex.slot("n", value, type=kind).type
        for kind, values in _samples(cortex).items()
        for value in values
    }

    assert len(types) == 8
    assert types == set(TYPES.values())
    assert [repr(kind) for kind in TYPES.values()] == list(TYPES)


@rule("TYPE-EQ-01")
def test_the_types_of_two_circuits_are_equal(new_circuit: NewCircuit) -> None:
    first, second = new_circuit(), new_circuit()

    assert first.subject.type == second.subject.type
    assert hash(first.subject.type) == hash(second.subject.type)
    assert first.pipe().subject.type == second.pipe().subject.type


@rule("SLOT-INDEP-04")
def test_slots_of_one_key_are_independent(cortex: Cortex) -> None:
    first, second = cortex.slot("n", 100), cortex.slot("n", 200)
    state = cortex.state().state(second)

    assert first is not second
    assert (first.value, second.value) == (100, 200)
    assert state.value(first) == 200
    assert (first.value, second.value) == (100, 200)


@rule("SLOT-TEMPLATE-05", "STATE-PERSIST-02")
def test_the_stored_value_wins_over_the_template(cortex: Cortex) -> None:
    template = cortex.slot("n", 0)

    assert cortex.state().value(template) == 0
    assert cortex.state().state("n", 20).value(template) == 20
    assert template.value == 0


@rule("SLOT-SELECT-06")
def test_slots_of_one_name_and_two_types_select_independently(cortex: Cortex) -> None:
    state = cortex.state().state("n", 100, type=INTEGER).state("n", 200, type=LONG)

    assert state[cortex.slot("n", 0, type=INTEGER)] == 100
    assert state[cortex.slot("n", 0, type=LONG)] == 200


@rule("SLOT-PROPS-01", "SLOT-INDEP-04")
@derived
@EVERY_TYPE
def test_slots_survive_copying_and_pickling(kind: SlotType[Any], cortex: Cortex) -> None:
    slot = cortex.slot("slot.kept", _samples(cortex)[kind][0], type=kind)

    assert copy.copy(slot) is slot
    assert copy.deepcopy(slot) is slot
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        restored: Slot[Any] = pickle.loads(pickle.dumps(slot, protocol))
        assert restored.name is slot.name
        assert restored.type is kind
        if kind is STATE:
            assert _pairs(restored.value) == _pairs(slot.value)
        else:
            assert restored.value == slot.value
        assert restored in cortex.state().state(slot)


@rule("STATE-TYPES-10", "STATE-ORDER-05", "STATE-IEEE-12")
@derived
def test_states_survive_copying_and_pickling(cortex: Cortex) -> None:
    inner = cortex.state().state("x", -0.0).state("y", math.nan).state("z", 0.1, type=FLOAT)
    state = cortex.state().state("a", 1).state("inner", inner).state(Mode.DEBUG).state("a", 2)

    assert copy.copy(state) is state
    assert copy.deepcopy(state) is state
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        restored: State = pickle.loads(pickle.dumps(state, protocol))
        nested = restored.value(cortex.slot("inner", cortex.state()))
        assert [(slot.name, slot.type) for slot in restored] == [(slot.name, slot.type) for slot in state]
        assert [restored.value(slot) for slot in state if slot.type is not STATE] == [
            slot.value for slot in state if slot.type is not STATE
        ]
        assert [(slot.name, slot.type, _bits(slot.value)) for slot in nested] == [
            (slot.name, slot.type, _bits(slot.value)) for slot in inner
        ]
        assert restored.state("a", 2) is restored


@rule("STATE-IMMUT-16", "SLOT-INDEP-04")
@derived
def test_states_and_slots_can_be_told_apart_in_a_log(cortex: Cortex) -> None:
    state = cortex.state().state("orders.open", 42).state("orders.shop", "north")
    nested = cortex.state()
    for depth in range(5000):
        nested = cortex.state().state("depth", depth).state("nested", nested)

    assert "orders.open" in repr(state)
    assert "42" in repr(state)
    assert "north" in repr(state)
    assert "orders.open" in repr(cortex.slot("orders.open", 42))
    assert "LONG" in repr(cortex.slot("orders.open", 42))
    assert len(repr(cortex.slot("text", "x" * 10**6))) < 1000
    assert "4999" in repr(nested)
    many = cortex.state()
    for number in range(1000):
        many = many.state(f"many.{number}", number)
    assert len(repr(many)) < 1000


@rule("STATE-UPSERT-04", "STATE-ORDER-05", "STATE-SAME-06", "STATE-PERSIST-02", "STATE-VALUE-08")
@derived
@pytest.mark.parametrize("seed", range(5))
def test_random_writes_agree_with_a_list_of_writes(seed: int, cortex: Cortex) -> None:
    chance = random.Random(seed)
    samples = _samples(cortex)
    names = [f"random.{number}" for number in range(5)]
    history: list[tuple[State, list[tuple[str, SlotType[Any], Any]]]] = [(cortex.state(), [])]

    for _ in range(300):
        state, model = chance.choice(history[-20:])
        name, kind = chance.choice(names), chance.choice(list(samples))
        value = chance.choice(samples[kind])
        written = state.state(name, value, type=kind)
        stored = [slot for slot in model if slot[:2] == (name, kind)]
        if stored and (stored[0][2] is value if kind is STATE else stored[0][2] == value):
            assert written is state
        else:
            assert written is not state
            rest = [slot for slot in model if slot[:2] != (name, kind)]
            history.append((written, [(name, kind, value), *rest]))

    for state, model in history:
        assert [(str(slot.name), slot.type, slot.value) for slot in state] == model
        assert len(state) == len(model)
        for name, kind in itertools.product(names, samples):
            template = samples[kind][1]
            found = [value for at, of, value in model if (at, of) == (name, kind)]
            assert state.value(cortex.slot(name, template, type=kind)) == (found or [template])[0]
