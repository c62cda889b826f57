"""Pulses: how long a probe took through a circuit."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Pulse"]


class Pulse(NamedTuple):
    """When a probe was where, in nanoseconds of a monotonic clock of arbitrary origin.

    ``start <= enqueued <= stop`` and ``dequeued <= stop``; the circuit may be faster than the caller's
    stamp, so that `dequeued` is before `enqueued`.

    Contract: PULSE-01 to -08.
    """

    start: int
    """Before the probe was given in."""
    enqueued: int
    """When it had its place in the order."""
    dequeued: int
    """When its turn came."""
    stop: int
    """When the caller knew."""
