"""Subscribers, their registrars and subscriptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .pipe import Pipe
from .receptor import Receptor
from .resource import Resource
from .subject import Subject

__all__ = ["Registrar", "Subscriber", "Subscription"]

E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)


class Registrar(ABC, Generic[E]):
    """What a subscriber's callback gets, to say what shall receive a channel's emissions.

    Usable until that callback ends, and by it alone; each callback gets its own.

    Contract: REGISTRAR-REG-01 to REGISTRAR-TEMP-07.
    """

    __slots__ = ()

    @abstractmethod
    def register(self, receiver: Pipe[E] | Receptor[E] | Callable[[E], object], /) -> None:
        """Have `receiver` get every emission of the channel that the subscription sees.

        In the order of registration, and as often as it was registered. A receptor is called as part of
        the dispatch; a pipe, of this or another circuit, is emitted to.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a pipe of another provider.
            ConfigurationError: a coroutine function.
            TypeError: neither pipe nor receptor.
            TemporalError: the callback has ended.
        """


class Subscriber(Resource, Generic[E_contra]):
    """Decides, channel by channel, what receives a source's emissions; made by `Circuit.subscriber`.

    Its callback runs once for each subscription and channel, in the circuit's context, when the channel
    first emits inside the subscription's window; what it registers gets that emission too. If it raises,
    what it had registered stays, and it is not called again for that channel. Closing the subscriber ends
    all its subscriptions.

    Contract: SUBSCRIBER-CREATE-01 to SUBSCRIBER-CLOSE-14.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Subscriber[Any]]: ...


class Subscription(Resource):
    """One subscriber on one source: sees the emissions accepted between its subscribe and its close.

    Contract: SUBSCRIPTION-WIN-01 to SUBSCRIPTION-RESUB-08, ONCLOSE-PATH-01 to ONCLOSE-SCOPE-08.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Subscription]:
        """Enclosed by the source's subject."""
