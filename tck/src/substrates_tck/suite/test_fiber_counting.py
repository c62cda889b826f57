"""Fibers: what counts and samples values, what holds them back, and what suppresses those that were there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from operator import methodcaller
from typing import Any

import pytest

from substrates import Circuit, Cortex, ManualClock
from substrates.errors import AbsentValueError, ConfigurationError
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Check,
    Refusal,
    Refused,
    TimedVector,
    Vector,
    boom,
    cases,
    ms,
    play,
)
from substrates_tck.waits import Settle

DAY = timedelta(days=1)

BAD_DURATIONS = (
    ("timedelta(0)", timedelta(0)),
    ("timedelta(microseconds=-1)", timedelta(microseconds=-1)),
    ("timedelta.max", timedelta.max),
)
NO_COUNTS: tuple[Any, ...] = (True, 1.5, "3")


class Index:
    """A whole number of another class."""

    def __index__(self) -> int:
        """Return 2."""
        return 2


class Near:
    """Equals what differs by no more than 1."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Near) and abs(self.number - other.number) <= 1

    __hash__ = None  # type: ignore[assignment]  # as it is not transitive


class Alike:
    """Equals all others of its class."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 1


class Incomparable:
    """Fails when it is compared."""

    def __eq__(self, other: object) -> bool:
        boom()
        return False

    def __hash__(self) -> int:
        return hash(5)


class Unhashable:
    """Fails when it is hashed, with no `TypeError`."""

    def __hash__(self) -> int:
        boom()
        return 0


# -- limit, skip


@cases(
    Vector("FIBER-LIMIT-01", "limit(3)", lambda f: f.limit(3), [1, 2, 3, 4, 5], [1, 2, 3]),
    Vector("FIBER-LIMIT-02", "limit(0)", lambda f: f.limit(0), [1, 2], [], derived=True),
    Vector("FIBER-SKIP-01", "skip(2)", lambda f: f.skip(2), [1, 2, 3, 4, 5], [3, 4, 5]),
    Vector("FIBER-SKIP-01", "skip(0)", lambda f: f.skip(0), [1, 2], [1, 2]),
    Vector("FIBER-SKIP-01", "skip(5)", lambda f: f.skip(5), [1, 2], []),
    Vector(
        "FIBER-SKIP-03", "skip(1).limit(2)", lambda f: f.skip(1).limit(2), [1, 2, 3, 4], [2, 3], derived=True
    ),
    Vector(
        "FIBER-SKIP-03", "limit(2).skip(1)", lambda f: f.limit(2).skip(1), [1, 2, 3, 4], [2], derived=True
    ),
    Vector("FIBER-LIMIT-01", "limit(2**70)", lambda f: f.limit(2**70), [1, 2, 3], [1, 2, 3], derived=True),
    Vector("FIBER-SKIP-01", "skip(2**70)", lambda f: f.skip(2**70), [1, 2, 3], [], derived=True),
    Vector("FIBER-LIMIT-01", "limit(Index())", lambda f: f.limit(Index()), [1, 2, 3], [1, 2], derived=True),
)
def test_limit_and_skip_count_the_first_values(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-LIMIT-02")
@derived
def test_nothing_ends_when_a_limit_is_reached(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = cortex.fiber(int).limit(1).pipe(circuit.pipe(received.append))
    for value in (1, 2):
        pipe.emit(value)
        wait(circuit)
    circuit.pipe(received.append).emit(3)
    wait(circuit)

    assert received == [1, 3]


# -- every, by count and by time


@cases(
    Vector("FIBER-EVERY-01", "every(3)", lambda f: f.every(3), range(1, 10), [3, 6, 9]),
    Vector("FIBER-EVERY-01", "every(3)", lambda f: f.every(3), range(10), [2, 5, 8]),
    Vector("FIBER-EVERY-02", "every(1)", lambda f: f.every(1), [1, 2, 3], [1, 2, 3], derived=True),
    Vector("FIBER-INHIBIT-01", "inhibit(2)", lambda f: f.inhibit(2), range(1, 8), [1, 4, 7]),
    Vector("FIBER-INHIBIT-01", "inhibit(0)", lambda f: f.inhibit(0), [1, 2], [1, 2]),
    Vector("FIBER-INHIBIT-03", "every(3)", lambda f: f.every(3), range(1, 7), [3, 6], derived=True),
    Vector("FIBER-INHIBIT-03", "inhibit(2)", lambda f: f.inhibit(2), range(1, 7), [1, 4], derived=True),
)
def test_every_and_inhibit_sample_by_count(case: Vector, check: Check) -> None:
    check(case)


@cases(
    TimedVector("FIBER-EVERYD-01", "every(ms(1))", lambda f: f.every(ms(1)), [(0, 1), (20, 2)], [2]),
    TimedVector(
        "FIBER-EVERYD-01",
        "every(ms(100))",
        lambda f: f.every(ms(100)),
        [(0, 1), (60, 2), (100, 3), (150, 4), (200, 5)],
        [3, 5],
    ),
    TimedVector("FIBER-EVERYD-02", "every(days(1))", lambda f: f.every(DAY), [(0, 1), (0, 2), (5, 3)], []),
    TimedVector(
        "FIBER-EVERYD-03",
        "every(ms(250))",
        lambda f: f.every(ms(250)),
        [(0, 1), (600, 2), (780, 3)],
        [2, 3],
    ),
    TimedVector(
        "FIBER-EVERYD-03",
        "every(ms(100))",
        lambda f: f.every(ms(100)),
        [(0, 1), (350, 2), (380, 3), (400, 4)],
        [2, 4],
    ),
    TimedVector(
        "FIBER-EVERYD-04", "every(ms(250))", lambda f: f.every(ms(250)), [(0, 1), (250, 2)], [2], derived=True
    ),
    TimedVector(
        "FIBER-EVERYD-04", "every(ms(250))", lambda f: f.every(ms(250)), [(0, 1), (249, 2)], [], derived=True
    ),
    TimedVector(
        "FIBER-EVERYD-05",
        "every(ms(10))",
        lambda f: f.every(ms(10)),
        [(1000, 1), (1005, 2), (1010, 3)],
        [3],
        derived=True,
    ),
    TimedVector(
        "FIBER-EVERYD-07",
        "every(ms(10))",
        lambda f: f.every(ms(10)),
        [(0, 1), (10, 2), (10, 3)],
        [2],
        derived=True,
    ),
)
def test_every_samples_by_processing_time(case: TimedVector, check: Check) -> None:
    check(case)


@rule("FIBER-EVERYD-05")
@derived
def test_nothing_passes_an_interval_without_a_value_that_arrives(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    pipe = cortex.fiber(int).every(ms(10)).pipe(timed.pipe(received.append))
    pipe.emit(1)
    wait(timed)
    for _ in range(5):
        clock.advance(ms(10))
        wait(timed)

    assert received == []


@rule("FIBER-EVERYD-07")
@derived
def test_one_value_at_most_passes_an_interval_in_one_cascade(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    sampled = cortex.fiber(int).every(ms(10)).pipe(timed.pipe(received.append))

    def burst(first: int) -> None:
        for value in range(first, first + 3):
            sampled.emit(value)
            clock.advance(ms(50))

    pipe = timed.pipe(burst)
    for first in (10, 20, 30):
        pipe.emit(first)
        wait(timed)

    assert received == [20, 30]


# -- chance


@cases(
    Vector("FIBER-CHANCE-01", "chance(1.0)", lambda f: f.chance(1.0), [1, 2, 3], [1, 2, 3]),
    Vector("FIBER-CHANCE-01", "chance(0.0)", lambda f: f.chance(0.0), [1, 2, 3], []),
    Vector("FIBER-CHANCE-01", "chance(1)", lambda f: f.chance(1), [1, 2, 3], [1, 2, 3], derived=True),
)
def test_certain_chances(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-CHANCE-03")
@derived
def test_a_chance_passes_about_its_share_in_order(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    values = range(1, 10_001)

    received = play(cortex.fiber(int).chance(0.5), [values], circuit, wait)[0]

    assert 4500 <= len(received) <= 5500
    assert received == sorted(set(received))
    assert set(received) <= set(values)


@rule("FIBER-CHANCE-04")
@derived
def test_a_seeded_chance_decides_alike_in_each_attachment(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    values = range(200)

    first, second = play(cortex.fiber(int).chance(0.5, seed=7), [values, values], circuit, wait)

    assert first == second
    assert 0 < len(first) < 200


# -- delay


@cases(
    Vector("FIBER-DELAY-01", "delay(2, 0)", lambda f: f.delay(2, 0), [10, 20, 30, 40], [0, 0, 10, 20]),
    Vector("FIBER-DELAY-01", "delay(1, 'x')", lambda f: f.delay(1, "x"), ["a", "b", "c"], ["x", "a", "b"]),
    Vector("FIBER-DELAY-02", "delay(3, 0)", lambda f: f.delay(3, 0), [1, 2], [0, 0], derived=True),
    Vector(
        "FIBER-DELAY-04",
        "delay(1, 0).relate(0, c - p)",
        lambda f: f.delay(1, 0).relate(0, lambda p, c: c - p),
        [1, 3, 6],
        [0, 1, 2],
        derived=True,
    ),
)
def test_delay_passes_what_came_earlier(case: Vector, check: Check) -> None:
    check(case)


# -- diff


@cases(
    Vector("FIBER-DIFF-01", "diff()", lambda f: f.diff(), [1, 1, 2, 2, 1], [1, 2, 1]),
    Vector("FIBER-DIFF-02", "diff(5)", lambda f: f.diff(5), [5, 7, 7, 5], [7, 5]),
    Vector("FIBER-DIFF-02", "diff(5)", lambda f: f.diff(5), [7], [7]),
)
def test_diff_passes_what_differs(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-DIFF-03")
@derived
def test_diff_compares_with_what_was_passed_last(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    values = [Near(number) for number in range(4)]

    received = play(cortex.fiber(Near).diff(), [values], circuit, wait)[0]

    assert [value.number for value in received] == [0, 2]


@rule("FIBER-DIFF-05")
@derived
def test_diff_drops_what_cannot_be_compared_and_holds_on(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received = play(cortex.fiber().diff(), [["a", Incomparable(), "a", "c"]], circuit, wait)[0]

    assert received == ["a", "c"]


# -- distinct


@cases(
    Vector("FIBER-DISTINCT-01", "distinct()", lambda f: f.distinct(), [1, 2, 1, 3, 2, 3], [1, 2, 3]),
    Vector("FIBER-DISTINCT-02", "distinct(3)", lambda f: f.distinct(3), [1, 2, 1, 3, 4, 1], [1, 2, 3, 4, 1]),
    Vector(
        "FIBER-DISTINCT-03",
        "distinct(2)",
        lambda f: f.distinct(2),
        [1, 2, 1, 3, 1],
        [1, 2, 3, 1],
        derived=True,
    ),
    Vector(
        "FIBER-DISTINCT-04",
        "distinct(2)",
        lambda f: f.distinct(2),
        [1, 2, 3, 1, 2, 3],
        [1, 2, 3, 1, 2, 3],
        derived=True,
    ),
    Vector(
        "FIBER-DISTINCT-04",
        "distinct(2)",
        lambda f: f.distinct(2),
        [1, 2, 3, 2, 1, 3, 2],
        [1, 2, 3, 1, 2],
        derived=True,
    ),
    Vector(
        "FIBER-DISTINCT-05", "distinct(1)", lambda f: f.distinct(1), [1, 1, 2, 1], [1, 2, 1], derived=True
    ),
    Vector(
        "FIBER-DISTINCT-07",
        "distinct()",
        lambda f: f.distinct(),
        [[1], [1], 5, [2], 5, [1]],
        [[1], 5, [2]],
        derived=True,
    ),
    Vector(
        "FIBER-DISTINCT-07",
        "distinct(2)",
        lambda f: f.distinct(2),
        [[1], [2], [1], 3, [1], [2]],
        [[1], [2], 3, [1], [2]],
        derived=True,
    ),
)
def test_distinct_passes_what_it_does_not_remember(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-DISTINCT-07")
@derived
@pytest.mark.parametrize("failing", [Incomparable, Unhashable])
@pytest.mark.parametrize("capacity", [(), (2,)], ids=["distinct()", "distinct(2)"])
def test_distinct_drops_what_cannot_be_compared_and_remembers_the_rest(
    capacity: tuple[int, ...], failing: Callable[[], Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    values = [4, 5, failing(), 4, 5, 6]

    received = play(cortex.fiber().distinct(*capacity), [values], circuit, wait)[0]

    assert received == [4, 5, 6]


# -- change


@cases(
    Vector(
        "FIBER-CHANGE-01",
        "change(v div 10)",
        lambda f: f.change(lambda v: v // 10),
        [5, 7, 13, 18, 9],
        [5, 13, 9],
    ),
    Vector(
        "FIBER-CHANGE-02",
        "change(None if v < 0 else v)",
        lambda f: f.change(lambda v: None if v < 0 else v),
        [-1, -2, 3, 3, -4],
        [-1, 3, -4],
        derived=True,
    ),
    Vector(
        "FIBER-CHANGE-03",
        "change(boom() if v == 99 else v div 10)",
        lambda f: f.change(lambda v: boom() if v == 99 else v // 10),
        [5, 99, 7, 13],
        [5, 13],
        derived=True,
    ),
)
def test_change_passes_what_has_another_key(case: Vector, check: Check) -> None:
    check(case)


# -- heartbeat


@cases(
    TimedVector(
        "FIBER-HEARTBEAT-01",
        "heartbeat(ms(1))",
        lambda f: f.heartbeat(ms(1)),
        [(0, 7), (1, 7), (20, 7)],
        [7, 7],
    ),
    TimedVector(
        "FIBER-HEARTBEAT-01",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (5, 7), (14, 7)],
        [7],
    ),
    TimedVector(
        "FIBER-HEARTBEAT-01",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (5, 7), (15, 7)],
        [7, 7],
    ),
    TimedVector(
        "FIBER-HEARTBEAT-02", "heartbeat(ms(1))", lambda f: f.heartbeat(ms(1)), [(0, 3), (20, 3)], [3]
    ),
    TimedVector(
        "FIBER-HEARTBEAT-04",
        "heartbeat(days(1))",
        lambda f: f.heartbeat(DAY),
        [(0, 1), (0, 1), (0, 1), (0, 2), (0, 2), (0, 1)],
        [1, 2, 1],
    ),
    TimedVector(
        "FIBER-HEARTBEAT-04",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (1, 7), (8, 9), (9, 9), (12, 9), (19, 9)],
        [7, 9, 9],
    ),
    TimedVector(
        "FIBER-HEARTBEAT-04",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (1, 7), (8, 9), (9, 9), (12, 9)],
        [7, 9],
        derived=True,
    ),
    TimedVector(
        "FIBER-HEARTBEAT-05",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7), (1, 7), (25, 7), (34, 7), (35, 7)],
        [7, 7, 7],
        derived=True,
    ),
    TimedVector(
        "FIBER-HEARTBEAT-06",
        "heartbeat(ms(10))",
        lambda f: f.heartbeat(ms(10)),
        [(0, 7)],
        [7],
        derived=True,
    ),
    TimedVector(
        "FIBER-HEARTBEAT-01",
        "heartbeat(0.01)",
        lambda f: f.heartbeat(0.01),
        [(0, 7), (5, 7), (14, 7), (15, 7)],
        [7, 7],
        derived=True,
    ),
)
def test_heartbeat_repeats_what_it_holds_after_a_silence(case: TimedVector, check: Check) -> None:
    check(case)


@rule("FIBER-HEARTBEAT-03")
def test_a_heartbeat_is_the_first_of_the_equal_objects(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    first, second, third = Alike(), Alike(), Alike()
    inputs = [(0, first), (1, second), (20, third)]

    received = play(cortex.fiber(Alike).heartbeat(ms(1)), [inputs], timed, wait, clock)[0]

    assert len(received) == 2
    assert received[0] is first
    assert received[1] is first


@rule("FIBER-HEARTBEAT-06")
@derived
def test_silence_alone_makes_no_heartbeat(
    cortex: Cortex, timed: Circuit, clock: ManualClock, wait: Settle
) -> None:
    received: list[int] = []
    pipe = cortex.fiber(int).heartbeat(ms(10)).pipe(timed.pipe(received.append))
    pipe.emit(7)
    pipe.emit(7)
    wait(timed)
    for _ in range(5):
        clock.advance(ms(10))
        wait(timed)

    assert received == [7]


# -- what is refused


@cases(
    *(
        Refusal(rule_id, text, call, ConfigurationError)
        for rule_id, text, call in (
            ("FIBER-LIMIT-03", "limit(-1)", methodcaller("limit", -1)),
            ("FIBER-SKIP-02", "skip(-1)", methodcaller("skip", -1)),
            ("FIBER-EVERY-03", "every(0)", methodcaller("every", 0)),
            ("FIBER-EVERY-03", "every(-1)", methodcaller("every", -1)),
            ("FIBER-CHANCE-02", "chance(1.5)", methodcaller("chance", 1.5)),
            ("FIBER-CHANCE-02", "chance(-0.1)", methodcaller("chance", -0.1)),
            ("FIBER-CHANCE-02", "chance(nan)", methodcaller("chance", float("nan"))),
            ("FIBER-CHANCE-02", "chance(10**400)", methodcaller("chance", 10**400)),
            ("FIBER-INHIBIT-02", "inhibit(-1)", methodcaller("inhibit", -1)),
            ("FIBER-DELAY-03", "delay(0, 0)", methodcaller("delay", 0, 0)),
            ("FIBER-DELAY-03", "delay(-1, 0)", methodcaller("delay", -1, 0)),
            ("FIBER-DISTINCT-06", "distinct(0)", methodcaller("distinct", 0)),
            ("FIBER-DISTINCT-06", "distinct(-1)", methodcaller("distinct", -1)),
        )
    ),
    *(
        Refusal(rule_id, f"{name}({text})", methodcaller(name, duration), ConfigurationError)
        for rule_id, name in (("FIBER-EVERYD-06", "every"), ("FIBER-HEARTBEAT-07", "heartbeat"))
        for text, duration in BAD_DURATIONS
    ),
)
def test_numbers_and_durations_out_of_range_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@cases(
    Refusal("FIBER-EVERYD-06", "every(None)", lambda f: f.every(None), AbsentValueError),
    Refusal("FIBER-DELAY-03", "delay(1, None)", lambda f: f.delay(1, None), AbsentValueError),
    Refusal("FIBER-DIFF-04", "diff(None)", lambda f: f.diff(None), AbsentValueError),
    Refusal("FIBER-CHANGE-04", "change(None)", lambda f: f.change(None), AbsentValueError),
    Refusal("FIBER-HEARTBEAT-07", "heartbeat(None)", lambda f: f.heartbeat(None), AbsentValueError),
    *(
        Refusal(rule_id, f"{name}(None)", methodcaller(name, None), AbsentValueError, derived=True)
        for rule_id, name in (
            ("FIBER-LIMIT-03", "limit"),
            ("FIBER-SKIP-02", "skip"),
            ("FIBER-CHANCE-02", "chance"),
            ("FIBER-INHIBIT-02", "inhibit"),
            ("FIBER-DISTINCT-06", "distinct"),
        )
    ),
    Refusal(
        "FIBER-CHANCE-04",
        "chance(0.5, seed=None)",
        lambda f: f.chance(0.5, seed=None),
        AbsentValueError,
        derived=True,
    ),
)
def test_absent_arguments_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@cases(
    *(
        Refusal(rule_id, f"{name}({value!r})", methodcaller(name, value), TypeError, derived=True)
        for rule_id, name in (
            ("FIBER-LIMIT-03", "limit"),
            ("FIBER-SKIP-02", "skip"),
            ("FIBER-EVERY-03", "every"),
            ("FIBER-INHIBIT-02", "inhibit"),
            ("FIBER-DISTINCT-06", "distinct"),
        )
        for value in NO_COUNTS
    ),
    Refusal("FIBER-DELAY-03", "delay(1.0, 0)", lambda f: f.delay(1.0, 0), TypeError, derived=True),
    Refusal("FIBER-CHANCE-02", "chance(True)", lambda f: f.chance(True), TypeError, derived=True),
    Refusal("FIBER-CHANCE-02", "chance('1')", lambda f: f.chance("1"), TypeError, derived=True),
    Refusal("FIBER-HEARTBEAT-07", "heartbeat('1')", lambda f: f.heartbeat("1"), TypeError, derived=True),
    Refusal("FIBER-CHANGE-04", "change(42)", lambda f: f.change(42), TypeError, derived=True),
)
def test_what_is_no_number_is_refused(case: Refusal, refused: Refused) -> None:
    refused(case)
