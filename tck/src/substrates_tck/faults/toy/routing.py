"""Conduits, subscribers and banks of the toy.

A channel finds out who receives its emissions when it emits, and again when subscriptions have come or gone
since (`Channel.rebuild`). Subscribing and closing are jobs, so that their effects take their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import substrates
from substrates import AffinityFault, ClosedFault, Routing, TemporalError
from substrates.absent import UNSET, present
from substrates.receptor import checked_function, receive_of

from .names import Name
from .pipes import Pipe, Resource
from .pools import Memo, PoolOfPipes, looked_up

if TYPE_CHECKING:
    from .engine import Circuit

__all__ = ["Bank", "Channel", "Conduit", "Path", "Registrar", "Subscriber", "Subscription"]

Path = Callable[[Any], object]


class Channel(Pipe):
    """A pipe of a conduit."""

    def __init__(self, conduit: Conduit, name: Name) -> None:
        subject = conduit.cortex.new_subject(substrates.Pipe, name, conduit.subject)
        super().__init__(conduit.circuit, subject, self.dispatch)
        self.conduit = conduit
        self.known: dict[Subscription, list[Path]] = {}
        self.paths: list[Path] = []
        self.version = -1

    def dispatch(self, value: Any) -> None:
        """Hand a value to all who receive it, here and, as the routing says, at enclosing names."""
        for channel in self.levels():
            channel.hand(value)

    def levels(self) -> list[Channel]:
        """Return the channels that an emission reaches, in order."""
        levels = [self]
        if self.conduit.routing is Routing.STEM:
            names = list(self.subject.name)[1:]
            levels += [self.conduit.get(name) for name in names]
        return levels

    def hand(self, value: Any) -> None:
        """Hand a value to who receives it at this level."""
        if self.stale():
            self.rebuild()
        for path in self.paths:
            self.circuit.isolate(self.subject, lambda path=path: path(value))  # type: ignore[misc]

    def stale(self) -> bool:
        """Tell whether subscriptions have come or gone."""
        return self.version != self.conduit.version

    def rebuild(self) -> None:
        """Find out who receives; call those who have not been asked."""
        self.cortex.count("rebuilds")
        self.version = self.conduit.version
        subscriptions = list(self.conduit.subscriptions)
        self.known = {each: paths for each, paths in self.known.items() if each in subscriptions}
        for subscription in subscriptions:
            if subscription not in self.known:
                self.known[subscription] = self.discover(subscription)
        self.paths = [path for subscription in subscriptions for path in self.known[subscription]]

    def discover(self, subscription: Subscription) -> list[Path]:
        """Ask a subscriber for this channel, and return what it registers."""
        subscriber = subscription.subscriber
        registrar: Registrar = self.cortex.kinds["registrar"](self, subscriber)
        try:
            self.circuit.isolate(subscriber.subject, lambda: subscriber.callback(self.subject, registrar))
        finally:
            registrar.end()
        return registrar.paths


class Registrar(substrates.Registrar[Any]):
    """What one callback registers."""

    def __init__(self, channel: Channel, subscriber: Subscriber) -> None:
        self.channel = channel
        self.subscriber = subscriber
        self.open = True
        self.paths: list[Path] = []

    def register(self, receiver: Any, /) -> None:
        present(receiver, "register", "receiver")
        if not self.open:
            raise TemporalError(
                "register: the callback that got this registrar has ended; register while it runs",
                self.subscriber.subject,
            )
        own = self.channel.cortex.pipe_or_none(receiver, "register", self.subscriber.subject)
        path = receive_of(receiver, "register") if own is None else own.emit
        if path is None:
            raise TypeError(f"register({receiver!r}): a pipe or a receptor is required")
        self.add(path)

    def add(self, path: Path) -> None:
        """Keep a path."""
        self.paths.append(path)

    def end(self) -> None:
        """The callback has ended."""
        self.open = False


class Conduit(Resource, PoolOfPipes, substrates.Conduit[Any]):
    """Channels by name."""

    KIND: ClassVar[type] = substrates.Conduit

    def __init__(self, circuit: Circuit, name: Name, routing: Routing) -> None:
        super().__init__(circuit, name)
        self.routing = routing
        self.finished = False
        self.subscriptions: list[Subscription] = []
        self.version = 0
        self.memo: Memo = self.cortex.kinds["memo"](lambda name: self.cortex.kinds["channel"](self, name))

    def subscribe(self, subscriber: Any, on_close: Any = UNSET, /) -> Any:
        present(subscriber, "subscribe", "subscriber")
        if present(on_close, "subscribe", "on_close") is not UNSET:
            checked_function(on_close, "subscribe", "on_close")
        own = self._subscriber(subscriber)
        self.require_open("subscribe")
        self.require_affinity(own)
        if own.closed:
            raise ClosedFault(
                self._subject, "subscribe", f"subscribe({own.subject}): the subscriber is closed"
            )
        return self.subscribed(own, on_close)

    def _subscriber(self, given: Any) -> Subscriber:
        if not isinstance(given, substrates.Subscriber) and not hasattr(given, "subject") and callable(given):
            checked_function(given, "subscribe", "subscriber")
            name = getattr(given, "__name__", type(given).__name__)
            kind: type[Subscriber] = self.cortex.kinds["subscriber"]
            return kind(self.circuit, self.cortex.name(name.strip(".") or "subscriber"), given)
        own: Subscriber = self.cortex.checked(
            given,
            substrates.Subscriber,
            "subscribe",
            "subscriber",
            self._subject,
            looks=("subject", "close"),
        )
        return own

    def require_affinity(self, subscriber: Subscriber) -> None:
        """Refuse a subscriber of another circuit."""
        if subscriber.circuit is not self.circuit:
            raise AffinityFault(
                self._subject,
                "subscribe",
                f"Subscriber belongs to a different circuit: {subscriber.subject};"
                f" make one of circuit '{self.circuit.name}'",
            )

    def subscribed(self, subscriber: Subscriber, on_close: Any) -> Subscription:
        """Make a subscription and have it begin at its turn."""
        subscription: Subscription = self.cortex.kinds["subscription"](self, subscriber, on_close)
        self.circuit.job(subscription.begin, subscription.subject)
        return subscription

    def add(self, subscription: Subscription) -> None:
        """Begin, in the circuit's context."""
        self.subscriptions.append(subscription)
        self.version += 1

    def remove(self, subscription: Subscription) -> None:
        """End, in the circuit's context."""
        self.subscriptions.remove(subscription)
        self.version += 1

    def finish(self) -> None:
        """End all subscriptions."""
        self.finished = True
        for subscription in list(self.subscriptions):
            subscription.terminate()


class Subscriber(Resource, substrates.Subscriber[Any]):
    """A callback for channels."""

    KIND: ClassVar[type] = substrates.Subscriber

    def __init__(self, circuit: Circuit, name: Name, callback: Callable[[Any, Any], object]) -> None:
        super().__init__(circuit, name)
        self.callback = callback
        self.finished = False
        self.subscriptions: list[Subscription] = []

    def finish(self) -> None:
        """End all subscriptions."""
        self.finished = True
        for subscription in list(self.subscriptions):
            subscription.terminate()


class Subscription(Resource, substrates.Subscription):
    """A subscriber on a conduit."""

    KIND: ClassVar[type] = substrates.Subscription

    def __init__(self, conduit: Conduit, subscriber: Subscriber, on_close: Any) -> None:
        super().__init__(conduit.circuit, subscriber.subject.name, conduit.subject)
        self.conduit = conduit
        self.subscriber = subscriber
        self.on_close = on_close
        self.active = False
        self.ended = False

    def begin(self) -> None:
        """Begin, in the circuit's context, unless a close has overtaken this."""
        if self.ended:
            return
        self.active = True
        self.conduit.add(self)
        self.subscriber.subscriptions.append(self)
        if self.conduit.finished or self.subscriber.finished:  # a close came in between
            self.terminate()

    def finish(self) -> None:
        """End, at its own close."""
        self.terminate()

    def terminate(self) -> None:
        """End, whoever asks for it; once."""
        if self.ended:
            return
        self.ended = True
        if self.active:
            self.active = False
            self.conduit.remove(self)
            self.subscriber.subscriptions.remove(self)
        self.tell()

    def tell(self) -> None:
        """Call back that this is the end."""
        if self.on_close is not UNSET:
            self.circuit.isolate(self.subject, lambda: self.on_close(self))


class Bank(Resource, substrates.Bank[Any]):
    """Conduits by name."""

    KIND: ClassVar[type] = substrates.Bank

    def __init__(self, circuit: Circuit, name: Name, routing: Routing) -> None:
        super().__init__(circuit, name)
        self.routing = routing
        self.conduits: list[Conduit] = []
        self.memo: Memo = self.cortex.kinds["memo"](self.made)

    def get(self, name: Any, /) -> Any:
        own = looked_up(self.cortex, name, self.subject)
        self.require_open("get")
        if own not in self.memo.entries:
            self.circuit.require_open("get")
        return self.memo.get(own)

    def made(self, name: Name) -> Any:
        """Make the conduit of a name."""
        conduit: Conduit = self.cortex.kinds["conduit"](self.circuit, name, self.routing)
        with self.cortex.lock:
            self.conduits.append(conduit)
            late = self.closed
        if late:
            conduit.close()
        return conduit

    def finish(self) -> None:
        """Close the conduits, whose ends take their turns now."""
        for conduit in list(self.conduits):
            conduit.finish()

    def closing(self) -> None:
        """From now on the conduits take no subscriptions."""
        for conduit in list(self.conduits):
            conduit.closed = True
