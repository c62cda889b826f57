"""Receptors: what receives the values of a pipe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from .absent import UNSET, Unset, present

__all__ = ["Receptor"]

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
