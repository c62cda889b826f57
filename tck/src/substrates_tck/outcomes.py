"""What calls come to, also those inside callbacks, where a failed assertion would be isolated and lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from substrates import Circuit, Pipe, Port

from .waits import Settle

__all__ = ["inside", "noted", "outcome", "refused", "sent"]


X = TypeVar("X", bound=BaseException)


def outcome(call: Callable[[], object]) -> Any:
    """Return what `call` returns, or what it raises."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - the outcome
        return error


def refused(category: type[X], call: Callable[..., object], /, *arguments: Any) -> X:
    """Call, and return the error of exactly this category that it must raise.

    Raises:
        AssertionError: it raises nothing, or an error of another class.
    """
    error = noted(call, *arguments)
    if type(error) is category:
        return error
    if error is None:
        raise AssertionError(f"{category.__name__} was to be raised, nothing was")
    raise AssertionError(f"{category.__name__} was to be raised, it was {error!r}") from error


def noted(call: Callable[..., object], /, *arguments: Any) -> BaseException | None:
    """Call, and return what it raises, for callbacks whose failures nobody sees."""
    try:
        call(*arguments)
    except BaseException as error:  # noqa: BLE001 - looked at by the test
        return error
    return None


def inside(circuit: Circuit, wait: Settle, call: Callable[[], object]) -> Any:
    """Return what `call` returns, or what it raises, when it is called in the context of `circuit`."""
    outcomes: list[Any] = []
    probe: Pipe[int] = circuit.pipe(lambda _: outcomes.append(outcome(call)))
    probe.emit(0)
    wait(circuit)
    assert len(outcomes) == 1, "the circuit did not call"
    return outcomes[0]


def sent(port: Port[Any], circuit: Circuit, wait: Settle) -> Any:
    """Return what the port sends now."""
    received: list[Any] = []
    port.emit(circuit.pipe(received.append))
    wait(circuit)
    assert len(received) == 1, "the port sent no value, or several"
    return received[0]
