"""The cortex of the toy: who belongs to it, what its components are made of, where failures go."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import substrates
from substrates import Clock, Fiber, Flow, ProviderMismatchFault, Recipe
from substrates.absent import UNSET, present
from substrates.receptor import checked_function
from substrates.recipe import whole

from ...model import OPERATORS
from .cells import Basin, Cell, Pin, Port, Sink
from .engine import Circuit, is_witness
from .names import Current, Here, Name, Names, Owned, Subject
from .pipes import Forwarder, Pipe
from .pools import Memo, Pool
from .populations import MemberPipes, Population
from .recipes import Attachment, attached
from .routing import Bank, Channel, Conduit, Registrar, Subscriber, Subscription
from .scopes import Closure, Scope
from .states import Slot, State
from .tickers import MonotonicClock, Ticker

__all__ = ["KINDS", "Cortex"]

KINDS: Final[Mapping[str, Any]] = {
    "attachment": Attachment,
    "bank": Bank,
    "basin": Basin,
    "cell": Cell,
    "channel": Channel,
    "circuit": Circuit,
    "closure": Closure,
    "conduit": Conduit,
    "forwarder": Forwarder,
    "member-pipes": MemberPipes,
    "memo": Memo,
    "names": Names,
    "pin": Pin,
    "pipe": Pipe,
    "pool": Pool,
    "population": Population,
    "port": Port,
    "registrar": Registrar,
    "scope": Scope,
    "sink": Sink,
    "slot": Slot,
    "state": State,
    "subject": Subject,
    "subscriber": Subscriber,
    "subscription": Subscription,
    "ticker": Ticker,
}
"""What components are made of; a mutant has one of another class."""

_log = logging.getLogger("substrates")


class _Running(threading.local):
    current: Current | None = None
    own: Current | None = None


class Cortex(Owned, Here, substrates.Cortex):
    """A cortex whose components are of given classes.

    Args:
        provider: its name.
        kinds: what is not as in `KINDS`.
        operators: what is not as in the model.
    """

    def __init__(self, provider: str, kinds: Mapping[str, Any], operators: Mapping[str, Any]) -> None:
        self.cortex = self
        self._provider = provider
        self.kinds = {**KINDS, **kinds}
        self.operators = {**OPERATORS, **operators}
        self.slot_kind: type[Slot] = self.kinds["slot"]
        self.lock = threading.RLock()
        self.names: Names = self.kinds["names"](self)
        self.running = _Running()
        self.clock = MonotonicClock()
        self.alive: weakref.WeakSet[Circuit] = weakref.WeakSet()
        self.pipes: weakref.WeakSet[Pipe] = weakref.WeakSet()
        self.counts = {"faults": 0, "rebuilds": 0}
        self.hook: Callable[[Any, BaseException], object] | None = None
        self._state: State = self.kinds["state"](self)
        self._subject = self.new_subject(substrates.Cortex, self.name("cortex"), None)

    # -- who belongs to it

    def owns(self, component: object, /) -> bool:
        if type(component) in {Fiber, Flow}:
            return component.cortex is self  # type: ignore[attr-defined]
        return isinstance(component, Owned) and component.cortex is self

    def checked(
        self,
        given: Any,
        kind: Any,
        operation: str,
        parameter: str,
        receiver: Any = None,
        *,
        looks: tuple[str, ...] = (),
        foreign: tuple[type, ...] = (),
    ) -> Any:
        """Return `given` if it is of a kind and of this cortex.

        Args:
            given: the argument.
            kind: what it must be.
            operation: of the receiver.
            parameter: the argument's name.
            receiver: the subject that a fault carries, by default the cortex's.
            looks: what marks a look-alike.
            foreign: what else counts as something of another provider.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: of another provider, or a look-alike.
            TypeError: of another kind.
        """
        present(given, operation, parameter)
        if isinstance(given, kind) and self.owns(given):
            return given
        if isinstance(given, (kind, *foreign)) or (looks and all(hasattr(given, look) for look in looks)):
            raise ProviderMismatchFault(
                receiver or self._subject,
                operation,
                f"{operation}({parameter}={given!r}): not made by {self._provider!r};"
                " create it from the same cortex",
            )
        raise TypeError(f"{operation}({parameter}={given!r}): it is of another kind")

    def pipe_or_none(self, given: Any, operation: str, receiver: Any) -> Pipe | None:
        """Return `given` if it is a pipe of this cortex, None if it is no pipe at all."""
        if isinstance(given, substrates.Pipe) or (hasattr(given, "emit") and hasattr(given, "subject")):
            return self.pipe_given(given, operation, "target", receiver)
        return None

    def pipe_given(self, given: Any, operation: str, parameter: str, receiver: Any) -> Pipe:
        """Return `given`, a pipe of this cortex."""
        own: Pipe = self.checked(
            given, substrates.Pipe, operation, parameter, receiver, looks=("emit", "subject")
        )
        return own

    def new_subject(self, kind: type, name: Name, enclosure: Subject | None) -> Subject:
        """Make the subject of a component."""
        made: Subject = self.kinds["subject"](self, kind, name, enclosure)
        return made

    # -- failures and counts

    def report(self, subject: Any, error: BaseException) -> None:
        """Log and count a failure of client code, and tell the hook."""
        self.count("faults")
        with suppress(BaseException):
            _log.error("%s raised %r", subject, error, exc_info=error)
        hook = self.hook
        if hook is not None:
            try:
                hook(subject, error)
            except BaseException as failure:  # noqa: BLE001 - the trust boundary
                with suppress(BaseException):
                    _log.error("the fault hook raised %s", type(failure).__name__, exc_info=failure)

    def count(self, what: str) -> None:
        """Count one more."""
        with self.lock:
            self.counts[what] += 1

    def facts(self) -> Mapping[str, int | float | str]:
        circuits = list(self.alive)
        return {
            "circuits": len(circuits),
            "pipes": len(self.pipes),
            "workers": sum(not circuit.ended.is_set() for circuit in circuits),
            **self.counts,
        }

    def on_fault(self, hook: Any, /) -> None:
        self.hook = None if hook is None else checked_function(hook, "on_fault", "hook")

    # -- the contract

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def provider(self) -> str:
        return self._provider

    def circuit(self, name: Any = UNSET, /, *, clock: Any = UNSET) -> Any:
        given = Name.given(self, "circuit" if name is UNSET else name, "circuit")
        return self.kinds["circuit"](self, given, self._clock_given(clock, "circuit"))

    def circuits(self, count: Any, /, name: Any = UNSET, *, clock: Any = UNSET) -> Any:
        size = whole(count, 0, "circuits", "count")
        given = Name.given(self, "circuit" if name is UNSET else name, "circuits")
        return self.kinds["population"](self, given, size, self._clock_given(clock, "circuits"))

    def _clock_given(self, clock: Any, operation: str) -> Clock:
        given = self.clock if clock is UNSET else present(clock, operation, "clock")
        if not isinstance(given, Clock):
            raise TypeError(f"{operation}(clock={clock!r}): a Clock is required")
        return given

    def scope(self, name: Any = UNSET, /) -> Any:
        given = Name.given(self, "scope" if name is UNSET else name, "scope")
        return self.kinds["scope"](self, given, None)

    def current(self) -> Current:
        running = self.running
        if running.current is not None:
            return running.current
        if running.own is None:
            running.own = Current.of_thread(self)
        return running.own

    def name(self, path: Any, mapper: Any = UNSET, /) -> Name:
        return Name.made(self, path, mapper)

    def state(self) -> State:
        return self._state

    def slot(self, *arguments: Any, type: Any = UNSET) -> Slot:
        return self.slot_kind.made(self, "slot", arguments, type)

    def pool(self, function: Any, /) -> Any:
        return self.kinds["pool"](self, checked_function(function, "pool", "function"))

    def fiber(self, *arguments: Any) -> Fiber[Any]:
        _checked_witness("fiber", arguments)
        return Fiber(self)

    def flow(self, *arguments: Any) -> Flow[Any, Any]:
        if len(arguments) == 1 and not is_witness(arguments[0]):
            return Flow(self, self.checked(arguments[0], Fiber, "flow", "fiber", foreign=(object,)).stages)
        _checked_witness("flow", arguments)
        return Flow(self)

    def attach(self, recipe: Recipe[Any, Any], target: Any, /) -> Pipe:
        return attached(self, recipe, target)

    def recipe_source(self, recipe: Recipe[Any, Any], /) -> str:
        own = self.checked(recipe, Recipe, "recipe_source", "recipe", looks=("stages",))
        return "\n".join(f"{stage.operator}{stage.arguments}" for stage in own.stages) or "identity"

    def __repr__(self) -> str:
        return f"<Cortex ({self._provider})>"


def _checked_witness(operation: str, arguments: tuple[Any, ...]) -> None:
    if len(arguments) > 1:
        raise TypeError(f"{operation} takes at most one argument, {len(arguments)} were given")
    for witness in arguments:
        present(witness, operation, "type")
        if not is_witness(witness):
            raise TypeError(f"{operation}(type={witness!r}): a class is required")
