"""Banks: conduits by name."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

from .lookup import Lookup
from .name import Name
from .resource import Resource
from .source import Conduit
from .subject import Subject, Substrate

__all__ = ["Bank"]

E = TypeVar("E")


class Bank(Resource, Lookup[Conduit[E]], Generic[E]):
    """Makes a conduit per name, once, and closes them together.

    Contract: BANK-CREATE-01 to BANK-CIRC-09.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Bank[Any]]: ...

    @abstractmethod
    def get(self, name: Name | str | Subject[Any] | Substrate, /) -> Conduit[E]:
        """Return the conduit of `name`, with that name and the bank's routing.

        Raises:
            ClosedFault: the bank is closed; or the circuit is, and there is no such conduit yet.
        """
