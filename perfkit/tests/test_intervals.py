"""Student's t and the intervals of ratios."""

from __future__ import annotations

from math import exp, log
from random import Random

import pytest

from perfkit.intervals import Ratio, paired, students_t, unpaired


@pytest.mark.parametrize(
    ("degrees", "confidence", "published"),
    [
        (1, 0.95, 12.706),
        (2, 0.95, 4.303),
        (3, 0.95, 3.182),
        (4, 0.95, 2.776),
        (5, 0.95, 2.571),
        (30, 0.95, 2.042),
        (1000, 0.95, 1.962),
        (1, 0.999, 636.619),
        (2, 0.999, 31.599),
        (9, 0.999, 4.781),
        (120, 0.99, 2.617),
    ],
)
def test_students_t_is_what_the_tables_say(degrees: int, confidence: float, published: float) -> None:
    assert students_t(degrees, confidence) == pytest.approx(published, abs=0.0006)


def test_a_ratio_that_is_the_same_in_each_pair_is_sure_whatever_the_machine_does() -> None:
    ratio = paired([1.0, 3.0, 2.0], [1.25, 3.75, 2.5])

    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.25, 1.25, 1.25))
    assert ratio.significant


def test_a_paired_interval_is_that_of_the_logarithms() -> None:
    ratio = paired([1.0, 1.0, 1.0], [exp(0.1), exp(0.2), exp(0.3)])

    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    reach = 4.3026527 * 0.1 / 3**0.5
    assert log(ratio.value) == pytest.approx(0.2)
    assert log(ratio.low) == pytest.approx(0.2 - reach)
    assert log(ratio.high) == pytest.approx(0.2 + reach)
    assert ratio.significant is False


def test_pairs_with_an_unknown_value_are_left_out() -> None:
    assert paired([None, 2.0, 0.0], [1.0, 3.0, 1.0]) == Ratio(pytest.approx(1.5))  # type: ignore[arg-type]
    assert paired([None, 0.0], [1.0, 1.0]) is None


def test_one_pair_has_no_interval() -> None:
    ratio = paired([2.0], [3.0])

    assert ratio is not None
    assert (ratio.low, ratio.high, ratio.significant) == (None, None, None)


def test_equal_values_are_not_significantly_different() -> None:
    assert paired([7.0, 7.0], [7.0, 7.0]) == Ratio(1.0, 1.0, 1.0)
    assert unpaired([[7.0, 7.0]], [[7.0, 7.0]]) == Ratio(1.0, 1.0, 1.0)
    assert Ratio(1.0, 1.0, 1.0).significant is False


def test_an_unpaired_interval_adds_the_errors() -> None:
    first, other = [exp(0.0), exp(0.1), exp(0.2)], [exp(0.5), exp(0.6), exp(0.7)]

    ratio = unpaired([first], [other])

    assert ratio is not None
    assert ratio.low is not None
    reach = 2.7764451 * (2 * 0.01 / 3) ** 0.5  # four degrees of freedom: equal variances, three values each
    assert log(ratio.value) == pytest.approx(0.5)
    assert log(ratio.low) == pytest.approx(0.5 - reach)
    assert ratio.significant


def test_what_a_figure_is_divided_by_adds_its_error_and_divides() -> None:
    plain = unpaired([[2.0, 2.0]], [[3.0, 3.1]])
    over = unpaired([[2.0, 2.0], [1.0, 1.0]], [[3.0, 3.1], [2.0, 2.4]])

    assert plain is not None
    assert over is not None
    assert over.value == pytest.approx(plain.value / (2.0 * 2.4) ** 0.5)
    assert over.high is not None
    assert plain.high is not None
    assert over.high / over.value > plain.high / plain.value


def test_series_without_values_have_no_ratio() -> None:
    assert unpaired([], []) is None
    assert unpaired([[1.0], []], [[1.0], [1.0]]) is None
    assert unpaired([[0.0, 1.0]], [[1.0, 1.0]]) is None
    assert unpaired([[2.0]], [[3.0, 3.0]]) == Ratio(pytest.approx(1.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["paired", "unpaired"])
def test_the_same_is_called_different_one_time_in_twenty(how: str) -> None:
    random = Random(6)
    called = 0
    for _ in range(1000):
        first, other = ([exp(random.gauss(0, 0.02)) for _ in range(6)] for _ in range(2))
        ratio = paired(first, other) if how == "paired" else unpaired([first], [other])
        assert ratio is not None
        called += bool(ratio.significant)

    assert 30 <= called <= 70
