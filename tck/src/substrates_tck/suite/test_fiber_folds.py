"""Fibers: what folds values, and what relates each to the one before."""

from __future__ import annotations

from typing import Any

from substrates import Circuit, Cortex
from substrates.errors import AbsentValueError, ConfigurationError
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import Check, Refusal, Refused, Vector, add, boom, cases, fails_at, play
from substrates_tck.waits import Settle


def _none_at(value: Any) -> Any:
    """Return a sum that is absent after `value`, and begins anew behind it."""

    def function(state: Any, given: Any) -> Any:
        if given == value:
            return None
        return given if state is None else state + given

    return function


def _absent_at_9(state: Any, given: int) -> Any:
    """Return a sum that is absent after 9, and continues from 100 behind it."""
    return None if given == 9 else (100 if state is None else state) + given


# -- reduce


@cases(
    Vector("FIBER-REDUCE-01", "reduce(0, add)", lambda f: f.reduce(0, add), [1, 2, 3], [1, 3, 6]),
    Vector(
        "FIBER-REDUCE-02",
        "reduce(0, None if v == 9 else (s or 0) + v)",
        lambda f: f.reduce(0, lambda s, v: None if v == 9 else (s or 0) + v),
        [1, 9, 2],
        [1, 2],
    ),
    Vector(
        "FIBER-REDUCE-03",
        "reduce(0, boom() if v == 9 else s + v)",
        lambda f: f.reduce(0, fails_at(9, add)),
        [1, 9, 2],
        [1, 3],
        derived=True,
    ),
)
def test_reduce_passes_its_state(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-REDUCE-02")
def test_reduce_hands_on_an_absent_state_until_there_is_one(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    states: list[Any] = []

    def function(state: Any, value: int) -> Any:
        states.append(state)
        return None if value == 1 else value + (state or 0)

    received = play(cortex.fiber(int).reduce(None, function), [[1, 2]], circuit, wait)[0]

    assert (received, states) == ([2], [None, None])


# -- relate


@cases(
    Vector(
        "FIBER-RELATE-01",
        "relate(0, c - p)",
        lambda f: f.relate(0, lambda p, c: c - p),
        [10, 15, 13],
        [10, 5, -2],
    ),
    Vector(
        "FIBER-RELATE-02",
        "relate(None, None if p is None else c - p)",
        lambda f: f.relate(None, lambda p, c: None if p is None else c - p),
        [3, 8],
        [5],
    ),
    Vector(
        "FIBER-RELATE-02",
        "relate(0, None if c < 0 else c - p)",
        lambda f: f.relate(0, lambda p, c: None if c < 0 else c - p),
        [5, -3, 4],
        [5, 7],
    ),
    Vector(
        "FIBER-RELATE-03",
        "relate(0, boom() if c < 0 else c - p)",
        lambda f: f.relate(0, lambda p, c: boom() if c < 0 else c - p),
        [5, -3, 4],
        [5, 7],
        derived=True,
    ),
)
def test_relate_gets_each_value_with_the_one_before(case: Vector, check: Check) -> None:
    check(case)


# -- integrate


@cases(
    Vector(
        "FIBER-INTEGRATE-01",
        "integrate(0, add, s >= 10)",
        lambda f: f.integrate(0, add, lambda s: s >= 10),
        [3, 4, 5, 6, 7],
        [12, 13],
    ),
    Vector(
        "FIBER-INTEGRATE-01",
        "integrate(0, add, True)",
        lambda f: f.integrate(0, add, lambda _: True),
        [1, 2],
        [1, 2],
    ),
    Vector(
        "FIBER-INTEGRATE-02",
        "integrate(None, v if s is None else s + v, s >= 3)",
        lambda f: f.integrate(None, lambda s, v: v if s is None else s + v, lambda s: s >= 3),
        [1, 2, 4],
        [3, 4],
    ),
    Vector(
        "FIBER-INTEGRATE-03",
        "integrate(0, None if v == 9 else (100 if s is None else s) + v, s is None or s >= 10)",
        lambda f: f.integrate(0, _absent_at_9, lambda s: s is None or s >= 10),
        [3, 9, 4, 7],
        [11],
        derived=True,
    ),
    Vector(
        "FIBER-INTEGRATE-03",
        "integrate(0, None if v == 9 else (100 if s is None else s) + v, s is not None and s >= 10)",
        lambda f: f.integrate(0, _absent_at_9, lambda s: s is not None and s >= 10),
        [3, 9, 4, 7],
        [104],
        derived=True,
    ),
    Vector(
        "FIBER-INTEGRATE-04",
        "integrate(0, boom() if v == 9 else s + v, s >= 10)",
        lambda f: f.integrate(0, fails_at(9, add), lambda s: s >= 10),
        [6, 9, 5],
        [11],
        derived=True,
    ),
    Vector(
        "FIBER-INTEGRATE-04",
        "integrate(0, add, boom() if s == 5 else s >= 10)",
        lambda f: f.integrate(0, add, fails_at(5, lambda s: s >= 10)),
        [5, 6],
        [11],
        derived=True,
    ),
)
def test_integrate_passes_its_state_when_it_fires(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-INTEGRATE-04")
@derived
def test_integrate_does_not_ask_whether_to_fire_when_the_accumulation_failed(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    asked: list[int] = []

    def fire(state: int) -> bool:
        asked.append(state)
        return False

    play(cortex.fiber(int).integrate(0, fails_at(9, add), fire), [[6, 9, 5]], circuit, wait)

    assert asked == [6, 11]


# -- rolling


@cases(
    Vector(
        "FIBER-ROLLING-01", "rolling(3, add, 0)", lambda f: f.rolling(3, add, 0), [1, 2, 3, 4, 5], [6, 9, 12]
    ),
    Vector(
        "FIBER-ROLLING-01",
        "rolling(2, add, '>')",
        lambda f: f.rolling(2, add, ">"),
        ["a", "b", "c"],
        [">ab", ">bc"],
    ),
    Vector("FIBER-ROLLING-01", "rolling(1, add, 100)", lambda f: f.rolling(1, add, 100), [1, 2], [101, 102]),
    Vector(
        "FIBER-ROLLING-02",
        "rolling(3, max, -1)",
        lambda f: f.rolling(3, max, -1),
        [5, 1, 2, 0, 4],
        [5, 2, 4],
        derived=True,
    ),
    Vector(
        "FIBER-ROLLING-03",
        "rolling(2, None if v == 2 else (v if s is None else s + v), 0)",
        lambda f: f.rolling(2, _none_at(2), 0),
        [1, 2, 3],
        [3],
    ),
    Vector(
        "FIBER-ROLLING-04",
        "rolling(2, boom() if v == 9 else s + v, 0)",
        lambda f: f.rolling(2, fails_at(9, add), 0),
        [1, 9, 2, 3],
        [5],
        derived=True,
    ),
    Vector("FIBER-ROLLING-04", "rolling(2, boom, 0)", lambda f: f.rolling(2, boom, 0), [1], [], derived=True),
)
def test_rolling_passes_the_fold_of_the_last_values(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-ROLLING-04")
@derived
def test_rolling_does_not_combine_before_there_are_enough_values(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    combined: list[tuple[int, int]] = []

    def combine(state: int, value: int) -> int:
        combined.append((state, value))
        return state + value

    play(cortex.fiber(int).rolling(3, combine, 0), [[1, 2]], circuit, wait)

    assert combined == []


# -- tumble


@cases(
    Vector("FIBER-TUMBLE-01", "tumble(3, add, 0)", lambda f: f.tumble(3, add, 0), range(1, 10), [6, 15, 24]),
    Vector("FIBER-TUMBLE-01", "tumble(1, add, 100)", lambda f: f.tumble(1, add, 100), [1, 2], [101, 102]),
    Vector(
        "FIBER-TUMBLE-02",
        "tumble(3, add, 0)",
        lambda f: f.tumble(3, add, 0),
        [1, 2, 3, 4, 5],
        [6],
        derived=True,
    ),
    Vector(
        "FIBER-TUMBLE-03",
        "tumble(2, None if v == 2 else (v if s is None else s + v), 0)",
        lambda f: f.tumble(2, _none_at(2), 0),
        [1, 2, 3, 4],
        [7],
    ),
    Vector(
        "FIBER-TUMBLE-03",
        "tumble(2, None if v == 1 else (v if s is None else s + v), 0)",
        lambda f: f.tumble(2, _none_at(1), 0),
        [1, 2],
        [2],
    ),
    Vector(
        "FIBER-TUMBLE-04",
        "tumble(2, boom() if v == 9 else s + v, 0)",
        lambda f: f.tumble(2, fails_at(9, add), 0),
        [1, 9, 2, 3, 4],
        [3, 7],
        derived=True,
    ),
    Vector(
        "FIBER-TUMBLE-04",
        "tumble(3, boom() if v == 9 else s + v, 0)",
        lambda f: f.tumble(3, fails_at(9, add), 0),
        [1, 9, 2, 3],
        [6],
        derived=True,
    ),
)
def test_tumble_passes_the_fold_of_each_batch(case: Vector, check: Check) -> None:
    check(case)


# -- what is refused


@cases(
    Refusal("FIBER-REDUCE-04", "reduce(0, None)", lambda f: f.reduce(0, None), AbsentValueError),
    Refusal("FIBER-RELATE-04", "relate(0, None)", lambda f: f.relate(0, None), AbsentValueError),
    Refusal(
        "FIBER-INTEGRATE-05",
        "integrate(0, None, True)",
        lambda f: f.integrate(0, None, lambda _: True),
        AbsentValueError,
    ),
    Refusal(
        "FIBER-INTEGRATE-05", "integrate(0, add, None)", lambda f: f.integrate(0, add, None), AbsentValueError
    ),
    Refusal("FIBER-ROLLING-05", "rolling(0, add, 0)", lambda f: f.rolling(0, add, 0), ConfigurationError),
    Refusal("FIBER-ROLLING-05", "rolling(3, None, 0)", lambda f: f.rolling(3, None, 0), AbsentValueError),
    Refusal("FIBER-ROLLING-05", "rolling(3, add, None)", lambda f: f.rolling(3, add, None), AbsentValueError),
    Refusal("FIBER-TUMBLE-05", "tumble(0, add, 0)", lambda f: f.tumble(0, add, 0), ConfigurationError),
    Refusal("FIBER-TUMBLE-05", "tumble(3, None, 0)", lambda f: f.tumble(3, None, 0), AbsentValueError),
    Refusal("FIBER-TUMBLE-05", "tumble(3, add, None)", lambda f: f.tumble(3, add, None), AbsentValueError),
    Refusal(
        "FIBER-ROLLING-05",
        "rolling(True, add, 0)",
        lambda f: f.rolling(True, add, 0),
        TypeError,
        derived=True,
    ),
    Refusal(
        "FIBER-TUMBLE-05", "tumble(2.0, add, 0)", lambda f: f.tumble(2.0, add, 0), TypeError, derived=True
    ),
    Refusal("FIBER-REDUCE-04", "reduce(0, 42)", lambda f: f.reduce(0, 42), TypeError, derived=True),
)
def test_wrong_arguments_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)
