"""The other operators of fibers."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from substrates import Fiber

from .chain import Chain, Place
from .machines import NOTHING, UNSET, Function, Machine, passed_if, passed_unless_absent, same

__all__ = [
    "Chance",
    "ChangeOfKey",
    "Delay",
    "Diff",
    "DiffFrom",
    "Distinct",
    "DistinctWithin",
    "DropWhile",
    "Edge",
    "Every",
    "EveryInterval",
    "Guard",
    "GuardFrom",
    "Heartbeat",
    "Hysteresis",
    "Inhibit",
    "Integrate",
    "Limit",
    "Peek",
    "PulseOf",
    "Reduce",
    "Relate",
    "Replace",
    "Rolling",
    "Route",
    "Skip",
    "Steady",
    "Streak",
    "TakeWhile",
    "Tee",
    "Tumble",
    "When",
]


# -- filters, replacement, side paths


class Guard(Machine):
    """FIBER-GUARD-01, -02."""

    def __init__(self, place: Place, predicate: Function) -> None:
        super().__init__(place)
        self.predicate = predicate

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.predicate(value))


class GuardFrom(Machine):
    """FIBER-GUARD2-01 to -03."""

    def __init__(self, place: Place, initial: Any, predicate: Function) -> None:
        super().__init__(place)
        self.reference = initial
        self.predicate = predicate

    def take(self, value: Any) -> list[Any]:
        if not self.predicate(self.reference, value):
            return NOTHING
        self.reference = value
        return [value]


class Replace(Machine):
    """FIBER-REPLACE-01 to -03, FLOW-MAP-01 to -03."""

    def __init__(self, place: Place, function: Function) -> None:
        super().__init__(place)
        self.function = function

    def take(self, value: Any) -> list[Any]:
        return passed_unless_absent(self.function(value))


class Peek(Machine):
    """FIBER-PEEK-01 to -03."""

    def __init__(self, place: Place, receive: Function) -> None:
        super().__init__(place)
        self.receive = receive

    def take(self, value: Any) -> list[Any]:
        self.receive(value)
        return [value]


class Tee(Machine):
    """FIBER-TEE-01, -02."""

    def __init__(self, place: Place, pipe: Any) -> None:
        super().__init__(place)
        self.pipe = pipe

    def take(self, value: Any) -> list[Any]:
        self.place.emit(self.pipe, value)
        return [value]


class Route(Machine):
    """FIBER-ROUTE-01 to -04."""

    def __init__(self, place: Place, predicate: Function, pipe: Any) -> None:
        super().__init__(place)
        self.predicate = predicate
        self.pipe = pipe

    def take(self, value: Any) -> list[Any]:
        if not self.predicate(value):
            return [value]
        self.place.emit(self.pipe, value)
        return NOTHING


class When(Machine):
    """FIBER-WHEN-01 to -05."""

    def __init__(self, place: Place, predicate: Function, fiber: Fiber[Any]) -> None:
        super().__init__(place)
        self.predicate = predicate
        self.chain = Chain(fiber.stages, place)

    def step(self, value: Any, now: int) -> list[Any]:
        return self.chain.step(value, now) if self.predicate(value) else [value]

    def passed(self) -> None:
        self.chain.passed()


# -- counting, sampling, displacement


class Limit(Machine):
    """FIBER-LIMIT-01, -02."""

    def __init__(self, place: Place, count: int) -> None:
        super().__init__(place)
        self.left = count

    def take(self, value: Any) -> list[Any]:
        if self.left == 0:
            return NOTHING
        self.left -= 1
        return [value]


class Skip(Machine):
    """FIBER-SKIP-01."""

    def __init__(self, place: Place, count: int) -> None:
        super().__init__(place)
        self.left = count

    def take(self, value: Any) -> list[Any]:
        if self.left == 0:
            return [value]
        self.left -= 1
        return NOTHING


class Every(Machine):
    """FIBER-EVERY-01, -02."""

    def __init__(self, place: Place, step: int) -> None:
        super().__init__(place)
        self.every = step
        self.count = 0

    def take(self, value: Any) -> list[Any]:
        self.count += 1
        if self.count < self.every:
            return NOTHING
        self.count = 0
        return [value]


class EveryInterval(Machine):
    """FIBER-EVERYD-01 to -05, -07."""

    def __init__(self, place: Place, interval_ns: int) -> None:
        super().__init__(place)
        self.interval_ns = interval_ns
        self.anchor: int | None = None

    def step(self, value: Any, now: int) -> list[Any]:
        if self.anchor is None:
            self.anchor = now
            return NOTHING
        intervals = (now - self.anchor) // self.interval_ns
        self.anchor += intervals * self.interval_ns
        return passed_if(value, intervals)


class Chance(Machine):
    """FIBER-CHANCE-01, -03, -04."""

    def __init__(self, place: Place, probability: float, seed: Any) -> None:
        super().__init__(place)
        self.probability = probability
        self.random = random.Random(seed)

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.random.random() < self.probability)


class Inhibit(Machine):
    """FIBER-INHIBIT-01, -03."""

    def __init__(self, place: Place, count: int) -> None:
        super().__init__(place)
        self.count = count
        self.left = 0

    def take(self, value: Any) -> list[Any]:
        if self.left > 0:
            self.left -= 1
            return NOTHING
        self.left = self.count
        return [value]


class Delay(Machine):
    """FIBER-DELAY-01, -02; what was there before the first value is all the same, so it is not stored."""

    def __init__(self, place: Place, depth: int, initial: Any) -> None:
        super().__init__(place)
        self.depth = depth
        self.initial = initial
        self.values: deque[Any] = deque()

    def take(self, value: Any) -> list[Any]:
        self.values.append(value)
        return [self.values.popleft() if len(self.values) > self.depth else self.initial]


# -- suppression of what was there


class Diff(Machine):
    """FIBER-DIFF-01, -03, -05."""

    held: Any = UNSET

    def take(self, value: Any) -> list[Any]:
        if self.held is not UNSET and same(self.held, value):
            return NOTHING
        self.held = value
        return [value]


class DiffFrom(Diff):
    """FIBER-DIFF-02."""

    def __init__(self, place: Place, initial: Any) -> None:
        super().__init__(place)
        self.held = initial


class Distinct(Machine):
    """FIBER-DISTINCT-01, -07; `order` has all that is remembered, `hashed` what can be hashed of it."""

    capacity: int | None = None

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.order: deque[Any] = deque()
        self.hashed: set[Any] = set()
        self.others: list[Any] = []

    def take(self, value: Any) -> list[Any]:
        hashable = self._hashable(value)
        if (value in self.hashed or value in self.others) if hashable else value in self.order:
            return NOTHING
        if self.capacity is not None and len(self.order) == self.capacity:
            self._forget(self.order.popleft())
        self.order.append(value)
        if hashable:
            self.hashed.add(value)
        else:
            self.others.append(value)
        return [value]

    def _forget(self, value: Any) -> None:
        if self._hashable(value):
            self.hashed.discard(value)
        else:
            self.others.pop(0)  # they are in the same order

    @staticmethod
    def _hashable(value: Any) -> bool:
        try:
            hash(value)
        except TypeError:
            return False
        return True


class DistinctWithin(Distinct):
    """FIBER-DISTINCT-02 to -05."""

    def __init__(self, place: Place, capacity: int) -> None:
        super().__init__(place)
        self.capacity = capacity


class ChangeOfKey(Machine):
    """FIBER-CHANGE-01 to -03."""

    held: Any = UNSET

    def __init__(self, place: Place, key: Function) -> None:
        super().__init__(place)
        self.key = key

    def take(self, value: Any) -> list[Any]:
        key = self.key(value)
        if self.held is not UNSET and same(self.held, key):
            return NOTHING
        self.held = key
        return [value]


class Heartbeat(Machine):
    """FIBER-HEARTBEAT-01 to -06."""

    held: Any = UNSET
    anchor: int | None = None

    def __init__(self, place: Place, silence_ns: int) -> None:
        super().__init__(place)
        self.silence_ns = silence_ns

    def step(self, value: Any, now: int) -> list[Any]:
        if self.held is UNSET or not same(self.held, value):
            self.held = value
            self.anchor = None
            return [value]
        if self.anchor is None:
            self.anchor = now
            return NOTHING
        if now - self.anchor < self.silence_ns:
            return NOTHING
        self.anchor = now
        return [self.held]


# -- folds


class Reduce(Machine):
    """FIBER-REDUCE-01 to -03."""

    def __init__(self, place: Place, initial: Any, function: Function) -> None:
        super().__init__(place)
        self.state = initial
        self.function = function

    def take(self, value: Any) -> list[Any]:
        self.state = self.function(self.state, value)
        return passed_unless_absent(self.state)


class Relate(Machine):
    """FIBER-RELATE-01 to -03, FLOW-RELATE-01 to -04."""

    def __init__(self, place: Place, initial: Any, function: Function) -> None:
        super().__init__(place)
        self.previous = initial
        self.function = function

    def take(self, value: Any) -> list[Any]:
        previous, self.previous = self.previous, value
        return passed_unless_absent(self.function(previous, value))


class Integrate(Machine):
    """FIBER-INTEGRATE-01 to -04."""

    def __init__(self, place: Place, initial: Any, accumulate: Function, fire: Function) -> None:
        super().__init__(place)
        self.initial = initial
        self.state = initial
        self.accumulate = accumulate
        self.fire = fire

    def take(self, value: Any) -> list[Any]:
        self.state = self.accumulate(self.state, value)
        if not self.fire(self.state):
            return NOTHING
        fired, self.state = self.state, self.initial
        return passed_unless_absent(fired)


class Rolling(Machine):
    """FIBER-ROLLING-01 to -04."""

    def __init__(self, place: Place, size: int, combine: Function, identity: Any) -> None:
        super().__init__(place)
        self.size = size
        self.combine = combine
        self.identity = identity
        self.values: deque[Any] = deque()

    def take(self, value: Any) -> list[Any]:
        self.values.append(value)
        if len(self.values) > self.size:
            self.values.popleft()
        if len(self.values) < self.size:
            return NOTHING
        result = self.identity
        for each in self.values:
            result = self.combine(result, each)
        return passed_unless_absent(result)


class Tumble(Machine):
    """FIBER-TUMBLE-01 to -04."""

    def __init__(self, place: Place, size: int, combine: Function, identity: Any) -> None:
        super().__init__(place)
        self.size = size
        self.combine = combine
        self.identity = identity
        self.state = identity
        self.count = 0

    def take(self, value: Any) -> list[Any]:
        self.state = self.combine(self.state, value)
        self.count += 1
        if self.count < self.size:
            return NOTHING
        result, self.state, self.count = self.state, self.identity, 0
        return passed_unless_absent(result)


# -- detectors, confirmation, gates


class Edge(Machine):
    """FIBER-EDGE-01, -02."""

    def __init__(self, place: Place, initial: Any, transition: Function) -> None:
        super().__init__(place)
        self.previous = initial
        self.transition = transition

    def take(self, value: Any) -> list[Any]:
        previous, self.previous = self.previous, value
        return passed_if(value, self.transition(previous, value))


class PulseOf(Machine):
    """FIBER-PULSE-01, -02."""

    active = False

    def __init__(self, place: Place, predicate: Function) -> None:
        super().__init__(place)
        self.predicate = predicate

    def take(self, value: Any) -> list[Any]:
        before, self.active = self.active, bool(self.predicate(value))
        return passed_if(value, self.active and not before)


class Steady(Machine):
    """FIBER-STEADY-01, -03 to -05."""

    candidate: Any = UNSET
    row = 0

    def __init__(self, place: Place, count: int, same: Function = same) -> None:
        super().__init__(place)
        self.count = count
        self.same = same

    def take(self, value: Any) -> list[Any]:
        if self.candidate is not UNSET and self.same(self.candidate, value):
            self.row += 1
        else:
            self.candidate, self.row = value, 1
        return passed_if(value, self.row == self.count)


class Streak(Machine):
    """FIBER-STREAK-01 to -05."""

    row = 0

    def __init__(self, place: Place, required: int, matches: Function) -> None:
        super().__init__(place)
        self.required = required
        self.matches = matches

    def take(self, value: Any) -> list[Any]:
        if not self.matches(value):
            self.row = 0
            return NOTHING
        self.row += 1
        if self.row < self.required:
            return NOTHING
        self.row = 0
        return [value]


class Hysteresis(Machine):
    """FIBER-HYST-01 to -03."""

    on = False

    def __init__(self, place: Place, enter: Function, leave: Function) -> None:
        super().__init__(place)
        self.enter = enter
        self.leave = leave

    def take(self, value: Any) -> list[Any]:
        self.on = not self.leave(value) if self.on else bool(self.enter(value))
        return passed_if(value, self.on)


class TakeWhile(Machine):
    """FIBER-TAKEWHILE-01, FIBER-WHILE-01."""

    over = False

    def __init__(self, place: Place, predicate: Function) -> None:
        super().__init__(place)
        self.predicate = predicate

    def take(self, value: Any) -> list[Any]:
        self.over = self.over or not self.predicate(value)
        return passed_if(value, not self.over)


class DropWhile(Machine):
    """FIBER-DROPWHILE-01, FIBER-WHILE-01."""

    open = False

    def __init__(self, place: Place, predicate: Function) -> None:
        super().__init__(place)
        self.predicate = predicate

    def take(self, value: Any) -> list[Any]:
        self.open = self.open or not self.predicate(value)
        return passed_if(value, self.open)
