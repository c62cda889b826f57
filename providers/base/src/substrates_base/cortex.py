"""The cortex: what the provider of an engine subclasses."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import substrates
from substrates import ForkedProcessError
from substrates import Subject as AnySubject
from substrates.absent import UNSET, Unset

from .circuits import Circuit
from .currents import Current, Currents
from .faults import Faults
from .names import Name, Names
from .scopes import Scope
from .states import Slot, State, made_slot
from .subjects import Subject, renew_lock

__all__ = ["Cortex"]


class Cortex(substrates.Cortex):
    """Everything of one provider that is not its engine.

    A subclass supplies `_new_circuit`, `facts` and `_stop`.

    Attributes:
        names: the table of interned names.
        currents: per thread, the context that it runs.
        faults: where failures of client code go.
        lock: orders rare changes of its components (first subjects, closing); re-entrant, because a
            signal handler or a finalizer may come in at any point.
        forked: whether this process is a forked child, in which nothing runs.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self.names = Names(provider)
        self.currents = Currents()
        self.faults = Faults()
        self.lock = threading.RLock()
        self.forked = False
        self._subject = Subject(substrates.Cortex, self.names.intern("cortex"), None)
        self.names.owned_by(self._subject)
        self.circuit_name = self.names.intern("circuit")
        self.scope_name = self.names.intern("scope")
        atexit.register(_call_if_alive(self, Cortex._stop))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_call_if_alive(self, Cortex._in_forked_child))

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def subject(self) -> Subject:
        return self._subject

    def circuit(self, name: substrates.Name | str | Unset = UNSET, /) -> Circuit:
        if self.forked:
            self.check_process()
        if name is UNSET:
            return self._new_circuit(self.circuit_name)
        return self._new_circuit(self.names.given(name, "circuit", self._subject))

    def scope(self, name: substrates.Name | str | Unset = UNSET, /) -> Scope:
        return Scope(self, self.given_name(name, "scope", self._subject, self.scope_name), None)

    def current(self) -> Current:
        circuit = self.currents.circuit
        return circuit.current if circuit is not None else self.currents.own(self.names, self._subject)

    def name(self, path: Any, mapper: Callable[[Any], str] | Unset = UNSET, /) -> Name:
        return self.names.make(path, mapper)

    def state(self) -> State:
        return self._subject.state

    def slot(self, *arguments: Any, type: Any = UNSET) -> Slot:
        return made_slot(self.names, "slot", arguments, type)

    def on_fault(self, hook: Callable[[Any, BaseException], object] | None, /) -> None:
        if hook is not None and not callable(hook):
            raise TypeError(f"on_fault({hook!r}): a callable of a subject and an exception, or None")
        self.faults.hook = hook

    def given_name(
        self, name: substrates.Name | str | Unset, operation: str, receiver: AnySubject[Any], default: Name
    ) -> Name:
        """Return the name given to an operation, or `default`."""
        return default if name is UNSET else self.names.given(name, operation, receiver)

    def __repr__(self) -> str:
        return f"<Cortex ({self._provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it runs in this process")

    def check_process(self) -> None:
        """Refuse in a forked child, where the threads of the runtime do not exist.

        Raises:
            ForkedProcessError: this process is a forked child.
        """
        if self.forked:
            raise ForkedProcessError(
                f"{self._provider!r} was started before os.fork and does not run in a child;"
                " start child processes with the method 'spawn', or create circuits only after forking"
            )

    @abstractmethod
    def _new_circuit(self, name: Name) -> Circuit:
        """Make a circuit."""

    @abstractmethod
    def facts(self) -> Mapping[str, int | float | str]: ...

    @abstractmethod
    def _stop(self) -> None:
        """End the engine's threads at the interpreter's exit; never blocks for long, never raises."""

    def _in_forked_child(self) -> None:
        # Another thread may have held these when the process forked; it does not exist here.
        self.forked = True
        self.lock = threading.RLock()
        self.names.renew_lock()
        renew_lock()


def _call_if_alive(cortex: Cortex, method: Callable[[Any], None]) -> Callable[[], None]:
    reference = weakref.ref(cortex)
    name = method.__name__

    def call() -> None:
        alive = reference()
        if alive is not None:
            getattr(alive, name)()

    return call
