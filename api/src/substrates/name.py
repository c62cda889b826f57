"""Names: interned hierarchical labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, ClassVar, Self

from .extent import Extent

__all__ = ["Name"]


class Name(Extent):
    """An interned path of non-empty segments: equal segments give the identical object.

    Made by `Cortex.name` and by extension of another name; compared by identity, ordered segment by
    segment from the root. A name stays for the life of the process: take names from a bounded set, and put
    what varies into values. Wherever a name is wanted, a `str` is parsed and interned.

    Contract: NAME-INTERN-04, -05, -06, NAME-EQ-08, NAME-EXTENT-10, NAME-ORDER-23.
    """

    __slots__ = ()

    SEPARATOR: ClassVar[str] = "."

    @abstractmethod
    def name(
        self,
        suffix: str | Name | Iterable[Any] | Enum | Callable[..., Any],
        mapper: Callable[[Any], str] = ...,
        /,
    ) -> Name:
        """Return this name extended by `suffix`.

        Args:
            suffix: a dotted path, a name, a class, a function, an enum member, or an iterable of paths.
            mapper: with an iterable, turns each element into a path.

        Returns:
            The interned extension; this very name for an empty iterable.

        Raises:
            AbsentValueError: `suffix`, an element or a mapped element is None.
            ConfigurationError: a path is empty or has an empty segment.

        Contract: NAME-EXT-11 to -15, NAME-FACTORY-17.
        """

    @abstractmethod
    def __truediv__(self, suffix: str | Name) -> Name:
        """Return `self.name(suffix)`."""

    @abstractmethod
    def __lt__(self, other: Self) -> bool: ...
    @abstractmethod
    def __le__(self, other: Self) -> bool: ...
    @abstractmethod
    def __gt__(self, other: Self) -> bool: ...
    @abstractmethod
    def __ge__(self, other: Self) -> bool: ...
