"""The conformance kit: judges any Substrates provider through the public API alone.

Run it with ``substrates-tck run NAME`` or ``pytest --pyargs substrates_tck --provider NAME``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
