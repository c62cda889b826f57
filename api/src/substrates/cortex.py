"""The cortex: where everything of one provider begins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, overload

from .absent import UNSET, Unset
from .cell import CellOf
from .circuit import Circuit
from .clock import Clock
from .current import Current
from .fiber import Fiber
from .flow import Flow
from .lookup import Pool
from .name import Name
from .pipe import Pipe
from .population import Population
from .recipe import Recipe
from .scope import Scope
from .state import Slot, SlotType, State
from .subject import Subject, Substrate

__all__ = ["Cortex"]

E = TypeVar("E")
I = TypeVar("I")  # noqa: E741 - as the contract names the type that goes in
O = TypeVar("O")  # noqa: E741 - and the one that comes out
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
    def circuit(self, name: Name | str | Unset = UNSET, /, *, clock: Clock | Unset = UNSET) -> Circuit:
        """Make a new circuit, never cached.

        Args:
            name: its name; by default "circuit".
            clock: where its tickers and time-aware operators take their time from; by default the system's
                monotonic clock.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name of another provider.
            ConfigurationError: the name is malformed.
            MemoryError: the engine has no room for it.

        Contract: CIRCUIT-ID-01 to -04, CORTEX-CIRCUIT-03, -04.
        """

    @abstractmethod
    def circuits(
        self, count: int, /, name: Name | str | Unset = UNSET, *, clock: Clock | Unset = UNSET
    ) -> Population:
        """Make a population of `count` circuits, never cached.

        Args:
            count: how many members, 0 or more.
            name: of the population and each member; by default "circuit".
            clock: the members'; see `circuit`.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name of another provider.
            ConfigurationError: the name is malformed; a negative count.
            TypeError: of another kind.
            MemoryError: there is no room for so many.

        Contract: POPULATION-MEMBER-01 to -04.
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
    def pool(self, function: Callable[[Name], T], /) -> Pool[T]:
        """Return a pool of `function(name)`, computed once per name.

        Raises:
            AbsentValueError: `function` is None.
            TypeError: not callable.

        Contract: POOL-ROOT-01 to POOL-SUBFAIL-11.
        """

    # -- recipes

    @overload
    def fiber(self) -> Fiber[Any]: ...
    @overload
    def fiber(self, type: type[E], /) -> Fiber[E]: ...

    @abstractmethod
    def fiber(self, *arguments: Any) -> Fiber[Any]:
        """Return the fiber without operators, which passes all values.

        Args:
            arguments: a class, the type of the values, for type checkers alone.

        Raises:
            AbsentValueError: None.
            TypeError: no class.

        Contract: CORTEX-RECIPE-09, COMMON-VAL-03, -04, -05.
        """

    @overload
    def flow(self) -> Flow[Any, Any]: ...
    @overload
    def flow(self, type: type[E], /) -> Flow[E, E]: ...
    @overload
    def flow(self, fiber: Fiber[E], /) -> Flow[E, E]: ...

    @abstractmethod
    def flow(self, *arguments: Any) -> Flow[Any, Any]:
        """Return the flow without operators; or one of a fiber's operators.

        Args:
            arguments: a fiber; or a class, as with `fiber`.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: neither a class nor a fiber of this provider.

        Contract: CORTEX-RECIPE-09, COMMON-VAL-03 to -07.
        """

    @abstractmethod
    def attach(self, recipe: Recipe[I, O], target: Pipe[O] | CellOf[O], /) -> Pipe[I]:
        """Do what ``recipe.pipe(target)`` does; see `Recipe.pipe`."""

    @abstractmethod
    def recipe_source(self, recipe: Recipe[Any, Any], /) -> str:
        """Do what ``recipe.source()`` does; see `Recipe.source`."""

    @abstractmethod
    def owns(self, component: object, /) -> bool:
        """Tell whether this cortex made `component`: a component, name, recipe, subject, slot or state.

        Look-alikes and anything else are not its own; it never raises.

        Contract: ERR-PROV-01.
        """

    # -- the runtime

    @abstractmethod
    def facts(self) -> Mapping[str, int | float | str]:
        """Return what the engine counts right now.

        ``circuits`` and ``pipes`` (that exist), ``workers`` (threads), ``faults`` (isolated failures since
        the start) and ``rebuilds`` (how often channels have made out anew who receives their emissions); of
        engines that know it, ``engine_bytes`` (held for circuits, pipes and kernel states) and
        ``allocated_bytes`` (taken from the system for emissions since the start); and what else it likes.
        """

    @abstractmethod
    def on_fault(self, hook: Callable[[Subject[Any] | None, BaseException], object] | None, /) -> None:
        """Call `hook` with the subject and the exception of each failure of client code from now on.

        Failures are isolated, logged on the logger ``substrates`` with their traceback, and counted
        (`facts`) in any case. The hook runs on a thread of the engine, or on one that returns from a wait:
        what failed before the wait has been told when it returns. What the hook raises is logged. One hook
        at a time; None removes it.

        Raises:
            ConfigurationError: a coroutine function.
            TypeError: not callable.

        Contract: ISO-09.
        """
