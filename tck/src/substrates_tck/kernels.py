"""The kernels of the kit; imported when the first provider that runs kernels is judged.

They are compiled when they are defined, where Numba is installed.
"""

from __future__ import annotations

from typing import Any

from substrates import kernel
from substrates.kernel import SELF

__all__ = [
    "Average",
    "Begin",
    "Convert",
    "Divide",
    "Failing",
    "Forward",
    "Ordered",
    "Producers",
    "Relay",
    "Spread",
    "Storm",
    "Tally",
    "Turns",
    "average",
    "begin",
    "collatz",
    "convert",
    "divide",
    "failing",
    "forward",
    "ordered",
    "producers",
    "relay",
    "spread",
    "storm",
    "tally",
    "turns",
]


class Tally(kernel.State):
    """Counts and adds."""

    count: kernel.int64
    total: kernel.int64
    last: kernel.int64


@kernel.receptor(Tally, kernel.int64)
def tally(ctx: Any, state: Any, value: Any) -> None:  # noqa: ARG001 - the form of a kernel
    """Count a value and add it."""
    state.count += 1
    state.total += value
    state.last = value


@kernel.receptor(Tally, kernel.int64)
def collatz(ctx: Any, state: Any, value: Any) -> None:  # noqa: ARG001 - the form of a kernel
    """Add the length of the Collatz sequence that starts at a value."""
    steps = 0
    number = value
    while number != 1:
        if number % 2 == 0:  # noqa: SIM108 - as it is compiled
            number = number // 2
        else:
            number = 3 * number + 1
        steps += 1
    state.count += 1
    state.total += steps
    state.last = steps


class Relay(kernel.State):
    """Feeds itself as often as a value says, then hands a burst on."""

    count: kernel.int64
    burst: kernel.int64
    here: kernel.Pipe = SELF
    onward: kernel.Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: Any, state: Any, value: Any) -> None:
    """Count down on this pipe, then emit the burst onward."""
    state.count += 1
    if value > 0:
        ctx.emit(state.here, value - 1)
    elif state.onward:
        ctx.emit(state.onward, state.burst)


class Forward(kernel.State):
    """Hands on."""

    count: kernel.int64
    plus: kernel.int64
    onward: kernel.Pipe


@kernel.receptor(Forward, kernel.int64)
def forward(ctx: Any, state: Any, value: Any) -> None:
    """Emit the value and a bit more; onward may be None."""
    state.count += 1
    ctx.emit(state.onward, value + state.plus)


class Ordered(kernel.State):
    """Expects 0, 1, 2, ..."""

    next: kernel.int64
    errors: kernel.int64


@kernel.receptor(Ordered, kernel.int64)
def ordered(ctx: Any, state: Any, value: Any) -> None:  # noqa: ARG001 - the form of a kernel
    """Count the values that are not the next one."""
    if value != state.next:
        state.errors += 1
    state.next = value + 1


class Producers(kernel.State):
    """Expects rising values from each of four producers."""

    count: kernel.int64
    errors: kernel.int64
    next0: kernel.int64
    next1: kernel.int64
    next2: kernel.int64
    next3: kernel.int64


@kernel.receptor(Producers, kernel.int64)
def producers(ctx: Any, state: Any, value: Any) -> None:  # noqa: ARG001 - the form of a kernel
    """Check the value ``4 * number + producer``."""
    producer = value % 4
    number = value // 4
    state.count += 1
    if producer == 0:
        state.errors += number != state.next0
        state.next0 = number + 1
    elif producer == 1:
        state.errors += number != state.next1
        state.next1 = number + 1
    elif producer == 2:
        state.errors += number != state.next2
        state.next2 = number + 1
    else:
        state.errors += number != state.next3
        state.next3 = number + 1


class Spread(kernel.State):
    """Emits to two pipes, one of them twice."""

    first: kernel.Pipe
    second: kernel.Pipe


@kernel.receptor(Spread, kernel.int64)
def spread(ctx: Any, state: Any, value: Any) -> None:
    """Emit ten times the value, and one and two more."""
    ctx.emit(state.first, 10 * value)
    ctx.emit(state.second, 10 * value + 1)
    ctx.emit(state.first, 10 * value + 2)


class Storm(kernel.State):
    """Emits many values in one call."""

    onward: kernel.Pipe
    other: kernel.Pipe


@kernel.receptor(Storm, kernel.int64)
def storm(ctx: Any, state: Any, value: Any) -> None:
    """Emit 0, 1, ... up to the value, to both pipes in turn."""
    for number in range(value):
        ctx.emit(state.onward, number)
        ctx.emit(state.other, number)


class Average(kernel.State):
    """An exponential average."""

    count: kernel.int64
    factor: kernel.float64 = 0.5
    mean: kernel.float64
    onward: kernel.Float64Pipe


@kernel.receptor(Average, kernel.float64)
def average(ctx: Any, state: Any, value: Any) -> None:
    """Move the mean towards the value, and emit it."""
    state.count += 1
    state.mean += state.factor * (value - state.mean)
    ctx.emit(state.onward, state.mean)


class Convert(kernel.State):
    """Emits on both lanes."""

    whole: kernel.Pipe
    real: kernel.Float64Pipe


@kernel.receptor(Convert, kernel.float64)
def convert(ctx: Any, state: Any, value: Any) -> None:
    """Emit a double where integers are taken, and an integer where doubles are."""
    ctx.emit(state.whole, value)
    ctx.emit(state.real, 7)


class Divide(kernel.State):
    """Quotient and remainder."""

    by: kernel.int64
    quotient: kernel.int64
    remainder: kernel.int64


@kernel.receptor(Divide, kernel.int64)
def divide(ctx: Any, state: Any, value: Any) -> None:  # noqa: ARG001 - the form of a kernel
    """Divide as Python does."""
    state.quotient = value // state.by
    state.remainder = value % state.by


class Failing(kernel.State):
    """Raises on negative values."""

    count: kernel.int64
    onward: kernel.Pipe


@kernel.receptor(Failing, kernel.int64)
def failing(ctx: Any, state: Any, value: Any) -> None:
    """Emit the value onward, then raise if it is negative."""
    state.count += 1
    ctx.emit(state.onward, value)
    if value < 0:
        raise ValueError


class Turns(kernel.State):
    """Expects tokens 0 to 9 in turn, and sends each round again."""

    count: kernel.int64
    errors: kernel.int64
    next: kernel.int64
    here: kernel.Pipe = SELF


@kernel.receptor(Turns, kernel.int64)
def turns(ctx: Any, state: Any, value: Any) -> None:
    """Take the value ``16 * rounds left + token``."""
    state.count += 1
    if value % 16 != state.next:
        state.errors += 1
    state.next = (value % 16 + 1) % 10
    if value >= 16:
        ctx.emit(state.here, value - 16)


class Begin(kernel.State):
    """Starts turns."""

    onward: kernel.Pipe


@kernel.receptor(Begin, kernel.int64)
def begin(ctx: Any, state: Any, value: Any) -> None:
    """Emit ten tokens, with the value as the rounds that are left."""
    for token in range(10):
        ctx.emit(state.onward, 16 * value + token)
