"""Scopes: resources that end together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from .absent import UNSET, Unset
from .extent import Extent
from .name import Name
from .resource import Resource
from .subject import Subject, Substrate

__all__ = ["Closure", "Scope"]

R = TypeVar("R", bound=Resource)
R_co = TypeVar("R_co", bound=Resource, covariant=True)


class Closure(ABC, Generic[R_co]):
    """One use of a resource: a block gets it, then it is closed.

    Contract: CLOSURE-01 to CLOSURE-07.
    """

    __slots__ = ()

    @abstractmethod
    def consume(self, block: Callable[[R_co], object], /) -> None:
        """Call `block` with the resource, here and now, and close the resource however it ends.

        Does nothing if the scope has been closed.

        Raises:
            AbsentValueError: `block` is None; the closure stays usable.
            TemporalError: consumed before.
        """


class Scope(Substrate, Extent):
    """Closes what was registered with it, in reverse order; a context manager; used from one thread.

    Order inside `close`: own resources in reverse, then child scopes in reverse.

    Contract: SCOPE-ID-01 to SCOPE-CLOSE-09.
    """

    __slots__ = ()

    SEPARATOR: ClassVar[str] = "/"

    @property
    @abstractmethod
    def subject(self) -> Subject[Scope]: ...

    @abstractmethod
    def register(self, resource: R, /) -> R:
        """Take `resource` into this scope and return it; again is no change.

        Raises:
            AbsentValueError: `resource` is None.
            ProviderMismatchFault: `resource` was not made by this provider.
            ClosedFault: the scope is closed; `resource` is untouched.
        """

    @abstractmethod
    def closure(self, resource: R, /) -> Closure[R]:
        """Return the closure of `resource`: the same one until it is consumed, then a new one.

        Raises:
            As `register`.
        """

    @abstractmethod
    def scope(self, name: Name | str | Unset = UNSET, /) -> Scope:
        """Make a child scope, closed with this one at the latest.

        Raises:
            AbsentValueError: `name` is None.
            ProviderMismatchFault: a name of another provider.
            ClosedFault: this scope is closed.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all that is registered and all child scopes. Idempotent; never raises."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
