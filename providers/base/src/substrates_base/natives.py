"""What the cortices of native engines share: names by number, kernels by address, the bridge thread."""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import Any

from substrates.kernel import Kernel

from .cortex import Cortex
from .names import Name

__all__ = ["CARRY_PATIENCE_S", "STOP_PATIENCE_MS", "NativeCortex"]

STOP_PATIENCE_MS = 500
"""How long the interpreter's exit waits for what the engine is still running."""
CARRY_PATIENCE_S = 1.0
"""How long a wait that is over waits for a fault hook that is running."""


class NativeCortex(Cortex):
    """The cortex of an engine that runs kernels on threads of its own.

    Attributes:
        kernels: finds a kernel by its function's address; one that has run here stays loaded, since a worker
            may still be inside it.
        addresses: finds the address.
        started: whether the engine runs, and with it the bridge: the thread that carries what native threads
            report to where Python handles it.
    """

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self.kernels: dict[int, Kernel[Any]] = {}
        self.addresses: dict[Kernel[Any], int] = {}
        self._numbers: dict[Name, int] = {}
        self._numbered: list[Name] = []
        self._carrying = threading.RLock()
        self._bridge: threading.Thread | None = None
        self.started = False
        self.number(self.circuit_name)

    def number(self, name: Name) -> int:
        """Return the number by which the engine knows a name."""
        number = self._numbers.get(name)
        if number is None:
            with self.lock:
                number = self._numbers.setdefault(name, len(self._numbered))
                if number == len(self._numbered):
                    self._numbered.append(name)
        return number

    def know(self, kernel: Kernel[Any]) -> int:
        """Return the address of a kernel's function, compiling it on first use, and remember both."""
        address = kernel.address()
        self.kernels.setdefault(address, kernel)
        self.addresses[kernel] = address
        return address

    def _failure(self, address: int, code: int) -> Exception:
        """Return the exception of a fault code that the function at `address` has returned."""
        kernel = self.kernels.get(address)
        return MemoryError("no memory for another emission") if kernel is None else kernel.fault(code)

    def _open_bridge(self) -> None:
        """Start the bridge, with which the engine counts as started; under the lock."""
        bridge = threading.Thread(target=self._carry_all_events, name="substrates.bridge", daemon=True)
        bridge.start()
        self._bridge = bridge
        self.started = True

    def _join_bridge(self) -> None:
        """Wait for the bridge, which ends with the engine."""
        if self._bridge is not None:
            self._bridge.join(STOP_PATIENCE_MS / 1000)

    @abstractmethod
    def _carry_all_events(self) -> None:
        """Carry events as they come, until the engine stops."""
