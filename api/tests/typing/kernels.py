"""Kernels as a user writes them, for mypy: it must accept them, annotated and not."""

from __future__ import annotations

from substrates import kernel


class Relay(kernel.State):
    """What the showcase's relay keeps."""

    count: kernel.int64
    mean: kernel.float64
    burst: kernel.int64 = 31_999
    here: kernel.Pipe = kernel.SELF
    onward: kernel.Pipe
    alarm: kernel.Float64Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: kernel.Context, state: Relay, value: int) -> None:
    """Count, and hand on."""
    state.count += 1
    state.mean += (value - state.mean) / state.count
    if value > 0:
        ctx.emit(state.here, value - 1)
    elif state.onward:
        ctx.emit(state.onward, state.burst)
    elif state.alarm is not None:
        ctx.emit(state.alarm, state.mean)
    state.here, state.onward = state.onward, None


def bindings() -> list[kernel.Binding[int]]:
    """Bind in all the ways there are."""
    return [relay.bind(), relay.bind(burst=3, onward=kernel.SELF)]


def total(state: Relay) -> float:
    """Read a state from Python."""
    return state.count * state.mean
