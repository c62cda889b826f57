"""The reference provider: the contract in plain Python, to read and to compare with."""

from __future__ import annotations

from substrates.spi import Provider, hookimpl

from .provider import ReferenceProvider

__all__ = ["substrates_provider"]


@hookimpl
def substrates_provider() -> Provider:
    """Hand over the provider; see `substrates.spi`."""
    return ReferenceProvider()
