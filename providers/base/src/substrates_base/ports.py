"""Ports: a value that is changed and sent on in the circuit's order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import substrates
from substrates import Fault
from substrates.absent import present
from substrates.receptor import checked_function

from .components import Component
from .names import Name
from .pipes import FanOut

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Port"]


class Port(Component, substrates.Port[Any]):
    """See `substrates.Port`; `_value` is touched by jobs of the circuit alone."""

    __slots__ = ("_value",)

    KIND = substrates.Port

    def __init__(self, circuit: Circuit, name: Name, initial: Any) -> None:
        super().__init__(circuit, name)
        self._value = initial

    def replace(self, value: Any, /) -> None:
        self._circuit._job(partial(self._replace, present(value, "replace", "value")))

    def update(self, *arguments: Any) -> None:
        if len(arguments) not in (1, 2):
            raise TypeError(
                f"update takes an argument, if any, and a function, {len(arguments)} arguments were given"
            )
        if len(arguments) == 2:
            present(arguments[0], "update", "argument")
        function = checked_function(arguments[-1], "update", "function")
        self._circuit._job(partial(self._update, function, *arguments[:-1]))

    def emit(self, target: Any, /) -> None:
        own = self._circuit._cortex.pipe_given(target, "emit", "target", self)
        forward = FanOut(self._circuit, (own,))
        self._circuit._job(lambda: forward(self._value))

    def _replace(self, value: Any) -> None:
        self._value = value

    def _update(self, function: Callable[..., Any], *argument: Any) -> None:
        try:
            value = function(self._value, *argument)
            if value is None:
                raise Fault(
                    self.subject,
                    "update",
                    f"update({function!r}): the function returned None; the value stays",
                )
        except BaseException as error:  # noqa: BLE001 - the trust boundary (PORT-FAIL-09)
            self._circuit._cortex.faults.report(self, error)
        else:
            self._value = value
