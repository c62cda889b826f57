"""The beta provider: the engine in Rust, bound by PyO3."""

from __future__ import annotations

from importlib import import_module

try:
    import_module("._engine", __name__)
except ImportError as error:
    raise ImportError(
        f"substrates_beta: its native module cannot be loaded ({error}); build it with cargo there:"
        " `make sync` in a checkout, or install a wheel of substrates-beta for this interpreter"
    ) from error

__all__: list[str] = []
