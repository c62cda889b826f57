"""Lookups and pools: what is made once per name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .name import Name
from .subject import Subject, Substrate

__all__ = ["Lookup", "Pool"]

T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


class Lookup(ABC, Generic[T_co]):
    """Gives one thing per name: the same object for the same name, always, whoever asks at the same time.

    Contract: LOOKUP-GET-01, -02.
    """

    __slots__ = ()

    @abstractmethod
    def get(self, name: Name | str | Subject[Any] | Substrate, /) -> T_co:
        """Return what belongs to `name`, made at the first request.

        Args:
            name: a name; or a subject or a component, for the name of its subject.

        Raises:
            AbsentValueError: `name` is None, or what was made for it is None.
            ProviderMismatchFault: of another provider.
            ConfigurationError: a malformed name.
            TypeError: nothing that has a name.
            ClosedFault: of a `Bank`, after its close.
        """


class Pool(Lookup[T_co]):
    """A lookup whose things a function makes, or that are the pipes of a conduit or a sink.

    A pool owns nothing and is never closed. The function runs once per name, in the context of the first
    `get`; what it raised is raised again by every `get` of that name.

    Contract: POOL-ROOT-01 to POOL-SUBFAIL-11.
    """

    __slots__ = ()

    @abstractmethod
    def pool(self, function: Callable[[T_co], U], /) -> Pool[U]:
        """Return a pool of `function(self.get(name))`, computed once per name; its cache is its own.

        Raises:
            AbsentValueError: `function` is None.
            TypeError: not callable.
        """
