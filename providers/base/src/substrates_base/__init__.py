"""What every provider shares, built on a small engine interface.

An engine subclasses `Cortex` and `Circuit` (its abstract methods are the engine interface) and brings its
pipes. An engine that leaves Python receptors to Python threads builds on `LaneCircuit` instead, the object
lane, and adds what it runs itself.
"""

from __future__ import annotations

# Nothing of these is named here, but a first use may be in a signal handler, in the middle of another.
from . import banks, basins, cells, conduits, pins, ports, recipes, sinks, subscribers, tickers  # noqa: F401
from .circuits import Circuit, checked_timeout, discard
from .cortex import Cortex
from .counts import Count, Live
from .lane import LaneCircuit, LanePipe, ScalarPipe
from .names import Name
from .natives import NativeCortex
from .pipes import FanOut, Pipe, checked_target
from .states import Slot, State
from .subjects import Subject
from .workers import MOST_WORKERS, Workers, usable_cores, warn_exhausted

__all__ = [
    "MOST_WORKERS",
    "Circuit",
    "Cortex",
    "Count",
    "FanOut",
    "LaneCircuit",
    "LanePipe",
    "Live",
    "Name",
    "NativeCortex",
    "Pipe",
    "ScalarPipe",
    "Slot",
    "State",
    "Subject",
    "Workers",
    "checked_target",
    "checked_timeout",
    "discard",
    "usable_cores",
    "warn_exhausted",
]
