"""Pipes: how values get into a circuit."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .subject import Subject, Substrate

if TYPE_CHECKING:
    from .kernel import Lane

__all__ = ["Pipe"]

E_contra = TypeVar("E_contra", contravariant=True)


class Pipe(Substrate, Generic[E_contra]):
    """Admits values into one circuit and stands for what receives them there.

    Made by a circuit; never closed. It outlives its circuit: emitting then does nothing.

    Contract: PIPE-ID-01 to PIPE-VAR-02.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Pipe[Any]]: ...

    @property
    @abstractmethod
    def lane(self) -> Lane:
        """What kind of values the pipe takes: any object, int64 or float64."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """The state of the kernel behind this pipe, of the kernel's `state_type`; readable after a wait.

        Raises:
            TypeError: the pipe has no kernel.
        """

    @abstractmethod
    def emit(self, value: E_contra, /) -> None:
        """Hand one value over and return as soon as it has its place in the circuit's order.

        From outside the circuit's context the value joins the ingress; inside it joins the transit, which
        completes before the next ingress value. What the receptor raises is never seen here. After the
        circuit's close the value is dropped. Any thread may call it.

        Args:
            value: handed over by reference on the object lane; an integer of 64 bits on the int64 lane; a
                float, or an integer, on the float64 lane.

        Raises:
            AbsentValueError: `value` is None; nothing was admitted.
            TypeError: `value` does not fit the lane.
            OverflowError: an integer that needs more than 64 bits.

        Contract: PIPE-EMIT-01 to -04, CIRCUIT-ADMIT-01, -02, CIRCUIT-TRANSIT-01 to -03.
        """
