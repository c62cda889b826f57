"""Recipes as a user writes them, for type checkers: what they must accept, and what they must refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from substrates import Cell, Change, Circuit, Cortex, Fiber, Flow, Pipe, Run, Subject, Window


def fibers_keep_the_type(cortex: Cortex) -> None:
    """Every operator of a fiber returns a fiber of the same type, and its functions take and give it."""
    fiber = cortex.fiber(int)
    assert_type(fiber, Fiber[int])
    assert_type(fiber.guard(lambda value: value > 0).diff().limit(3), Fiber[int])
    assert_type(fiber.guard(0, lambda last, value: value > last), Fiber[int])
    assert_type(fiber.above(1).clamp(0, 10, key=abs).every(timedelta(seconds=1)), Fiber[int])
    assert_type(fiber.fiber(cortex.fiber(int).skip(1)), Fiber[int])
    assert_type(fiber | cortex.fiber(int), Fiber[int])
    fiber.above("x")  # type: ignore[arg-type]
    fiber.replace(str)  # type: ignore[arg-type]
    fiber.fiber(cortex.fiber(str))  # type: ignore[arg-type]
    fiber.limit("3")  # type: ignore[arg-type]
    fiber.guard()  # type: ignore[call-overload]


def flows_change_it(cortex: Cortex) -> None:
    """A flow knows what goes in and what comes out."""
    flow = cortex.flow(int)
    assert_type(flow, Flow[int, int])
    assert_type(flow.map(str), Flow[int, str])
    assert_type(flow.map(str).map(len), Flow[int, int])
    assert_type(flow.run(), Flow[int, Run[int]])
    assert_type(flow.change(), Flow[int, Change[int]])
    assert_type(flow.window(3), Flow[int, Window[int]])
    assert_type(flow.window(timedelta(seconds=1), 3), Flow[int, Window[int]])
    assert_type(flow.flow(cortex.flow(int).map(str)), Flow[int, str])
    assert_type(flow.fiber(cortex.fiber(int).diff()), Flow[int, int])
    assert_type(cortex.flow(cortex.fiber(int)), Flow[int, int])
    assert_type(flow | cortex.fiber(int), Flow[int, int])
    flow.map(str).fiber(cortex.fiber(int))  # type: ignore[arg-type]
    flow.flow(cortex.flow(str))  # type: ignore[arg-type]
    flow.window()  # type: ignore[call-overload]


def scans_infer_the_state(cortex: Cortex) -> None:
    """The supplier gives the type of the state, the projection that of the output."""
    flow = cortex.flow(int)

    def start() -> float:
        return 0.0

    def add(total: float, value: int) -> float:
        return total + value

    def show(total: float) -> str:
        return f"{total}"

    assert_type(flow.scan(start, add), Flow[int, float])
    assert_type(flow.scan(start, add, show), Flow[int, str])

    def both(total: float, value: int) -> tuple[float, int]:
        return total, value

    assert_type(flow.scan(start, add, emit_with=both), Flow[int, tuple[float, int]])


def factories_get_the_subject(cortex: Cortex) -> None:
    """A factory is a function of the subject of the pipe that is being made."""

    def choose(subject: Subject[Pipe[Any]]) -> Fiber[int]:
        return cortex.fiber(int).limit(len(str(subject.name)))

    assert_type(cortex.flow(int).fiber(choose), Flow[int, int])


def attaching_is_contravariant(cortex: Cortex, circuit: Circuit, narrow: Pipe[bool]) -> None:
    """A recipe may end in a pipe or cell of a wider type, not of a narrower one."""

    def take(value: object) -> None:
        del value

    wide: Pipe[object] = circuit.pipe(take)
    assert_type(cortex.fiber(int).pipe(wide), Pipe[int])
    assert_type(cortex.flow(int).map(str).pipe(wide), Pipe[int])
    assert_type(cortex.fiber(int) | wide, Pipe[int])
    cortex.fiber(int).pipe(narrow)  # type: ignore[arg-type]
    number: Cell[int] = circuit.cell(0)
    cortex.fiber(int).pipe(number)
    thing: Cell[object] = circuit.cell(object())
    assert_type(cortex.fiber(int).pipe(thing), Pipe[int])
    assert_type(cortex.flow(int).map(str).pipe(thing), Pipe[int])
    cortex.fiber(str).pipe(number)  # type: ignore[arg-type]


def windows_give_their_values(window: Window[int]) -> None:
    """Terminals of a window are typed by its values."""
    assert_type(window.first(), int)
    assert_type(window.prefix(2).reverse(), Window[int])
    assert_type(window.fold("", lambda text, value: text + str(value)), str)
    assert_type(window.reduce(0, lambda total, value: total + value), int)
    for _ in window:  # type: ignore[misc]
        pass
