"""States and slots: immutable data under typed names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, Generic, TypeAlias, TypeVar, Union, final, overload

from .name import Name

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "LONG",
    "NAME",
    "STATE",
    "STRING",
    "Slot",
    "SlotType",
    "SlotValue",
    "State",
]

T = TypeVar("T")
V_co = TypeVar("V_co", covariant=True)

SlotValue: TypeAlias = Union[bool, int, float, str, Name, "State"]
"""What a slot may hold."""


@final
class SlotType(Generic[T]):
    """What a slot holds; `BOOLEAN` and its seven siblings are all there are.

    One object each, in every process and on every provider: they compare by identity, and come back from
    pickling as the same object.

    Contract: SLOT-TYPE-02, TYPE-EQ-01.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """What this module calls it."""
        return self._name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


BOOLEAN: Final[SlotType[bool]] = SlotType("BOOLEAN")
"""True or False; inferred from a `bool`."""
INTEGER: Final[SlotType[int]] = SlotType("INTEGER")
"""A whole number of 32 bits, -2**31 to 2**31 - 1; never inferred."""
LONG: Final[SlotType[int]] = SlotType("LONG")
"""A whole number of 64 bits, -2**63 to 2**63 - 1; inferred from every `int`, also from a small one."""
FLOAT: Final[SlotType[float]] = SlotType("FLOAT")
"""A binary32 number, to which values are rounded; never inferred."""
DOUBLE: Final[SlotType[float]] = SlotType("DOUBLE")
"""A binary64 number; inferred from a `float`."""
STRING: Final[SlotType[str]] = SlotType("STRING")
"""Text; inferred from a `str`."""
NAME: Final[SlotType[Name]] = SlotType("NAME")
"""A name, or a `str` that is parsed and interned; inferred from a `Name`."""
STATE: Final[SlotType[State]] = SlotType("STATE")
"""A nested state; inferred from a `State`."""


class Slot(ABC, Generic[V_co]):
    """An immutable value under a name and a type; made by `Cortex.slot`.

    In a state the name and the type together are the key, so that a slot is at once a query and the answer to
    give when nothing is stored under it. Slots are independent of each other and compare by identity; they
    pickle, and a slot that comes back is another one.

    Contract: SLOT-PROPS-01, SLOT-INDEP-04, SLOT-TEMPLATE-05.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> Name:
        """The name that it was made with."""

    @property
    @abstractmethod
    def type(self) -> SlotType[Any]:
        """What kind of value it holds, as one of the tokens of this module."""

    @property
    @abstractmethod
    def value(self) -> V_co:
        """The value; a FLOAT's as it was rounded."""


class State(ABC):
    """An immutable collection of slots, one for each name and type; starts empty at `Cortex.state`.

    A write makes another state and leaves this one as it is, so states may be kept and read from any
    context without locks. Iteration goes from the newest write to the oldest, `len` counts the slots.
    States compare by identity, also when one is nested in another; they pickle, and a state that comes back
    is another one, unless it is empty.

    (The fields of a kernel are something else: `substrates.kernel.State`.)

    Contract: STATE-EMPTY-01 to STATE-IMMUT-16.
    """

    __slots__ = ()

    @overload
    def state(self, slot: Slot[Any], /) -> State: ...
    @overload
    def state(self, constant: Enum, /) -> State: ...
    @overload
    def state(self, name: Name | str, value: SlotValue, /) -> State: ...
    @overload
    def state(self, name: Name | str, value: T, /, *, type: SlotType[T]) -> State: ...
    @overload
    def state(self, name: Name | str, value: Name | str, /, *, type: SlotType[Name]) -> State: ...

    @abstractmethod
    def state(self, *arguments: Any, type: Any = ...) -> State:
        """Return this state with a slot written.

        ======================= ==========================================================================
        ``state(name, value)``  the slot that ``cortex.slot(name, value)`` makes; with `type`, likewise
        ``state(slot)``         that slot
        ``state(constant)``     the slot that ``cortex.slot(constant)`` makes: the constants of one
                                enumeration replace each other
        ======================= ==========================================================================

        Args:
            arguments: see above.
            type: what to store the value as; default: inferred from the kind of value, as by `Cortex.slot`.

        Returns:
            A state whose newest slot it is, without the older slot of that name and type; or this very state
            if its slot of that name and type has an equal value. Floats are equal if their bits are, so that
            0.0 and -0.0 differ, but every NaN equals every other; nested states equal themselves alone.

        Raises:
            As `Cortex.slot`.
            ProviderMismatchFault: also for a slot of another provider.

        Contract: STATE-PERSIST-02 to STATE-SAME-07, STATE-SLOT-09, STATE-ABSENT-13, STATE-ENUM-14.
        """

    @abstractmethod
    def value(self, slot: Slot[T], /) -> T:
        """Return what is stored under the name and the type of `slot`, else the slot's own value.

        Raises:
            AbsentValueError: `slot` is None.
            ProviderMismatchFault: a slot of another provider.
            TypeError: no slot.

        Contract: STATE-VALUE-08, SLOT-TEMPLATE-05, SLOT-SELECT-06.
        """

    @abstractmethod
    def __getitem__(self, slot: Slot[T], /) -> T:
        """Return `self.value(slot)`."""

    @abstractmethod
    def __contains__(self, slot: Slot[Any], /) -> bool:
        """Tell whether something is stored under the name and the type of `slot`, whatever its value.

        Raises:
            As `value`.
        """

    @abstractmethod
    def __iter__(self) -> Iterator[Slot[Any]]:
        """Iterate over the slots, newest write first (STATE-ORDER-05, STATE-ITER-15)."""

    @abstractmethod
    def __reversed__(self) -> Iterator[Slot[Any]]:
        """Iterate over the slots, oldest write first."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of slots."""
