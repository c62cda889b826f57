"""Absent values: None is the absent value, `UNSET` is an argument that was not given."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeVar

from .errors import AbsentValueError

__all__ = ["UNSET", "Unset", "present"]

T = TypeVar("T")


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""The default of an optional argument, so that an explicit None can be refused."""


def present(value: T | None, operation: str, parameter: str) -> T:
    """Return `value`.

    Raises:
        AbsentValueError: `value` is None; the message names `operation` and `parameter`.
    """
    if value is None:
        raise AbsentValueError(f"{operation}({parameter}=None): a value is required")
    return value
