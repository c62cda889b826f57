"""Fibers: recipes whose values keep their type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from .absent import UNSET, Unset, present
from .cell import Cell, CellOf
from .duration import nanoseconds
from .errors import ConfigurationError
from .pipe import Pipe
from .receptor import Receptor, checked_function, receive_of
from .recipe import Recipe, bounds, order, whole

__all__ = ["Fiber"]

E = TypeVar("E")
K = TypeVar("K")


class Fiber(Recipe[E, E]):
    """A chain of operators that filter, replace and watch the values of a pipe; see `Recipe`.

    Made by `Cortex.fiber`. ``fiber | other`` is ``fiber.fiber(other)``, ``fiber | pipe`` is
    ``fiber.pipe(pipe)``.

    Equality is ``a is b or a == b``. Comparisons use ``<`` and ``>`` of the values, or of their `key` as in
    `sorted`, or `compare(value, bound)`, negative, zero or positive. A NaN passes no comparison but `clamp`.

    Every operator raises:
        AbsentValueError: an argument is None where that is not said to be allowed.
        ConfigurationError: a number is out of its range; a bound is NaN; the lower bound is above the upper;
            a function is a coroutine function.
        IncomparableError: bounds have no order.
        ProviderMismatchFault: a pipe or recipe of another provider.
        TypeError: an argument of another kind.

    Contract: FIBER-GUARD-01 to FIBER-PIPE-07.
    """

    __slots__ = ()

    # -- comparisons

    def above(
        self,
        lower: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values greater than `lower` (FIBER-ABOVE-01)."""
        return self._bounded("above", key, compare, lower=lower)

    def below(
        self,
        upper: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values less than `upper` (FIBER-BELOW-01)."""
        return self._bounded("below", key, compare, upper=upper)

    def min(
        self,
        bound: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values that are `bound` or greater (FIBER-MIN-01); for the least so far see `low`."""
        return self._bounded("min", key, compare, bound=bound)

    def max(
        self,
        bound: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values that are `bound` or less (FIBER-MAX-01); for the greatest so far see `high`."""
        return self._bounded("max", key, compare, bound=bound)

    def range(
        self,
        lower: E,
        upper: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values from `lower` to `upper`, both included (FIBER-RANGE-01, -02)."""
        return self._bounded("range", key, compare, lower=lower, upper=upper)

    def deadband(
        self,
        lower: E,
        upper: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass values less than `lower` or greater than `upper` (FIBER-DEADBAND-01, -02)."""
        return self._bounded("deadband", key, compare, lower=lower, upper=upper)

    def clamp(
        self,
        lower: E,
        upper: E,
        /,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Replace lesser values by `lower` and greater ones by `upper` (FIBER-CLAMP-01 to -03)."""
        given = order(key, compare, "clamp")
        kept = bounds("clamp", given, lower=lower, upper=upper)
        return self._with("clamp", *kept, lower, upper, given)

    def high(
        self,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass the first value and each that is greater than all before (FIBER-HIGH-01 to -03)."""
        return self._with("high", order(key, compare, "high"))

    def low(
        self,
        *,
        key: Callable[[E], Any] | Unset = UNSET,
        compare: Callable[[E, E], float] | Unset = UNSET,
    ) -> Fiber[E]:
        """Pass the first value and each that is less than all before (FIBER-LOW-01, FIBER-HIGH-02, -03)."""
        return self._with("low", order(key, compare, "low"))

    # -- filters, replacement, side paths

    @overload
    def guard(self, predicate: Callable[[E], object], /) -> Fiber[E]: ...
    @overload
    def guard(self, initial: E, predicate: Callable[[E, E], object], /) -> Fiber[E]: ...

    def guard(self, first: Any, second: Any = UNSET, /) -> Fiber[E]:
        """Pass values for which `predicate` holds.

        With `initial`, the predicate gets the last value that passed, at first `initial`, and the value.

        Contract: FIBER-GUARD-01 to -03, FIBER-GUARD2-01 to -04.
        """
        if second is UNSET:
            return self._with("guard", checked_function(first, "guard", "predicate"))
        present(first, "guard", "initial")
        return self._with("guard_from", first, checked_function(second, "guard", "predicate"))

    def replace(self, function: Callable[[E], E | None], /) -> Fiber[E]:
        """Pass `function(value)` instead; None drops (FIBER-REPLACE-01 to -04)."""
        return self._with("replace", checked_function(function, "replace", "function"))

    def peek(self, receptor: Receptor[E] | Callable[[E], object], /) -> Fiber[E]:
        """Call `receptor` with each value, then pass it; if that raises, drop it (FIBER-PEEK-01 to -04)."""
        receive = receive_of(present(receptor, "peek", "receptor"), "peek")
        if receive is None:
            raise TypeError(f"peek({receptor!r}): a callable or an object with 'receive' is required")
        return self._with("peek", receive)

    def tee(self, pipe: Pipe[E], /) -> Fiber[E]:
        """Emit each value to `pipe` too, a pipe of any circuit, and pass it (FIBER-TEE-01 to -06)."""
        return self._with("tee", self._own(pipe, Pipe, "tee", "pipe"))

    def route(self, predicate: Callable[[E], object], pipe: Pipe[E], /) -> Fiber[E]:
        """Emit values for which `predicate` holds to `pipe`, and pass the others (FIBER-ROUTE-01 to -06)."""
        checked_function(predicate, "route", "predicate")
        return self._with("route", predicate, self._own(pipe, Pipe, "route", "pipe"))

    def when(self, predicate: Callable[[E], object], fiber: Fiber[E], /) -> Fiber[E]:
        """Send values for which `predicate` holds through `fiber` first (FIBER-WHEN-01 to -07)."""
        checked_function(predicate, "when", "predicate")
        return self._with("when", predicate, self._own(fiber, Fiber, "when", "fiber"))

    # -- counting, sampling, displacement

    def limit(self, count: int, /) -> Fiber[E]:
        """Pass the first `count` values, 0 or more, then none (FIBER-LIMIT-01 to -03)."""
        return self._with("limit", whole(count, 0, "limit", "count"))

    def skip(self, count: int, /) -> Fiber[E]:
        """Drop the first `count` values, 0 or more, then none (FIBER-SKIP-01 to -03)."""
        return self._with("skip", whole(count, 0, "skip", "count"))

    def every(self, step: int | timedelta, /) -> Fiber[E]:
        """Pass every `step`-th value; or, of a timedelta, one value per interval of the circuit's time.

        By time: the first value begins the first interval and is dropped; then the first value at or after
        the end of an interval passes. Nothing passes without a value that arrives. (Seconds as a number are
        not taken here, where a number is a count.)

        Contract: FIBER-EVERY-01 to -03, FIBER-EVERYD-01 to -07.
        """
        if isinstance(present(step, "every", "step"), timedelta):
            return self._with("every_interval", nanoseconds(step, "every", "step"))
        return self._with("every", whole(step, 1, "every", "step"))

    def chance(self, probability: float, /, *, seed: int | Unset = UNSET) -> Fiber[E]:
        """Pass each value with `probability`, from 0.0 to 1.0.

        Args:
            probability: see above.
            seed: makes every attachment decide alike; without it each decides anew.

        Contract: FIBER-CHANCE-01 to -04.
        """
        present(probability, "chance", "probability")
        if isinstance(probability, bool) or not isinstance(probability, (int, float)):
            raise TypeError(f"chance(probability={probability!r}): a number is required")
        if not 0 <= probability <= 1:
            raise ConfigurationError(f"chance(probability={probability!r}): 0.0 to 1.0 is required")
        if seed is not UNSET:
            present(seed, "chance", "seed")
            import random

            try:
                random.Random(seed)
            except TypeError:
                raise TypeError(
                    f"chance(seed={seed!r}): an int, a float, a str or bytes is required"
                ) from None
        return self._with("chance", float(probability), None if seed is UNSET else seed)

    def inhibit(self, count: int, /) -> Fiber[E]:
        """Pass a value, drop the next `count`, 0 or more, and so on (FIBER-INHIBIT-01 to -03)."""
        return self._with("inhibit", whole(count, 0, "inhibit", "count"))

    def delay(self, depth: int, initial: E, /) -> Fiber[E]:
        """Pass the value of `depth` emissions ago, 1 or more; at first `initial` (FIBER-DELAY-01 to -04)."""
        steps = whole(depth, 1, "delay", "depth")
        return self._with("delay", steps, present(initial, "delay", "initial"))

    # -- suppression of what was there

    def diff(self, initial: E | Unset = UNSET, /) -> Fiber[E]:
        """Pass values that differ from the last one that passed, at first from `initial` if given.

        Contract: FIBER-DIFF-01 to -05.
        """
        if initial is UNSET:
            return self._with("diff")
        return self._with("diff_from", present(initial, "diff", "initial"))

    def distinct(self, capacity: int | Unset = UNSET, /) -> Fiber[E]:
        """Pass values that have not passed before; or that are not among the last `capacity`, 1 or more.

        Without a capacity it remembers all. Values that cannot be hashed are compared one by one.

        Contract: FIBER-DISTINCT-01 to -07.
        """
        if capacity is UNSET:
            return self._with("distinct")
        return self._with("distinct_within", whole(capacity, 1, "distinct", "capacity"))

    def change(self, key: Callable[[E], Any], /) -> Fiber[E]:
        """Pass values whose `key`, which may be None, differs from that of the last that passed.

        Contract: FIBER-CHANGE-01 to -04.
        """
        return self._with("change", checked_function(key, "change", "key"))

    def heartbeat(self, max_silence: timedelta | float, /) -> Fiber[E]:
        """Pass values that differ from the one held, and the one held again when equal ones came so long.

        Args:
            max_silence: measured from the first equal value, in the circuit's time.

        Contract: FIBER-HEARTBEAT-01 to -07.
        """
        return self._with("heartbeat", nanoseconds(max_silence, "heartbeat", "max_silence"))

    # -- folds

    def reduce(self, initial: E | None, function: Callable[[Any, E], E | None], /) -> Fiber[E]:
        """Pass ``state = function(state, value)``; None drops, and is the state (FIBER-REDUCE-01 to -04).

        `initial`, the first state, may be None.
        """
        return self._with("reduce", initial, checked_function(function, "reduce", "function"))

    def relate(self, initial: E | None, function: Callable[[Any, E], E | None], /) -> Fiber[E]:
        """Pass ``function(previous value, value)``; None drops (FIBER-RELATE-01 to -04).

        `initial`, the first previous value, may be None.
        """
        return self._with("relate", initial, checked_function(function, "relate", "function"))

    def integrate(
        self, initial: E | None, accumulate: Callable[[Any, E], E | None], fire: Callable[[Any], object], /
    ) -> Fiber[E]:
        """Keep ``state = accumulate(state, value)``; when ``fire(state)``, pass it and begin anew.

        `initial`, the state to begin with, may be None.

        Contract: FIBER-INTEGRATE-01 to -05.
        """
        checked_function(accumulate, "integrate", "accumulate")
        return self._with("integrate", initial, accumulate, checked_function(fire, "integrate", "fire"))

    def rolling(self, size: int, combine: Callable[[Any, E], E | None], identity: E, /) -> Fiber[E]:
        """Pass the fold of the last `size` values, from the `size`-th on (FIBER-ROLLING-01 to -05)."""
        return self._batched("rolling", size, combine, identity)

    def tumble(self, size: int, combine: Callable[[Any, E], E | None], identity: E, /) -> Fiber[E]:
        """Pass the fold of each `size` values, 1 or more, then begin anew (FIBER-TUMBLE-01 to -05)."""
        return self._batched("tumble", size, combine, identity)

    # -- detectors, confirmation, gates

    def edge(self, initial: E, transition: Callable[[E, E], object], /) -> Fiber[E]:
        """Pass values for which ``transition(previous value, value)`` holds (FIBER-EDGE-01 to -03)."""
        present(initial, "edge", "initial")
        return self._with("edge", initial, checked_function(transition, "edge", "transition"))

    def pulse(self, predicate: Callable[[E], object], /) -> Fiber[E]:
        """Pass a value for which `predicate` holds after one for which it did not (FIBER-PULSE-01 to -03)."""
        return self._with("pulse", checked_function(predicate, "pulse", "predicate"))

    def steady(self, count: int, same: Callable[[E, E], object] | Unset = UNSET, /) -> Fiber[E]:
        """Pass the `count`-th value, 1 or more, of each row of equal ones.

        Args:
            count: see above.
            same: tells whether the row's first value and the value are equal.

        Contract: FIBER-STEADY-01 to -06.
        """
        confirmations = whole(count, 1, "steady", "count")
        if same is UNSET:
            return self._with("steady", confirmations)
        return self._with("steady_same", confirmations, checked_function(same, "steady", "same"))

    def streak(self, required: int, matches: Callable[[E], object], /) -> Fiber[E]:
        """Pass each `required`-th value in a row for which `matches` holds (FIBER-STREAK-01 to -08)."""
        needed = whole(required, 1, "streak", "required")
        return self._with("streak", needed, checked_function(matches, "streak", "matches"))

    def hysteresis(self, enter: Callable[[E], object], leave: Callable[[E], object], /) -> Fiber[E]:
        """Pass values from one for which `enter` holds until before one for which `leave` holds.

        Contract: FIBER-HYST-01 to -04.
        """
        checked_function(enter, "hysteresis", "enter")
        return self._with("hysteresis", enter, checked_function(leave, "hysteresis", "leave"))

    def take_while(self, predicate: Callable[[E], object], /) -> Fiber[E]:
        """Pass values until the first for which `predicate` does not hold (FIBER-TAKEWHILE-01)."""
        return self._with("take_while", checked_function(predicate, "take_while", "predicate"))

    def drop_while(self, predicate: Callable[[E], object], /) -> Fiber[E]:
        """Pass values from the first on for which `predicate` does not hold (FIBER-DROPWHILE-01)."""
        return self._with("drop_while", checked_function(predicate, "drop_while", "predicate"))

    # -- composition

    def fiber(self, next: Fiber[E], /) -> Fiber[E]:
        """Return this fiber followed by `next` (FIBER-COMP-01 to -04)."""
        following = self._own(next, Fiber, "fiber", "next")
        return Fiber(self._cortex, (*self._stages, *following.stages))

    @overload
    def __or__(self, other: Fiber[E], /) -> Fiber[E]: ...
    @overload
    def __or__(self, other: Pipe[E] | CellOf[E], /) -> Pipe[E]: ...

    def __or__(self, other: Any, /) -> Any:
        if isinstance(other, Fiber):
            return self.fiber(other)
        return self.pipe(other) if isinstance(other, (Pipe, Cell)) else NotImplemented

    # -- for the operators

    def _with(self, operator: str, *arguments: Any) -> Fiber[E]:
        return Fiber(self._cortex, self._more(operator, arguments))

    def _bounded(self, operation: str, key: Any, compare: Any, **values: Any) -> Fiber[E]:
        given = order(key, compare, operation)
        return self._with(operation, *bounds(operation, given, **values), given)

    def _batched(self, operation: str, size: Any, combine: Any, identity: Any) -> Fiber[E]:
        values = whole(size, 1, operation, "size")
        checked_function(combine, operation, "combine")
        return self._with(operation, values, combine, present(identity, operation, "identity"))
