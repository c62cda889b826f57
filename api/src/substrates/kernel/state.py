"""Kernel states: fixed layouts over raw memory, the same memory that native code sees."""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Protocol, TypeAlias, get_args, get_type_hints

from ..errors import ConfigurationError
from ..pipe import Pipe as AnyPipe
from .lane import Lane, wrap_int64

__all__ = ["SELF", "Field", "Float64Pipe", "Layout", "Links", "Pipe", "State"]

CELL: Final = 8
"""Bytes of one field: every field is one 64-bit cell."""


@dataclass(frozen=True)
class _Target:
    """Marks an annotation as a pipe field of a lane."""

    lane: Lane


Pipe: TypeAlias = Annotated[AnyPipe[int] | None, _Target(Lane.INT64)]
"""A field that holds a pipe of the int64 lane, or None."""
Float64Pipe: TypeAlias = Annotated[AnyPipe[float] | None, _Target(Lane.FLOAT64)]
"""A field that holds a pipe of the float64 lane, or None."""


class _Self:
    """The type of `SELF`."""

    def __repr__(self) -> str:
        return "kernel.SELF"

    def __reduce__(self) -> str:
        return "SELF"


SELF: Final[Any] = _Self()
"""As the value of a pipe field: the very pipe that the state belongs to."""


@dataclass(frozen=True)
class Field:
    """One field of a layout.

    Attributes:
        name: the attribute's name.
        index: its place; the field lies `index * 8` bytes from the start.
        lane: the lane of its values, or, of a pipe field, of the pipes it holds.
        is_pipe: whether it holds a pipe (natively an opaque 64-bit handle, 0 for None).
        default: the initial value: a number, None or `SELF`.
    """

    name: str
    index: int
    lane: Lane
    is_pipe: bool
    default: Any


@dataclass(frozen=True)
class Layout:
    """The fields of a state in order, 8 bytes each.

    Attributes:
        fields: in the order of their annotation.
        size: bytes in all.
    """

    fields: tuple[Field, ...]
    size: int

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Return the initial memory: `values` over the defaults, pipe fields null.

        Raises:
            TypeError: a number of the wrong kind.
            OverflowError: an integer beyond 64 bits.
        """
        cells = bytearray(self.size)
        for field in self.fields:
            if not field.is_pipe:
                value = values.get(field.name, field.default)
                _store(cells, field, value)
        return bytes(cells)


def _store(cells: bytearray, field: Field, value: Any) -> None:
    form = "=q" if field.lane is Lane.INT64 else "=d"
    try:
        struct.pack_into(form, cells, field.index * CELL, value)
    except struct.error as error:
        if isinstance(value, int):
            raise OverflowError(f"{field.name}={value!r}: 64 bits with sign at most") from error
        raise TypeError(f"{field.name}={value!r}: a {field.lane.value} is required") from error


class Links(Protocol):
    """What a provider's kernel pipe does for its state's pipe fields."""

    def _link(self, field: Field, target: AnyPipe[Any] | None) -> None:
        """Store `target` in `field` and keep it alive.

        Raises:
            ProviderMismatchFault: `target` is of another provider.
            TypeError: `target` is no pipe, or of another lane.
        """

    def _linked(self, field: Field) -> AnyPipe[Any] | None:
        """Return the pipe that `field` holds."""


class _Int64Cell:
    def __init__(self, field: Field) -> None:
        self._index = field.index

    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state._ints[self._index]

    def __set__(self, state: State, value: Any) -> None:
        try:
            state._ints[self._index] = value
        except (TypeError, ValueError):
            state._ints[self._index] = wrap_int64(value)


class _Float64Cell:
    def __init__(self, field: Field) -> None:
        self._index = field.index

    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state._floats[self._index]

    def __set__(self, state: State, value: Any) -> None:
        state._floats[self._index] = value


class _PipeCell:
    def __init__(self, field: Field) -> None:
        self._field = field

    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state._links._linked(self._field)

    def __set__(self, state: State, value: Any) -> None:
        state._links._link(self._field, value)


class State:
    """Base of kernel states: annotate the fields of a subclass.

    A field is `kernel.int64`, `kernel.float64`, `kernel.Pipe` or `kernel.Float64Pipe`; it starts at zero
    (None for a pipe) or at its class-level default, where `SELF` stands for the state's own pipe. The
    state belongs to one pipe, which keeps it alive; read it from Python after a wait, through
    `Pipe.state`. Writing while the circuit runs is undefined. An integer that overflows its field wraps,
    in Python as natively.
    """

    __slots__ = ("_floats", "_ints", "_links")

    layout: ClassVar[Layout] = Layout((), 0)
    """The fields of this class, in the order of their annotation."""

    def __init__(self, memory: memoryview, links: Links) -> None:
        """View `memory` (writable bytes, at least `layout.size`); for providers.

        Args:
            memory: where the fields live.
            links: keeps the pipe fields.
        """
        self._ints = memory.cast("q")
        self._floats = memory.cast("d")
        self._links = links

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        frame = sys._getframe(1)
        try:
            hints = get_type_hints(cls, localns=dict(frame.f_locals), include_extras=True)
        except NameError as error:
            raise ConfigurationError(f"kernel state {cls.__qualname__}: {error}") from error
        finally:
            del frame
        fields = []
        for name, hint in hints.items():
            if name in State.__annotations__:
                continue
            if not name.isidentifier() or name.startswith("_") or hasattr(State, name):
                raise ConfigurationError(f"kernel state {cls.__qualname__}: field {name!r} is reserved")
            inherited = next((field for field in cls.layout.fields if field.name == name), None)
            default = cls.__dict__.get(name, inherited.default if inherited else None)
            fields.append(_field(cls, name, len(fields), hint, default))
        cls.layout = Layout(tuple(fields), len(fields) * CELL)
        cls.layout.pack({})
        for field in fields:
            cell = _PipeCell if field.is_pipe else _Int64Cell if field.lane is Lane.INT64 else _Float64Cell
            setattr(cls, field.name, cell(field))

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.layout.fields)
        return f"{type(self).__name__}({values})"


def _field(cls: type[State], name: str, position: int, hint: Any, default: Any) -> Field:
    for mark in get_args(hint)[1:]:
        if isinstance(mark, _Target):
            if default is not None and default is not SELF:
                raise ConfigurationError(
                    f"kernel state {cls.__qualname__}: {name}={default!r}: a pipe field starts at None or SELF"
                )
            return Field(name, position, mark.lane, True, default)
        if isinstance(mark, Lane) and mark is not Lane.OBJECT:
            return Field(name, position, mark, False, 0 if default is None else default)
    raise ConfigurationError(
        f"kernel state {cls.__qualname__}: field {name!r} is {hint!r};"
        " use kernel.int64, kernel.float64, kernel.Pipe or kernel.Float64Pipe"
    )
