"""Kernel states: fixed layouts over raw memory, the same memory that native code sees."""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as derived
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Protocol,
    TypeAlias,
    get_args,
    get_type_hints,
)

from ..absent import UNSET
from ..errors import ConfigurationError
from ..pipe import Pipe as AnyPipe
from .lane import Lane, shown, wrap_int64

__all__ = ["CELL", "SELF", "Field", "Float64Pipe", "Layout", "Links", "Pipe", "State"]

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
        numbers: the initial numbers, 0 in the place of a pipe.
        initial: the memory of a new state: these numbers, pipe fields null.
        links: the pipe fields that do not start at None, each with its default, which is `SELF`.
        by_name: the fields by their names.
        cells: packs one number a field.
    """

    fields: tuple[Field, ...]
    size: int
    numbers: list[Any] = derived(init=False, repr=False, compare=False)
    initial: bytes = derived(init=False, repr=False, compare=False)
    links: tuple[tuple[Field, Any], ...] = derived(init=False, repr=False, compare=False)
    by_name: Mapping[str, Field] = derived(init=False, repr=False, compare=False)
    cells: struct.Struct = derived(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        codes = ("q" if field.is_pipe or field.lane is Lane.INT64 else "d" for field in self.fields)
        numbers = [0 if field.is_pipe else field.default for field in self.fields]
        links = (
            (field, field.default) for field in self.fields if field.is_pipe and field.default is not None
        )
        assign = partial(object.__setattr__, self)
        assign("cells", struct.Struct("=" + "".join(codes)))
        assign("numbers", numbers)
        assign("links", tuple(links))
        assign("by_name", {field.name: field for field in self.fields})
        assign("initial", self.pack(numbers))

    def pack(self, numbers: Sequence[Any]) -> bytes:
        """Return the memory of a state with these numbers, one a field in order, 0 in the place of a pipe.

        Raises:
            TypeError: a value of the wrong kind.
            OverflowError: an integer beyond 64 bits; one beyond the range of a double.
        """
        try:
            return self.cells.pack(*numbers)
        except (struct.error, OverflowError) as error:
            for field, value in zip(self.fields, numbers, strict=True):
                problem = _problem(field, value)
                if problem is not None:
                    raise problem from error
            raise


def _problem(field: Field, value: Any) -> Exception | None:
    try:
        struct.pack("=q" if field.lane is Lane.INT64 else "=d", value)
    except OverflowError:
        return OverflowError(f"{field.name}={shown(value)}: beyond the range of float64")
    except struct.error:
        if isinstance(value, int):
            return OverflowError(f"{field.name}={shown(value)}: 64 bits with sign at most")
        return TypeError(f"{field.name}={shown(value)}: the field holds {field.lane.value}")
    return None


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
        state._floats[self._index] = value if type(value) is float else Lane.FLOAT64.cast(value)


class _PipeCell:
    def __init__(self, field: Field) -> None:
        self._field = field

    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state._links._linked(self._field)

    def __set__(self, state: State, value: Any) -> None:
        state._links._link(self._field, value)


_CELLS: Final = {Lane.INT64: _Int64Cell, Lane.FLOAT64: _Float64Cell}


class _StateType(type):
    """Makes the annotated names of a state class its fields, and refuses to its instances any other."""

    layout: Layout

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _StateType:
        namespace.setdefault("__slots__", ())
        made = super().__new__(cls, name, bases, namespace, **options)
        if bases:
            frame = sys._getframe(1)
            try:
                made.layout = _layout(made, dict(frame.f_locals))
            finally:
                del frame
            for field in made.layout.fields:
                setattr(made, field.name, _PipeCell(field) if field.is_pipe else _CELLS[field.lane](field))
        return made

    if not TYPE_CHECKING:  # checkers go by `State.__init__`

        def __call__(cls, *arguments: Any, **fields: Any) -> Any:
            if len(arguments) != 2 or fields:
                raise TypeError(
                    f"{cls.__name__}(): a state is made with its pipe;"
                    " give initial values to Kernel.bind, and read the state by Pipe.state"
                )
            return super().__call__(*arguments)


class State(metaclass=_StateType):
    """Base of kernel states: annotate the fields of a subclass.

    A field is `kernel.int64`, `kernel.float64`, `kernel.Pipe` or `kernel.Float64Pipe`; it starts at zero
    (None for a pipe) or at its class-level default, where `SELF` stands for the state's own pipe. A subclass
    has the fields of its base first, and may give them other defaults. The state belongs to one pipe, which
    keeps it alive; read it from Python after a wait, through `Pipe.state`. Writing while the circuit runs is
    undefined. What is assigned to a field is converted as `Lane.cast` says, in Python as natively.
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

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.layout.fields)
        return f"{type(self).__name__}({values})"


def _layout(cls: _StateType, local_names: dict[str, Any]) -> Layout:
    try:
        hints = get_type_hints(cls, localns=local_names, include_extras=True)
    except NameError as error:
        raise ConfigurationError(f"kernel state {cls.__qualname__}: {error}") from error
    if hints.pop("layout") != ClassVar[Layout]:
        raise ConfigurationError(f"kernel state {cls.__qualname__}: field 'layout' is reserved")
    fields: list[Field] = []
    for name, hint in hints.items():
        if name.startswith("_") or hasattr(State, name):
            raise ConfigurationError(f"kernel state {cls.__qualname__}: field {name!r} is reserved")
        fields.append(_field(cls, name, len(fields), hint, _default(cls, name)))
    try:
        return Layout(tuple(fields), len(fields) * CELL)
    except (TypeError, OverflowError) as error:
        raise ConfigurationError(f"kernel state {cls.__qualname__}: {error}") from error


def _default(cls: _StateType, name: str) -> Any:
    if name in cls.__dict__:
        return cls.__dict__[name]
    for base in cls.__mro__[1:]:
        if isinstance(base, _StateType):
            for field in base.layout.fields:
                if field.name == name:
                    return field.default
    return UNSET


def _field(cls: _StateType, name: str, position: int, hint: Any, default: Any) -> Field:
    for mark in get_args(hint)[1:]:
        if isinstance(mark, _Target):
            if default is UNSET:
                default = None
            elif default is not None and default is not SELF:
                raise ConfigurationError(
                    f"kernel state {cls.__qualname__}: {name}={shown(default)}:"
                    " a pipe field starts at None or SELF"
                )
            return Field(name, position, mark.lane, True, default)
        if isinstance(mark, Lane) and mark is not Lane.OBJECT:
            return Field(name, position, mark, False, 0 if default is UNSET else default)
    raise ConfigurationError(
        f"kernel state {cls.__qualname__}: field {name!r} is {hint!r};"
        " use kernel.int64, kernel.float64, kernel.Pipe or kernel.Float64Pipe"
    )
