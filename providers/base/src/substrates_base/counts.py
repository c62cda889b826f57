"""Counters that several threads may advance without a lock."""

from __future__ import annotations

from itertools import count

__all__ = ["Count"]


class Count:
    """A number that only grows; `next` of an `itertools.count` is atomic on every build of CPython."""

    __slots__ = ("_numbers", "add")

    def __init__(self) -> None:
        self._numbers = count()
        self.add = self._numbers.__next__
        """Count one more."""

    def value(self) -> int:
        """Return how many were counted."""
        return int(repr(self._numbers)[len("count(") : -1])


class Live:
    """How many of a kind exist."""

    __slots__ = ("_born", "_died", "born", "died")

    def __init__(self) -> None:
        self._born = Count()
        self._died = Count()
        self.born = self._born.add
        """Count one that was made."""
        self.died = self._died.add
        """Count one that is gone."""

    def value(self) -> int:
        """Return how many there are now."""
        return self._born.value() - self._died.value()
