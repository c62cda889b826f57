"""States and slots of the toy: a tuple of slots, newest first."""

from __future__ import annotations

import reprlib
import struct
from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

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
    SlotType,
)
from substrates.absent import UNSET, present

from .names import Fixed, Name, Owned

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Slot", "State"]

_INFERRED: Final = ((bool, BOOLEAN), (int, LONG), (float, DOUBLE), (str, STRING))
_BITS: Final = {INTEGER: 32, LONG: 64}
_SHOWN: Final = 4
_STATE_LOOKS: Final = ("state", "value", "__iter__")
_NAME_LOOKS: Final = ("part", "enclosure")


class Slot(Owned, Fixed, substrates.Slot[Any]):
    """A value under a name and a type."""

    __slots__ = ("_name", "_type", "_value", "cortex")

    def __init__(self, cortex: Cortex, name: Name, kind: SlotType[Any], value: Any) -> None:
        self.cortex = cortex
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

    @classmethod
    def made(cls, cortex: Cortex, operation: str, arguments: tuple[Any, ...], kind: Any) -> Slot:
        """Return the slot of what `Cortex.slot` takes."""
        if len(arguments) == 1 and kind is UNSET:
            constant = present(arguments[0], operation, "constant")
            if isinstance(constant, Enum):
                return cls(cortex, cortex.name(type(constant)), NAME, cortex.name(constant))
        if len(arguments) != 2:
            raise TypeError(f"{operation}: a name and a value are required, or a constant of an enumeration")
        name = Name.given(cortex, arguments[0], operation)
        value = present(arguments[1], operation, "value")
        if present(kind, operation, "type") is not UNSET and not isinstance(kind, SlotType):
            raise TypeError(f"{operation}(type={kind!r}): one of the types of slots is required")
        chosen = cls.inferred(value, operation) if kind is UNSET else kind
        return cls(cortex, name, chosen, cls.stored(cortex, operation, chosen, value))

    @staticmethod
    def inferred(value: Any, operation: str) -> SlotType[Any]:
        """Return the type for a value."""
        for python, kind in _INFERRED:
            if isinstance(value, python):
                return kind
        if isinstance(value, substrates.Name) or all(hasattr(value, name) for name in _NAME_LOOKS):
            return NAME
        if isinstance(value, substrates.State) or all(hasattr(value, name) for name in _STATE_LOOKS):
            return STATE
        raise TypeError(f"{operation}(value={_told(value)}): a bool, int, float, str, Name or State")

    @classmethod
    def stored(cls, cortex: Cortex, operation: str, kind: SlotType[Any], value: Any) -> Any:
        """Return what is stored of a value."""
        if kind is NAME:
            return Name.given(cortex, value, operation)
        if kind is STATE:
            return cortex.checked(
                value, substrates.State, operation, "value", cortex.subject, looks=_STATE_LOOKS
            )
        if kind in _BITS:
            return cls.whole(operation, kind, value)
        if kind is FLOAT or kind is DOUBLE:
            return cls.real(operation, kind, value)
        if not isinstance(value, bool if kind is BOOLEAN else str):
            raise TypeError(f"{operation}(value={_told(value)}): it is no {kind}")
        return value if kind is BOOLEAN else str.__str__(value)

    @staticmethod
    def whole(operation: str, kind: SlotType[Any], value: Any) -> int:
        """Return a value as a whole number of a type."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{operation}(value={_told(value)}): it is no {kind}")
        bound = 1 << (_BITS[kind] - 1)
        if not -bound <= value < bound:
            raise ConfigurationError(f"{operation}(value={_told(value)}): beyond the range of {kind}")
        return int.__int__(value)

    @staticmethod
    def real(operation: str, kind: SlotType[Any], value: Any) -> float:
        """Return a value as a float of a type."""
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{operation}(value={_told(value)}): it is no {kind}")
        try:
            number = float.__float__(value) if isinstance(value, float) else int.__float__(value)
            rounded = struct.unpack("<f", struct.pack("<f", number))[0] if kind is FLOAT else number
        except OverflowError:
            raise ConfigurationError(
                f"{operation}(value={_told(value)}): beyond the range of {kind}"
            ) from None
        if isinstance(value, int) and number != value:
            raise ConfigurationError(f"{operation}(value={_told(value)}): no {kind} is equal to it")
        result: float = rounded
        return result

    def __repr__(self) -> str:
        value = f"<{len(self._value)} slots>" if self._type is STATE else reprlib.repr(self._value)
        return f"Slot({self._name}: {self._type} = {value})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _slot_again, (self.cortex.provider, self._name, self._value, self._type)


class State(Owned, Fixed, substrates.State):
    """Slots, newest write first."""

    __slots__ = ("_slots", "cortex")

    def __init__(self, cortex: Cortex, slots: tuple[Slot, ...] = ()) -> None:
        self.cortex = cortex
        self._slots = slots

    def state(self, *arguments: Any, type: Any = UNSET) -> State:
        if len(arguments) == 1 and type is UNSET and not isinstance(arguments[0], (str, Enum)):
            written = self._own(arguments[0], "state")
        else:
            written = self.cortex.slot_kind.made(self.cortex, "state", arguments, type)
        stored = self.found(written)
        if stored is not None and self.equal(stored.value, written.value):
            return self
        return self.__class__(self.cortex, self.written(written, stored))

    def found(self, key: Slot) -> Slot | None:
        """Return the slot of the same name and type."""
        return next((slot for slot in self._slots if slot.name is key.name and slot.type is key.type), None)

    def written(self, slot: Slot, replaced: Slot | None) -> tuple[Slot, ...]:
        """Return the slots after a write."""
        return (slot, *(other for other in self._slots if other is not replaced))

    @staticmethod
    def equal(one: Any, other: Any) -> bool:
        """Tell whether two values of one type are equal."""
        if isinstance(one, float):
            both_nan = one != one and other != other
            return both_nan or struct.pack("<d", one) == struct.pack("<d", other)
        return one is other or (not isinstance(one, (Name, State)) and bool(one == other))

    def value(self, slot: Any, /) -> Any:
        own = self._own(slot, "value")
        found = self.found(own)
        return (own if found is None else found).value

    def __getitem__(self, slot: Any, /) -> Any:
        return self.value(slot)

    def __contains__(self, slot: Any, /) -> bool:
        return self.found(self._own(slot, "in")) is not None

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots)

    def __reversed__(self) -> Iterator[Slot]:
        return reversed(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    def _own(self, slot: Any, operation: str) -> Slot:
        own: Slot = self.cortex.checked(
            slot,
            substrates.Slot,
            operation,
            "slot",
            self.cortex.subject,
            looks=("name", "type", "value"),
        )
        return own

    def __repr__(self) -> str:
        shown = [repr(slot) for slot in self._slots[:_SHOWN]]
        more = len(self._slots) - _SHOWN
        return f"State({', '.join(shown)}{f', and {more} more' if more > 0 else ''})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _state_again, (self.cortex.provider, tuple(reversed(self._slots)))


def _told(value: Any) -> str:
    # Python refuses to print large ints.
    return "<a large int>" if isinstance(value, int) and value.bit_length() > 128 else repr(value)


def _slot_again(provider: str, name: Any, value: Any, kind: SlotType[Any]) -> substrates.Slot[Any]:
    return substrates.cortex(provider).slot(name, value, type=kind)


def _state_again(provider: str, slots: tuple[substrates.Slot[Any], ...]) -> substrates.State:
    state = substrates.cortex(provider).state()
    for slot in slots:
        state = state.state(slot)
    return state
