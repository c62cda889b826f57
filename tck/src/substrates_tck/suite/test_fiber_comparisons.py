"""Fibers: what compares values with bounds, and with the records so far."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import pytest

from substrates import Circuit, Cortex
from substrates.errors import AbsentValueError, ConfigurationError, IncomparableError
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Boom,
    Check,
    Refusal,
    Refused,
    Vector,
    boom,
    cases,
    compared,
    play,
    reversed_order,
)
from substrates_tck.waits import Settle

NAN = float("nan")

Given = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Arguments, to read and to call with."""

ONE_BOUND_ABSENT: tuple[Given, ...] = (
    ("None", (None,), {}),
    ("None, compare=CMP", (None,), {"compare": compared}),
    ("0, compare=None", (0,), {"compare": None}),
)
TWO_BOUNDS_ABSENT: tuple[Given, ...] = (
    ("None, 7", (None, 7), {}),
    ("3, None", (3, None), {}),
    ("1, 3, compare=None", (1, 3), {"compare": None}),
    ("None, 3, compare=CMP", (None, 3), {"compare": compared}),
    ("1, None, compare=CMP", (1, None), {"compare": compared}),
)
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (("", {}), (", compare=CMP", {"compare": compared}))
"""By natural order, and by a comparator."""


@cases(
    Vector(
        "FIBER-CMP-01",
        "above(5, compare=REV)",
        lambda f: f.above(5, compare=reversed_order),
        [3, 5, 7],
        [3],
        derived=True,
    ),
    Vector(
        "FIBER-CMP-01",
        "clamp(10, 0, compare=REV)",
        lambda f: f.clamp(10, 0, compare=reversed_order),
        [-5, 5, 15],
        [0, 5, 10],
        derived=True,
    ),
    Vector(
        "FIBER-CMP-01",
        "above(5, compare=v - bound)",
        lambda f: f.above(5, compare=lambda value, bound: (value - bound) * 0.1),
        [3, 5, 7],
        [7],
        derived=True,
    ),
)
def test_only_the_sign_of_the_comparison_of_value_and_bound_matters(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector("FIBER-ABOVE-01", "above(0)", lambda f: f.above(0), [-1, 0, 1, 5], [1, 5]),
    Vector(
        "FIBER-ABOVE-01 FIBER-CMP-02",
        "above(0, compare=CMP)",
        lambda f: f.above(0, compare=compared),
        [-1, 0, 1, 5],
        [1, 5],
    ),
    Vector("FIBER-BELOW-01", "below(5)", lambda f: f.below(5), [3, 5, 7], [3]),
    Vector(
        "FIBER-BELOW-01 FIBER-CMP-02",
        "below(5, compare=CMP)",
        lambda f: f.below(5, compare=compared),
        [3, 5, 7],
        [3],
    ),
    Vector("FIBER-MIN-01", "min(5)", lambda f: f.min(5), [3, 5, 7], [5, 7]),
    Vector(
        "FIBER-MIN-01 FIBER-CMP-02",
        "min(5, compare=CMP)",
        lambda f: f.min(5, compare=compared),
        [3, 5, 7],
        [5, 7],
    ),
    Vector("FIBER-MAX-01", "max(5)", lambda f: f.max(5), [3, 5, 7], [3, 5]),
    Vector(
        "FIBER-MAX-01 FIBER-CMP-02",
        "max(5, compare=CMP)",
        lambda f: f.max(5, compare=compared),
        [3, 5, 7],
        [3, 5],
    ),
)
def test_one_bound_filters(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector("FIBER-RANGE-01", "range(3, 7)", lambda f: f.range(3, 7), range(1, 11), range(3, 8)),
    Vector(
        "FIBER-RANGE-01 FIBER-CMP-02",
        "range(3, 7, compare=CMP)",
        lambda f: f.range(3, 7, compare=compared),
        range(1, 11),
        range(3, 8),
    ),
    Vector("FIBER-RANGE-02", "range(5, 5)", lambda f: f.range(5, 5), [3, 5, 7], [5]),
    Vector("FIBER-DEADBAND-01", "deadband(3, 7)", lambda f: f.deadband(3, 7), [1, 3, 5, 7, 9], [1, 9]),
    Vector(
        "FIBER-DEADBAND-01 FIBER-CMP-02",
        "deadband(3, 7, compare=CMP)",
        lambda f: f.deadband(3, 7, compare=compared),
        [1, 3, 5, 7, 9],
        [1, 9],
    ),
    Vector("FIBER-DEADBAND-02", "deadband(5, 5)", lambda f: f.deadband(5, 5), [3, 5, 7], [3, 7]),
    Vector("FIBER-CLAMP-01", "clamp(0, 10)", lambda f: f.clamp(0, 10), [-5, 5, 15], [0, 5, 10]),
    Vector(
        "FIBER-CLAMP-01 FIBER-CMP-02",
        "clamp(0, 10, compare=CMP)",
        lambda f: f.clamp(0, 10, compare=compared),
        [-5, 0, 10, 15],
        [0, 0, 10, 10],
    ),
    Vector("FIBER-CLAMP-02", "clamp(5, 5)", lambda f: f.clamp(5, 5), [-1, 5, 99], [5, 5, 5]),
    *(
        Vector("FIBER-CMP-07", f"{name}(5, 5, compare=CMP)", call, [3, 5, 7], outputs, derived=True)
        for name, call, outputs in (
            ("range", lambda f: f.range(5, 5, compare=compared), [5]),
            ("deadband", lambda f: f.deadband(5, 5, compare=compared), [3, 7]),
            ("clamp", lambda f: f.clamp(5, 5, compare=compared), [5, 5, 5]),
        )
    ),
)
def test_two_bounds_filter_or_clamp(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector("FIBER-CLAMP-03", "clamp(1.0, 2.0)", lambda f: f.clamp(1.0, 2.0), [1, 0], [1, 1.0], derived=True),
    Vector("FIBER-CLAMP-03", "clamp(1.0, 2.0)", lambda f: f.clamp(1.0, 2.0), [2, 3], [2, 2.0], derived=True),
    Vector(
        "FIBER-CLAMP-03",
        "clamp('aa', 'bbb', key=len)",
        lambda f: f.clamp("aa", "bbb", key=len),
        ["x", "xy", "xyz", "xyzz"],
        ["aa", "xy", "xyz", "bbb"],
        derived=True,
    ),
)
def test_clamp_passes_the_bound_itself_or_the_value_itself(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector("FIBER-CMP-09", "above(0).below(10)", lambda f: f.above(0).below(10), [-1, 0, 5, 10, 12], [5]),
    Vector(
        "FIBER-CMP-09",
        "above(5, compare=CMP).below(15, compare=CMP)",
        lambda f: f.above(5, compare=compared).below(15, compare=compared),
        range(20),
        range(6, 15),
    ),
)
def test_chained_comparisons_apply_each_by_itself(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector(
        "FIBER-CMP-10",
        "range(3, 7, compare=boom() if a == 4 else CMP)",
        lambda f: f.range(3, 7, compare=lambda a, b: boom() if a == 4 else compared(a, b)),
        [3, 4, 5],
        [3, 5],
        derived=True,
    ),
    *(
        Vector(
            "FIBER-CMP-10",
            f"{name}(0, compare=boom() if a == 4 else -1)",
            methodcaller(name, 0, compare=lambda a, _: boom() if a == 4 else -1),
            [3, 4, 5],
            [3, 5] if name in {"below", "max"} else [],
            derived=True,
        )
        for name in ("above", "below", "min", "max")
    ),
    Vector(
        "FIBER-CMP-10",
        "clamp(3, 7, compare=boom() if a == 4 else CMP)",
        lambda f: f.clamp(3, 7, compare=lambda a, b: boom() if a == 4 else compared(a, b)),
        [1, 4, 9],
        [3, 7],
        derived=True,
    ),
    Vector(
        "FIBER-CMP-10",
        "deadband(3, 7, compare=boom() if a == 9 else CMP)",
        lambda f: f.deadband(3, 7, compare=lambda a, b: boom() if a == 9 else compared(a, b)),
        [1, 9, 8],
        [1, 8],
        derived=True,
    ),
)
def test_a_comparison_that_fails_drops_the_value(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector(
        "FIBER-HIGH-01", "high(CMP)", lambda f: f.high(compare=compared), [3, 5, 2, 7, 6, 9], [3, 5, 7, 9]
    ),
    Vector("FIBER-HIGH-01", "high(CMP)", lambda f: f.high(compare=compared), [3, 3, 4, 4], [3, 4]),
    Vector("FIBER-LOW-01", "low(CMP)", lambda f: f.low(compare=compared), [5, 3, 7, 2, 4, 1], [5, 3, 2, 1]),
    Vector("FIBER-LOW-01", "low(CMP)", lambda f: f.low(compare=compared), [5, 5, 4], [5, 4]),
    Vector("FIBER-LOW-01", "high(REV)", lambda f: f.high(compare=reversed_order), [5, 3, 7, 2], [5, 3, 2]),
    Vector(
        "FIBER-HIGH-02",
        "high(boom() if a == 9 else CMP)",
        lambda f: f.high(compare=lambda a, b: boom() if a == 9 else compared(a, b)),
        [3, 9, 4],
        [3, 4],
        derived=True,
    ),
    Vector("FIBER-HIGH-02", "high(boom)", lambda f: f.high(compare=boom), [3], [3], derived=True),
    Vector(
        "FIBER-HIGH-02",
        "low(boom() if a == 1 else CMP)",
        lambda f: f.low(compare=lambda a, b: boom() if a == 1 else compared(a, b)),
        [3, 1, 2],
        [3, 2],
        derived=True,
    ),
    Vector("FIBER-HIGH-01", "high()", lambda f: f.high(), [3, 5, 2, 5, 7], [3, 5, 7], derived=True),
    Vector("FIBER-LOW-01", "low()", lambda f: f.low(), [5, 3, 7, 3, 2], [5, 3, 2], derived=True),
    Vector(
        "FIBER-HIGH-01",
        "high(key=len)",
        lambda f: f.high(key=len),
        ["aa", "b", "cc", "ddd"],
        ["aa", "ddd"],
        derived=True,
    ),
    Vector(
        "FIBER-LOW-01",
        "low(key=abs)",
        lambda f: f.low(key=abs),
        [-3, 2, -2, 4, 1],
        [-3, 2, 1],
        derived=True,
    ),
)
def test_high_and_low_pass_records(case: Vector, check: Check) -> None:
    check(case)


@cases(
    *(
        Vector("FIBER-CMP-02", text, call, ["", "a", "bb", "ccc", "dddd"], outputs, derived=True)
        for text, call, outputs in (
            ("above('xx', key=len)", lambda f: f.above("xx", key=len), ["ccc", "dddd"]),
            ("below('xx', key=len)", lambda f: f.below("xx", key=len), ["", "a"]),
            ("min('xx', key=len)", lambda f: f.min("xx", key=len), ["bb", "ccc", "dddd"]),
            ("max('xx', key=len)", lambda f: f.max("xx", key=len), ["", "a", "bb"]),
            ("range('x', 'xxx', key=len)", lambda f: f.range("x", "xxx", key=len), ["a", "bb", "ccc"]),
            ("deadband('x', 'xxx', key=len)", lambda f: f.deadband("x", "xxx", key=len), ["", "dddd"]),
        )
    ),
)
def test_a_key_says_what_is_compared(case: Vector, check: Check) -> None:
    check(case)


@pytest.mark.parametrize(
    ("operator", "bounds", "passes"),
    [
        pytest.param(name, bounds, passes, marks=rule(f"FIBER-{name.upper()}-01"), id=name)
        for name, bounds, passes in (
            ("above", (0.0,), False),
            ("below", (9.0,), False),
            ("min", (0.0,), False),
            ("max", (9.0,), False),
            ("range", (0.0, 9.0), False),
            ("deadband", (2.0, 3.0), False),
            ("clamp", (0.0, 9.0), True),
        )
    ],
)
@derived
def test_nan_passes_no_comparison_but_clamp(
    operator: str, bounds: tuple[float, ...], passes: bool, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    recipe = getattr(cortex.fiber(float), operator)(*bounds)

    received = play(recipe, [[1.0, NAN, 5.0]], circuit, wait)[0]

    assert any(value is NAN for value in received) == passes, received
    assert [value for value in received if value is not NAN] == ([1.0, 5.0])


@cases(
    *(
        Refusal(
            "FIBER-CMP-03",
            f"{name}(object())",
            methodcaller(name, object()),
            IncomparableError,
        )
        for name in ("above", "below", "min", "max")
    ),
    *(
        Refusal(
            "FIBER-CMP-03",
            f"{name}(object(), object())",
            methodcaller(name, object(), object()),
            IncomparableError,
        )
        for name in ("range", "deadband", "clamp")
    ),
    *(
        Refusal(
            "FIBER-CMP-04",
            f"{name}(1, 'x')",
            methodcaller(name, 1, "x"),
            IncomparableError,
        )
        for name in ("range", "deadband", "clamp")
    ),
)
def test_bounds_without_an_order_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@cases(
    *(
        Refusal(
            "FIBER-CMP-05",
            f"{name}({shown})",
            methodcaller(name, *bounds, **given),
            AbsentValueError,
        )
        for name in ("above", "below", "min", "max")
        for shown, bounds, given in ONE_BOUND_ABSENT
    ),
    *(
        Refusal(
            "FIBER-CMP-05",
            f"{name}({shown})",
            methodcaller(name, *bounds, **given),
            AbsentValueError,
        )
        for name in ("range", "deadband", "clamp")
        for shown, bounds, given in TWO_BOUNDS_ABSENT
    ),
    Refusal("FIBER-HIGH-03", "high(compare=None)", lambda f: f.high(compare=None), AbsentValueError),
    Refusal("FIBER-HIGH-03", "low(compare=None)", lambda f: f.low(compare=None), AbsentValueError),
    Refusal("FIBER-HIGH-03", "high(key=None)", lambda f: f.high(key=None), AbsentValueError, derived=True),
    Refusal(
        "FIBER-CMP-05", "above(0, key=None)", lambda f: f.above(0, key=None), AbsentValueError, derived=True
    ),
    Refusal(
        "FIBER-CMP-05",
        "above(0, key=abs, compare=CMP)",
        lambda f: f.above(0, key=abs, compare=compared),
        TypeError,
        derived=True,
    ),
)
def test_absent_bounds_and_comparators_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@cases(
    *(
        Refusal(
            "FIBER-CMP-06",
            f"{name}({lower}, {upper}{shown})",
            methodcaller(name, lower, upper, **given),
            ConfigurationError,
        )
        for name, lower, upper in (("range", 7, 3), ("deadband", 7, 3), ("clamp", 10, 0))
        for shown, given in FORMS
    ),
    Refusal(
        "FIBER-CMP-06",
        "range('aa', 'b', key=len)",
        lambda f: f.range("aa", "b", key=len),
        ConfigurationError,
        derived=True,
    ),
    Refusal("FIBER-CMP-06", "above(nan)", lambda f: f.above(NAN), ConfigurationError, derived=True),
    Refusal("FIBER-CMP-06", "range(nan, 1.0)", lambda f: f.range(NAN, 1.0), ConfigurationError, derived=True),
    Refusal("FIBER-CMP-06", "clamp(0.0, nan)", lambda f: f.clamp(0.0, NAN), ConfigurationError, derived=True),
    Refusal(
        "FIBER-CMP-08", "range(1, 2, compare=boom)", lambda f: f.range(1, 2, compare=boom), Boom, derived=True
    ),
)
def test_crossed_bounds_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("COMMON-VAL-01")
@derived
def test_what_a_key_function_raises_for_a_bound_leaves_the_operator(cortex: Cortex) -> None:
    error = StopIteration("wanted")

    def key(value: int) -> int:
        raise error

    with pytest.raises(StopIteration) as caught:
        cortex.fiber(int).above(1, key=key)

    assert caught.value is error
