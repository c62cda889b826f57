"""How sure a figure is: Student's t, and ratios of two series with their intervals.

Ratios are worked out on logarithms, so that A over B and B over A say the same, and an interval never reaches
below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, exp, floor, log, pi, sin, sqrt, tan
from statistics import fmean, stdev, variance
from typing import Final

__all__ = ["CONFIDENCE", "Ratio", "paired", "students_t", "unpaired"]

CONFIDENCE: Final = 0.95
"""Of two that are the same, one figure in twenty is called different."""


@dataclass(frozen=True)
class Ratio:
    """A ratio and its confidence interval.

    Attributes:
        value: of the ratio.
        low: end of the interval; None where there are too few values for one.
        high: end of the interval; None likewise.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def significant(self) -> bool | None:
        """Whether the interval leaves 1 out; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return not self.low <= 1 <= self.high


def students_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the t that a Student-distributed number stays within, either way, with that confidence.

    The distribution for whole degrees of freedom is a finite sum in the angle whose tangent is t over the
    root of the degrees (Abramowitz and Stegun, 26.7.3 and 26.7.4); the angle is found by halves.

    Args:
        degrees: of freedom, 1 or more.
        confidence: more than 0 and less than 1.
    """
    low, high = 0.0, pi / 2
    for _ in range(60):  # as many as a float can tell apart
        middle = (low + high) / 2
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * tan((low + high) / 2)


def _within(angle: float, degrees: int) -> float:
    """Return the probability of a t between the negative and the positive of `angle`'s."""
    squared = cos(angle) ** 2
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= squared * (power + 1) / (power + 2)
    total *= sin(angle)
    return 2 / pi * (angle + total) if odd else total


def paired(first: Sequence[float | None], other: Sequence[float | None]) -> Ratio | None:
    """Return the ratio of `other` to `first`, whose values were taken in pairs, one after the other.

    The value is the geometric mean of the pairs' ratios, the interval that of Student's t for the mean of
    their logarithms. What changes from pair to pair, such as the machine's speed, is in neither. Pairs with a
    value that is unknown, or not more than 0, are left out; None if no pair is left.
    """
    logs = [log(b / a) for a, b in zip(first, other, strict=True) if a and b and a > 0 and b > 0]
    if not logs:
        return None
    middle = fmean(logs)
    if len(logs) == 1:
        return Ratio(exp(middle))
    return _around(middle, stdev(logs) / sqrt(len(logs)), len(logs) - 1)


def unpaired(first: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> Ratio | None:
    """Return the ratio of two figures whose values were taken apart.

    Each figure is the geometric mean of its first series over those of the others, all independent of each
    other. The errors of all series together give the interval (Welch, Satterthwaite), which there is from two
    values of each on.

    Returns:
        None if a series is empty or has a value that is not more than 0.
    """
    series = [*first, *other]
    if not first or not other or any(not each or min(each) <= 0 for each in series):
        return None
    logs = [[log(value) for value in each] for each in series]
    signs = [-1, *[1] * (len(first) - 1), 1, *[-1] * (len(other) - 1)]
    middle = sum(sign * fmean(each) for sign, each in zip(signs, logs, strict=True))
    if min(map(len, logs)) == 1:
        return Ratio(exp(middle))
    parts = [variance(each) / len(each) for each in logs]
    weights = sum(part**2 / (len(each) - 1) for part, each in zip(parts, logs, strict=True))
    degrees = floor(sum(parts) ** 2 / weights) if weights else 1
    return _around(middle, sqrt(sum(parts)), max(1, degrees))


def _around(middle: float, error: float, degrees: int) -> Ratio:
    reach = students_t(degrees) * error
    return Ratio(exp(middle), exp(middle - reach), exp(middle + reach))
