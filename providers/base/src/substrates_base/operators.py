"""What the operators of recipes do: the one place that says it, for every provider built on base.

How to read the table
---------------------
Each operator has the call that a reader of generated code is shown, the lines that make its state when a
recipe is attached, and the lines that a value runs through. In these:

``$name``   an argument of the stage, or a piece of its state; the compiler adds the stage's number, so that
            each occurrence has its own
``value``   the value; what it is at the end of the lines is passed on
``return``  drops the value
``<fiber>`` where the operator's own fiber comes, of the same pipe
``<rest>``  where the rest of the chain comes, if the operator has to do something after it
``now()``   the processing time of the circuit, in nanoseconds
``subject`` the subject of the pipe that is being made

An operator finishes its own change of state before it passes on, since what comes later may raise
(COMMON-THROW-04). A predicate that raises decides nothing: the state is as before. A fold that raises keeps
what it had. What follows the previous value (relate, edge) has followed it when its function raises.

Equal is ``a is b or a == b``, as in containers, the new value on the left (COMMON-EQ-01, -03). Natural order
uses the operators themselves, not their negations, so that a NaN passes no filter.
"""

from __future__ import annotations

import re
from collections import deque
from functools import reduce
from random import Random
from sys import maxsize
from textwrap import dedent
from typing import Any, Final

from substrates import Change, Run

from .memories import Memory
from .windows import TimedWindows, Windows

__all__ = ["FIBER", "NAMES", "OPERATORS", "REST", "Operator"]

FIBER: Final = "<fiber>"
REST: Final = "<rest>"


class Nothing:
    """The type of `NOTHING`, which stands where there was no value yet."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = Nothing()

NAMES: Final[dict[str, Any]] = {
    "NOTHING": NOTHING,
    "Change": Change,
    "Memory": Memory,
    "Random": Random,
    "Run": Run,
    "TimedWindows": TimedWindows,
    "Windows": Windows,
    "deque": deque,
    "maxsize": maxsize,
    "reduce": reduce,
}
"""What the lines of operators may name besides their own."""


class Operator:
    """One operator, or one form of it.

    Attributes:
        call: what a reader is shown, such as ``limit(count)``.
        parameters: the names of the stage's arguments in order, an empty one for what is not used.
        state: the lines that make the state of one attachment.
        code: the lines that a value runs through.
        rebound: the names that these lines assign, and keep for the next value.
    """

    __slots__ = ("call", "code", "parameters", "rebound", "state")

    def __init__(
        self, call: str, code: str, state: str = "", parameters: tuple[str, ...] | None = None
    ) -> None:
        self.call = call
        named = tuple(re.findall(r"\w+", call.partition("(")[2]))
        self.parameters = named if parameters is None else parameters
        self.state = tuple(dedent(state).strip().splitlines())
        self.code = tuple(dedent(code).strip().splitlines())
        self.rebound = tuple(
            dict.fromkeys(re.findall(r"^\s*\$(\w+) (?:[-+]?=) ", "\n".join(self.code), re.MULTILINE))
        )


def _by_order(name: str, call: str, passes: str) -> dict[str, Operator]:
    """Return the three forms of a filter that compares: by natural order, by keys, by a compare function.

    Args:
        name: of the operator.
        call: its bounds.
        passes: the condition, of comparisons ``value > $lower`` and the like.
    """
    keyed = passes.replace("value", "place")
    compared = re.sub(r"value (\S+) (\$\w+)", r"$compare(value, \2) \1 0", passes)
    return {
        name: Operator(f"{name}({call})", f"if not ({passes}):\n    return"),
        f"{name} by key": Operator(
            f"{name}({call}, key)", f"place = $key(value)\nif not ({keyed}):\n    return"
        ),
        f"{name} by compare": Operator(f"{name}({call}, compare)", f"if not ({compared}):\n    return"),
    }


def _record(name: str, sign: str) -> dict[str, Operator]:
    """Return the three forms of `high` or `low`, whose values are `sign` the record.

    By natural order a NaN is no record, or it would be one for ever.
    """
    code = f"""
        if $record is NOTHING:
            if value != value:
                return
        elif not value {sign} $record:
            return
        $record = value
        """
    return {
        name: Operator(f"{name}()", code, "$record = NOTHING"),
        f"{name} by key": Operator(
            f"{name}(key)",
            "place = $key(value)\n" + dedent(code).strip().replace("value", "place"),
            "$record = NOTHING",
        ),
        f"{name} by compare": Operator(
            f"{name}(compare)",
            f"""
            if $record is not NOTHING and not $compare(value, $record) {sign} 0:
                return
            $record = value
            """,
            "$record = NOTHING",
        ),
    }


def _steady(call: str, same: str) -> Operator:
    """Return a form of `steady`; `same` tells whether the value is as the row's first one."""
    return Operator(
        call,
        f"""
        if $candidate is not NOTHING and {same}:
            $length += 1
        else:
            $candidate = value
            $length = 1
        if $length != $count:
            return
        """,
        """
        $candidate = NOTHING
        $length = 0
        """,
    )


_CHANGED: Final = """
    value = $function(value)
    if value is None:
        return
    """

_RELATED: Final = """
    before = $previous
    $previous = value
    value = $function(before, value)
    if value is None:
        return
    """

OPERATORS: Final[dict[str, Operator]] = {
    # -- comparisons
    **_by_order("above", "lower", "value > $lower"),
    **_by_order("below", "upper", "value < $upper"),
    **_by_order("min", "bound", "value >= $bound"),
    **_by_order("max", "bound", "value <= $bound"),
    **_by_order("range", "lower, upper", "value >= $lower and value <= $upper"),
    **_by_order("deadband", "lower, upper", "value < $lower or value > $upper"),
    "clamp": Operator(
        "clamp(lower, upper)",
        """
        if value < $lower:
            value = $lower
        elif value > $upper:
            value = $upper
        """,
        parameters=("", "", "lower", "upper"),
    ),
    "clamp by key": Operator(
        "clamp(lower, upper, key)",
        """
        place = $key(value)
        if place < $lower_key:
            value = $lower
        elif place > $upper_key:
            value = $upper
        """,
        parameters=("lower_key", "upper_key", "lower", "upper", "key"),
    ),
    "clamp by compare": Operator(
        "clamp(lower, upper, compare)",
        """
        if $compare(value, $lower) < 0:
            value = $lower
        elif $compare(value, $upper) > 0:
            value = $upper
        """,
        parameters=("", "", "lower", "upper", "compare"),
    ),
    **_record("high", ">"),
    **_record("low", "<"),
    # -- filters, replacement, side paths
    "guard": Operator(
        "guard(predicate)",
        """
        if not $predicate(value):
            return
        """,
    ),
    "guard_from": Operator(
        "guard(initial, predicate)",
        """
        if not $predicate($reference, value):
            return
        $reference = value
        """,
        "$reference = $initial",
    ),
    "replace": Operator("replace(function)", _CHANGED),
    "peek": Operator("peek(receptor)", "$receptor(value)"),
    "tee": Operator("tee(emit)", "$emit(value)"),
    "route": Operator(
        "route(predicate, emit)",
        """
        if $predicate(value):
            $emit(value)
            return
        """,
    ),
    "when": Operator(
        "when(predicate, fiber)",
        """
        if $predicate(value):
            <fiber>
        """,
        parameters=("predicate", ""),
    ),
    # -- counting, sampling, displacement
    "limit": Operator(
        "limit(count)",
        """
        if $passed >= $count:
            return
        $passed += 1
        """,
        "$passed = 0",
    ),
    "skip": Operator(
        "skip(count)",
        """
        if $skipped < $count:
            $skipped += 1
            return
        """,
        "$skipped = 0",
    ),
    "every": Operator(
        "every(step)",
        """
        $seen += 1
        if $seen < $step:
            return
        $seen = 0
        """,
        "$seen = 0",
    ),
    "every_interval": Operator(
        "every(interval_ns)",
        """
        instant = now()
        if $anchor is None:
            $anchor = instant
            return
        elapsed = instant - $anchor
        if elapsed < $interval_ns:
            return
        $anchor = instant - elapsed % $interval_ns
        """,
        "$anchor = None",
    ),
    "chance": Operator(
        "chance(probability, seed)",
        """
        if not $random() < $probability:
            return
        """,
        "$random = Random($seed).random",
    ),
    "inhibit": Operator(
        "inhibit(count)",
        """
        if $left:
            $left -= 1
            return
        $left = $count
        """,
        "$left = 0",
    ),
    "delay": Operator(
        "delay(depth, initial)",
        """
        $queued.append(value)
        value = $queued.popleft() if len($queued) > $depth else $initial
        """,
        "$queued = deque()",
    ),
    # -- suppression of what was there
    "diff": Operator(
        "diff()",
        """
        if $held is not NOTHING and (value is $held or value == $held):
            return
        $held = value
        """,
        "$held = NOTHING",
    ),
    "diff_from": Operator(
        "diff(initial)",
        """
        if value is $held or value == $held:
            return
        $held = value
        """,
        "$held = $initial",
    ),
    "distinct": Operator(
        "distinct()",
        """
        if not $admits(value):
            return
        """,
        "$admits = Memory(None).admits",
    ),
    "distinct_within": Operator(
        "distinct(capacity)",
        """
        if not $admits(value):
            return
        """,
        "$admits = Memory($capacity).admits",
    ),
    "change": Operator(
        "change(key)",
        """
        key = $key(value)
        if $held is not NOTHING and (key is $held or key == $held):
            return
        $held = key
        """,
        "$held = NOTHING",
    ),
    "heartbeat": Operator(
        "heartbeat(max_silence_ns)",
        """
        if $held is NOTHING or not (value is $held or value == $held):
            $held = value
            $anchor = None
        else:
            instant = now()
            if $anchor is None:
                $anchor = instant
                return
            if instant - $anchor < $max_silence_ns:
                return
            $anchor = instant
            value = $held
        """,
        """
        $held = NOTHING
        $anchor = None
        """,
    ),
    # -- folds
    "reduce": Operator(
        "reduce(initial, function)",
        """
        $state = $function($state, value)
        if $state is None:
            return
        value = $state
        """,
        "$state = $initial",
    ),
    "relate": Operator("relate(initial, function)", _RELATED, "$previous = $initial"),
    "integrate": Operator(
        "integrate(initial, accumulate, fire)",
        """
        $state = $accumulate($state, value)
        if not $fire($state):
            return
        value = $state
        $state = $initial
        if value is None:
            return
        """,
        "$state = $initial",
    ),
    "rolling": Operator(
        "rolling(size, combine, identity)",
        """
        $ring.append(value)
        if len($ring) < $size:
            return
        value = reduce($combine, $ring, $identity)
        if value is None:
            return
        """,
        "$ring = deque(maxlen=min($size, maxsize))",
    ),
    "tumble": Operator(
        "tumble(size, combine, identity)",
        """
        $state = $combine($state, value)
        $combined += 1
        if $combined < $size:
            return
        value = $state
        $state = $identity
        $combined = 0
        if value is None:
            return
        """,
        """
        $state = $identity
        $combined = 0
        """,
    ),
    # -- detectors, confirmation, gates
    "edge": Operator(
        "edge(initial, transition)",
        """
        before = $previous
        $previous = value
        if not $transition(before, value):
            return
        """,
        "$previous = $initial",
    ),
    "pulse": Operator(
        "pulse(predicate)",
        """
        if not $predicate(value):
            $active = False
            return
        if $active:
            return
        $active = True
        """,
        "$active = False",
    ),
    "steady": _steady("steady(count)", "(value is $candidate or value == $candidate)"),
    "steady_same": _steady("steady(count, same)", "$same($candidate, value)"),
    "streak": Operator(
        "streak(required, matches)",
        """
        if not $matches(value):
            $matched = 0
            return
        $matched += 1
        if $matched < $required:
            return
        $matched = 0
        """,
        "$matched = 0",
    ),
    "hysteresis": Operator(
        "hysteresis(enter, leave)",
        """
        if $inside:
            if $leave(value):
                $inside = False
                return
        elif $enter(value):
            $inside = True
        else:
            return
        """,
        "$inside = False",
    ),
    "take_while": Operator(
        "take_while(predicate)",
        """
        if $ended:
            return
        if not $predicate(value):
            $ended = True
            return
        """,
        "$ended = False",
    ),
    "drop_while": Operator(
        "drop_while(predicate)",
        """
        if not $begun:
            if $predicate(value):
                return
            $begun = True
        """,
        "$begun = False",
    ),
    # -- flows
    "map": Operator("map(function)", _CHANGED),
    "scan": Operator(
        "scan(supplier, step)",
        """
        $state = $step($state, value)
        value = $state
        if value is None:
            return
        """,
        parameters=("state", "step"),
    ),
    "scan_emit": Operator(
        "scan(supplier, step, emit)",
        """
        $state = $step($state, value)
        value = $emit($state)
        if value is None:
            return
        """,
        parameters=("state", "step", "emit"),
    ),
    "scan_emit_with": Operator(
        "scan(supplier, step, emit_with)",
        """
        $state = $step($state, value)
        value = $emit_with($state, value)
        if value is None:
            return
        """,
        parameters=("state", "step", "emit_with"),
    ),
    "run": Operator(
        "run()",
        """
        if $last is not NOTHING and (value is $last or value == $last):
            $length += 1
        else:
            $length = 1
        $last = value
        value = Run(value, $length)
        """,
        """
        $last = NOTHING
        $length = 0
        """,
    ),
    "transition": Operator(
        "change()",
        """
        if $last is NOTHING:
            $last = value
            return
        if value is $last or value == $last:
            $last = value
            $length += 1
            return
        ended = Change($last, value, $length)
        $last = value
        $length = 1
        value = ended
        """,
        """
        $last = NOTHING
        $length = 1
        """,
    ),
    "window": Operator(
        "window(capacity)",
        """
        value = $windows.opened(value)
        try:
            <rest>
        finally:
            $windows.close()
        """,
        "$windows = Windows($capacity, subject)",
    ),
    "window_within": Operator(
        "window(duration_ns, capacity)",
        """
        value = $windows.opened_at(now(), value)
        try:
            <rest>
        finally:
            $windows.close()
        """,
        "$windows = TimedWindows($duration_ns, $capacity, subject)",
    ),
    # In the source of a recipe that is not attached: what factories return is not known yet.
    "fiber_factory": Operator("fiber(factory)", "", parameters=("",)),
    "flow_factory": Operator("flow(factory)", "", parameters=("",)),
}
