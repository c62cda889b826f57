"""Receptors: what receives the values of a pipe."""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, ClassVar, Final, Generic, TypeVar

from .absent import UNSET, Unset, present
from .errors import ConfigurationError

__all__ = ["Receptor", "checked_function", "receive_of"]

E_contra = TypeVar("E_contra", contravariant=True)


class Receptor(ABC, Generic[E_contra]):
    """An object that receives values one at a time, in its circuit's context.

    Any callable of one argument, and any object with a `receive` method, is a receptor too; subclassing
    is a convenience. Keep it short: everything else on the circuit waits for it.

    Contract: RECEPTOR-01 to RECEPTOR-04.
    """

    __slots__ = ()

    NOOP: ClassVar[Receptor[object]]
    """A shared receptor that ignores what it is given."""

    @abstractmethod
    def receive(self, value: E_contra, /) -> object:
        """Take one value; the result is ignored."""

    @staticmethod
    def of(receptor: Receptor[E_contra] | Unset = UNSET, /) -> Receptor[E_contra]:
        """Return `receptor`, or `NOOP` if none is given.

        Raises:
            AbsentValueError: `receptor` is None.
        """
        present(receptor, "of", "receptor")
        return Receptor.NOOP if isinstance(receptor, Unset) else receptor


class _Noop(Receptor[object]):
    __slots__ = ()

    def receive(self, value: object, /) -> None:
        pass


Receptor.NOOP = _Noop()


def receive_of(receptor: Any, operation: str) -> Callable[[Any], object] | None:
    """Return the callable behind a receptor, None if it is none; for providers.

    Raises:
        ConfigurationError: a coroutine function, whose coroutines nobody would await.
    """
    receive: Any = getattr(receptor, "receive", None)
    if not callable(receive):
        if not callable(receptor):
            return None
        receive = receptor
    _refuse_coroutines(receive, receptor, operation)
    result: Callable[[Any], object] = receive
    return result


def checked_function(function: Any, operation: str, parameter: str) -> Any:
    """Return `function`; for providers and recipes.

    Raises:
        AbsentValueError: None.
        TypeError: not callable.
        ConfigurationError: a coroutine function.
    """
    if not callable(present(function, operation, parameter)):
        raise TypeError(f"{operation}({parameter}={function!r}): a callable is required")
    _refuse_coroutines(function, function, operation)
    return function


_SEEN_BY_CODE: Final = sys.version_info < (3, 12)
"""Whether a function's code alone tells a coroutine function; later `inspect.markcoroutinefunction` may."""
_COROUTINES: Final = 0x80 | 0x200
"""`inspect.CO_COROUTINE` and `inspect.CO_ASYNC_GENERATOR`; `inspect` itself is imported when needed."""


def _refuse_coroutines(called: Any, given: Any, operation: str) -> None:
    function = called.__func__ if type(called) is MethodType else called
    if (
        _SEEN_BY_CODE
        and type(function) is FunctionType
        and not function.__code__.co_flags & _COROUTINES
        and not hasattr(function, "__wrapped__")
    ):
        return  # as the lines below would find at ten times the cost

    import inspect

    # What is called in the end: of a partial its function, of an instance its __call__.
    while isinstance(called, functools.partial):
        called = called.func
    if not inspect.isroutine(called) and not isinstance(called, type):
        called = getattr(called, "__call__", called)  # noqa: B004
    called = inspect.unwrap(called)
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise ConfigurationError(
            f"{operation}({given!r}): a coroutine function does not do here, its coroutines would never run;"
            " schedule them from a plain function with loop.call_soon_threadsafe"
        )
