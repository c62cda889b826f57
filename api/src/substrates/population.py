"""Populations: many circuits of one kind, made, wired, fed and read as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .circuit import Circuit
from .name import Name
from .pipe import Pipe
from .resource import Resource
from .subject import Subject

if TYPE_CHECKING:
    from .kernel import Binding, Lane

__all__ = ["Pipes", "Population"]

E = TypeVar("E")


class Pipes(Sequence[Pipe[E]], Generic[E]):
    """One pipe per member of a population, in the members' order; made by `Population.pipes`.

    An index gives the member's pipe, the same object as long as somebody holds it; a slice gives a sequence
    of pipes. Each is an ordinary pipe of an ordinary circuit.

    Contract: POPULATION-PIPES-01 to POPULATION-EMIT-05.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def population(self) -> Population:
        """The population whose members the pipes belong to."""

    @property
    @abstractmethod
    def lane(self) -> Lane:
        """What kind of values the pipes take."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """The states of the kernels behind the pipes: one structured NumPy array, a row per member.

        ``pipes.state["count"]`` is the column of a number field: an array of int64 or float64 over the memory
        that the kernels use, nothing copied. ``pipes.state["onward"]`` is the column of a pipe field: its
        elements, handles, can be read; what is assigned to it or to a part of it is the `handles` of pipes,
        one pipe for all, or None, and is checked as a whole. Read after a wait; writing while members run is
        undefined.

        Raises:
            TypeError: the pipes have no kernel; an assignment of something else; pipes of another lane.
            ProviderMismatchFault: an assignment of pipes of another provider.
            ConfigurationError: NumPy is not installed.

        Contract: POPULATION-STATE-01 to -04.
        """

    @property
    @abstractmethod
    def handles(self) -> Any:
        """What stands for each pipe in a pipe field of a state: a read-only NumPy array of uint64.

        Its slices, and what indexing or rearranging it gives, can be assigned to a pipe field's column.

        Raises:
            TypeError: the pipes are of the object lane.
            ConfigurationError: NumPy is not installed.
        """

    @abstractmethod
    def emit(self, values: Any, /, *, where: Any = None) -> None:
        """Admit one value per member, or per index in `where`, as a loop over `Pipe.emit` would, in order.

        All is checked before the first value is admitted. Values for closed members are dropped. Any thread
        may call it; in a member's own context what it admits there is transit.

        Args:
            values: on a scalar lane a number for all, or a sequence or array of shape ``(n,)``; on the object
                lane a sequence of n values (for one value for all, ``[value] * n``). n is the length of
                `where`, without it the number of members.
            where: indices of members, each as often as a value goes to it, negative ones from the end; or an
                array of booleans, one per member, that picks those that get a value.

        Raises:
            AbsentValueError: `values` or an element is None.
            TypeError: values that do not fit the lane, indices that are no integers.
            OverflowError: an integer that needs more than 64 bits.
            ValueError: another shape.
            IndexError: no such member.
            ConfigurationError: a scalar lane or `where`, and NumPy is not installed.

        Contract: POPULATION-EMIT-01 to -05.
        """


class Population(Resource, Sequence[Circuit]):
    """Many circuits in one object: each member is an ordinary circuit with all its guarantees.

    Got from `Cortex.circuits`. An index gives a member, the same object as long as somebody holds it; a slice
    gives a sequence of members. All members share the population's name; each has its own identity. A member
    may be closed alone. Close the population, or keep it: dropped unclosed it is reclaimed with a
    `ResourceWarning`.

    Contract: POPULATION-MEMBER-01 to POPULATION-CLOSE-03.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Population]: ...

    @overload
    def pipes(self, kernel: Binding[E], /) -> Pipes[E]: ...
    @overload
    def pipes(self, receptor: Callable[[int, E], object], /, *, lane: Lane | object = ...) -> Pipes[E]: ...
    @overload
    def pipes(self, name: Name | str, kernel: Binding[E], /) -> Pipes[E]: ...
    @overload
    def pipes(
        self, name: Name | str, receptor: Callable[[int, E], object], /, *, lane: Lane | object = ...
    ) -> Pipes[E]: ...

    @abstractmethod
    def pipes(self, *arguments: Any, lane: Any = ...) -> Pipes[Any]:
        """Make one pipe per member.

        Args:
            arguments: a name, by default the population's; then a kernel, of which each member gets a state
                of its own, or a callable that is called with the member's index and the value.
            lane: with a callable: `kernel.int64` or `kernel.float64` for pipes that kernels can emit to.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a name, or a pipe bound to a field, of another provider.
            ConfigurationError: the name is malformed; the callable is a coroutine function; NumPy is not
                installed, which kernels of populations need.
            TypeError: of another kind.
            ClosedFault: the population is closed.
            MemoryError: the engine has no room.

        Contract: POPULATION-PIPES-01 to -04.
        """

    @abstractmethod
    def wait(self, timeout: float | timedelta | None = None) -> None:
        """Return once everything that members accepted before this call is done: one barrier over all.

        What that caused in other members is accepted by then, and done after one more wait.

        Raises:
            ContextError: called in a member's own context.
            TimeoutError: `timeout` passed first.
            ConfigurationError: a negative timeout.
            TypeError: a timeout of another kind.

        Contract: POPULATION-WAIT-01, -02.
        """

    @abstractmethod
    def __await__(self) -> Generator[Any, Any, None]:
        """Wait as `wait` does without blocking the event loop.

        Contract: POPULATION-WAIT-03.
        """
