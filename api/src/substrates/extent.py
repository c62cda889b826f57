"""Hierarchy: anything that has a part and perhaps an enclosure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar, overload

from .absent import UNSET, Unset, present

__all__ = ["Extent"]

R = TypeVar("R")


class Extent(ABC):
    """A place in a tree, known by its own part and its direct enclosure.

    Open for users: a subclass supplies `part` and `enclosure` and inherits the rest. All operations walk
    iteratively, so depth is bounded by memory alone.

    Contract: EXTENT-BASE-01 to EXTENT-DEEP-15.
    """

    __slots__ = ()

    SEPARATOR: ClassVar[str] = "/"
    """What `path` puts between parts unless told otherwise."""

    @property
    @abstractmethod
    def part(self) -> str:
        """This extent's own text, without its enclosures."""

    @property
    @abstractmethod
    def enclosure(self) -> Self | None:
        """The direct enclosing extent, None for a root."""

    @property
    def depth(self) -> int:
        """The number of extents from this one to the root, both included."""
        return sum(1 for _ in self)

    @property
    def extremity(self) -> Self:
        """The root of this extent; itself for a root."""
        last = self
        for last in self:  # noqa: B007 - the last one is the answer
            pass
        return last

    @property
    def extent(self) -> Self:
        """This extent."""
        return self

    def __iter__(self) -> Iterator[Self]:
        """Iterate from this extent to the root."""
        at: Self | None = self
        while at is not None:
            yield at
            at = at.enclosure

    def within(self, extent: Extent) -> bool:
        """Tell whether `extent` is one of the proper enclosures of this one, by identity.

        Raises:
            AbsentValueError: `extent` is None.
            TypeError: `extent` is no extent.
        """
        present(extent, "within", "extent")
        if not isinstance(extent, Extent):
            raise TypeError(f"within(extent={extent!r}): not an extent")
        return any(at is extent for at in self if at is not self)

    def fold(self, initial: Callable[[Self], R], accumulate: Callable[[R, Self], R]) -> R:
        """Fold from this extent to the root: `initial(self)`, then `accumulate(result, enclosure)` each."""
        present(initial, "fold", "initial")
        present(accumulate, "fold", "accumulate")
        return _fold(iter(self), initial, accumulate)

    def fold_to(self, initial: Callable[[Self], R], accumulate: Callable[[R, Self], R]) -> R:
        """Fold from the root to this extent: `initial(root)`, then `accumulate(result, next)` each."""
        present(initial, "fold_to", "initial")
        present(accumulate, "fold_to", "accumulate")
        return _fold(reversed(list(self)), initial, accumulate)

    @overload
    def path(self, separator: str = ..., /) -> str: ...
    @overload
    def path(self, mapper: Callable[[Self], str], separator: str = ..., /) -> str: ...

    def path(self, first: Any = UNSET, separator: str | Unset = UNSET, /) -> str:
        """Join the parts, root first.

        Args:
            first: the separator (default `SEPARATOR`), or a function that renders each extent.
            separator: the separator, after a rendering function.

        Raises:
            AbsentValueError: an argument is None.
        """
        present(first, "path", "separator or mapper")
        present(separator, "path", "separator")
        render: Callable[[Any], str] | None = None
        if callable(first):
            render = first
        elif first is not UNSET:
            if separator is not UNSET:
                raise TypeError("path(separator, separator): give one separator, or a mapper and a separator")
            separator = first
        joint = self.SEPARATOR if isinstance(separator, Unset) else separator
        if not isinstance(joint, str):
            raise TypeError(f"path(separator={joint!r}): not a string")
        parts = [at.part if render is None else render(at) for at in self]
        return joint.join(reversed(parts))


def _fold(extents: Iterator[Any], initial: Callable[[Any], R], accumulate: Callable[[R, Any], R]) -> R:
    result = initial(next(extents))
    for at in extents:
        result = accumulate(result, at)
    return result
