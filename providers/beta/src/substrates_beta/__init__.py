"""The beta provider: the engine in Rust, bound by PyO3."""

from __future__ import annotations

from importlib import import_module

from substrates.spi import Provider, hookimpl

try:
    import_module("._engine", __name__)
except ImportError as error:
    raise ImportError(
        f"substrates_beta: its native module cannot be loaded ({error}); build it with cargo there:"
        " `make sync` in a checkout, or install a wheel of substrates-beta for this interpreter"
    ) from error

from .provider import BetaProvider

__all__ = ["substrates_provider"]


@hookimpl
def substrates_provider() -> Provider:
    """Hand over the provider; see `substrates.spi`."""
    return BetaProvider()
