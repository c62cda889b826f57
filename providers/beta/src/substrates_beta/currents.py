"""Whose context a thread runs: asked from the engine, so that running one costs nothing."""

from __future__ import annotations

from typing import Any

from substrates_base.currents import Currents as BaseCurrents

from . import _engine

__all__ = ["Currents"]


class Currents(BaseCurrents):
    """See `substrates_base.Currents`."""

    @property
    def circuit(self) -> Any:  # type: ignore[override]  # what the engine tells is nobody's to set
        """The circuit that the calling thread runs, or None."""
        return _engine.running()
