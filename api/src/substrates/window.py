"""What flows make of several values: windows, runs and changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, NamedTuple, NoReturn, TypeVar

__all__ = ["Change", "Run", "Window"]

E = TypeVar("E")
R = TypeVar("R")


class Run(NamedTuple, Generic[E]):
    """A value and the how-manieth of equal values in a row it is; from `Flow.run`.

    Contract: FLOW-RUN-01 to -06.
    """

    emission: E
    """The value, as it came last."""
    length: int
    """1 for the first of a row, and so on."""


class Change(NamedTuple, Generic[E]):
    """The end of a row of equal values; from `Flow.change`.

    Contract: FLOW-CHANGE-01 to -06.
    """

    from_: E
    """The value of the row that ended, as it came last."""
    to: E
    """The value that ended it."""
    length: int
    """How many values the row had, 1 or more."""


class Window(ABC, Generic[E]):
    """The newest values of a pipe, oldest first; from `Flow.window`.

    A window and every view of it may be used only while the callback that got it runs: afterwards each
    operation raises `TemporalError`. It does not change meanwhile. It cannot be iterated or indexed; to keep
    values, copy them: ``window.for_each(values.append)``. Windows are compared by identity.

    A view shows the same values restricted or reversed, and operations on it see them so.

    Every operation raises:
        TemporalError: the callback has ended.
        AbsentValueError: an argument is None.
        ConfigurationError: a count or an offset is negative.
        TypeError: an argument of another kind.

    Contract: WIN-LIFE-01 to WIN-VIEW-08.
    """

    __slots__ = ()

    __iter__ = None
    __contains__ = None
    __reversed__ = None

    @abstractmethod
    def first(self) -> E:
        """Return the first value.

        Raises:
            EmptyWindowError: there is none.
        """

    @abstractmethod
    def last(self) -> E:
        """Return the last value.

        Raises:
            EmptyWindowError: there is none.
        """

    @abstractmethod
    def size(self) -> int:
        """Return how many values this view has."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Tell whether it has none."""

    @abstractmethod
    def prefix(self, count: int, /) -> Window[E]:
        """Return a view of the first `count` values; of fewer if there are fewer, then this very object."""

    @abstractmethod
    def suffix(self, count: int, /) -> Window[E]:
        """Return a view of the last `count` values; of fewer if there are fewer, then this very object."""

    @abstractmethod
    def skip(self, count: int, /) -> Window[E]:
        """Return a view without the first `count` values."""

    @abstractmethod
    def trim(self, count: int, /) -> Window[E]:
        """Return a view without the last `count` values."""

    @abstractmethod
    def slice(self, offset: int, count: int, /) -> Window[E]:
        """Return a view of at most `count` values from `offset` on."""

    @abstractmethod
    def reverse(self) -> Window[E]:
        """Return a view in the opposite order."""

    @abstractmethod
    def for_each(self, action: Callable[[E], object], /) -> None:
        """Call `action` with each value in order."""

    @abstractmethod
    def all(self, predicate: Callable[[E], object], /) -> bool:
        """Tell whether `predicate` holds for all; True of none; stops at the first that fails."""

    @abstractmethod
    def any(self, predicate: Callable[[E], object], /) -> bool:
        """Tell whether `predicate` holds for some; False of none; stops at the first."""

    @abstractmethod
    def none(self, predicate: Callable[[E], object], /) -> bool:
        """Tell whether `predicate` holds for none; stops at the first that it holds for."""

    @abstractmethod
    def count(self, predicate: Callable[[E], object], /) -> int:
        """Return for how many values `predicate` holds."""

    @abstractmethod
    def fold(self, seed: R, function: Callable[[R, E], R], /) -> R:
        """Return ``function(... function(seed, first) ..., last)``; `seed` if there are no values."""

    @abstractmethod
    def reduce(self, identity: E, function: Callable[[E, E], E], /) -> E:
        """Return `fold` with a seed of the values' own type."""

    def __bool__(self) -> NoReturn:
        raise TypeError("a window has no truth value; use is_empty() or size()")
