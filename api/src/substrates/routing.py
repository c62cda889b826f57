"""Routing: which channels of a conduit an emission reaches."""

from __future__ import annotations

from enum import Enum

__all__ = ["Routing"]


class Routing(Enum):
    """How a conduit dispatches what is emitted to one of its channels.

    Contract: STEM-ENUM-01 to STEM-PERLEVEL-10, ROUTING-01 to -07.
    """

    PIPE = "pipe"
    """To that channel alone; the default."""
    STEM = "stem"
    """To that channel, then to those of its enclosing names up to the root; all before the next value."""
