"""Numbers and tables as a reader wants them: units written out, ``n/a`` for what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tabulate import tabulate

__all__ = [
    "NA",
    "Columns",
    "bytes_text",
    "count_text",
    "figure_text",
    "many_text",
    "percent_text",
    "rate_text",
    "table",
]

NA: Final = "n/a"
_SCALES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def figure_text(value: float | None, unit: str = "", digits: int = 2) -> str:
    """Return a number with `digits` decimals and its unit."""
    return NA if value is None else f"{value:,.{digits}f} {unit}".rstrip()


def count_text(value: float | None, unit: str = "") -> str:
    """Return a whole number with its unit."""
    return figure_text(value, unit, 0)


def percent_text(value: float | None, digits: int = 1) -> str:
    """Return a percentage."""
    return figure_text(value, "%", digits)


def many_text(count: int, noun: str) -> str:
    """Return a count and its noun, made plural unless the count is 1."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun}"


def rate_text(value: float | None) -> str:
    """Return a number per second: G/s, M/s, k/s."""
    return _scaled(value, "/s")


def bytes_text(value: float | None) -> str:
    """Return an amount of memory: GB, MB, kB (powers of a thousand)."""
    return _scaled(value, "B")


def _scaled(value: float | None, unit: str) -> str:
    if value is None:
        return NA
    scale, prefix = next((each for each in _SCALES if abs(value) >= each[0]), _SCALES[-1])
    return f"{value / scale:.{2 if scale > 1 else 0}f} {prefix}{unit}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; the first column to the left, the others to the right."""
    aligned = ["left", *["right"] * (len(header) - 1)]
    return tabulate(rows, header, tablefmt="simple", colalign=aligned, disable_numparse=True)


class Columns:
    """A table that is printed row by row, while its rows come in.

    Args:
        header: the columns' titles; a column is as wide as its title or its `widths` entry.
        widths: the least width of each column.
    """

    def __init__(self, header: Sequence[str], widths: Sequence[int]) -> None:
        self._header = header
        self._widths = [max(len(title), width) for title, width in zip(header, widths, strict=True)]

    def head(self) -> str:
        """Return the titles and the line under them."""
        return f"{self.row(self._header)}\n{'  '.join('-' * width for width in self._widths)}"

    def row(self, cells: Sequence[str]) -> str:
        """Return one row; the first column to the left, the others to the right."""
        texts = [
            f"{cell:<{width}}" if place == 0 else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(cells, self._widths, strict=True))
        ]
        return "  ".join(texts).rstrip()
