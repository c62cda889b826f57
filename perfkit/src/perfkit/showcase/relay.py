"""The relay as a kernel; imported only when kernels are run, because its definition may load Numba."""

from __future__ import annotations

from typing import Any

from substrates import kernel

__all__ = ["Relay", "relay"]


class Relay(kernel.State):
    """What a circuit of the relay knows.

    A token arrives as `burst`, which is one less than the deliveries of a visit, and counts down to 0.
    """

    count: kernel.int64
    burst: kernel.int64
    here: kernel.Pipe = kernel.SELF
    onward: kernel.Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: kernel.Context, state: Any, value: int) -> None:
    """Count, and pass the token on: to this circuit while the burst lasts, then to the next."""
    state.count += 1
    if value > 0:
        ctx.emit(state.here, value - 1)
    elif state.onward:
        ctx.emit(state.onward, state.burst)
