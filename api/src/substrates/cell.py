"""Cells: the latest value, for everybody to read."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from .pipe import Pipe
from .subject import Subject, Substrate

__all__ = ["Cell", "CellOf"]

E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)


class CellOf(Protocol[E_contra]):
    """For type checkers: a cell that takes such values, of their type or of a wider one."""

    def get(self) -> object:
        """See `Cell.get`."""

    def pipe(self) -> Pipe[E_contra]:
        """See `Cell.pipe`."""


class Cell(Substrate, Generic[E]):
    """Holds a value that only its pipe replaces, in the circuit's order, and that any thread may read.

    Recipes may end in it: ``fiber.pipe(cell)``.

    Contract: CELL-CREATE-01 to CELL-CLOSED-12.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Cell[Any]]: ...

    @abstractmethod
    def get(self) -> E:
        """Return the last value that was processed, at first the initial one; from any thread."""

    @abstractmethod
    def pipe(self) -> Pipe[E]:
        """Return the pipe that replaces the value, the same one every time, enclosed by the cell."""
