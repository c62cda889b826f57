"""What a population and its pipes share: places, views and the way to NumPy."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeVar, overload

from substrates import ConfigurationError

__all__ = ["View", "at", "numpy_arrays"]

T = TypeVar("T")


def at(index: Any, size: int, kind: str) -> int:
    """Return `index` as a place from 0 up.

    Raises:
        IndexError: there is none.
        TypeError: no integer.
    """
    try:
        place = operator.index(index)
    except TypeError:
        raise TypeError(f"{kind}[{index!r}]: an integer or a slice is required") from None
    if not -size <= place < size:
        raise IndexError(f"{kind}[{place}]: there are {size}")
    return place + size if place < 0 else place


def numpy_arrays() -> ModuleType:
    """Return the module `arrays`.

    Raises:
        ConfigurationError: NumPy is not installed.
    """
    try:
        from . import arrays
    except ImportError as error:
        raise ConfigurationError(
            "populations keep scalar values and states in NumPy arrays;"
            " install the extra: substrates[kernels]"
        ) from error
    return arrays


class View(Sequence[T]):
    """Part of a sequence whose elements are made on demand."""

    __slots__ = ("_places", "_whole")

    def __init__(self, whole: Sequence[T], places: range) -> None:
        self._whole = whole
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> View[T]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return View(self._whole, self._places[index])
        return self._whole[self._places[index]]

    def __repr__(self) -> str:
        return f"<{len(self)} of {self._whole!r}>"
