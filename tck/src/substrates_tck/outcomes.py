"""What happens inside callbacks, brought out: a failed assertion in there would be isolated and lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from substrates import Circuit, Pipe

from .waits import Settle

__all__ = ["inside", "outcome"]


def outcome(call: Callable[[], object]) -> Any:
    """Return what `call` returns, or what it raises."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - the outcome
        return error


def inside(circuit: Circuit, wait: Settle, call: Callable[[], object]) -> Any:
    """Return what `call` returns, or what it raises, when it is called in the context of `circuit`."""
    outcomes: list[Any] = []
    probe: Pipe[int] = circuit.pipe(lambda _: outcomes.append(outcome(call)))
    probe.emit(0)
    wait(circuit)
    assert len(outcomes) == 1, "the circuit did not call"
    return outcomes[0]
