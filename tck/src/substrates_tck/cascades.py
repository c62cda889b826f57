"""Cascades that a test can stop in the middle."""

from __future__ import annotations

from substrates import Circuit, Pipe

from .waits import Gate

__all__ = ["cascade"]


def cascade(
    circuit: Circuit, gate: Gate, log: list[int], *, held: int, last: int, lane: object = object
) -> Pipe[int]:
    """Return a pipe whose receptor notes each value in `log`, and emits the next one to itself.

    Args:
        circuit: the pipe's.
        gate: where the receptor is held.
        log: gets the values.
        held: at which value.
        last: the value that is followed by none.
        lane: the pipe's.
    """

    def receive(value: int) -> None:
        log.append(value)
        if value == held:
            gate.hold()
        if value < last:
            pipe.emit(value + 1)

    pipe: Pipe[int] = circuit.pipe(receive, lane=lane)
    return pipe
