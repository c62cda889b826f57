"""Faults of subscriptions: when they begin and end, who is told, and what is refused."""

from __future__ import annotations

import time
from typing import Any, Final

from substrates import ClosedFault
from substrates.absent import UNSET

from ..toy.routing import Conduit, Subscriber, Subscription
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()

# -- the visibility window


@faults.kind(
    "conduit",
    fault="shows a subscription what was emitted before it",
    file="test_subscriptions.py",
    test="test_the_window_is_the_same_when_all_is_accepted_before_anything_is_done",
    says=r"\[0, 1, 2\] == \[1, 2\]",
)
class _BeginsAtOnce(Conduit):
    def subscribed(self, subscriber: Subscriber, on_close: Any) -> Subscription:
        subscription: Subscription = self.cortex.kinds["subscription"](self, subscriber, on_close)
        subscription.begin()
        return subscription


@faults.kind(
    "subscription",
    fault="keeps from a subscription what was emitted before its close",
    file="test_subscriptions.py",
    test="test_the_window_is_the_same_when_all_is_accepted_before_anything_is_done",
    says=r"\[\] == \[1, 2\]",
)
class _EndsAtOnce(Subscription):
    def closing(self) -> None:
        self.terminate()


@faults.kind(
    "subscription",
    fault="goes on serving a closed subscription",
    file="test_subscriptions.py",
    test="test_a_closed_subscription_receives_no_more_and_is_called_for_no_new_channel",
    says=r"'undiscovered', 'new'\] == \['a'\]",
)
class _NeverEnds(Subscription):
    def terminate(self) -> None:
        if not self.ended:
            self.ended = True
            self.tell()


@faults.kind(
    "subscription",
    fault="ends the other subscriptions of the same subscriber too",
    file="test_sources.py",
    test="test_the_subscriptions_of_one_subscriber_end_one_by_one",
    says=r"\[1, 1\] == \[1, 1, 2\]",
)
class _TakesSiblingsAlong(Subscription):
    def finish(self) -> None:
        for sibling in list(self.subscriber.subscriptions):
            sibling.terminate()


@faults.kind(
    "subscriber",
    fault="ends one subscription of a closed subscriber alone",
    file="test_subscribers.py",
    test="test_closing_a_subscriber_ends_its_subscriptions_on_all_sources",
    says=r"150 == 100",
)
class _EndsTheFirstAlone(Subscriber):
    def finish(self) -> None:
        for subscription in self.subscriptions[:1]:
            subscription.terminate()


@faults.kind(
    "conduit",
    fault="ends subscriptions of other conduits with a conduit",
    file="test_sources.py",
    test="test_closing_a_source_ends_exactly_its_own_subscriptions",
    says=r"Right contains one more item: \('b', 4\)",
)
class _EndsSubscriptionsElsewhere(Conduit):
    def finish(self) -> None:
        for subscription in list(self.subscriptions):
            for sibling in list(subscription.subscriber.subscriptions):
                sibling.terminate()


@faults.kind(
    "conduit",
    fault="goes on delivering after a conduit's close",
    file="test_conduits.py",
    test="test_a_closed_conduit_delivers_nothing_that_comes_later",
    says=r"Left contains 3 more items, first extra item: \('a', 3\)",
)
class _GoesOnAfterClose(Conduit):
    def finish(self) -> None:
        """Let the subscriptions be."""


# -- the callback at the end, once


@faults.kind(
    "subscription",
    fault="tells the end of a subscription twice",
    file="test_close_callbacks.py",
    test="test_the_end_is_told_once_whatever_else_is_closed_later",
    says=r"Left contains one more item: <Subscription",
)
class _TellsAgain(Subscription):
    def terminate(self) -> None:
        if self.ended:
            self.tell()
        super().terminate()


@faults.kind(
    "subscription",
    fault="tells the end of a subscription on the caller",
    file="test_close_callbacks.py",
    test="test_the_end_is_told_in_the_circuits_context",
    says=r"Current object at .* != ",
)
class _TellsOnCaller(Subscription):
    def closing(self) -> None:
        self.tell()

    def finish(self) -> None:
        self.on_close = UNSET
        super().finish()


@faults.kind(
    "subscription",
    fault="does not tell the end of a subscription that was closed itself",
    file="test_close_callbacks.py",
    test="test_the_end_of_a_subscription_is_told_once_with_it",
    says=r"0 == 1",
)
class _NeverTells(Subscription):
    def finish(self) -> None:
        self.on_close = UNSET
        super().finish()


@faults.kind(
    "subscription",
    fault="tells the end of a subscription with its subscriber",
    file="test_close_callbacks.py",
    test="test_the_end_of_a_subscription_is_told_once_with_it",
    says=r"<Subscriber .* is <Subscription",
)
class _TellsTheSubscriber(Subscription):
    def tell(self) -> None:
        on_close = self.on_close
        if on_close is not UNSET:
            self.circuit.isolate(self.subject, lambda: on_close(self.subscriber))


@faults.kind(
    "conduit",
    fault="tells the end of a subscription that was refused",
    file="test_close_callbacks.py",
    test="test_a_subscription_that_is_refused_because_of_a_close_has_no_end",
    says=r"Left contains one more item: <Subscriber",
)
class _TellsOfARefusal(Conduit):
    def subscribe(self, subscriber: Any, on_close: Any = UNSET, /) -> Any:
        try:
            return super().subscribe(subscriber, on_close)
        except ClosedFault:
            if on_close is not UNSET:
                on_close(subscriber)
            raise


@faults.kind(
    "subscription",
    fault="tells the end of a subscription after the circuit's, on the caller",
    file="test_close_callbacks.py",
    test="test_when_the_circuit_ended_first_the_end_is_never_told",
    says=r"Left contains one more item: <Subscription",
)
class _TellsAfterTheEnd(Subscription):
    def closing(self) -> None:
        if self.circuit.ended.is_set():
            self.terminate()


# -- refusals


@faults.kind(
    "conduit",
    fault="takes a subscriber of another circuit",
    file="test_sources.py",
    test="test_a_subscriber_of_another_circuit_is_refused_and_nothing_happens_on_either",
    says=r"AffinityFault was to be raised",
)
class _TakesSubscribersOfOthers(Conduit):
    def require_affinity(self, subscriber: Subscriber) -> None:
        """Take them all."""


@faults.kind(
    "conduit",
    fault="refuses a subscriber of another circuit, but has subscribed it",
    file="test_sources.py",
    test="test_a_subscriber_of_another_circuit_is_refused_and_nothing_happens_on_either",
    says=r"== \[\]",
)
class _SubscribesThenRefuses(Conduit):
    def require_affinity(self, subscriber: Subscriber) -> None:
        if subscriber.circuit is not self.circuit:
            self.subscribed(subscriber, UNSET)
        super().require_affinity(subscriber)


@faults.kind(
    "conduit",
    fault="takes subscriptions to a closed conduit",
    file="test_sources.py",
    test="test_subscribing_to_a_closed_source_is_refused_at_once_and_does_nothing",
    says=r"ClosedFault was to be raised",
)
class _TakesSubscriptionsAfterClose(Conduit):
    def require_open(self, operation: str) -> None:
        """Take them."""


@faults.kind(
    "conduit",
    fault="takes a closed subscriber",
    file="test_sources.py",
    test="test_subscribing_a_closed_subscriber_is_refused_by_the_source_and_names_it",
    says=r"ClosedFault was to be raised",
)
class _TakesClosedSubscribers(Conduit):
    def subscribe(self, subscriber: Any, on_close: Any = UNSET, /) -> Any:
        closed, subscriber.closed = getattr(subscriber, "closed", False), False
        subscription = super().subscribe(subscriber, on_close)
        subscriber.closed = closed
        return subscription


# -- waiting for the end


@faults.kind(
    "conduit",
    fault="does not wait for the end of a conduit though it was asked to",
    file="test_close_callbacks.py",
    test="test_the_end_has_been_told_when_a_close_that_waits_returns",
    says=r"\[\] ==",
)
class _ClosesWithoutWaiting(Conduit):
    def close(self, *, wait: bool = False) -> None:
        if wait:
            self.circuit.require_outside("close")
        super().close()

    def finish(self) -> None:
        time.sleep(0.1)  # so that whoever did not wait is early
        super().finish()


MUTANTS: Final = tuple(faults.mutants)
