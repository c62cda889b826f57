"""Names, ids, subjects and currents of the toy."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any

import substrates
from substrates import ConfigurationError
from substrates.absent import UNSET, present

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Current", "Fixed", "Here", "Id", "Name", "Names", "Owned", "Subject"]

_numbers = count(1)


class Owned:
    """What a cortex can recognize as its own."""

    __slots__ = ()

    cortex: Cortex


class Fixed:
    """What a copy of is the thing itself."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


class Here:
    """What runs in this process, and is not pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it runs in this process")


class Name(Owned, Fixed, substrates.Name):
    """A name in a cortex's table; `segments` are its parts from the root."""

    __slots__ = ("cortex", "segments")

    def __init__(self, cortex: Cortex, segments: tuple[str, ...]) -> None:
        self.cortex = cortex
        self.segments = segments

    @staticmethod
    def interned(cortex: Cortex, segments: tuple[str, ...]) -> Name:
        """Return the one name of these segments."""
        cortex.names.check(segments)
        return cortex.names.interned(segments)

    @classmethod
    def made(cls, cortex: Cortex, path: Any, mapper: Any) -> Name:
        """Return the name that `Cortex.name` makes."""
        if isinstance(path, Enum):
            return cls.interned(cortex, (*_segments_of(cortex, type(path)), _constant(path)))
        return cls.interned(cortex, cls._listed(cortex, path, mapper))

    @classmethod
    def given(cls, cortex: Cortex, name: Any, operation: str, receiver: Any = None) -> Name:
        """Return the name that is an argument of `operation`."""
        if isinstance(name, str):
            return cls.interned(cortex, tuple(name.split(".")))
        # Subjects and scopes have parts too, and are no names.
        looks = () if isinstance(name, substrates.Extent) else ("part", "enclosure")
        own: Name = cortex.checked(name, substrates.Name, operation, "name", receiver, looks=looks)
        return own

    @classmethod
    def _listed(cls, cortex: Cortex, path: Any, mapper: Any) -> tuple[str, ...]:
        present(mapper, "name", "mapper")
        present(path, "name", "path")
        if mapper is UNSET and _looks_like_a_name(path):
            return Name.given(cortex, path, "name").segments
        if mapper is UNSET and (isinstance(path, (str, type)) or inspect.isroutine(path)):
            return _segments_of(cortex, path)
        if isinstance(path, (str, bytes)) or not isinstance(path, Iterable):
            raise TypeError(f"name({path!r}): give a path, a name, a class, a function or paths")
        listed: tuple[str, ...] = ()
        for element in path:
            mapped = present(element if mapper is UNSET else mapper(element), "name", "element")
            if not isinstance(mapped, (str, substrates.Name)):
                raise TypeError(f"name([... {mapped!r} ...]): each element is a path")
            segments = _segments_of(cortex, mapped)
            cls.interned(cortex, segments)
            listed += segments
        return listed

    @property
    def part(self) -> str:
        return self.segments[-1]

    @property
    def enclosure(self) -> Any:
        return self.interned(self.cortex, self.segments[:-1]) if len(self.segments) > 1 else None

    def name(self, suffix: Any, mapper: Any = UNSET, /) -> Name:
        if isinstance(suffix, Enum):
            return self.interned(self.cortex, (*self.segments, _constant(suffix)))
        listed = self._listed(self.cortex, suffix, mapper)
        return self.interned(self.cortex, self.segments + listed) if listed else self

    def __truediv__(self, suffix: Any) -> Name:
        return self.name(suffix)

    def __str__(self) -> str:
        return ".".join(self.segments)

    def __repr__(self) -> str:
        return f"Name('{self}')"

    def _both(self, other: Any) -> Any:
        return other.segments if isinstance(other, Name) else None

    def __lt__(self, other: Any) -> Any:
        theirs = self._both(other)
        return NotImplemented if theirs is None else self.segments < theirs

    def __le__(self, other: Any) -> Any:
        theirs = self._both(other)
        return NotImplemented if theirs is None else self.segments <= theirs

    def __gt__(self, other: Any) -> Any:
        theirs = self._both(other)
        return NotImplemented if theirs is None else self.segments > theirs

    def __ge__(self, other: Any) -> Any:
        theirs = self._both(other)
        return NotImplemented if theirs is None else self.segments >= theirs

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _name_again, (self.cortex.provider, str(self))


def _segments_of(cortex: Cortex, path: Any) -> tuple[str, ...]:
    if isinstance(path, substrates.Name):
        return Name.given(cortex, path, "name").segments
    text = path if isinstance(path, str) else f"{path.__module__}.{path.__qualname__}"
    return tuple(text.split("."))


def _looks_like_a_name(path: Any) -> bool:
    if isinstance(path, substrates.Extent):
        return isinstance(path, substrates.Name)
    return hasattr(path, "part") and hasattr(path, "enclosure")


def _constant(constant: Enum) -> str:
    if "." in constant.name:
        raise ConfigurationError(f"name({constant!r}): the constant's name must be one segment")
    return constant.name


def _name_again(provider: str, path: str) -> substrates.Name:
    return substrates.cortex(provider).name(path)


class Names:
    """The names of a cortex."""

    def __init__(self, cortex: Cortex) -> None:
        self.cortex = cortex
        self.table: dict[tuple[str, ...], Name] = {}

    def check(self, segments: tuple[str, ...]) -> None:
        """Refuse what is malformed."""
        if not segments or not all(segments):
            raise ConfigurationError(
                f"name({'.'.join(segments)!r}): a path needs at least one segment, and none may be empty"
            )

    def interned(self, segments: tuple[str, ...]) -> Name:
        """Return the one name of these segments."""
        with self.cortex.lock:
            if segments not in self.table:
                self.table[segments] = Name(self.cortex, segments)
            return self.table[segments]


class Id(Fixed, Here, substrates.Id):
    """A token; its number tells the order of creation."""

    def __init__(self) -> None:
        self.number = next(_numbers)


class Subject(Owned, Fixed, Here, substrates.Subject[Any]):
    """Who a component is."""

    def __init__(self, cortex: Cortex, kind: type, name: Name, enclosure: Subject | None) -> None:
        self.cortex = cortex
        self._kind = kind
        self._name = name
        self._enclosure = enclosure
        self._id = Id()

    @property
    def part(self) -> str:
        return f"Subject[name={self._name},type={self._kind.__name__},id={self._id.number}]"

    @property
    def enclosure(self) -> Subject | None:
        return self._enclosure

    @property
    def id(self) -> Id:
        return self._id

    @property
    def name(self) -> Name:
        return self._name

    @property
    def state(self) -> substrates.State:
        return self.cortex.state()

    @property
    def type(self) -> Any:
        return self._kind

    def __str__(self) -> str:
        return self.path()

    def __repr__(self) -> str:
        return self.part

    def order(self) -> list[tuple[tuple[str, ...], int]]:
        """Return what places it in the tree."""
        return [(at._name.segments, at._id.number) for at in reversed(list(self))]

    def _both(self, other: Any) -> tuple[list[Any], list[Any]]:
        theirs = self.cortex.checked(
            other, substrates.Subject, "compare", "subject", self, looks=("id", "enclosure")
        )
        return self.order(), theirs.order()

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._both(other)
        return mine < theirs

    def __le__(self, other: Any) -> bool:
        mine, theirs = self._both(other)
        return mine <= theirs

    def __gt__(self, other: Any) -> bool:
        mine, theirs = self._both(other)
        return mine > theirs

    def __ge__(self, other: Any) -> bool:
        mine, theirs = self._both(other)
        return mine >= theirs


class Current(Owned, Fixed, Here, substrates.Current):
    """The token of a thread or of a circuit's context."""

    def __init__(self, cortex: Cortex, name: Name, enclosure: Subject) -> None:
        self.cortex = cortex
        self._subject = cortex.new_subject(substrates.Current, name, enclosure)

    @property
    def subject(self) -> Subject:
        return self._subject

    @classmethod
    def of_thread(cls, cortex: Cortex) -> Current:
        """Return a token for the calling thread, which has none yet."""
        parts = [part for part in threading.current_thread().name.split(".") if part]
        return cls(cortex, Name.interned(cortex, tuple(parts) or ("thread",)), cortex.subject)
