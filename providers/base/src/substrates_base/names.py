"""Interned names: one table a cortex, from dotted path to the one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import substrates
from substrates import ConfigurationError, Subject
from substrates.absent import UNSET, Unset, present

from .origin import Called, mismatch

__all__ = ["Name", "Names"]


class Name(substrates.Name):
    """A name of one table; see `substrates.Name`."""

    __slots__ = ("_enclosure", "_names", "_part", "_path")

    def __init__(self, names: Names, part: str, enclosure: Name | None, path: str) -> None:
        self._names = names
        self._part = part
        self._enclosure = enclosure
        self._path = path

    @property
    def part(self) -> str:
        return self._part

    @property
    def enclosure(self) -> Name | None:
        return self._enclosure

    def name(self, suffix: Any, mapper: Callable[[Any], str] | Unset = UNSET, /) -> Name:
        """See `substrates.Name.name`."""
        if isinstance(suffix, Enum):
            return self._names.extend(self, _segment(suffix.name))
        at: Name = self
        for path in self._names.paths(suffix, mapper):
            at = self._names.extend(at, path)
        return at

    def __truediv__(self, suffix: str | substrates.Name) -> Name:
        return self.name(suffix)

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"Name({self._path!r})"

    def _segments(self, other: object) -> tuple[list[str], list[str]] | None:
        if not isinstance(other, Name):
            return None
        return self._path.split("."), other._path.split(".")

    def __lt__(self, other: object) -> bool:
        pair = self._segments(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: object) -> bool:
        pair = self._segments(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: object) -> bool:
        pair = self._segments(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: object) -> bool:
        pair = self._segments(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    def __copy__(self) -> Name:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Name:
        return self

    def __reduce__(self) -> tuple[Callable[..., substrates.Name], tuple[str, str]]:
        return _restore, (self._names.provider, self._path)


def _restore(provider: str, path: str) -> substrates.Name:
    return substrates.cortex(provider).name(path)


class Names:
    """The table of one cortex.

    There is no lock: `dict.setdefault` is one atomic step on every build of CPython, for keys of exactly the
    type `str`, so that racing threads get one object (NAME-INTERN-07).
    """

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self._table: dict[str, Name] = {}
        self.known = self._table.get
        """Return the name of a dotted path if there is one, else None."""
        self._subject: Subject[Any] | None = None

    def owned_by(self, subject: Subject[Any]) -> None:
        """Set the receiver that faults about foreign names carry."""
        self._subject = subject

    @property
    def subject(self) -> Subject[Any]:
        """The cortex's subject."""
        if self._subject is None:
            raise TypeError("the cortex is not ready")
        return self._subject

    def intern(self, path: str) -> Name:
        """Return the name of a dotted path.

        Raises:
            ConfigurationError: an empty path or segment.
        """
        found = self._table.get(path)
        return found if found is not None else self._insert(path)

    def extend(self, name: Name, path: str) -> Name:
        """Return `name` extended by a dotted path."""
        if not path:
            raise ConfigurationError(
                f"name({path!r}): a path needs at least one segment, and none may be empty"
            )
        return self.intern(f"{name._path}.{path}")

    def given(
        self, name: Any, operation: str, receiver: Called | None = None, parameter: str = "name"
    ) -> Name:
        """Return the name that a caller gave to `operation` of `receiver`, as a `Name` or a `str`.

        Without a receiver it is the cortex.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a name of another provider, or a look-alike.
            ConfigurationError: a malformed path.
            TypeError: neither a name nor a string.
        """
        if isinstance(name, Name) and name._names is self:
            return name
        if isinstance(name, str):
            return self.intern(name)
        present(name, operation, parameter)
        has_name = isinstance(name, (substrates.Subject, substrates.Substrate))  # and is none
        if isinstance(name, substrates.Name) or (
            hasattr(name, "part") and hasattr(name, "enclosure") and not has_name
        ):
            way_out = "create the name from the same cortex, or pass a string"
            shown = f"{parameter}={name!r}"
            raise mismatch(receiver or self.subject, operation, shown, "a name", self.provider, way_out)
        raise TypeError(f"{operation}({parameter}={name!r}): a Name or a str is required")

    def make(self, path: Any, mapper: Any = UNSET) -> Name:
        """Return the name of what `Cortex.name` takes."""
        if isinstance(path, Enum):
            kind = type(path)
            return self.intern(f"{kind.__module__}.{kind.__qualname__}.{_segment(path.name)}")
        name: Name | None = None
        for part in self.paths(path, mapper):
            name = self.intern(part) if name is None else self.extend(name, part)
        if name is None:
            raise ConfigurationError("name([]): at least one part is required")
        return name

    def paths(self, source: Any, mapper: Any) -> Iterable[str]:
        """Return the dotted paths that `source` stands for, checked."""
        present(source, "name", "path")
        present(mapper, "name", "mapper")
        if mapper is UNSET:
            if isinstance(source, str):
                return (source,)
            if isinstance(source, substrates.Name):
                return (self._own(source)._path,)
            if isinstance(source, type) or inspect.isroutine(source):
                return (f"{source.__module__}.{source.__qualname__}",)
        if isinstance(source, (str, bytes, bytearray)) or not isinstance(source, Iterable):
            if hasattr(source, "part") and hasattr(source, "enclosure"):
                self.given(source, "name")  # refuses the look-alike of a name
            raise TypeError(
                f"name({source!r}): give a path, a name, a class, a function or an iterable of paths"
            )
        return [self._element(part if mapper is UNSET else mapper(part)) for part in source]

    def _element(self, part: Any) -> str:
        present(part, "name", "element")
        if isinstance(part, substrates.Name):
            return self._own(part)._path
        if not isinstance(part, str):
            raise TypeError(f"name([... {part!r} ...]): each element is a path")
        self.intern(part)
        return part

    def _own(self, name: substrates.Name) -> Name:
        return self.given(name, "name")

    def _insert(self, path: str) -> Name:
        path = str.__str__(path)  # of a subclass the plain string
        above, _, part = path.rpartition(".")
        if part and (above or "." not in path):
            enclosure = self._table.get(above) if above else None
            if enclosure is not None or not above:
                return self._table.setdefault(path, Name(self, part, enclosure, path))
        parts = path.split(".")
        if not all(parts):
            raise ConfigurationError(
                f"name({path!r}): a path needs at least one segment, and none may be empty"
            )
        known: Name | None = None
        at = 0
        for at in range(len(parts) - 1, 0, -1):
            known = self._table.get(".".join(parts[:at]))
            if known is not None:
                break
        else:
            at = 0
        for part in parts[at:]:
            full = part if known is None else f"{known._path}.{part}"
            known = self._table.setdefault(full, Name(self, part, known, full))
        if known is None:
            raise ConfigurationError(f"name({path!r}): no segment")
        return known


def _segment(text: str) -> str:
    if not text or "." in text:
        raise ConfigurationError(f"name({text!r}): the name of an enum member must be one segment")
    return text
