"""Currents of threads and circuits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import substrates

from .names import Names
from .subjects import Subject

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Current", "Currents"]


class Current(substrates.Current):
    """See `substrates.Current`."""

    __slots__ = ("_subject",)

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @property
    def subject(self) -> Subject:
        return self._subject

    def __repr__(self) -> str:
        return f"<Current {self._subject.name}>"

    def __copy__(self) -> Current:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Current:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it stands for a thread or a circuit of this process")


class Currents(threading.local):
    """Per thread: whose context it is running, if a circuit's, and its own token."""

    circuit: Circuit | None = None
    _own: Current | None = None

    def own(self, names: Names, root: Subject) -> Current:
        """Return the calling thread's token."""
        if self._own is None:
            parts = [part for part in threading.current_thread().name.split(".") if part]
            name = names.intern(".".join(parts) or "thread")
            made = Current(Subject(substrates.Current, name, root))
            # Making it may have run a finalizer that needed it first.
            if self._own is None:
                self._own = made
        return self._own
