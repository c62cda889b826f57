"""Value lanes: what kind of values a pipe takes."""

from __future__ import annotations

import struct
from enum import Enum
from math import copysign
from operator import index
from typing import Annotated, Any, Final, TypeAlias, get_args

from ..errors import AbsentValueError

__all__ = ["FLOAT64", "INT64", "OBJECT", "Lane", "fits_int64", "float64", "int64", "shown", "wrap_int64"]

PRINTED_BITS: Final = 128
"""Integers of more bits are not printed."""
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
            OverflowError: an integer beyond 64 bits; one beyond the range of a double.
        """
        # First what is of the kind already; by the names of this module, which cost less than `Lane`'s.
        if self is INT64:
            if type(value) is int and _LOW <= value <= _HIGH:
                return value
        elif self is FLOAT64:
            if type(value) is float:
                return value
        elif value is not None:
            return value
        if value is None:
            raise AbsentValueError("emit(None): None is the absent value and cannot be emitted")
        if self is INT64:
            try:
                number = index(value)
            except TypeError:
                raise TypeError(f"emit({shown(value)}): the pipe's lane is int64, give an integer") from None
            if not fits_int64(number):
                raise OverflowError(
                    f"emit({shown(value)}): the pipe's lane is int64, 64 bits with sign at most"
                )
            return number
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"emit({value!r}): the pipe's lane is float64, give a number")
        try:
            return float(value)
        except TypeError:
            raise TypeError(f"emit({shown(value)}): the pipe's lane is float64, give a number") from None
        except OverflowError:
            raise OverflowError(
                f"emit({shown(value)}): the pipe's lane is float64, beyond its range"
            ) from None

    def cast(self, value: Any) -> Any:
        """Return `value` as a kernel's assignment to a field, or emission to a pipe, of this lane makes it.

        To int64, integers wrap, and floats lose their fraction, stop at the ends of the range, and become 0
        if they are NaN. To float64, integers wrap first. Native code does the same.

        Raises:
            TypeError: `value` is no number.
        """
        if self is OBJECT:
            return value
        if self is INT64:
            return wrap_int64(value)
        try:
            return float(wrap_int64(index(value)))
        except TypeError:
            return _double(value)

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


def _double(value: Any) -> float:
    return copysign(value, value)  # unlike `float`, takes no strings


def shown(value: Any) -> str:
    """Return `value` as a message shows it: a long integer by its size, what has no repr by its type.

    Python refuses to print integers of more than some thousand digits.
    """
    if isinstance(value, int) and value.bit_length() > PRINTED_BITS:
        return f"an integer of {value.bit_length()} bits"
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the message is about something else
        return f"<{type(value).__name__}>"


def fits_int64(number: int) -> bool:
    """Return whether `number` is an integer of 64 bits with sign."""
    return _LOW <= number <= _HIGH


def wrap_int64(value: Any) -> int:
    """Return `value` as an integer of 64 bits with sign; see `Lane.cast`."""
    try:
        return ((index(value) - _LOW) & (2**64 - 1)) + _LOW
    except TypeError:
        number = _double(value)
    if number != number:
        return 0
    return int(min(max(number, _LOW), _HIGH))


OBJECT: Final = Lane.OBJECT
INT64: Final = Lane.INT64
FLOAT64: Final = Lane.FLOAT64

int64: TypeAlias = Annotated[int, Lane.INT64]
"""A 64-bit integer: a state field's type and a lane."""
float64: TypeAlias = Annotated[float, Lane.FLOAT64]
"""A double: a state field's type and a lane."""
