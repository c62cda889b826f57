"""The operators of flows; `map` and `relate` are those of fibers."""

from __future__ import annotations

from collections import deque
from typing import Any

from substrates import Change, Fiber, Flow, Run
from substrates.recipe import Recipe

from .chain import Chain, Place
from .machines import NOTHING, UNSET, Function, Machine, passed_unless_absent, same
from .windows import Lease, View

__all__ = [
    "FromFactory",
    "FromFlowFactory",
    "RunOfEqual",
    "Scan",
    "ScanEmitWith",
    "Transition",
    "WindowOf",
    "WindowWithin",
]


class FromFactory(Machine):
    """FLOW-FACTORY-01 to -11: what the factory returns is attached with the rest, as part of the pipe."""

    kind: type[Recipe[Any, Any]] = Fiber

    def __init__(self, place: Place, factory: Function) -> None:
        super().__init__(place)
        self.chain = Chain(place.owned(factory(place.subject), self.kind).stages, place)

    def step(self, value: Any, now: int) -> list[Any]:
        return self.chain.step(value, now)

    def passed(self) -> None:
        self.chain.passed()


class FromFlowFactory(FromFactory):
    """The same for flows."""

    kind = Flow


class Scan(Machine):
    """FLOW-SCAN-01 to -12, the state itself being the result."""

    def __init__(self, place: Place, supplier: Function, advance: Function, *emit: Function) -> None:
        super().__init__(place)
        self.state = supplier()
        self.advance = advance
        self.emit = emit[0] if emit else None

    def take(self, value: Any) -> list[Any]:
        self.state = self.advance(self.state, value)
        return passed_unless_absent(self.result(value))

    def result(self, value: Any) -> Any:  # noqa: ARG002 - one of the other forms needs it
        """Return what is made of the state that has advanced."""
        return self.state if self.emit is None else self.emit(self.state)


class ScanEmitWith(Scan):
    """FLOW-SCAN-04."""

    def result(self, value: Any) -> Any:
        return self.emit(self.state, value) if self.emit else None


class RunOfEqual(Machine):
    """FLOW-RUN-01 to -06."""

    last: Any = UNSET
    length = 0

    def take(self, value: Any) -> list[Any]:
        self.length = self.length + 1 if self.last is not UNSET and same(self.last, value) else 1
        self.last = value
        return [Run(value, self.length)]


class Transition(Machine):
    """FLOW-CHANGE-01 to -06."""

    last: Any = UNSET
    length = 0

    def take(self, value: Any) -> list[Any]:
        ended: list[Any] = NOTHING
        if self.last is not UNSET and not same(self.last, value):
            ended = [Change(self.last, value, self.length)]
            self.length = 0
        self.last = value
        self.length += 1
        return ended


class WindowOf(Machine):
    """FLOW-WINDOW-01 to -06."""

    view: type[View] = View
    lease: Lease | None = None

    def __init__(self, place: Place, capacity: int) -> None:
        super().__init__(place)
        self.capacity = capacity
        self.entries: deque[tuple[int, Any]] = deque()

    def step(self, value: Any, now: int) -> list[Any]:
        self.keep(value, now)
        self.lease = Lease(self.place.subject)
        return [self.view(tuple(kept for _, kept in self.entries), self.lease)]

    def keep(self, value: Any, now: int) -> None:
        """Take a value in; the oldest gives way."""
        self.entries.append((now, value))
        if len(self.entries) > self.capacity:
            self.entries.popleft()

    def passed(self) -> None:
        if self.lease is not None:
            self.lease.end()
            self.lease = None


class WindowWithin(WindowOf):
    """FLOW-WINDOWD-01 to -04."""

    def __init__(self, place: Place, within_ns: int, capacity: int) -> None:
        super().__init__(place, capacity)
        self.within_ns = within_ns

    def step(self, value: Any, now: int) -> list[Any]:
        while self.entries and now - self.entries[0][0] > self.within_ns:
            self.entries.popleft()
        return super().step(value, now)
