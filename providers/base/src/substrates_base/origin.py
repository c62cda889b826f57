"""What all say that are given something of another provider."""

from __future__ import annotations

from typing import Any

from substrates import ProviderMismatchFault, Subject, Substrate

__all__ = ["Called", "mismatch"]

Called = Subject[Any] | Substrate
"""A component that was called, or its subject.

Pass the component where its subject may not be made yet: it is asked for it when there is something to
refuse. So a million circuits hold none after their pipes are made."""


def mismatch(
    receiver: Called,
    operation: str,
    given: str,
    kind: str,
    provider: str,
    way_out: str = "create it from the same cortex",
) -> ProviderMismatchFault:
    """Return the fault about an argument that another provider made, or that looks as if one had.

    Args:
        receiver: what was called.
        operation: which was called.
        given: the argument as it was given, perhaps with the parameter's name.
        kind: what it is, with its article.
        provider: the receiver's.
        way_out: what to do instead.
    """
    return ProviderMismatchFault(
        receiver if isinstance(receiver, Subject) else receiver.subject,
        operation,
        f"{operation}({given}): {kind} of another provider given to {provider!r}; {way_out}",
    )
