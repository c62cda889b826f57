"""Sources and conduits: named channels that can be subscribed to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from .absent import UNSET, Unset
from .fiber import Fiber
from .flow import Flow
from .lookup import Pool
from .name import Name
from .pipe import Pipe
from .resource import Resource
from .subject import Subject, Substrate
from .subscriber import Registrar, Subscriber, Subscription

__all__ = ["Conduit", "Source"]

E = TypeVar("E")
T = TypeVar("T")
U = TypeVar("U")


class Source(Resource, Generic[E]):
    """Something that can be subscribed to.

    Contract: SOURCE-TYPE-01 to SOURCE-SUBJ-11.
    """

    __slots__ = ()

    @abstractmethod
    def subscribe(
        self,
        subscriber: Subscriber[E] | Callable[[Subject[Pipe[E]], Registrar[E]], object],
        on_close: Callable[[Subscription], object] | Unset = UNSET,
        /,
    ) -> Subscription:
        """Have `subscriber` see what is emitted from this place in the order on; takes constant time.

        Args:
            subscriber: of the same circuit; the same one may be given again, for another subscription. Or
                a callback, so that this can decorate one: a subscriber named for it is made.
            on_close: called once with the subscription, in the circuit's context, when its end is
                processed; never if the circuit ends first.

        Raises:
            AbsentValueError: an argument is None.
            ProviderMismatchFault: a subscriber of another provider.
            AffinityFault: a subscriber of another circuit.
            ClosedFault: this source or the subscriber is closed.
            TypeError: neither subscriber nor callable.
        """


class Conduit(Source[E], Pool[Pipe[E]]):
    """A pool of named pipes, its channels, whose emissions subscribers see.

    An emission to a channel reaches what subscribers registered for that channel, and under
    `Routing.STEM` for the channels of its enclosing names. Nothing is done for a channel before it emits.
    After its close the pipes stay and reach nobody.

    Contract: CONDUIT-CREATE-01 to CONDUIT-CLOSE-15.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Conduit[Any]]: ...

    @abstractmethod
    def get(self, name: Name | str | Subject[Any] | Substrate, /) -> Pipe[E]:
        """Return the channel's pipe; see `Lookup.get`. Also after the close, when it reaches nobody."""

    @overload
    def pool(self, recipe: Flow[T, E], /) -> Pool[Pipe[T]]: ...
    @overload
    def pool(self, recipe: Fiber[E], /) -> Pool[Pipe[E]]: ...
    @overload
    def pool(self, function: Callable[[Pipe[E]], U], /) -> Pool[U]: ...

    @abstractmethod
    def pool(self, recipe: Any, /) -> Pool[Any]:
        """Return a pool of pipes that run `recipe` ahead of the channel of the same name.

        The recipe is attached once per name: channels share no state. Also takes a function, as `Pool.pool`.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a recipe of another provider.
            TypeError: neither recipe nor callable.
        """
