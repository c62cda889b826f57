"""Chains: the operators of one attachment, a value after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from substrates import ConfigurationError, Subject
from substrates.recipe import Recipe, Stage

if TYPE_CHECKING:
    from .machines import Machine

__all__ = ["Chain", "Place"]


def _emit(pipe: Any, value: Any) -> None:
    pipe.emit(value)


@dataclass(frozen=True)
class Place:
    """Where a recipe is attached.

    Attributes:
        subject: of the pipe that is being made; None in a chain without a pipe.
        emit: does an emission to a side path, given the pipe and the value.
        owned: returns what a factory returned if it is a recipe of the kind and of the provider; raises what
            the contract says if not.
        operators: makes the machine of each operator; None for those of the model.
    """

    subject: Subject[Any] | None = None
    emit: Callable[[Any, Any], object] = _emit
    owned: Callable[[Any, type[Recipe[Any, Any]]], Any] = lambda made, _kind: made
    operators: Mapping[str, Callable[..., Machine]] | None = field(default=None, repr=False)

    def machine(self, stage: Stage) -> Machine:
        """Return a fresh machine for one operator.

        Raises:
            ConfigurationError: there is no such operator.
        """
        from .operators import OPERATORS

        operators = OPERATORS if self.operators is None else self.operators
        if stage.operator not in operators:
            raise ConfigurationError(f"{stage.operator}: there is no such operator")
        return operators[stage.operator](self, *stage.arguments)


class Chain:
    """The machines of one attachment.

    Suppliers and factories among the arguments are called here, in the order of the chain.
    """

    def __init__(self, stages: Sequence[Stage], place: Place | None = None) -> None:
        where = Place() if place is None else place
        self._machines = [where.machine(stage) for stage in stages]

    def run(self, value: Any, now: int, deliver: Callable[[Any], object]) -> None:
        """Send `value` through all machines, and to `deliver` what comes out; then end what was lent.

        Args:
            value: what arrives.
            now: the processing time, in nanoseconds.
            deliver: gets the result, if there is one.

        Raises:
            BaseException: what a user's function, or `deliver`, raised.
        """
        try:
            results = self.step(value, now)
            for result in results:
                deliver(result)
        finally:
            self.passed()

    def step(self, value: Any, now: int) -> list[Any]:
        """Send `value` through all machines and return what comes out; `passed` must follow."""
        results = [value]
        for machine in self._machines:
            results = [after for before in results for after in machine.step(before, now)]
        return results

    def passed(self) -> None:
        """Tell the machines that what came out has been dealt with."""
        for machine in self._machines:
            machine.passed()
