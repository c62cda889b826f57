"""What `distinct` remembers."""

from __future__ import annotations

from collections import deque
from typing import Any

__all__ = ["Memory"]


class Memory:
    """Values that were admitted, all or the latest.

    Values that have a hash are looked up in a set, others one by one. A value without a hash may be equal to
    one that has one (a set and a frozenset), so it is compared with all.

    Args:
        capacity: how many it remembers; None for all.
    """

    __slots__ = ("_capacity", "_hashed", "_order", "_unhashed")

    def __init__(self, capacity: int | None) -> None:
        self._capacity = capacity
        self._hashed: set[Any] = set()
        self._unhashed: deque[Any] = deque()
        self._order: deque[tuple[bool, Any]] = deque()

    def admits(self, value: Any) -> bool:
        """Tell whether `value` is not remembered, and remember it then.

        If comparing raises, what is remembered is as before.
        """
        try:
            hash(value)
            hashed = True
        except TypeError:
            hashed = False
        if value in self._unhashed:
            return False
        if value in (self._hashed if hashed else list(self._hashed)):
            return False
        if self._capacity is not None:
            if len(self._order) >= self._capacity:
                self._forget()
            self._order.append((hashed, value))
        if hashed:
            self._hashed.add(value)
        else:
            self._unhashed.append(value)
        return True

    def _forget(self) -> None:
        hashed, oldest = self._order[0]
        if hashed:
            self._hashed.discard(oldest)
        else:
            self._unhashed.popleft()
        self._order.popleft()
