"""Pins: a value for the circuit's own context alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import substrates
from substrates import ContextError
from substrates.absent import present

from .components import Component
from .names import Name

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Pin"]


class Pin(Component, substrates.Pin[Any]):
    """See `substrates.Pin`; `_value` is touched in the circuit's context alone."""

    __slots__ = ("_value",)

    KIND = substrates.Pin

    def __init__(self, circuit: Circuit, name: Name, initial: Any) -> None:
        super().__init__(circuit, name)
        self._value = initial

    def get(self) -> Any:
        if not self._circuit._inside():
            raise self._elsewhere("get")
        return self._value

    def set(self, value: Any, /) -> None:
        if not self._circuit._inside():
            raise self._elsewhere("set")
        self._value = present(value, "set", "value")

    def _elsewhere(self, operation: str) -> ContextError:
        return ContextError(
            f"{operation}: {self!r} is usable only in its circuit's own context; call it in a receptor of"
            f" circuit '{self._circuit._name}', or keep the value in a cell"
        )
