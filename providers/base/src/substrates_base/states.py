"""States and slots.

A state is a dictionary from (name, type) to slot, oldest write first, which never changes once the state is
handed out. A write copies the dictionary and shares the slots: 80 ns of a write's 1.3 us at 8 slots, 4 us at
1,000. States are small, so a tree or a chain that shares more would cost more; a read is one look-up.
"""

from __future__ import annotations

import math
import reprlib
import struct
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import islice
from typing import Any

import substrates
from substrates import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    NAME,
    STATE,
    STRING,
    ConfigurationError,
    ProviderMismatchFault,
    SlotType,
)
from substrates.absent import UNSET, present

from .names import Name, Names
from .origin import mismatch

__all__ = ["Slot", "State", "made_slot"]

_Key = tuple[Name, SlotType[Any]]

_TYPES = (BOOLEAN, INTEGER, LONG, FLOAT, DOUBLE, STRING, NAME, STATE)
_SHOWN = 4
"""How many slots a state's repr tells; for log lines."""


class Slot(substrates.Slot[Any]):
    """See `substrates.Slot`; its name tells the cortex."""

    __slots__ = ("_name", "_type", "_value")

    def __init__(self, name: Name, kind: SlotType[Any], value: Any) -> None:
        self._name = name
        self._type = kind
        self._value = value

    @property
    def name(self) -> Name:
        return self._name

    @property
    def type(self) -> SlotType[Any]:
        return self._type

    @property
    def value(self) -> Any:
        return self._value

    def __repr__(self) -> str:
        return f"Slot({self._name}: {self._type} = {_shown(self)})"

    def __copy__(self) -> Slot:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Slot:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restore_slot, (self._name._names.provider, self._name, self._value, self._type)


class State(substrates.State):
    """See `substrates.State`."""

    __slots__ = ("_names", "_slots")

    def __init__(self, names: Names, slots: dict[_Key, Slot] | None = None) -> None:
        self._names = names
        self._slots = {} if slots is None else slots

    def state(self, *arguments: Any, type: Any = UNSET) -> State:
        if len(arguments) == 1 and type is UNSET and not isinstance(arguments[0], (str, Enum)):
            slot = self._own(arguments[0], "state")
        else:
            slot = made_slot(self._names, "state", arguments, type)
        key = (slot._name, slot._type)
        stored = self._slots.get(key)
        if stored is not None and _equal(stored._value, slot._value):
            return self
        slots = self._slots.copy()
        if stored is not None:
            del slots[key]  # so that it comes last, as the newest
        slots[key] = slot
        return State(self._names, slots)

    def value(self, slot: Any, /) -> Any:
        own = self._own(slot, "value")
        return self._slots.get((own._name, own._type), own)._value

    def __getitem__(self, slot: Any, /) -> Any:
        return self.value(slot)

    def __contains__(self, slot: Any, /) -> bool:
        own = self._own(slot, "in")
        return (own._name, own._type) in self._slots

    def __iter__(self) -> Iterator[Slot]:
        return reversed(self._slots.values())

    def __reversed__(self) -> Iterator[Slot]:
        return iter(self._slots.values())

    def __len__(self) -> int:
        return len(self._slots)

    def __repr__(self) -> str:
        shown = [f"{slot._name}={_shown(slot)}" for slot in islice(self, _SHOWN)]
        more = [f"and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return f"State({', '.join(shown + more)})"

    def __copy__(self) -> State:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restore_state, (self._names.provider, tuple(self._slots.values()))

    def _own(self, slot: Any, operation: str) -> Slot:
        if isinstance(slot, Slot) and slot._name._names is self._names:
            return slot
        present(slot, operation, "slot")
        if isinstance(slot, substrates.Slot) or _looks(slot, "name", "type", "value"):
            raise _mismatch(self._names, operation, f"slot={slot!r}", "slot")
        raise TypeError(f"{operation}(slot={slot!r}): a Slot is required")


def made_slot(names: Names, operation: str, arguments: tuple[Any, ...], kind: Any) -> Slot:
    """Return the slot that `Cortex.slot` makes of `arguments`."""
    if len(arguments) == 2:
        name = names.given(arguments[0], operation)
        value = present(arguments[1], operation, "value")
        present(kind, operation, "type")
        if kind is UNSET:
            kind = _inferred(value, operation)
        elif not isinstance(kind, SlotType) or kind not in _TYPES:
            raise TypeError(f"{operation}(type={kind!r}): one of {', '.join(map(repr, _TYPES))} is required")
        return Slot(name, kind, _checked(names, operation, kind, value))
    if len(arguments) == 1 and kind is UNSET:
        constant = present(arguments[0], operation, "constant")
        if isinstance(constant, Enum):
            return Slot(names.make(type(constant)), NAME, names.make(constant))
    raise TypeError(
        f"{operation}({', '.join(map(_told, arguments))}): a name and a value are required,"
        f" or a{' slot or a' if operation == 'state' else ''} constant of an enumeration"
    )


def _inferred(value: Any, operation: str) -> SlotType[Any]:
    for kind, python in _INFERRED.items():
        if isinstance(value, python):
            return kind
    if _looks(value, "part", "enclosure"):
        return NAME
    if _looks(value, "state", "value", "__iter__"):
        return STATE
    raise TypeError(f"{operation}(value={_told(value)}): a bool, int, float, str, Name or State is required")


_INFERRED: dict[SlotType[Any], type] = {
    BOOLEAN: bool,  # first, since a bool is an int
    LONG: int,
    DOUBLE: float,
    STRING: str,
    NAME: substrates.Name,
    STATE: substrates.State,
}

_ACCEPTED: dict[SlotType[Any], tuple[type, ...]] = {
    BOOLEAN: (bool,),
    INTEGER: (int,),
    LONG: (int,),
    FLOAT: (float, int),
    DOUBLE: (float, int),
    STRING: (str,),
}


def _checked(names: Names, operation: str, kind: SlotType[Any], value: Any) -> Any:
    """Return what is stored of `value`: of a FLOAT the rounded number, of a subclass the plain value."""
    if kind is NAME:
        return names.given(value, operation, parameter="value")
    if kind is STATE:
        return _own_state(names, operation, value)
    accepted: tuple[type, ...] = _ACCEPTED[kind]
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not BOOLEAN):
        raise TypeError(f"{operation}(value={_told(value)}, type={kind}): {accepted[0].__name__} is required")
    if kind is INTEGER or kind is LONG:
        return _whole(operation, kind, value)
    if kind is FLOAT or kind is DOUBLE:
        return _real(operation, kind, value)
    return str.__str__(value) if kind is STRING else value


def _own_state(names: Names, operation: str, value: Any) -> State:
    if isinstance(value, State) and value._names is names:
        return value
    if isinstance(value, substrates.State) or _looks(value, "state", "value", "__iter__"):
        raise _mismatch(names, operation, f"value={value!r}", "state")
    raise TypeError(f"{operation}(value={_told(value)}, type={STATE}): a State is required")


def _whole(operation: str, kind: SlotType[Any], value: Any) -> int:
    bits = 32 if kind is INTEGER else 64
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ConfigurationError(
            f"{operation}(value={_told(value)}): {kind} has {bits} bits"
            f"{'; a LONG has 64' if kind is INTEGER else ', and there is none with more'}"
        )
    return int.__int__(value)


def _real(operation: str, kind: SlotType[Any], value: Any) -> float:
    number: float
    try:
        number = float.__float__(value) if isinstance(value, float) else int.__float__(value)
        exact = not isinstance(value, int) or number == value
        if kind is FLOAT:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        raise ConfigurationError(f"{operation}(value={_told(value)}): beyond the range of {kind}") from None
    if not exact:
        raise ConfigurationError(
            f"{operation}(value={_told(value)}): no {kind} is equal to this int; round it with float() first"
        )
    return number


def _equal(stored: Any, value: Any) -> bool:
    """Tell whether two values of one type are equal, as `substrates.State.state` tells."""
    if isinstance(stored, float):
        if stored == value:
            return stored != 0 or math.copysign(1, stored) == math.copysign(1, value)
        return math.isnan(stored) and math.isnan(value)
    return stored is value or (not isinstance(stored, (Name, State)) and bool(stored == value))


def _shown(slot: Slot) -> str:
    value = slot._value
    return f"<{len(value)} slots>" if isinstance(value, State) else reprlib.repr(value)


def _looks(value: Any, *attributes: str) -> bool:
    return all(hasattr(value, attribute) for attribute in attributes)


def _told(value: Any) -> str:
    # Python refuses to print large ints.
    if isinstance(value, int) and value.bit_length() > 128:
        return f"<int of {value.bit_length()} bits>"
    return repr(value)


def _mismatch(names: Names, operation: str, argument: str, what: str) -> ProviderMismatchFault:
    way_out = f"create the {what} from the same cortex"
    return mismatch(names.subject, operation, argument, f"a {what}", names.provider, way_out)


def _restore_slot(provider: str, name: Any, value: Any, kind: SlotType[Any]) -> substrates.Slot[Any]:
    return substrates.cortex(provider).slot(name, value, type=kind)


def _restore_state(provider: str, slots: tuple[substrates.Slot[Any], ...]) -> substrates.State:
    state = substrates.cortex(provider).state()
    for slot in slots:
        state = state.state(slot)
    return state
