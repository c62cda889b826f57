"""Fibers: what detects, confirms, and opens and closes."""

from __future__ import annotations

from substrates import Circuit, Cortex
from substrates.errors import AbsentValueError, ConfigurationError
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Check,
    Refusal,
    Refused,
    Vector,
    cases,
    compared,
    fails_at,
    play,
    positive,
)
from substrates_tck.waits import Settle


def _rising(previous: int, current: int) -> bool:
    return current > previous


def _near(candidate: int, current: int) -> bool:
    return abs(current - candidate) <= 1


def _negative(value: int) -> bool:
    return value < 0


def _more_than_5(value: int) -> bool:
    return value > 5


def _less_than_5(value: int) -> bool:
    return value < 5


# -- guard with a reference, edge


@cases(
    Vector("FIBER-GUARD2-01", "guard(0, c > p)", lambda f: f.guard(0, _rising), [5, 3, 7, 7, 9], [5, 7, 9]),
    Vector("FIBER-GUARD2-01", "guard(10, c > p)", lambda f: f.guard(10, _rising), [5, 11, 10, 12], [11, 12]),
    Vector(
        "FIBER-GUARD2-02",
        "guard(0, c > p)",
        lambda f: f.guard(0, _rising),
        [5, 3, 4, 6],
        [5, 6],
        derived=True,
    ),
    Vector(
        "FIBER-GUARD2-02",
        "edge(0, c > p)",
        lambda f: f.edge(0, _rising),
        [5, 3, 4, 6],
        [5, 4, 6],
        derived=True,
    ),
    Vector(
        "FIBER-GUARD2-03",
        "guard(0, boom() if c == 9 else c > p)",
        lambda f: f.guard(0, fails_at(9, _rising)),
        [5, 9, 6, 4],
        [5, 6],
        derived=True,
    ),
    Vector("FIBER-EDGE-01", "edge(0, c > p)", lambda f: f.edge(0, _rising), [1, 0, 3, 2], [1, 3]),
    Vector(
        "FIBER-EDGE-01",
        "edge(0, (p < 0) != (c < 0))",
        lambda f: f.edge(0, lambda p, c: (p < 0) != (c < 0)),
        [1, -1, -2, 3],
        [-1, 3],
    ),
    Vector(
        "FIBER-EDGE-02",
        "edge(0, boom() if c == 9 else c > p)",
        lambda f: f.edge(0, fails_at(9, _rising)),
        [5, 9, 6, 7],
        [5, 7],
        derived=True,
    ),
)
def test_guard_compares_with_what_passed_and_edge_with_what_came(case: Vector, check: Check) -> None:
    check(case)


# -- pulse


@cases(
    Vector("FIBER-PULSE-01", "pulse(v > 5)", lambda f: f.pulse(_more_than_5), [3, 7, 8, 2, 9], [7, 9]),
    Vector("FIBER-PULSE-01", "pulse(v > 5)", lambda f: f.pulse(_more_than_5), [7], [7]),
    Vector(
        "FIBER-PULSE-02",
        "pulse(boom() if v == 99 else v > 5)",
        lambda f: f.pulse(fails_at(99, _more_than_5)),
        [7, 99, 8, 2, 9],
        [7, 9],
        derived=True,
    ),
    Vector(
        "FIBER-PULSE-02",
        "pulse(boom() if v == 99 else v > 5)",
        lambda f: f.pulse(fails_at(99, _more_than_5)),
        [99, 7],
        [7],
        derived=True,
    ),
)
def test_pulse_passes_the_first_of_a_row(case: Vector, check: Check) -> None:
    check(case)


# -- steady


@cases(
    Vector("FIBER-STEADY-01", "steady(3)", lambda f: f.steady(3), [5, 5, 5, 5, 7], [5]),
    Vector("FIBER-STEADY-01", "steady(2)", lambda f: f.steady(2), [5, 5, 7, 5, 5], [5, 5]),
    Vector(
        "FIBER-STEADY-02", "steady(2, abs(cur - cand) <= 1)", lambda f: f.steady(2, _near), [10, 11], [11]
    ),
    Vector(
        "FIBER-STEADY-03",
        "steady(3, abs(cur - cand) <= 1)",
        lambda f: f.steady(3, _near),
        [10, 11, 12, 13, 12],
        [12],
        derived=True,
    ),
    Vector(
        "FIBER-STEADY-03",
        "steady(3, abs(cur - cand) <= 1)",
        lambda f: f.steady(3, _near),
        [10, 11, 12],
        [],
        derived=True,
    ),
    Vector("FIBER-STEADY-04", "steady(1)", lambda f: f.steady(1), [1, 1, 2, 2, 1], [1, 2, 1], derived=True),
    Vector(
        "FIBER-STEADY-04",
        "steady(1, abs(cur - cand) <= 1)",
        lambda f: f.steady(1, _near),
        [10, 11, 13],
        [10, 13],
        derived=True,
    ),
    Vector(
        "FIBER-STEADY-05",
        "steady(2, boom() if cur == 9 else cur == cand)",
        lambda f: f.steady(2, fails_at(9, lambda candidate, current: candidate == current)),
        [5, 9, 5],
        [5],
        derived=True,
    ),
)
def test_steady_passes_what_is_confirmed(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-STEADY-02")
def test_steady_passes_the_object_that_confirms(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    values = [[5], [5], [5]]

    received = play(cortex.fiber().steady(3), [values], circuit, wait)[0]

    assert len(received) == 1
    assert received[0] is values[2]


@rule("FIBER-STEADY-05")
@derived
def test_steady_does_not_compare_the_first_value(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    compared_: list[tuple[int, int]] = []

    def same(candidate: int, current: int) -> bool:
        compared_.append((candidate, current))
        return candidate == current

    play(cortex.fiber(int).steady(2, same), [[5, 6, 6]], circuit, wait)

    assert compared_ == [(5, 6), (6, 6)]


# -- streak


@cases(
    Vector(
        "FIBER-STREAK-01",
        "streak(3, v < 0)",
        lambda f: f.streak(3, _negative),
        [-1, -2, -3, -4, -5, -6],
        [-3, -6],
    ),
    Vector("FIBER-STREAK-02", "streak(5, v < 0)", lambda f: f.streak(5, _negative), [-1, -2, -3, -4], []),
    Vector(
        "FIBER-STREAK-03", "streak(3, v < 0)", lambda f: f.streak(3, _negative), [-1, -2, 7, -3, -4, -5], [-5]
    ),
    Vector(
        "FIBER-STREAK-04", "streak(1, v < 0)", lambda f: f.streak(1, _negative), [-1, 7, -2, -3], [-1, -2, -3]
    ),
    Vector(
        "FIBER-STREAK-05 COMMON-THROW-05",
        "streak(2, boom() if v == 999 else v < 0)",
        lambda f: f.streak(2, fails_at(999, _negative)),
        [-1, 999, -2],
        [-2],
    ),
    Vector(
        "FIBER-STREAK-07",
        "guard(v < 0).every(3)",
        lambda f: f.guard(_negative).every(3),
        [-1, -2, 7, -3, -4, -5],
        [-3],
        derived=True,
    ),
)
def test_streak_passes_what_completes_a_row(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-STREAK-06")
def test_streaks_of_two_attachments_do_not_add_up(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received = play(cortex.fiber(int).streak(2, _negative), [[-1, -2], [-10, -20]], circuit, wait)

    assert received == [[-2], [-20]]


# -- hysteresis


@cases(
    Vector(
        "FIBER-HYST-01",
        "hysteresis(v >= 10, v <= 2)",
        lambda f: f.hysteresis(lambda v: v >= 10, lambda v: v <= 2),
        [5, 10, 8, 5, 2, 7, 12],
        [10, 8, 5, 12],
    ),
    Vector(
        "FIBER-HYST-02",
        "hysteresis(v >= 5, v <= 7)",
        lambda f: f.hysteresis(lambda v: v >= 5, lambda v: v <= 7),
        [6, 6, 6],
        [6, 6],
        derived=True,
    ),
    Vector(
        "FIBER-HYST-03",
        "hysteresis(boom() if v == 99 else v >= 10, boom() if v == 88 else v <= 2)",
        lambda f: f.hysteresis(fails_at(99, lambda v: v >= 10), fails_at(88, lambda v: v <= 2)),
        [99, 10, 88, 8, 2],
        [10, 8],
        derived=True,
    ),
)
def test_hysteresis_opens_and_closes_by_different_predicates(case: Vector, check: Check) -> None:
    check(case)


# -- take_while, drop_while


@cases(
    Vector(
        "FIBER-TAKEWHILE-01", "take_while(v < 5)", lambda f: f.take_while(_less_than_5), [1, 3, 5, 2], [1, 3]
    ),
    Vector("FIBER-TAKEWHILE-01", "take_while(v < 5)", lambda f: f.take_while(_less_than_5), [9, 1], []),
    Vector(
        "FIBER-DROPWHILE-01",
        "drop_while(v < 5)",
        lambda f: f.drop_while(_less_than_5),
        [1, 3, 5, 2, 8],
        [5, 2, 8],
    ),
    Vector("FIBER-DROPWHILE-01", "drop_while(v < 5)", lambda f: f.drop_while(_less_than_5), [9, 1], [9, 1]),
    Vector(
        "FIBER-WHILE-01",
        "take_while(boom() if v == 99 else v < 5)",
        lambda f: f.take_while(fails_at(99, _less_than_5)),
        [1, 99, 3, 7, 2],
        [1, 3],
        derived=True,
    ),
    Vector(
        "FIBER-WHILE-01",
        "drop_while(boom() if v == 99 else v < 5)",
        lambda f: f.drop_while(fails_at(99, _less_than_5)),
        [1, 99, 3, 5, 99, 2],
        [5, 99, 2],
        derived=True,
    ),
)
def test_take_while_and_drop_while_latch(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-WHILE-01")
@derived
def test_a_latched_stage_does_not_ask_again(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    asked: list[int] = []

    def less(value: int) -> bool:
        asked.append(value)
        return value < 5

    play(cortex.fiber(int).take_while(less), [[1, 7, 2]], circuit, wait)
    play(cortex.fiber(int).drop_while(less), [[1, 7, 2]], circuit, wait)

    assert asked == [1, 7, 1, 7]


# -- what is refused


@cases(
    *(
        Refusal(rule_id, text, call, AbsentValueError)
        for rule_id, text, call in (
            ("FIBER-GUARD2-04", "guard(None, CMP)", lambda f: f.guard(None, compared)),
            ("FIBER-GUARD2-04", "guard(0, None)", lambda f: f.guard(0, None)),
            ("FIBER-EDGE-03", "edge(None, CMP)", lambda f: f.edge(None, compared)),
            ("FIBER-EDGE-03", "edge(0, None)", lambda f: f.edge(0, None)),
            ("FIBER-PULSE-03", "pulse(None)", lambda f: f.pulse(None)),
            ("FIBER-STEADY-06", "steady(3, None)", lambda f: f.steady(3, None)),
            ("FIBER-STREAK-08", "streak(3, None)", lambda f: f.streak(3, None)),
            ("FIBER-HYST-04", "hysteresis(None, pos)", lambda f: f.hysteresis(None, positive)),
            ("FIBER-HYST-04", "hysteresis(pos, None)", lambda f: f.hysteresis(positive, None)),
            ("FIBER-WHILE-02", "take_while(None)", lambda f: f.take_while(None)),
            ("FIBER-WHILE-02", "drop_while(None)", lambda f: f.drop_while(None)),
        )
    ),
    *(
        Refusal(rule_id, text, call, ConfigurationError)
        for rule_id, text, call in (
            ("FIBER-STEADY-06", "steady(0)", lambda f: f.steady(0)),
            ("FIBER-STEADY-06", "steady(0, CMP)", lambda f: f.steady(0, compared)),
            ("FIBER-STREAK-08", "streak(0, pos)", lambda f: f.streak(0, positive)),
        )
    ),
    *(
        Refusal(rule_id, text, call, TypeError, derived=True)
        for rule_id, text, call in (
            ("FIBER-STEADY-06", "steady(True)", lambda f: f.steady(True)),
            ("FIBER-STEADY-06", "steady(1.0)", lambda f: f.steady(1.0)),
            ("FIBER-STREAK-08", "streak('1', pos)", lambda f: f.streak("1", positive)),
        )
    ),
)
def test_wrong_arguments_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)
