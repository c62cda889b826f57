"""The bench: measures any Substrates provider through the public API alone, and verifies every run."""

from __future__ import annotations

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
