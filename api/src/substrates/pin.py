"""Pins: a value for the circuit's own context alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from .subject import Subject, Substrate

__all__ = ["Pin"]

E = TypeVar("E")


class Pin(Substrate, Generic[E]):
    """Holds a value that callbacks of its circuit read and write at once; the handle may travel as a value.

    Contract: PIN-CREATE-01 to PIN-CLOSED-11.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Pin[Any]]: ...

    @abstractmethod
    def get(self) -> E:
        """Return the value.

        Raises:
            ContextError: not in the circuit's own context.
        """

    @abstractmethod
    def set(self, value: E, /) -> None:
        """Replace the value.

        Raises:
            ContextError: not in the circuit's own context.
            AbsentValueError: None.
        """
