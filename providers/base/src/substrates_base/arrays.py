"""Populations' arrays: states, pipe fields, handles, and the checks of what is emitted.

The only module of base that imports NumPy; get it by `arrays()` of `populations`, which says what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from substrates import AbsentValueError, ProviderMismatchFault
from substrates.kernel import Field, Lane, Layout

if TYPE_CHECKING:
    from .memberpipes import Pipes

__all__ = ["Handles", "StateArray", "indices", "scalars", "state_type"]

_KINDS = {Lane.INT64: "iub", Lane.FLOAT64: "iubf"}
_TYPES = {Lane.INT64: np.dtype(np.int64), Lane.FLOAT64: np.dtype(np.float64)}
_MOST = 2**63 - 1
_HANDLE = np.dtype(np.uint64)


def state_type(layout: Layout) -> np.dtype[Any]:
    """Return the type of a row: the fields of `layout`, 8 bytes each, pipe fields as handles."""
    return np.dtype(
        [(field.name, _HANDLE if field.is_pipe else _TYPES[field.lane]) for field in layout.fields]
    )


def scalars(values: Any, lane: Lane, count: int) -> Any:
    """Return what is emitted as an array of the lane's type.

    Its shape is ``(count,)``, or ``()`` for one value for all.

    Raises:
        AbsentValueError, TypeError, OverflowError: as `Pipe.emit`.
        ValueError: another shape.
    """
    if values is None:
        raise AbsentValueError("emit(None): None is the absent value and cannot be emitted")
    given = _plain(values)
    if given.ndim == 0:
        return np.array(lane.admit(values if given.dtype.kind == "O" else given.item()), _TYPES[lane])
    if given.shape != (count,):
        raise ValueError(f"emit: values of shape {given.shape}: a number, or values of shape ({count},)")
    if given.size == 0:
        return np.empty(0, _TYPES[lane])
    if given.dtype.kind == "O":
        return np.array([lane.admit(value) for value in given.tolist()], _TYPES[lane])
    if given.dtype.kind not in _KINDS[lane]:
        raise TypeError(f"emit: values of type {given.dtype}: the pipes' lane is {lane.value}")
    if lane is Lane.INT64 and given.dtype.kind == "u" and given.max() > _MOST:
        raise OverflowError(f"emit: {given.max()}: the pipes' lane is int64, 64 bits with sign at most")
    return np.ascontiguousarray(given, _TYPES[lane])


def _plain(values: Any) -> Any:
    """Return `values` as an array, integers beyond 64 bits and what is no number as objects."""
    try:
        given = np.asarray(values)
        if (given.dtype.kind not in "iubf" and not isinstance(values, np.ndarray)) or (
            given.dtype.kind == "f" and isinstance(values, (list, tuple))
        ):
            given = np.asarray(values, object)
    except OverflowError:
        given = np.asarray(values, object)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"emit: values of no shape: {error}") from error
    return given


def indices(where: Any, size: int) -> Any:
    """Return which members are meant, as an array of int64 from 0 up.

    Raises:
        TypeError: no integers.
        ValueError: another shape.
        IndexError: no such member.
    """
    given = np.asarray(where)
    if given.ndim != 1:
        raise ValueError(f"emit(where=...): an array of shape {given.shape}: one dimension is required")
    if given.dtype.kind == "b":
        if given.shape != (size,):
            raise ValueError(f"emit(where=...): booleans of shape {given.shape}: ({size},) is required")
        return np.flatnonzero(given)
    if given.size == 0:
        return np.empty(0, np.int64)
    if given.dtype.kind not in "iu":
        raise TypeError(f"emit(where=...): an array of {given.dtype}: integers or booleans are required")
    least, most = given.min(), given.max()
    if least < -size or most >= size:
        raise IndexError(
            f"emit(where=...): index {least if least < -size else most} in a population of {size}"
        )
    chosen = np.ascontiguousarray(given, np.int64)
    return np.where(chosen < 0, chosen + size, chosen) if least < 0 else chosen


class _Owned(Protocol):
    """An array that knows the pipes it belongs to."""

    _pipes: Pipes | None


class Handles(np.ndarray[Any, Any]):
    """Handles of pipes; see `substrates.Pipes.handles`. What is computed of them is a plain array.

    `_picked`: by indexing what was sound, so that a million that were rearranged need not be looked up.
    """

    _pipes: Pipes | None
    _picked: bool

    def __array_finalize__(self, origin: Any) -> None:
        self._pipes = getattr(origin, "_pipes", None)
        self._picked = False

    def __getitem__(self, key: Any) -> Any:
        picked = super().__getitem__(key)
        if isinstance(picked, Handles) and picked.dtype == self.dtype and self._is_sound():
            picked.flags.writeable = False
            picked._picked = True
        return picked

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(each) if isinstance(each, Handles) else each for each in inputs]
        if "out" in options:
            options["out"] = tuple(
                np.asarray(each) if isinstance(each, Handles) else each for each in options["out"]
            )
        return getattr(ufunc, method)(*plain, **options)

    @staticmethod
    def of(pipes: Pipes, numbers: Any) -> Handles:
        """Return `numbers`, one per pipe, as handles; nobody may write to them any more."""
        handles: Handles = numbers.view(Handles)
        handles._pipes = pipes
        handles.flags.writeable = False
        return handles

    def owner(self) -> Pipes:
        """Return the pipes that all of these are handles of.

        Raises:
            TypeError: they are not.
        """
        pipes = self._pipes
        if pipes is None or self.dtype != _HANDLE:
            raise TypeError("an array that is not of handles of a population's pipes")
        if self._is_sound() or np.isin(self, pipes._numbers()).all():
            return pipes
        raise TypeError("an array that is not of handles of one population's pipes")

    def _is_sound(self) -> bool:
        """Tell whether these are known to be handles: elements of the pipes' own array, or picked from it."""
        if self.flags.writeable or self._pipes is None or self.dtype != _HANDLE:
            return False
        return self._picked or self._is_part_of(self._pipes._numbers())

    def _is_part_of(self, own: Any) -> bool:
        """Tell whether these are elements of `own` where they stand."""
        apart = self.__array_interface__["data"][0] - own.__array_interface__["data"][0]
        whole = all(stride % 8 == 0 for stride in (apart, *self.strides))
        return whole and np.may_share_memory(self, own)


class _Held:
    """The memory of an array, and whom it belongs to."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, array: Any, owner: object) -> None:
        self.__array_interface__ = array.__array_interface__
        self._owner = (owner, array)


class PipeColumn(np.ndarray[Any, Any]):
    """The column of a pipe field: reads as handles, and checks what it is assigned."""

    _column: tuple[Pipes, Field, Any] | None

    def __array_finalize__(self, origin: Any) -> None:
        self._column = None  # of a part, or what is computed, nobody knows where it stands

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(each) if isinstance(each, PipeColumn) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._column is None:
            raise TypeError('assign to the column itself: pipes.state["field"][...] = handles')
        pipes, field, cells = self._column
        assigned = checked_targets(pipes, field, value)
        pipes._assign(field, cells, key, assigned)


def checked_targets(pipes: Pipes, field: Field, value: Any) -> Any:
    """Return what a pipe field's column is assigned: None, a pipe of base, or handles.

    Raises:
        ProviderMismatchFault: pipes of another provider.
        TypeError: of another kind, or another lane.
    """
    if value is None:
        return None
    population = pipes._population
    operation = f"state[{field.name!r}]"
    if isinstance(value, Handles):
        owner = value.owner()
        if owner._population._cortex is not population._cortex:
            raise ProviderMismatchFault(
                population.subject,
                operation,
                f"{operation}: handles of pipes of provider {owner._population._cortex.provider!r};"
                " make the pipes with the same cortex",
            )
        given: Any = value
        lane = owner.lane
    else:
        own = population._cortex.own_pipe(value, operation, population.subject)
        if own is None:
            shown = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
            raise TypeError(f"{operation}: {shown}: assign handles of pipes, one pipe, or None")
        given = own
        lane = own.lane
    if lane is not field.lane:
        raise TypeError(
            f"{operation}: the pipes take {lane.value}, the field holds pipes of {field.lane.value}"
        )
    return given


class StateArray(np.ndarray[Any, Any]):
    """The states of a population's kernels; see `substrates.Pipes.state`. Rows are read-only, columns not."""

    _pipes: Pipes | None
    _cells: Any

    def __array_finalize__(self, origin: Any) -> None:
        self._pipes = None  # what is computed of it, or a part, is an array as any other, and read-only
        self._cells = None

    @staticmethod
    def of(pipes: Pipes, cells: Any) -> StateArray:
        """Return `cells`, a structured array with a row per member, as the states of `pipes`.

        Whatever part of the result somebody holds, holds `pipes`.
        """
        held = np.asarray(_Held(cells, pipes))
        states: StateArray = held.view(StateArray)
        states._pipes = pipes
        states._cells = held
        states.flags.writeable = False
        return states

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str) or self._pipes is None:
            return super().__getitem__(key)
        field = self._pipes._field(key)
        column = self._cells[key]
        if not field.is_pipe:
            return column
        guarded = column.view(PipeColumn)
        guarded.flags.writeable = False
        guarded._column = (self._pipes, field, column)
        return guarded

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, str) and self._pipes is not None:
            self[key][...] = value
            return
        raise TypeError('assign to a column: pipes.state["field"][...] = values')
