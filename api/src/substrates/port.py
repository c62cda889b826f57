"""Ports: a value that is changed and sent on in the circuit's order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from .pipe import Pipe
from .subject import Subject, Substrate

__all__ = ["Port"]

E = TypeVar("E")
A = TypeVar("A")


class Port(Substrate, Generic[E]):
    """Holds a value that nobody reads directly: operations on it are queued and run in the circuit.

    All may be called from any context, also the circuit's own, and take effect when their turn comes. After
    the circuit's close they do nothing.

    Contract: PORT-CREATE-01 to PORT-CLOSED-12.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Port[Any]]: ...

    @abstractmethod
    def replace(self, value: E, /) -> None:
        """Replace the value.

        Raises:
            AbsentValueError: None.
        """

    @overload
    def update(self, function: Callable[[E], E | None], /) -> None: ...
    @overload
    def update(self, argument: A, function: Callable[[E, A], E | None], /) -> None: ...

    @abstractmethod
    def update(self, *arguments: Any) -> None:
        """Replace the value by ``function(value)``, or by ``function(value, argument)``.

        If it returns None or raises, the value stays; that is reported, and never seen here.

        Raises:
            AbsentValueError: an argument is None.
            TypeError: not callable.
        """

    @abstractmethod
    def emit(self, target: Pipe[E], /) -> None:
        """Emit the value, as it is then, to `target`, a pipe of any circuit of this provider.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a pipe of another provider.
            TypeError: no pipe.
        """
