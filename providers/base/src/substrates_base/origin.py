"""What all say that are given something of another provider."""

from __future__ import annotations

from typing import Any

from substrates import ProviderMismatchFault, Subject

__all__ = ["mismatch"]


def mismatch(
    receiver: Subject[Any],
    operation: str,
    given: str,
    kind: str,
    provider: str,
    way_out: str = "create it from the same cortex",
) -> ProviderMismatchFault:
    """Return the fault about an argument that another provider made, or that looks as if one had.

    Args:
        receiver: the subject of what was called.
        operation: which was called.
        given: the argument as it was given, perhaps with the parameter's name.
        kind: what it is, with its article.
        provider: the receiver's.
        way_out: what to do instead.
    """
    return ProviderMismatchFault(
        receiver,
        operation,
        f"{operation}({given}): {kind} of another provider given to {provider!r}; {way_out}",
    )
