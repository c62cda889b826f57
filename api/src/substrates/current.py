"""Currents: tokens of execution contexts."""

from __future__ import annotations

from abc import abstractmethod

from .subject import Subject, Substrate

__all__ = ["Current"]


class Current(Substrate):
    """The identity of an execution context: a thread, or the context of a circuit.

    One object per context, compared by identity; may be kept and read from anywhere, also after the
    context has ended. Tasks of one event loop share the loop thread's current.

    Contract: CURRENT-01 to CURRENT-07.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Current]: ...
