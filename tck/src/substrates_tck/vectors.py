"""Vectors: what goes into a recipe and what must come out, each a test case of its own.

A suite lists them with `cases`, and gives each to the fixture `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest
from typing import Any, Final, Protocol

import pytest

from substrates import Circuit, Cortex, Flow, ManualClock, Pipe, Recipe

from . import marks
from .waits import Settle

__all__ = [
    "FUNCTIONS",
    "ONCE",
    "Boom",
    "Build",
    "Case",
    "Check",
    "Refusal",
    "Refused",
    "TimedVector",
    "Vector",
    "add",
    "boom",
    "cases",
    "compared",
    "confirm",
    "copied",
    "fails_at",
    "ms",
    "play",
    "positive",
    "refuse",
    "reversed_order",
]

NOTHING: Final = object()


class Boom(Exception):
    """What functions raise that shall fail."""


def boom(*_arguments: Any) -> Any:
    """Fail."""
    raise Boom


def fails_at(value: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, which fails when its last argument is `value`."""
    return lambda *arguments: boom() if arguments[-1] == value else function(*arguments)


def add(left: Any, right: Any) -> Any:
    """Return the sum."""
    return left + right


def positive(value: Any) -> bool:
    """Tell whether `value` is more than 0."""
    return bool(value > 0)


def compared(left: Any, right: Any) -> int:
    """Compare in three ways, by natural order."""
    return int(left > right) - int(left < right)


def reversed_order(left: Any, right: Any) -> int:
    """Compare in three ways, the other way round."""
    return compared(right, left)


def ms(milliseconds: int) -> timedelta:
    """Return a duration."""
    return timedelta(milliseconds=milliseconds)


def copied(flow: Flow[Any, Any]) -> Flow[Any, list[Any]]:
    """Return `flow`, whose windows are copied to lists."""

    def copy(window: Any) -> list[Any]:
        values: list[Any] = []
        window.for_each(values.append)
        return values

    return flow.map(copy)


Build = Callable[[Any, Any, Any], Any]
"""From an identity fiber, an identity flow and a function, a recipe that calls the function."""

ONCE: dict[str, Build] = {
    "guard": lambda f, _, g: f.guard(g),
    "guard from": lambda f, _, g: f.guard(1, g),
    "replace": lambda f, _, g: f.replace(g),
    "peek": lambda f, _, g: f.peek(g),
    "when": lambda f, _, g: f.when(g, f),
    "change key": lambda f, _, g: f.change(g),
    "reduce": lambda f, _, g: f.reduce(0, g),
    "relate": lambda f, _, g: f.relate(0, g),
    "integrate": lambda f, _, g: f.integrate(0, g, positive),
    "integrate fire": lambda f, _, g: f.integrate(0, lambda _, v: v, g),
    "tumble": lambda f, _, g: f.tumble(2, g, 1),
    "edge": lambda f, _, g: f.edge(0, g),
    "pulse": lambda f, _, g: f.pulse(g),
    "streak": lambda f, _, g: f.streak(2, g),
    "hysteresis": lambda f, _, g: f.hysteresis(g, g),
    "take_while": lambda f, _, g: f.take_while(g),
    "drop_while": lambda f, _, g: f.drop_while(g),
    "above by key": lambda f, _, g: f.above(1, key=g),
    "map": lambda _, w, g: w.map(g),
    "scan step": lambda _, w, g: w.scan(lambda: 0, g),
    "scan emit": lambda _, w, g: w.scan(lambda: 0, lambda _, v: v, g),
    "scan emit_with": lambda _, w, g: w.scan(lambda: 0, lambda _, v: v, emit_with=g),
    "flow relate": lambda _, w, g: w.relate(0, g),
}
"""Operators that call a function exactly once for each value, which is the last of its arguments."""

FUNCTIONS: dict[str, Build] = {
    **ONCE,
    "rolling": lambda f, _, g: f.rolling(2, g, 0),
    "steady same": lambda f, _, g: f.steady(2, g),
    "above by compare": lambda f, _, g: f.above(1, compare=g),
    "high by compare": lambda f, _, g: f.high(compare=g),
}
"""Operators that call a function for values, each value or not."""


@dataclass(frozen=True)
class Case:
    """What `cases` makes a test case of.

    Attributes:
        rules: the rules that it asserts, separated by blanks.
        text: the chain, as the test's name shows it.
        call: gets the fiber without operators and returns another, or fails.
    """

    rules: str
    text: str
    call: Callable[[Any], Any]

    def __str__(self) -> str:
        return f"{self.rules.split()[0]} {self.text}"


@dataclass(frozen=True)
class Vector(Case):
    """A recipe that must turn `inputs`, emitted from outside one after the other, into `outputs`.

    Attributes:
        inputs: what is emitted.
        outputs: what the recorder behind the recipe gets; of the same types too.
        derived: see `substrates_tck.marks.derived`.
        flow: whether `call` gets the flow without operators, rather than the fiber.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    derived: bool = False
    flow: bool = False

    def __str__(self) -> str:
        return f"{super().__str__()} {self.shown_inputs}"

    @property
    def shown_inputs(self) -> str:
        """The inputs to read."""
        return repr(list(self.inputs))

    def recipe(self, cortex: Cortex) -> Recipe[Any, Any]:
        """Return the recipe."""
        recipe: Recipe[Any, Any] = self.call(cortex.flow() if self.flow else cortex.fiber())
        return recipe


@dataclass(frozen=True)
class TimedVector(Vector):
    """A vector whose inputs are pairs: the reading of the clock in milliseconds, and the value."""

    @property
    def shown_inputs(self) -> str:
        return f"[{', '.join(f'{at_ms}:{value!r}' for at_ms, value in self.inputs)}]"


@dataclass(frozen=True)
class Refusal(Case):
    """A call that must raise `error` in the caller, before any circuit exists.

    Attributes:
        error: the class.
        derived: see `substrates_tck.marks.derived`.
        flow: as of `Vector`.
    """

    error: type[Exception]
    derived: bool = False
    flow: bool = False


class Check(Protocol):
    """Fails unless what comes out is what the vector says."""

    def __call__(self, vector: Vector, /) -> None:
        """Check it."""


class Refused(Protocol):
    """Fails unless the call raises what the refusal says."""

    def __call__(self, refusal: Refusal, /) -> None:
        """Check it."""


def cases(*given: Vector | Refusal) -> pytest.MarkDecorator:
    """Run the test once for each of the cases, as its argument `case`, with the case's marks."""
    names = [str(case) for case in given]
    for name in names:
        # The ids must be the same on every run, and survive being a path's part on a command line.
        if names.count(name) > 1 or not name.isascii() or "//" in name or "\\" in name or " at 0x" in name:
            raise ValueError(f"{name!r} does not name a test case")
    parameters = []
    for case, name in zip(given, names, strict=True):
        carried = [marks.rule(*case.rules.split())]
        if case.derived:
            carried.append(marks.derived)
        parameters.append(pytest.param(case, marks=carried, id=name))
    return pytest.mark.parametrize("case", parameters)


def play(
    recipe: Recipe[Any, Any],
    streams: Sequence[Sequence[Any]],
    circuit: Circuit,
    wait: Settle,
    clock: ManualClock | None = None,
) -> list[list[Any]]:
    """Attach `recipe` once per stream, emit the streams in turns, and return what came out of each.

    Args:
        recipe: what is attached.
        streams: per attachment, what is emitted to it.
        circuit: where the recorders behind the attachments are.
        wait: the fixture.
        clock: the circuit's clock, if the inputs are pairs of a reading in milliseconds and a value.
    """
    outputs: list[list[Any]] = [[] for _ in streams]
    pipes: list[Pipe[Any]] = [recipe.pipe(circuit.pipe(received.append)) for received in outputs]
    reading_ms = 0
    for turn in zip_longest(*streams, fillvalue=NOTHING):
        for pipe, item in zip(pipes, turn, strict=True):
            if item is NOTHING:
                continue
            if clock is None:
                pipe.emit(item)
                continue
            at_ms, value = item
            if at_ms > reading_ms:
                clock.advance(ms(at_ms - reading_ms))
                reading_ms = at_ms
            pipe.emit(value)
            wait(circuit)
    wait(circuit)
    return outputs


def confirm(vector: Vector, received: Sequence[Any], whose: str = "") -> None:
    """Compare what came out with what the vector says.

    Raises:
        AssertionError: it is another; shows the vector, what was expected and what was received.
    """
    expected = list(vector.outputs)
    if [(type(value), value) for value in received] != [(type(value), value) for value in expected]:
        raise AssertionError(
            f"{vector.rules}{whose}: {vector.text}\n  emitted  {vector.shown_inputs}\n"
            f"  expected {expected!r}\n  received {list(received)!r}"
        )


def refuse(refusal: Refusal, cortex: Cortex) -> None:
    """Make the call that a refusal stands for.

    Raises:
        AssertionError: it is accepted, or refused with an error of another class.
    """
    start: Any = cortex.flow() if refusal.flow else cortex.fiber()
    try:
        accepted = refusal.call(start)
    except refusal.error:
        return
    except Exception as error:
        raise AssertionError(
            f"{refusal.rules}: {refusal.text}\n  expected {refusal.error.__name__}\n  raised   {error!r}"
        ) from error
    raise AssertionError(
        f"{refusal.rules}: {refusal.text}\n  expected {refusal.error.__name__}\n  returned {accepted!r}"
    )
