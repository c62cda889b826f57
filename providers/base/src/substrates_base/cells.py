"""Cells: the latest value, for everybody to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import substrates

from .components import Receiving
from .names import Name

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Cell"]


class Cell(Receiving, substrates.Cell[Any]):
    """See `substrates.Cell`.

    The pipe's receptor writes the value, in the circuit's context; readers take one reference, which is
    atomic on every build of CPython.
    """

    __slots__ = ("_held",)

    KIND = substrates.Cell

    def __init__(self, circuit: Circuit, name: Name, initial: Any) -> None:
        super().__init__(circuit, name)
        self._held = _Held(initial)

    def get(self) -> Any:
        return self._held.value

    def _receptor(self) -> Callable[[Any], object]:
        return self._held.replace


class _Held:
    """The value, apart from the cell, so that the pipe and the cell do not hold each other."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def replace(self, value: Any) -> None:
        """Receive the next value."""
        self.value = value
