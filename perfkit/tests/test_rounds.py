"""What many rounds say together."""

from __future__ import annotations

import pytest

from perfkit.rounds import Round, Series
from perfkit.tables import bytes_text, figure_text, rate_text


def _round(
    seconds: float, *, warmup: bool = False, cpu_s: float = 1.0, allocated: int | None = None
) -> Round:
    return Round(warmup, seconds, 1000, 9, 10, cpu_s, allocated, 0, None)


def test_warm_ups_do_not_count() -> None:
    series = Series([_round(100.0, warmup=True), _round(1.0), _round(2.0), _round(4.0)])

    assert len(series) == 3
    assert series.median(lambda each: each.deliveries_per_s) == 500
    assert series.slowest() == 250
    assert series.fastest() == 1000


def test_variation_is_the_deviation_over_the_mean() -> None:
    assert Series([_round(1.0), _round(2.0)]).cv_percent() == pytest.approx(100 * 353.553 / 750, rel=1e-4)
    assert Series([_round(1.0)]).cv_percent() is None


def test_ends_are_rates_over_ten_rounds_together() -> None:
    series = Series([_round(1.0)] * 10 + [_round(3.0)] * 2)

    assert series.first() == 1000
    assert series.last() == pytest.approx(10_000 / 14)


def test_blocks_are_whole() -> None:
    series = Series([_round(1.0)] * 60 + [_round(2.0, cpu_s=2.0)] * 60 + [_round(9.0)] * 59)

    assert series.blocks() == [(1, 60, 1000, 1e6), (61, 120, 500, 2e6)]


def test_a_figure_that_one_round_lacks_is_unknown() -> None:
    series = Series([_round(1.0, allocated=10), _round(1.0)])

    assert series.median(lambda each: each.allocated_bytes_per_visit) is None


def test_costs_are_per_delivery_and_per_visit() -> None:
    one = _round(2.0, cpu_s=3.0, allocated=240)

    assert one.cpu_ns_per_delivery == 3e6
    assert one.cpu_ns_per_visit == 3e8
    assert one.allocated_bytes_per_visit == 24
    assert one.busy_percent(2) == 75
    assert one.handoffs_per_s == 4.5


def test_numbers_carry_their_units() -> None:
    assert rate_text(8.691e9) == "8.69 G/s"
    assert rate_text(12.0) == "12 /s"
    assert bytes_text(2_079_000_000) == "2.08 GB"
    assert figure_text(None, "ns") == "n/a"
    assert figure_text(3.7, "ns") == "3.70 ns"
