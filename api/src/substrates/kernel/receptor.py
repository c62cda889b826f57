"""Kernels and their bindings."""

from __future__ import annotations

import importlib.util
import struct
import threading
from collections.abc import Callable, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ..absent import present
from ..errors import ConfigurationError, SubstratesError
from ..pipe import Pipe
from .lane import Lane, shown
from .state import SELF, Field, State

if TYPE_CHECKING:
    from .machine import Machine

__all__ = ["Binding", "Context", "Kernel", "KernelError", "from_address", "include_dir", "receptor"]

_compiling: Final = threading.Lock()
"""Held while a kernel gets its address, which it must get once: pipes use it."""

E = TypeVar("E")
S = TypeVar("S", bound=State)


class KernelError(SubstratesError, RuntimeError):
    """A kernel's native function returned a fault code of its own.

    Attributes:
        code: what it returned.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Context(Protocol):
    """What a kernel gets as its first argument."""

    def emit(self, pipe: Any, value: Any, /) -> None:
        """Emit `value` to `pipe` when the kernel returns; a pipe that is None is skipped.

        Args:
            pipe: a pipe field of the state.
            value: a number, converted to the lane of the field as `Lane.cast` says.
        """


class Kernel(Generic[E]):
    """A receptor that native engines can run; made by `receptor` or `from_address`.

    Attributes:
        name: for reports.
        state_type: the layout of its state.
        lane: the lane of the values it takes.
        function: the Python function ``(ctx, state, value)``; None of a kernel known by address alone.
    """

    __slots__ = ("_address", "_machine", "function", "lane", "name", "state_type")

    def __init__(
        self,
        name: str,
        state_type: type[State],
        lane: Lane,
        function: Callable[[Any, Any, Any], object] | None,
        address: int | None,
    ) -> None:
        self.name = name
        self.state_type = state_type
        self.lane = lane
        self.function = function
        self._address = address
        self._machine: Machine | None = None
        for field, target in state_type.layout.links:
            _check_target(self, field, target)

    def bind(self, /, **values: Any) -> Binding[E]:
        """Return a recipe for pipes: this kernel with these initial values of its state's fields.

        Each pipe made from it gets a state of its own.

        Raises:
            TypeError: no such field; a value of the wrong kind; a pipe of another lane.
            OverflowError: an integer beyond 64 bits; one beyond the range of a double.
        """
        return Binding(self, values)

    @property
    def is_native(self) -> bool:
        """Whether a native address is at hand without compiling."""
        return self._address is not None

    def address(self) -> int:
        """Return the address of the native function, compiling it on first use.

        The function stays loaded as long as this object lives. Any thread may call.

        Raises:
            ConfigurationError: Numba is not installed, or cannot compile the function.
        """
        if self._address is None:
            if not _numba_installed():
                raise ConfigurationError(
                    f"kernel {self.name!r}: a native provider needs Numba to compile it;"
                    " install the extra: substrates[kernels], or use the provider 'reference'"
                )
            from .compiler import compile_kernel

            with _compiling:
                if self._address is None:
                    self._address, self._machine = compile_kernel(self)
        return self._address

    def fault(self, code: int) -> Exception:
        """Return the exception to report when the native function has returned `code`, not 0; for providers.

        Of a compiled kernel it is the exception that was raised, without arguments that were computed.
        """
        from .machine import FAULT_EXCEPTION, FAULT_MEMORY

        error = None if self._machine is None else self._machine.exception(code)
        if error is not None:
            return error
        if code == FAULT_MEMORY:
            return MemoryError(f"kernel {self.name!r}: no memory for another emission")
        if code == FAULT_EXCEPTION:
            return RuntimeError(f"kernel {self.name!r} raised an exception of which no more is known")
        return KernelError(f"kernel {self.name!r} returned the fault code {code}", code)

    def __repr__(self) -> str:
        return f"<Kernel {self.name} of {self.lane.value} with {self.state_type.__qualname__}>"

    def __copy__(self) -> Kernel[E]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel[E]:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its native code is of this process;"
            " import it where it is wanted, or define it there again"
        )


class Binding(Generic[E]):
    """A kernel with initial values, given to `Circuit.pipe`; may serve any number of pipes.

    Attributes:
        kernel: the kernel.
        memory: the initial bytes of the state, pipe fields null.
        links: the pipe fields that do not start at None, each with its pipe or `SELF`.
    """

    __slots__ = ("kernel", "links", "memory")

    def __init__(self, kernel: Kernel[E], values: Mapping[str, Any]) -> None:
        # A population binds a million times: no call that is not needed.
        layout = kernel.state_type.layout
        self.kernel = kernel
        links = layout.links
        if not values:
            self.memory = layout.initial
            self.links = links
            return
        numbers = layout.numbers.copy()
        for name, value in values.items():
            field = layout.by_name.get(name)
            if field is None:
                known = ", ".join(layout.by_name) or "none"
                raise TypeError(f"{kernel.name}.bind: no field {name}; the fields are {known}")
            if not field.is_pipe:
                numbers[field.index] = value
                continue
            if field.default is not None:
                links = tuple(link for link in links if link[0] is not field)
            if value is not None:
                if type(value) not in _pipe_types or value.lane is not field.lane:
                    _check_target(kernel, field, value)
                links += ((field, value),)
        try:
            self.memory = layout.cells.pack(*numbers)
        except (struct.error, OverflowError):
            self.memory = layout.pack(numbers)  # which says what is wrong
        self.links = links

    def __repr__(self) -> str:
        return f"<Binding of {self.kernel!r}>"

    def __copy__(self) -> Binding[E]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Binding[E]:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its kernel and its pipes are of this process;"
            " bind where it is wanted"
        )


_pipe_types: set[type] = set()
"""Types known to be pipes: an instance check against an abstract class costs as much as the rest."""


def _check_target(kernel: Kernel[Any], field: Field, target: Any) -> None:
    if target is SELF:
        if kernel.lane is not field.lane:
            raise TypeError(
                f"{kernel.name}.bind({field.name}=SELF): the kernel takes {kernel.lane.value},"
                f" the field holds pipes of {field.lane.value}"
            )
    elif not isinstance(target, Pipe):
        raise TypeError(
            f"{kernel.name}.bind({field.name}={shown(target)}): a pipe, None or kernel.SELF is required"
        )
    elif target.lane is not field.lane:
        raise TypeError(
            f"{kernel.name}.bind({field.name}={target!r}): the pipe takes {target.lane.value},"
            f" the field holds pipes of {field.lane.value}"
        )
    else:
        _pipe_types.add(type(target))


def receptor(
    state_type: type[State], lane: Any
) -> Callable[[Callable[[Any, Any, Any], object]], Kernel[Any]]:
    """Decorate a function ``(ctx, state, value)`` to make it a kernel.

    The function may use numbers, its state's fields, `ctx.emit` and what Numba compiles in nopython mode.
    Where Numba is installed it is compiled here and now, so that what it cannot compile is an error at the
    definition, with the line; the result is cached on disk.

    Args:
        state_type: a subclass of `State`.
        lane: `kernel.int64` or `kernel.float64`: what `value` is.

    Raises:
        AbsentValueError: an argument is None.
        TypeError: `state_type` is no kernel state; `lane` is no scalar lane; the function is something else.
        ConfigurationError: the function takes other arguments, or Numba cannot compile it.
    """
    scalar = _check(state_type, lane)

    def define(function: Callable[[Any, Any, Any], object]) -> Kernel[Any]:
        present(function, "receptor", "function")
        _check_function(function)
        kernel: Kernel[Any] = Kernel(function.__qualname__, state_type, scalar, function, None)
        if _numba_installed():
            kernel.address()
        return kernel

    return define


def from_address(
    address: int,
    state_type: type[State],
    lane: Any,
    *,
    name: str | None = None,
    python: Callable[[Any, Any, Any], object] | None = None,
) -> Kernel[Any]:
    """Make a kernel of a native function with the signature of ``substrates_kernel.h``.

    Args:
        address: of the function, which must stay loaded while pipes use it.
        state_type: the layout of the state that the function expects.
        lane: `kernel.int64` or `kernel.float64`.
        name: for reports; default: the address in hexadecimal.
        python: the same kernel in Python, for providers that run none natively.

    Raises:
        AbsentValueError: `address`, `state_type` or `lane` is None.
        ConfigurationError: `address` is 0, negative or beyond 64 bits.
        TypeError: an argument of the wrong kind.
    """
    present(address, "from_address", "address")
    if not isinstance(address, int) or isinstance(address, bool):
        raise TypeError(f"from_address(address={address!r}): an integer is required")
    if not 0 < address < 2**64:
        raise ConfigurationError(f"from_address(address={shown(address)}): not the address of a function")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"from_address(name={shown(name)}): a string is required")
    if python is not None and not callable(python):
        raise TypeError(f"from_address(python={shown(python)}): a function (ctx, state, value) is required")
    return Kernel(name or f"kernel@{address:#x}", state_type, _check(state_type, lane), python, address)


def include_dir() -> str:
    """Return the folder of ``substrates_kernel.h``, for a C compiler's ``-I``."""
    return str(Path(__file__).resolve().parent.parent / "include")


def _check(state_type: Any, lane: Any) -> Lane:
    present(state_type, "receptor", "state_type")
    if not (isinstance(state_type, type) and issubclass(state_type, State)):
        raise TypeError(f"state_type={state_type!r}: a subclass of kernel.State is required")
    scalar = Lane.of(lane)
    if scalar is Lane.OBJECT:
        raise TypeError("lane=object: a kernel takes kernel.int64 or kernel.float64")
    return scalar


def _check_function(function: Any) -> None:
    if not isinstance(function, FunctionType):
        raise TypeError(f"function={function!r}: a plain Python function is required")
    code = function.__code__
    problem = None
    if code.co_argcount != 3 or code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        problem = "it must take exactly ctx, state, value"
    elif code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        problem = "it must not be a generator or a coroutine"
    if problem:
        raise ConfigurationError(
            f"kernel {function.__qualname__!r}: {code.co_filename}:{code.co_firstlineno}: {problem}"
        )


def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None
