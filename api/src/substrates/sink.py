"""Sinks and captures: emissions with where they came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from .current import Current
from .fiber import Fiber
from .flow import Flow
from .lookup import Pool
from .pipe import Pipe
from .state import State
from .subject import Subject, Substrate

__all__ = ["Capture", "Sink"]

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")


class Capture(ABC, Generic[E_co]):
    """An immutable record of one emission to a sink; may be kept, compared by field, and sent anywhere.

    Contract: CAPTURE-REC-01 to CAPTURE-STATE-08.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def emission(self) -> E_co:
        """The value."""

    @property
    @abstractmethod
    def subject(self) -> Subject[Pipe[Any]]:
        """The subject of the sink's channel."""

    @property
    @abstractmethod
    def current(self) -> Subject[Current]:
        """The subject of the context that emitted: a thread's, or a circuit's for what a circuit emits."""

    @property
    @abstractmethod
    def state(self) -> State:
        """What the provider measured; every slot is optional, and there may be none."""


class Sink(Substrate, Pool[Pipe[E]]):
    """A pool of named pipes; each value becomes one capture at the endpoint, in one order over all channels.

    It is no resource and owns nothing, also not the endpoint.

    Contract: SINK-CREATE-01 to SINK-CLOSED-07.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Sink[Any]]: ...

    @overload
    def pool(self, recipe: Flow[T, E], /) -> Pool[Pipe[T]]: ...
    @overload
    def pool(self, recipe: Fiber[E], /) -> Pool[Pipe[E]]: ...
    @overload
    def pool(self, function: Callable[[Pipe[E]], U], /) -> Pool[U]: ...

    @abstractmethod
    def pool(self, recipe: Any, /) -> Pool[Any]:
        """Return a pool of pipes that run `recipe` before the capture is made; see `Conduit.pool`."""
