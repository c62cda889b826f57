"""Subscribers, their registrars and their subscriptions.

All that changes here after creation, but the closed marks, is touched in the circuit's context alone.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import substrates
from substrates import TemporalError
from substrates.absent import present
from substrates.receptor import receive_of

from .components import Resource
from .names import Name
from .subjects import Subject

if TYPE_CHECKING:
    from .circuits import Circuit
    from .conduits import Channel, Conduit

__all__ = ["Registrar", "Subscriber", "Subscription"]


class Registrar(substrates.Registrar[Any]):
    """See `substrates.Registrar`; one per subscription and channel, alive while the callback runs.

    It is bound to the callback's thread too: another one could only add what the channel does not see.
    """

    __slots__ = ("_channel", "_paths", "_thread")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._paths: list[Callable[[Any], object]] | None = []
        self._thread = get_ident()

    def register(self, receiver: Any, /) -> None:
        paths = self._paths
        subject = self._channel.subject
        if paths is None or self._thread != get_ident():
            raise TemporalError(
                f"register({receiver!r}): this registrar is usable only by the callback that it was given to,"
                f" for {subject}, until that ends; register there",
                subject,
            )
        present(receiver, "register", "receiver")
        pipe = self._channel.conduit._circuit._cortex.own_pipe(receiver, "register", subject)
        path = receive_of(receiver, "register") if pipe is None else pipe.emit
        if path is None:
            raise TypeError(f"register({receiver!r}): a pipe or a receptor is required")
        paths.append(path)

    def _end(self) -> tuple[Callable[[Any], object], ...]:
        """Refuse from here on; return what was registered, as what to call."""
        paths, self._paths = self._paths, None
        return tuple(paths or ())

    def __repr__(self) -> str:
        return f"<Registrar of {self._channel.subject}>"


class Subscriber(Resource, substrates.Subscriber[Any]):
    """See `substrates.Subscriber`."""

    __slots__ = ("_callback", "_over", "_subscriptions")

    KIND = substrates.Subscriber

    def __init__(
        self, circuit: Circuit, name: Name, callback: Callable[[Subject, Registrar], object]
    ) -> None:
        super().__init__(circuit, name)
        self._callback = callback
        self._over = False
        self._subscriptions: dict[Subscription, None] = {}

    def _ended(self) -> None:
        self._over = True
        for subscription in list(self._subscriptions):
            subscription._ended()


class Subscription(Resource, substrates.Subscription):
    """See `substrates.Subscription`.

    It begins with a job that installs it in its conduit and its subscriber, and is over after the first
    `_ended`, whoever asked for that. The end may come first: a receptor that closes the subscription, while
    the job that installs it waits for its turn, is heard before it.
    """

    __slots__ = ("_conduit", "_on_close", "_over", "_subscriber")

    KIND = substrates.Subscription

    def __init__(
        self, conduit: Conduit, subscriber: Subscriber, on_close: Callable[[Subscription], object] | None
    ) -> None:
        super().__init__(conduit._circuit, subscriber._name)
        self._conduit = conduit
        self._subscriber = subscriber
        self._on_close = on_close
        self._over = False

    def _enclosing(self) -> Subject:
        return self._conduit.subject

    def _install(self) -> None:
        """Begin, in the circuit's context."""
        if self._over:
            return
        if self._conduit._over or self._subscriber._over:  # closed after `subscribe` had looked
            self._ended()
            return
        self._subscriber._subscriptions[self] = None
        self._conduit._add(self)

    def _discover(self, channel: Channel) -> tuple[Callable[[Any], object], ...]:
        """Have the subscriber say what receives the channel's emissions; return that, as what to call."""
        registrar = Registrar(channel)
        try:
            self._subscriber._callback(channel.subject, registrar)
        except BaseException as error:  # noqa: BLE001 - the trust boundary (SUBSCRIBER-FAIL-09)
            self._circuit._cortex.faults.report(self._subscriber, error)
        return registrar._end()

    def _ended(self) -> None:
        if self._over:
            return
        self._over = self._closed = True
        self._conduit._remove(self)
        self._subscriber._subscriptions.pop(self, None)
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            try:
                on_close(self)
            except BaseException as error:  # noqa: BLE001 - the trust boundary (ISOL-ONCLOSE-04)
                self._circuit._cortex.faults.report(self, error)
