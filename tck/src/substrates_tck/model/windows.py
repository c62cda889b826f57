"""Windows as copies of values with a lease.

A lease is held while one value passes through the chain that the window is a result of; every view shares the
lease of the window that it was taken from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import substrates
from substrates import EmptyWindowError, Subject, TemporalError
from substrates.absent import present
from substrates.receptor import checked_function
from substrates.recipe import whole

__all__ = ["Lease", "View"]


class Lease:
    """Whether a window may still be used.

    Attributes:
        subject: of the pipe whose operator made the window, None in a chain without a pipe.
        held: becomes false when the value that the window came with has passed.
    """

    def __init__(self, subject: Subject[Any] | None = None) -> None:
        self.subject = subject
        self.held = True

    def end(self) -> None:
        """End it; from now on every use raises."""
        self.held = False

    def check(self, operation: str) -> None:
        """Refuse a late use.

        Raises:
            TemporalError: it has ended.
        """
        if not self.held:
            raise TemporalError(
                f"{operation}: the callback that got this window has ended; copy what is to be kept"
                " while it runs: window.for_each(values.append)",
                self.subject,
            )


class View(substrates.Window[Any]):
    """A window, or a view of one: values in the order in which it shows them."""

    def __init__(self, values: tuple[Any, ...], lease: Lease) -> None:
        self._values = values
        self._lease = lease

    # -- what is there

    def first(self) -> Any:
        return self._end("first", 0)

    def last(self) -> Any:
        return self._end("last", -1)

    def size(self) -> int:
        self._lease.check("size")
        return len(self._values)

    def is_empty(self) -> bool:
        self._lease.check("is_empty")
        return not self._values

    def _end(self, operation: str, index: int) -> Any:
        self._lease.check(operation)
        if not self._values:
            raise EmptyWindowError(f"{operation}: this view has no values; ask is_empty() first")
        return self._values[index]

    # -- views

    def prefix(self, count: int, /) -> View:
        values = self._count("prefix", count)
        return self if values >= len(self._values) else self._view(self._values[:values])

    def suffix(self, count: int, /) -> View:
        values = self._count("suffix", count)
        size = len(self._values)
        return self if values >= size else self._view(self._values[size - values :])

    def skip(self, count: int, /) -> View:
        return self._view(self._values[self._count("skip", count) :])

    def trim(self, count: int, /) -> View:
        return self._view(self._values[: max(0, len(self._values) - self._count("trim", count))])

    def slice(self, offset: int, count: int, /) -> View:
        start = self._count("slice", offset, "offset")
        return self._view(self._values[start : start + self._count("slice", count)])

    def reverse(self) -> View:
        self._lease.check("reverse")
        return self._view(self._values[::-1])

    def _count(self, operation: str, count: Any, parameter: str = "count") -> int:
        self._lease.check(operation)
        return whole(count, 0, operation, parameter)

    def _view(self, values: tuple[Any, ...]) -> View:
        return type(self)(values, self._lease)

    # -- walks

    def for_each(self, action: Callable[[Any], object], /) -> None:
        for value in self._walk("for_each", action, "action"):
            action(value)

    def all(self, predicate: Callable[[Any], object], /) -> bool:
        return all(predicate(value) for value in self._walk("all", predicate, "predicate"))

    def any(self, predicate: Callable[[Any], object], /) -> bool:
        return any(predicate(value) for value in self._walk("any", predicate, "predicate"))

    def none(self, predicate: Callable[[Any], object], /) -> bool:
        return not any(predicate(value) for value in self._walk("none", predicate, "predicate"))

    def count(self, predicate: Callable[[Any], object], /) -> int:
        return sum(1 for value in self._walk("count", predicate, "predicate") if predicate(value))

    def fold(self, seed: Any, function: Callable[[Any, Any], Any], /) -> Any:
        self._lease.check("fold")
        return self._folded("fold", present(seed, "fold", "seed"), function)

    def reduce(self, identity: Any, function: Callable[[Any, Any], Any], /) -> Any:
        self._lease.check("reduce")
        return self._folded("reduce", present(identity, "reduce", "identity"), function)

    def _folded(self, operation: str, result: Any, function: Callable[[Any, Any], Any]) -> Any:
        for value in self._walk(operation, function, "function"):
            result = function(result, value)
        return result

    def _walk(self, operation: str, function: Any, parameter: str) -> tuple[Any, ...]:
        self._lease.check(operation)
        checked_function(function, operation, parameter)
        return self._values

    def __repr__(self) -> str:
        return f"<Window of {len(self._values)}>" if self._lease.held else "<Window, expired>"
