"""Substrates: deterministic, event-driven data flow.

The contract that all providers implement: circuits, pipes, receptors and what is built on them. Start with
`cortex`::

    import substrates

    cortex = substrates.cortex()
    with cortex.circuit("greetings") as circuit:
        circuit.pipe(print).emit("hello")
"""

from __future__ import annotations

import os as _os
import threading as _threading
from typing import Final as _Final

from .bank import Bank
from .basin import Basin
from .cell import Cell
from .circuit import Circuit
from .clock import Clock, ManualClock
from .cortex import Cortex
from .current import Current
from .errors import (
    AbsentValueError,
    AffinityFault,
    AmbiguousProviderError,
    ClosedFault,
    ConfigurationError,
    ContextError,
    EmptyWindowError,
    Fault,
    ForkedProcessError,
    IncomparableError,
    ProviderError,
    ProviderLoadError,
    ProviderMismatchFault,
    ProviderNotFoundError,
    SubstratesError,
    TemporalError,
)
from .extent import Extent
from .fiber import Fiber
from .flow import Flow
from .lookup import Lookup, Pool
from .name import Name
from .pin import Pin
from .pipe import Pipe
from .population import Pipes, Population
from .port import Port
from .pulse import Pulse
from .receptor import Receptor
from .recipe import Recipe
from .resource import Resource
from .routing import Routing
from .scope import Closure, Scope
from .sink import Capture, Sink
from .source import Conduit, Source
from .state import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    NAME,
    STATE,
    STRING,
    Slot,
    SlotType,
    SlotValue,
    State,
)
from .subject import Id, Subject, Substrate
from .subscriber import Registrar, Subscriber, Subscription
from .ticker import Ticker
from .window import Change, Run, Window

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "LONG",
    "NAME",
    "STATE",
    "STRING",
    "AbsentValueError",
    "AffinityFault",
    "AmbiguousProviderError",
    "Bank",
    "Basin",
    "Capture",
    "Cell",
    "Change",
    "Circuit",
    "Clock",
    "ClosedFault",
    "Closure",
    "Conduit",
    "ConfigurationError",
    "ContextError",
    "Cortex",
    "Current",
    "EmptyWindowError",
    "Extent",
    "Fault",
    "Fiber",
    "Flow",
    "ForkedProcessError",
    "Id",
    "IncomparableError",
    "Lookup",
    "ManualClock",
    "Name",
    "Pin",
    "Pipe",
    "Pipes",
    "Pool",
    "Population",
    "Port",
    "ProviderError",
    "ProviderLoadError",
    "ProviderMismatchFault",
    "ProviderNotFoundError",
    "Pulse",
    "Receptor",
    "Recipe",
    "Registrar",
    "Resource",
    "Routing",
    "Run",
    "Scope",
    "Sink",
    "Slot",
    "SlotType",
    "SlotValue",
    "Source",
    "State",
    "Subject",
    "Subscriber",
    "Subscription",
    "Substrate",
    "SubstratesError",
    "TemporalError",
    "Ticker",
    "Window",
    "__version__",
    "cortex",
]

__version__: _Final = "0.1.0"

_lock = _threading.Lock()
_default: Cortex | None = None


def cortex(provider: str | None = None) -> Cortex:
    """Return the cortex of a provider, the same object in the whole process.

    Args:
        provider: its name. Without one: the environment variable ``SUBSTRATES_PROVIDER``, else the only
            provider installed. That choice is made once, at the first call without a name.

    Raises:
        ProviderNotFoundError: no such provider, or none, is installed.
        AmbiguousProviderError: several are installed and none was chosen.
        ProviderLoadError: the provider is installed but does not load.
        TypeError: `provider` is no string.

    Contract: CORTEX-SINGLE-01, SPI-LAZY-02, SPI-CREATE-10.
    """
    global _default
    if provider is None and _default is not None:
        return _default
    if provider is not None and not isinstance(provider, str):
        raise TypeError(f"cortex(provider={provider!r}): the name of a provider is required")
    from . import spi

    if provider is not None:
        return spi.cortex_of(spi.choose(provider))
    with _lock:
        if _default is None:
            _default = spi.cortex_of(spi.choose(None, _os.environ))
        return _default
