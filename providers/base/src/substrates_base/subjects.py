"""Subjects and ids."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

import substrates
from substrates import ProviderMismatchFault

from .names import Name
from .states import State

__all__ = ["Id", "Subject", "renew_lock", "subject_of"]

_sequence = count(1)
_lock = threading.RLock()
"""Re-entrant: what a signal handler or a finalizer asks for may be what this thread is making."""


class Id(substrates.Id):
    """A token; its number tells the order of creation."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = next(_sequence)

    def __repr__(self) -> str:
        return f"Id({self._number})"

    def __copy__(self) -> Id:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Id:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it tells components of this process apart")


class Subject(substrates.Subject[Any]):
    """See `substrates.Subject`."""

    __slots__ = ("_enclosure", "_id", "_name", "_state", "_type")

    def __init__(self, kind: type[Any], name: Name, enclosure: Subject | None) -> None:
        self._type = kind
        self._name = name
        self._enclosure = enclosure
        # Empty for all, so one serves all: the cortex's.
        self._state: State = State(name._names) if enclosure is None else enclosure._state
        self._id = Id()

    @property
    def part(self) -> str:
        return f"Subject[name={self._name},type={self._type.__name__},id={self._id._number}]"

    @property
    def enclosure(self) -> Subject | None:
        return self._enclosure

    @property
    def id(self) -> Id:
        return self._id

    @property
    def name(self) -> Name:
        return self._name

    @property
    def state(self) -> State:
        return self._state

    @property
    def type(self) -> type[Any]:
        return self._type

    def __str__(self) -> str:
        return self.path()

    def __repr__(self) -> str:
        return self.part

    def _compare(self, other: Any) -> int:
        if self is other:
            return 0
        if not isinstance(other, Subject):
            if isinstance(other, substrates.Subject) or hasattr(other, "enclosure"):
                raise ProviderMismatchFault(
                    self,
                    "compare",
                    f"compare({other!r}): a subject of another provider; compare subjects of one",
                )
            raise TypeError(f"compare({other!r}): not a subject")
        mine, theirs = list(self)[::-1], list(other)[::-1]
        for left, right in zip(mine, theirs, strict=False):
            if left is not right:
                if left._name is not right._name:
                    return -1 if left._name < right._name else 1
                return -1 if left._id._number < right._id._number else 1
        return -1 if len(mine) < len(theirs) else 1

    def __lt__(self, other: Any) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._compare(other) >= 0

    def __copy__(self) -> Subject:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Subject:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it stands for a component of this process")


def renew_lock() -> None:
    """In a forked child, get a lock that nobody holds."""
    global _lock
    _lock = threading.RLock()


def subject_of(component: Any, kind: type[Any], name: Name, enclosure: Subject) -> Subject:
    """Return the one subject of a component that keeps it in its slot `_subject`; made on first use.

    A million circuits that nobody asks for their subject hold none.
    """
    with _lock:
        if component._subject is None:
            made = Subject(kind, name, enclosure)
            # Making it may have run a finalizer that needed it first.
            if component._subject is None:
                component._subject = made
        subject: Subject = component._subject
        return subject
