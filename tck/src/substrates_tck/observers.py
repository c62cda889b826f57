"""Subscribers that note what they see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from substrates import Circuit, Pipe, Registrar, Source, Subject, Subscriber, Subscription

__all__ = ["Callback", "Observer", "registering"]

Callback = Callable[[Subject[Pipe[Any]], Registrar[Any]], None]
"""What a subscriber calls."""


class Observer:
    """A subscriber that notes its channels, what they emit, and which of its subscriptions have ended.

    Attributes:
        subscriber: the subscriber, of the circuit that was given.
        channels: the subjects that its callback was called with, in order.
        received: the name of the channel and the value, of each emission, in order.
        ended: the subscriptions that `watch` made and whose end was told.
    """

    def __init__(self, circuit: Circuit, *wanted: str, name: str = "tck.observer") -> None:
        """Make it; it receives from all channels, or from those with a name in `wanted`."""
        self._wanted = wanted
        self.channels: list[Subject[Pipe[Any]]] = []
        self.received: list[tuple[str, Any]] = []
        self.ended: list[Subscription] = []
        self.subscriber: Subscriber[Any] = circuit.subscriber(name, self._called)

    def watch(self, source: Source[Any]) -> Subscription:
        """Subscribe it to `source`."""
        return source.subscribe(self.subscriber, self.ended.append)

    @property
    def names(self) -> list[str]:
        """The names of the channels that its callback was called with, in order."""
        return [str(subject.name) for subject in self.channels]

    @property
    def values(self) -> list[Any]:
        """What it received, whatever the channel."""
        return [value for _, value in self.received]

    def of(self, channel: str) -> list[Any]:
        """Return what it received from one channel."""
        return [value for name, value in self.received if name == channel]

    def _called(self, subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:
        self.channels.append(subject)
        name = str(subject.name)
        if not self._wanted or name in self._wanted:
            registrar.register(lambda value: self.received.append((name, value)))


def registering(*receivers: Any) -> Callback:
    """Return a callback that registers `receivers`, in order, for every channel."""

    def callback(subject: Subject[Pipe[Any]], registrar: Registrar[Any]) -> None:  # noqa: ARG001
        for receiver in receivers:
            registrar.register(receiver)

    return callback
