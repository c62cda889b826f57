"""Conduits: channels that find out at their next emission who receives it.

How a channel follows its subscriptions
---------------------------------------
1. `subscribe` queues a job; it notes the subscription in the conduit and gives the conduit a new version, a
   fresh object. That is all, however many channels there are. The end of a subscription does the same.
2. An emission compares the channel's version with the conduit's: one comparison if nothing has changed.
3. If it has, the channel is rebuilt: what subscriptions had registered stays, new ones are asked in the order
   of their subscription, those that are over are left out. What is to be called then becomes one callable:
   the receptor itself if there is one.

Versions, subscriptions and what channels hold are touched in the circuit's context alone. The table of
channels is not: `dict.setdefault` decides there, one atomic step on every build of CPython.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import substrates
from substrates import AffinityFault, ClosedFault, Routing
from substrates.absent import UNSET, Unset, present
from substrates.receptor import checked_function

from .circuits import discard
from .components import Resource
from .lookups import Pool, looked_up, recipe_pool
from .names import Name
from .origin import mismatch
from .pipes import Pipe
from .subjects import Subject
from .subscribers import Subscriber, Subscription

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["Channel", "Conduit"]

Path = Callable[[Any], object]

MANY_GONE = 64
"""From how many ended subscriptions on it pays to rid their conduit's table of their places."""


class Channel:
    """What stands behind a named pipe of a conduit.

    Attributes:
        conduit: whose channel it is.
        pipe: what emissions go through.
        subject: the pipe's.
    """

    __slots__ = ("_deliver", "_parts", "_version", "conduit", "pipe", "subject")

    def __init__(self, conduit: Conduit, name: Name) -> None:
        self.conduit = conduit
        self._version: object = None
        self._deliver: Path = discard
        self._parts: tuple[tuple[Subscription, tuple[Path, ...]], ...] = ()
        self.subject = Subject(substrates.Pipe, name, conduit.subject)
        self.pipe: Pipe = conduit._circuit._enclosed_pipe(self.subject, self.receive)

    def receive(self, value: Any) -> None:
        """Dispatch one emission to this channel."""
        if self._version is not self.conduit._version:
            self._rebuild()
        deliver = self._deliver
        deliver(value)

    def _rebuild(self) -> None:
        """Find out who receives from here on."""
        conduit = self.conduit
        known = dict(self._parts)
        parts = []
        paths: list[Path] = []
        for subscription in conduit._subscriptions:
            registered = known.get(subscription)
            if registered is None:
                registered = subscription._discover(self)
            parts.append((subscription, registered))
            paths += registered
        self._parts = tuple(parts)
        self._deliver = discard if not paths else paths[0] if len(paths) == 1 else _Paths(self, paths)
        self._version = conduit._version
        conduit._circuit._cortex.rebuilds.add()


class StemChannel(Channel):
    """A channel that has ancestors, of a conduit that dispatches to them too."""

    __slots__ = ("_levels",)

    def __init__(self, conduit: Conduit, name: Name) -> None:
        self._levels: tuple[Channel, ...] = ()
        super().__init__(conduit, name)

    def receive(self, value: Any) -> None:
        """Dispatch to this channel and its ancestors, the leaf first."""
        dispatch = Channel.receive
        for level in self._levels or self._climb():
            try:
                dispatch(level, value)
            except BaseException as error:  # noqa: BLE001 - the other levels get theirs (STEM-ALL-04)
                self.conduit._circuit._cortex.faults.report(level, error)

    def _climb(self) -> tuple[Channel, ...]:
        """Return the channels from here to the root; they are made once somebody is subscribed."""
        conduit = self.conduit
        if not conduit._subscriptions:
            return (self,)
        levels: list[Channel] = [self]
        name = self.subject.name.enclosure
        while name is not None:
            levels.append(conduit._channel(name))
            name = name.enclosure
        self._levels = tuple(levels)
        return self._levels


class _Paths:
    """Delivers along several paths, each isolated from the others."""

    __slots__ = ("_channel", "_paths")

    def __init__(self, channel: Channel, paths: list[Path]) -> None:
        self._channel = channel
        self._paths = paths

    def __call__(self, value: Any) -> None:
        for path in self._paths:
            try:
                path(value)
            except BaseException as error:  # noqa: BLE001 - the others get theirs (ISOL-RECEPTOR-01)
                self._channel.conduit._circuit._cortex.faults.report(self._channel, error)


class Conduit(Resource, substrates.Conduit[Any]):
    """See `substrates.Conduit`."""

    __slots__ = ("_channels", "_gone", "_over", "_stem", "_subscriptions", "_version")

    KIND = substrates.Conduit

    def __init__(self, circuit: Circuit, name: Name, routing: Routing) -> None:
        super().__init__(circuit, name)
        self._stem = routing is Routing.STEM
        self._channels: dict[Name, Channel] = {}
        self._subscriptions: dict[Subscription, None] = {}
        self._gone = 0
        self._version: object = None
        self._over = False

    # -- channels

    def get(self, name: Any, /) -> Pipe:
        own = looked_up(self._circuit._cortex, name, self.subject)
        channel = self._channels.get(own)
        return (self._channel(own) if channel is None else channel).pipe

    def _channel(self, name: Name) -> Channel:
        """Return the channel of `name`, made unless it is there."""
        channel = self._channels.get(name)
        if channel is None:
            kind = StemChannel if self._stem and name.enclosure is not None else Channel
            channel = self._channels.setdefault(name, kind(self, name))
        return channel

    def pool(self, recipe: Any, /) -> Pool:
        return recipe_pool(self._circuit._cortex, self, recipe, self.subject)

    # -- subscriptions

    def subscribe(self, subscriber: Any, on_close: Any = UNSET, /) -> Subscription:
        given = present(subscriber, "subscribe", "subscriber")
        if not isinstance(on_close, Unset):
            checked_function(on_close, "subscribe", "on_close")
        own = self._own_subscriber(given)
        self._require_open("subscribe")
        circuit = self._circuit
        if own is None:
            own = Subscriber(circuit, self._name_of(given), given)
        elif own._circuit is not circuit:
            raise AffinityFault(
                self.subject,
                "subscribe",
                f"Subscriber belongs to a different circuit: {own.subject} was given to {self!r};"
                " make a subscriber of the conduit's circuit, and register pipes of others",
            )
        elif own._closed:
            raise ClosedFault(
                self.subject,
                "subscribe",
                f"subscribe({own.subject}): the subscriber is closed; make a new one",
            )
        subscription = Subscription(self, own, None if isinstance(on_close, Unset) else on_close)
        circuit._job(subscription._install)
        return subscription

    def _own_subscriber(self, given: Any) -> Subscriber | None:
        """Return `given` if it is a subscriber, None if it is a callback.

        Raises:
            ProviderMismatchFault: a subscriber of another provider, or a look-alike.
            ConfigurationError: a coroutine function.
            TypeError: neither.
        """
        cortex = self._circuit._cortex
        owned = cortex.owns(given)
        if owned and isinstance(given, Subscriber):
            return given
        if isinstance(given, substrates.Subscriber) or (
            hasattr(given, "subject") and hasattr(given, "close") and not owned
        ):
            way_out = "create the subscriber from the same cortex"
            raise mismatch(self.subject, "subscribe", f"{given!r}", "a subscriber", cortex.provider, way_out)
        if not callable(given):
            raise TypeError(f"subscribe({given!r}): a subscriber or a callback is required")
        checked_function(given, "subscribe", "subscriber")
        return None

    def _name_of(self, callback: Any) -> Name:
        """Return the name of the subscriber for a callback: its own, or the conduit's if it has none."""
        text = getattr(callback, "__name__", None)
        if not isinstance(text, str) or not text or "." in text:
            return self._name
        return self._circuit._cortex.names.intern(text)

    # What follows runs in the circuit's context.

    def _add(self, subscription: Subscription) -> None:
        self._subscriptions[subscription] = None
        self._version = object()

    def _remove(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            del self._subscriptions[subscription]
            self._gone += 1
            if self._gone > len(self._subscriptions) + MANY_GONE:
                # A dict keeps the places of what was deleted, and every rebuild would walk over them.
                self._subscriptions = dict(self._subscriptions)
                self._gone = 0
            self._version = object()

    def _ended(self) -> None:
        self._over = True
        for subscription in list(self._subscriptions):
            subscription._ended()
