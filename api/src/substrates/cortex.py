"""The cortex: where everything of one provider begins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, overload

from .absent import UNSET, Unset
from .circuit import Circuit
from .current import Current
from .name import Name
from .scope import Scope
from .state import Slot, SlotType, State
from .subject import Subject, Substrate

__all__ = ["Cortex"]

T = TypeVar("T")
V = TypeVar("V", bool, int, float, str, Name, State)


class Cortex(Substrate):
    """The root of one provider in this process; got from `substrates.cortex`, never closed.

    Contract: CORTEX-SINGLE-01 to CORTEX-CURRENT-08.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Cortex]: ...

    @property
    @abstractmethod
    def provider(self) -> str:
        """The name of the provider, as it is chosen by."""

    @abstractmethod
    def circuit(self, name: Name | str | Unset = UNSET, /) -> Circuit:
        """Make a new circuit, never cached.

        Raises:
            AbsentValueError: `name` is None.
            ProviderMismatchFault: a name of another provider.
            ConfigurationError: the name is malformed.
            MemoryError: the engine has no room for it.

        Contract: CIRCUIT-ID-01 to -04, CORTEX-CIRCUIT-03, -04.
        """

    @abstractmethod
    def scope(self, name: Name | str | Unset = UNSET, /) -> Scope:
        """Make a new root scope.

        Raises:
            As `circuit`.

        Contract: SCOPE-ID-01, CORTEX-SCOPE-05.
        """

    @abstractmethod
    def current(self) -> Current:
        """Return the token of the calling context: the circuit's inside its callbacks, else the thread's.

        Contract: CURRENT-01 to -03, -06.
        """

    @abstractmethod
    def name(
        self,
        path: str | Name | Iterable[Any] | Enum | Callable[..., Any],
        mapper: Callable[[Any], str] = ...,
        /,
    ) -> Name:
        """Return the interned name of a dotted path, a class, a function, an enum member, or parts.

        Args:
            path: a dotted path; or an iterable of paths, at least one; or an object with a dotted name.
            mapper: with an iterable, turns each element into a path.

        Raises:
            AbsentValueError: None, also as an element or a mapped element.
            ConfigurationError: an empty path, an empty segment, no element.

        Contract: NAME-PARSE-01 to -03, NAME-FACTORY-16 to -19.
        """

    @abstractmethod
    def state(self) -> State:
        """Return the state without slots, which all others are written from.

        Contract: STATE-EMPTY-01.
        """

    @overload
    def slot(self, constant: Enum, /) -> Slot[Name]: ...
    @overload
    def slot(self, name: Name | str, value: V, /) -> Slot[V]: ...
    @overload
    def slot(self, name: Name | str, value: T, /, *, type: SlotType[T]) -> Slot[T]: ...
    @overload
    def slot(self, name: Name | str, value: Name | str, /, *, type: SlotType[Name]) -> Slot[Name]: ...

    @abstractmethod
    def slot(self, *arguments: Any, type: Any = ...) -> Slot[Any]:
        """Make a slot, never cached.

        ====================== ===========================================================================
        ``slot(name, value)``  `value` under `name`. Without `type`, a bool is stored as BOOLEAN, an int as
                               LONG whatever its size, a float as DOUBLE, a str as STRING, and names and
                               states as NAME and STATE
        ``slot(constant)``     of an enumeration: the constant's name, as ``cortex.name(constant)`` tells
                               it, under the name of its class
        ====================== ===========================================================================

        Args:
            arguments: see above.
            type: what to store the value as. FLOAT rounds to the nearest binary32 number; FLOAT and DOUBLE
                take an int too, if a DOUBLE can be equal to it, and NAME a str.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name or state of another provider.
            ConfigurationError: a malformed name; a number beyond the range of its type.
            TypeError: a value of no type that can be stored, or not of `type`.

        Contract: SLOT-PROPS-01 to -ABSENT-03, SLOT-ENUM-07, STATE-RANGE-11, STATE-IEEE-12.
        """

    @abstractmethod
    def facts(self) -> Mapping[str, int | float | str]:
        """Return what the engine counts right now.

        ``circuits`` and ``pipes`` (that exist), ``workers`` (threads) and ``faults`` (isolated failures since
        the start); of engines that know it, ``engine_bytes`` (held for circuits, pipes and kernel states) and
        ``allocated_bytes`` (taken from the system for emissions since the start); and what else it likes.
        """

    @abstractmethod
    def on_fault(self, hook: Callable[[Subject[Any] | None, BaseException], object] | None, /) -> None:
        """Call `hook` with the subject and the exception of each failure of client code from now on.

        Failures are isolated, logged on the logger ``substrates`` with their traceback, and counted
        (`facts`) in any case. The hook runs on a thread of the engine, or on one that returns from a wait:
        what failed before the wait has been told when it returns. What the hook raises is logged. One hook
        at a time; None removes it.

        Contract: ISO-09.
        """
