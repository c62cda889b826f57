"""What the machines of all operators share.

A machine takes a value and the processing time and returns what it passes, a list of one value or of none.
What a user's function raises leaves `step`, with the state as the contract says: a predicate that raises
decides nothing, a fold that raises keeps its state, and what tracks the previous value has moved on to this
one (COMMON-THROW-05). Each finishes its own transition before it returns (COMMON-THROW-04).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .chain import Place

__all__ = ["NOTHING", "UNSET", "Function", "Machine", "passed_if", "passed_unless_absent", "same"]

UNSET: Final = object()
"""What a machine has before the first value."""
NOTHING: Final[list[Any]] = []
"""What is returned by a machine that drops a value."""

Function = Callable[..., Any]


class Machine:
    """One operator of one attachment; `place` tells where it is."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def step(self, value: Any, now: int) -> list[Any]:  # noqa: ARG002 - for operators that know the time
        """Take a value at a time; return what is passed."""
        return self.take(value)

    def take(self, value: Any) -> list[Any]:
        """Take a value, whatever the time; return what is passed."""
        raise NotImplementedError

    def passed(self) -> None:
        """What `step` returned has been dealt with, or something after it has failed."""


def passed_if(value: Any, condition: object) -> list[Any]:
    """Pass a value on a condition."""
    return [value] if condition else NOTHING


def passed_unless_absent(value: Any) -> list[Any]:
    """Pass a result, but nothing if it is absent (COMMON-ABS-02)."""
    return NOTHING if value is None else [value]


def same(one: Any, other: Any) -> bool:
    """Equality as containers have it (COMMON-EQ-03)."""
    return one is other or bool(one == other)
