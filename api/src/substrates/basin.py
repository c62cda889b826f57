"""Basins: the newest values, until they are drained."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from .pipe import Pipe
from .subject import Subject, Substrate

__all__ = ["Basin"]

E = TypeVar("E")


class Basin(Substrate, Generic[E]):
    """Keeps the newest values of its pipe, up to its capacity; the oldest gives way.

    Contract: BASIN-CREATE-01 to BASIN-FAIL-12.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Basin[Any]]: ...

    @abstractmethod
    def pipe(self) -> Pipe[E]:
        """Return the pipe that fills it, the same one every time."""

    @abstractmethod
    def drain(self, target: Pipe[E], /) -> None:
        """Emit what is kept to `target`, oldest first, and keep it no longer.

        Queued: it takes its place in the circuit's order, and holds what was accepted before. After the
        circuit's close it does nothing.

        Args:
            target: a pipe of any circuit of this provider.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a pipe of another provider.
            TypeError: no pipe.
        """
