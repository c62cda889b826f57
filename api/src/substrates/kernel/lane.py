"""Value lanes: what kind of values a pipe takes."""

from __future__ import annotations

import struct
from enum import Enum
from operator import index
from typing import Annotated, Any, Final, TypeAlias, get_args

from ..errors import AbsentValueError

__all__ = ["FLOAT64", "INT64", "OBJECT", "Lane", "float64", "int64", "wrap_int64"]

_LOW, _HIGH = -(2**63), 2**63 - 1


class Lane(Enum):
    """The kind of values that a pipe takes."""

    OBJECT = "object"
    """Any Python value but None, handed over by reference."""
    INT64 = "int64"
    """Integers of 64 bits with sign."""
    FLOAT64 = "float64"
    """IEEE 754 doubles."""

    @staticmethod
    def of(lane: Any) -> Lane:
        """Return the lane that `lane` stands for: a `Lane`, `kernel.int64`, `kernel.float64` or `object`.

        Raises:
            AbsentValueError: `lane` is None.
            TypeError: it stands for none.
        """
        if isinstance(lane, Lane):
            return lane
        if lane is None:
            raise AbsentValueError("lane=None: a lane is required")
        if lane is object:
            return Lane.OBJECT
        for mark in get_args(lane)[1:]:
            if isinstance(mark, Lane):
                return mark
        raise TypeError(f"lane={lane!r}: use kernel.int64, kernel.float64 or object")

    def admit(self, value: Any) -> Any:
        """Return `value` as this lane carries it.

        Raises:
            AbsentValueError: `value` is None.
            TypeError: `value` is of another kind.
            OverflowError: an integer beyond 64 bits.
        """
        if value is None:
            raise AbsentValueError("emit(None): None is the absent value and cannot be emitted")
        if self is Lane.OBJECT:
            return value
        if self is Lane.INT64:
            try:
                number = index(value)
            except TypeError:
                raise TypeError(f"emit({value!r}): the pipe's lane is int64, give an integer") from None
            if not _LOW <= number <= _HIGH:
                raise OverflowError(f"emit({value!r}): the pipe's lane is int64, 64 bits with sign at most")
            return number
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"emit({value!r}): the pipe's lane is float64, give a number")
        try:
            return float(value)
        except TypeError:
            raise TypeError(f"emit({value!r}): the pipe's lane is float64, give a number") from None

    def from_bits(self, bits: int) -> int | float:
        """Return the scalar whose 64 bits, as an integer with sign, are `bits`."""
        return bits if self is Lane.INT64 else _as_float(bits)

    def to_bits(self, value: float) -> int:
        """Return the 64 bits of an admitted scalar as an integer with sign."""
        return int(value) if self is Lane.INT64 else _as_bits(value)


def _as_float(bits: int) -> float:
    number: float = struct.unpack("=d", struct.pack("=q", bits))[0]
    return number


def _as_bits(value: float) -> int:
    bits: int = struct.unpack("=q", struct.pack("=d", value))[0]
    return bits


def wrap_int64(value: float) -> int:
    """Return `value` cut to an integer of 64 bits with sign, as native arithmetic does."""
    return ((int(value) - _LOW) & (2**64 - 1)) + _LOW


OBJECT: Final = Lane.OBJECT
INT64: Final = Lane.INT64
FLOAT64: Final = Lane.FLOAT64

int64: TypeAlias = Annotated[int, Lane.INT64]
"""A 64-bit integer: a state field's type and a lane."""
float64: TypeAlias = Annotated[float, Lane.FLOAT64]
"""A double: a state field's type and a lane."""
