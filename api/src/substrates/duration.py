"""Durations: a timedelta, or seconds as a number."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, Final

from .absent import present
from .errors import ConfigurationError

__all__ = ["LONGEST_NS", "nanoseconds"]

LONGEST_NS: Final = 2**63 - 1
"""The longest duration, in nanoseconds: what 64 bits hold."""
_SECOND_NS: Final = 1_000_000_000


def nanoseconds(duration: Any, operation: str, parameter: str) -> int:
    """Return `duration`, a timedelta or seconds as a number, in nanoseconds.

    Raises:
        AbsentValueError: None.
        ConfigurationError: not more than 0, or more than 64 bits of nanoseconds.
        TypeError: neither timedelta nor number.
    """
    present(duration, operation, parameter)
    if isinstance(duration, timedelta):
        whole_ns = ((duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds) * 1_000
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        if isinstance(duration, float) and not math.isfinite(duration):
            raise ConfigurationError(f"{operation}({parameter}={duration!r}): a finite duration is required")
        whole_ns = round(duration * _SECOND_NS)
        if whole_ns == 0 and duration > 0:
            whole_ns = 1
    else:
        raise TypeError(
            f"{operation}({parameter}={duration!r}): a timedelta, or seconds as a number, is required"
        )
    if not 0 < whole_ns <= LONGEST_NS:
        raise ConfigurationError(
            f"{operation}({parameter}={duration!r}): more than 0 and at most {LONGEST_NS} ns are required"
        )
    return whole_ns
