"""The alpha provider: the engine in C11, bound by cffi."""

from __future__ import annotations

from substrates.spi import Provider, hookimpl

from .provider import AlphaProvider

__all__ = ["substrates_provider"]


@hookimpl
def substrates_provider() -> Provider:
    """Hand over the provider; see `substrates.spi`."""
    return AlphaProvider()
