"""Windows: the newest values of a pipe, lent for the length of one step.

The values of a materialization are in one `Windows`. For each value it opens a lease, and the generated code
closes it when the rest of the chain has returned or raised. A window and its views hold the number of their
lease, and each operation compares it with that of the open one, and the thread with the one that opened it.
"""

from __future__ import annotations

from _thread import get_ident
from collections import deque
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import islice
from sys import maxsize
from typing import Any

import substrates
from substrates import EmptyWindowError, TemporalError
from substrates.absent import present
from substrates.recipe import whole

from .subjects import Subject

__all__ = ["TimedWindows", "Window", "Windows"]

NOBODY = 0
"""Identifies no thread."""


class Windows:
    """The values that the windows of one materialization show.

    Args:
        capacity: how many are kept.
        subject: of the pipe that they come from.
    """

    __slots__ = ("lease", "owner", "subject", "values")

    def __init__(self, capacity: int, subject: Subject) -> None:
        self.values: deque[Any] = deque(maxlen=min(capacity, maxsize))
        self.subject = subject
        self.lease = 0
        self.owner = NOBODY

    def opened(self, value: Any) -> Window:
        """Keep `value` and return a window of all that is kept."""
        values = self.values
        values.append(value)
        self.owner = get_ident()
        return Window(self, self.lease, 0, len(values), False)

    def close(self) -> None:
        """End the lease of the window that was opened last."""
        self.lease += 1
        self.owner = NOBODY


class TimedWindows(Windows):
    """Values that are not older than `duration_ns`."""

    __slots__ = ("_duration_ns", "_times")

    def __init__(self, duration_ns: int, capacity: int, subject: Subject) -> None:
        super().__init__(capacity, subject)
        self._duration_ns = duration_ns
        self._times: deque[int] = deque(maxlen=self.values.maxlen)

    def opened_at(self, now_ns: int, value: Any) -> Window:
        """Drop what is too old at `now_ns`, keep `value` and return a window of all that is kept."""
        times = self._times
        oldest_ns = now_ns - self._duration_ns
        while times and times[0] < oldest_ns:
            times.popleft()
            self.values.popleft()
        times.append(now_ns)
        return self.opened(value)


class Window(substrates.Window[Any]):
    """The kept values from `start` to before `stop`, perhaps backwards."""

    __slots__ = ("_backwards", "_lease", "_source", "_start", "_stop")

    def __init__(self, source: Windows, lease: int, start: int, stop: int, backwards: bool) -> None:
        self._source = source
        self._lease = lease
        self._start = start
        self._stop = stop
        self._backwards = backwards

    # -- ends and size

    def first(self) -> Any:
        return self._end("first", self._backwards)

    def last(self) -> Any:
        return self._end("last", not self._backwards)

    def size(self) -> int:
        self._check("size")
        return self._stop - self._start

    def is_empty(self) -> bool:
        self._check("is_empty")
        return self._stop == self._start

    # -- views

    def prefix(self, count: int, /) -> Window:
        taken = self._counted("prefix", "count", count)
        return self if taken >= self._stop - self._start else self._view(0, taken)

    def suffix(self, count: int, /) -> Window:
        taken = self._counted("suffix", "count", count)
        size = self._stop - self._start
        return self if taken >= size else self._view(size - taken, taken)

    def skip(self, count: int, /) -> Window:
        return self._view(self._counted("skip", "count", count), self._stop - self._start)

    def trim(self, count: int, /) -> Window:
        dropped = self._counted("trim", "count", count)
        return self._view(0, max(0, self._stop - self._start - dropped))

    def slice(self, offset: int, count: int, /) -> Window:
        return self._view(self._counted("slice", "offset", offset), self._counted("slice", "count", count))

    def reverse(self) -> Window:
        self._check("reverse")
        return Window(self._source, self._lease, self._start, self._stop, not self._backwards)

    # -- over all values

    def for_each(self, action: Callable[[Any], object], /) -> None:
        for value in self._values("for_each", "action", action):
            action(value)

    def all(self, predicate: Callable[[Any], object], /) -> bool:
        return all(map(predicate, self._values("all", "predicate", predicate)))

    def any(self, predicate: Callable[[Any], object], /) -> bool:
        return any(map(predicate, self._values("any", "predicate", predicate)))

    def none(self, predicate: Callable[[Any], object], /) -> bool:
        return not any(map(predicate, self._values("none", "predicate", predicate)))

    def count(self, predicate: Callable[[Any], object], /) -> int:
        return sum(map(bool, map(predicate, self._values("count", "predicate", predicate))))

    def fold(self, seed: Any, function: Callable[[Any, Any], Any], /) -> Any:
        values = self._values("fold", "function", function)
        return reduce(function, values, present(seed, "fold", "seed"))

    def reduce(self, identity: Any, function: Callable[[Any, Any], Any], /) -> Any:
        values = self._values("reduce", "function", function)
        return reduce(function, values, present(identity, "reduce", "identity"))

    def __repr__(self) -> str:
        if self._lease != self._source.lease:
            return "<Window, ended>"
        return f"<Window of {self._stop - self._start}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be copied or pickled: it is lent; copy its values by for_each")

    # -- for the operations

    def _check(self, operation: str) -> None:
        """Refuse unless the lease is open and this is its thread.

        Raises:
            TemporalError: see above.
        """
        source = self._source
        if source.lease != self._lease or source.owner != get_ident():
            ended = source.lease != self._lease
            raise TemporalError(
                f"{operation}: this window of {source.subject}"
                f" {'ended with' if ended else 'belongs to the thread of'} the callback that got it;"
                " copy its values there, with for_each",
                source.subject,
            )

    def _counted(self, operation: str, parameter: str, count: Any) -> int:
        self._check(operation)
        return count if type(count) is int and count >= 0 else whole(count, 0, operation, parameter)

    def _end(self, operation: str, newest: bool) -> Any:
        self._check(operation)
        if self._start == self._stop:
            raise EmptyWindowError(f"{operation}: the view has no values; ask is_empty() before")
        return self._source.values[self._stop - 1 if newest else self._start]

    def _view(self, offset: int, count: int) -> Window:
        """Return a view of at most `count` values from `offset` on, as this view sees them."""
        size = self._stop - self._start
        begin = min(offset, size)
        end = min(begin + count, size)
        if self._backwards:
            begin, end = size - end, size - begin
        start = self._start
        return Window(self._source, self._lease, start + begin, start + end, self._backwards)

    def _values(self, operation: str, parameter: str, function: Any) -> Iterable[Any]:
        """Return the values in this view's order, for `function` to be called with."""
        self._check(operation)
        if not callable(present(function, operation, parameter)):
            raise TypeError(f"{operation}({parameter}={function!r}): a callable is required")
        values = self._source.values
        size = len(values)
        if self._backwards:
            return islice(reversed(values), size - self._stop, size - self._start)
        if self._stop - self._start == size:
            return values
        return islice(values, self._start, self._stop)
