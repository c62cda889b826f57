"""Resources: components that are closed."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self

from .subject import Substrate

__all__ = ["Resource"]


class Resource(Substrate):
    """A component with a lifetime.

    As a context manager it waits for accepted work and then closes; when the block raises, the wait is
    skipped (an extension of the contract, where only a scope is a context manager).

    Contract: RES-01 to RES-10.
    """

    __slots__ = ()

    @abstractmethod
    def close(self, *, wait: bool = False) -> None:
        """Ask for the end; from here on synchronous operations that need it open raise `ClosedFault`.

        Idempotent, from any thread or context. The clean-up is queued in order with emissions, so what
        was accepted before is still done.

        Args:
            wait: return only when the clean-up has run.

        Raises:
            ContextError: `wait` is true in the owning circuit's own context; nothing was closed.

        Contract: RES-02, -03; with `wait` RES-04, -05, -06.
        """

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
