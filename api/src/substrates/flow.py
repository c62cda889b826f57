"""Flows: recipes that turn values of one type into values of another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from .absent import UNSET, present
from .cell import Cell, CellOf
from .duration import nanoseconds
from .errors import ProviderMismatchFault
from .fiber import Fiber
from .pipe import Pipe
from .receptor import checked_function
from .recipe import Recipe, whole
from .subject import Subject
from .window import Change, Run, Window

__all__ = ["Flow"]

I = TypeVar("I")  # noqa: E741 - as the contract names the type that goes in
O = TypeVar("O")  # noqa: E741 - and the one that comes out
P = TypeVar("P")
S = TypeVar("S")


class Flow(Recipe[I, O]):
    """A chain of operators from values of one type to values of another; see `Recipe`.

    Made by `Cortex.flow`. Operators are added at the output side. ``flow | other`` composes or attaches, as
    with `Fiber`, whose conventions and errors hold here too.

    Contract: FLOW-MAP-01 to FLOW-PIPE-06.
    """

    __slots__ = ()

    def map(self, function: Callable[[O], P | None], /) -> Flow[I, P]:
        """Pass `function(value)`; None drops (FLOW-MAP-01 to -05)."""
        return self._with("map", checked_function(function, "map", "function"))

    @overload
    def fiber(self, fiber: Fiber[O], /) -> Flow[I, O]: ...
    @overload
    def fiber(self, factory: Callable[[Subject[Pipe[Any]]], Fiber[O]], /) -> Flow[I, O]: ...

    def fiber(self, following: Any, /) -> Flow[I, O]:
        """Return this flow followed by a fiber, or by what a factory returns.

        A factory is called once per attachment, in `pipe`, with the subject of the pipe that is being made.

        Contract: FLOW-FIBER-01 to -03, FLOW-FACTORY-01 to -12.
        """
        return self._followed(following, Fiber, "fiber")

    @overload
    def flow(self, flow: Flow[O, P], /) -> Flow[I, P]: ...
    @overload
    def flow(self, factory: Callable[[Subject[Pipe[Any]]], Flow[O, P]], /) -> Flow[I, P]: ...

    def flow(self, following: Any, /) -> Flow[I, Any]:
        """Return this flow followed by another, or by what a factory returns; see `fiber`.

        Contract: FLOW-FLOW-01 to -04, FLOW-FACTORY-01 to -12.
        """
        return self._followed(following, Flow, "flow")

    @overload
    def scan(self, supplier: Callable[[], S], step: Callable[[S, O], S], /) -> Flow[I, S]: ...
    @overload
    def scan(
        self, supplier: Callable[[], S], step: Callable[[S, O], S], emit: Callable[[S], P | None], /
    ) -> Flow[I, P]: ...
    @overload
    def scan(
        self,
        supplier: Callable[[], S],
        step: Callable[[S, O], S],
        /,
        *,
        emit_with: Callable[[S, O], P | None],
    ) -> Flow[I, P]: ...

    def scan(self, supplier: Any, step: Any, emit: Any = UNSET, /, *, emit_with: Any = UNSET) -> Any:
        """Keep ``state = step(state, value)`` and pass what is made of it; None drops.

        Args:
            supplier: called once per attachment, in `pipe`, for the first state; may return None.
            step: returns the next state; may return None. If it raises, the state stays.
            emit: passes ``emit(state)``; without it the state itself passes.
            emit_with: passes ``emit_with(state, value)``; instead of `emit`.

        Contract: FLOW-SCAN-01 to -14.
        """
        checked_function(supplier, "scan", "supplier")
        checked_function(step, "scan", "step")
        if emit is not UNSET and emit_with is not UNSET:
            raise TypeError("scan(..., emit, emit_with=...): give one of them")
        if emit is not UNSET:
            return self._with("scan_emit", supplier, step, checked_function(emit, "scan", "emit"))
        if emit_with is not UNSET:
            return self._with(
                "scan_emit_with", supplier, step, checked_function(emit_with, "scan", "emit_with")
            )
        return self._with("scan", supplier, step)

    def relate(self, initial: O | None, function: Callable[[Any, O], P | None], /) -> Flow[I, P]:
        """Pass ``function(previous value, value)``; None drops (FLOW-RELATE-01 to -05).

        `initial`, the first previous value, may be None.
        """
        return self._with("relate", initial, checked_function(function, "relate", "function"))

    def run(self) -> Flow[I, Run[O]]:
        """Pass each value with its number in its row of equal values (FLOW-RUN-01 to -06)."""
        return self._with("run")

    def change(self) -> Flow[I, Change[O]]:
        """Pass, at the end of each row of equal values, what it was and what ended it.

        Contract: FLOW-CHANGE-01 to -06.
        """
        return self._with("transition")

    @overload
    def window(self, capacity: int, /) -> Flow[I, Window[O]]: ...
    @overload
    def window(self, duration: timedelta | float, capacity: int, /) -> Flow[I, Window[O]]: ...

    def window(self, first: Any, second: Any = UNSET, /) -> Flow[I, Window[O]]:
        """Pass, with each value, a window of the newest values, itself included.

        Args:
            first: how many values it has at most, 1 or more; before that, with two arguments, how old they
                are at most, in the circuit's time.
            second: see above.

        Contract: FLOW-WINDOW-01 to -06, FLOW-WINDOWD-01 to -05.
        """
        if second is UNSET:
            return self._with("window", whole(first, 1, "window", "capacity"))
        within_ns = nanoseconds(first, "window", "duration")
        return self._with("window_within", within_ns, whole(second, 1, "window", "capacity"))

    @overload
    def __or__(self, other: Flow[O, P], /) -> Flow[I, P]: ...
    @overload
    def __or__(self, other: Fiber[O], /) -> Flow[I, O]: ...
    @overload
    def __or__(self, other: Pipe[O] | CellOf[O], /) -> Pipe[I]: ...

    def __or__(self, other: Any, /) -> Any:
        if isinstance(other, Fiber):
            return self.fiber(other)
        if isinstance(other, Flow):
            return self.flow(other)
        return self.pipe(other) if isinstance(other, (Pipe, Cell)) else NotImplemented

    def _with(self, operator: str, *arguments: Any) -> Flow[I, Any]:
        return Flow(self._cortex, self._more(operator, arguments))

    def _followed(self, following: Any, kind: type[Recipe[Any, Any]], operation: str) -> Flow[I, Any]:
        present(following, operation, operation)
        if isinstance(following, kind) and self._cortex.owns(following):
            return Flow(self._cortex, (*self._stages, *following.stages))
        if callable(following) and not isinstance(following, Recipe):
            return self._with(f"{operation}_factory", checked_function(following, operation, "factory"))
        raise ProviderMismatchFault(
            self._cortex.subject,
            operation,
            f"{operation}({following!r}): neither a {operation} of {self._cortex.provider!r} nor a factory;"
            " create it from the same cortex",
        )
