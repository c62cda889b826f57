"""What a comparison comes to: a line for each metric, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any, Final

from ..intervals import CONFIDENCE, Ratio
from ..tables import NA, table
from ..workload import Metric

__all__ = ["SCHEMA", "Line", "confidence_text", "records", "table_text"]

SCHEMA: Final = 1
"""Raised when a key of a comparison's summary changes its meaning or goes away."""


@dataclass(frozen=True)
class Line:
    """A metric of all that are compared.

    Attributes:
        metric: which.
        values: of each, the first of which the others are compared with; None where unknown.
        ratios: of each but the first to the first; None where unknown.
    """

    metric: Metric
    values: Sequence[float | None]
    ratios: Sequence[Ratio | None]


def table_text(labels: Sequence[str], lines: Sequence[Line]) -> str:
    """Return the table: each one's value, and for all but the first ratio, interval and verdict."""
    header = ["Figure", *labels]
    for label in labels[1:]:
        header += [f"{label} / {labels[0]}", f"{confidence_text()} interval", "Verdict"]
    rows = []
    for line in lines:
        row = [line.metric.title, *map(line.metric.text, line.values)]
        for ratio in line.ratios:
            row += [_ratio_text(ratio), _interval_text(ratio), _verdict(line.metric, ratio)]
        rows.append(row)
    return table(header, rows)


def confidence_text() -> str:
    """Return the confidence of the intervals."""
    return f"{100 * CONFIDENCE:g} %"


def records(labels: Sequence[str], lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the lines for JSON."""
    return [
        {
            "key": line.metric.key,
            "title": line.metric.title,
            "better": line.metric.better,
            "values": dict(zip(labels, line.values, strict=True)),
            "ratios": {
                label: None
                if ratio is None
                else {
                    "value": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "significant": ratio.significant,
                }
                for label, ratio in zip(labels[1:], line.ratios, strict=True)
            },
        }
        for line in lines
    ]


def _verdict(metric: Metric, ratio: Ratio | None) -> str:
    if ratio is None or ratio.significant is None:
        return NA
    if not ratio.significant:
        return "within the error"
    return "better" if (ratio.value < 1) == (metric.better == "lower") else "worse"


def _ratio_text(ratio: Ratio | None) -> str:
    return NA if ratio is None else _times_text(ratio.value)


def _interval_text(ratio: Ratio | None) -> str:
    if ratio is None or ratio.low is None or ratio.high is None:
        return NA
    return f"{_times_text(ratio.low)} to {_times_text(ratio.high)}"


def _times_text(value: float) -> str:
    """Return a ratio with four significant digits, with three decimals from a tenth to ten."""
    digits = 3 if 0.1 <= value < 10 else max(0, 3 - floor(log10(value)))
    return f"{value:,.{digits}f}"
