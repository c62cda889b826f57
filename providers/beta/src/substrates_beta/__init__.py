"""The beta provider: the engine in Rust, bound by PyO3."""

from __future__ import annotations
