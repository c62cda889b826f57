"""The cortex: what the provider of an engine subclasses."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import substrates
from substrates import Clock, Fiber, Flow, ForkedProcessError, Recipe
from substrates.absent import UNSET, Unset, present
from substrates.receptor import checked_function
from substrates.recipe import whole

from .circuits import Circuit, checked_witness, is_witness
from .clocks import SystemClock
from .components import Component
from .counts import Count
from .currents import Current, Currents
from .faults import Faults
from .lookups import Pool
from .memberpipes import Pipes
from .names import Name, Names
from .origin import Called, mismatch
from .pipes import Pipe
from .populations import LoopPopulation, Population, member_type
from .scopes import Scope
from .states import Slot, State, made_slot
from .subjects import Subject, renew_lock
from .times import Time

__all__ = ["Cortex"]


class Cortex(substrates.Cortex):
    """Everything of one provider that is not its engine.

    A subclass supplies `CIRCUIT`, `facts` and `_stop`, and `_new_population` if its engine has arrays of
    circuits.

    Attributes:
        CIRCUIT: the class of its circuits, made with the cortex and a name.
        MEMBER: that of those that are members of a population; follows from it.
        names: the table of interned names.
        currents: per thread, the context that it runs.
        faults: where failures of client code go.
        clock: the system's, which circuits have that were given none.
        rebuilds: how often channels have made out anew who receives their emissions.
        lock: orders rare changes of its components (first subjects, closing); re-entrant, because a
            signal handler or a finalizer may come in at any point.
        forked: whether this process is a forked child, in which nothing runs.
    """

    CIRCUIT: ClassVar[type[Circuit]]
    MEMBER: ClassVar[type[Circuit]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "CIRCUIT" in cls.__dict__:
            cls.MEMBER = member_type(cls.CIRCUIT)

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self.names = Names(provider)
        self._known_name = self.names.known
        self.currents = Currents()
        self.faults = Faults()
        self.clock = SystemClock()
        self.rebuilds = Count()
        self.lock = threading.RLock()
        self.forked = False
        self._subject = Subject(substrates.Cortex, self.names.intern("cortex"), None)
        self.names.owned_by(self._subject)
        self.circuit_name = self.names.intern("circuit")
        self.scope_name = self.names.intern("scope")
        atexit.register(_call_if_alive(self.clock, SystemClock.stop))
        atexit.register(_call_if_alive(self, Cortex._stop))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_call_if_alive(self, Cortex._in_forked_child))

    @property
    def provider(self) -> str:
        return self._provider

    @property
    def subject(self) -> Subject:
        return self._subject

    def circuit(
        self, name: substrates.Name | str | Unset = UNSET, /, *, clock: Clock | Unset = UNSET
    ) -> Circuit:
        if self.forked:
            self.check_process()
        own = self.circuit_name if name is UNSET else self.names.given(name, "circuit", self._subject)
        if isinstance(clock, Unset):
            return self.CIRCUIT(self, own)
        _check_clock(clock, "circuit")
        circuit = self.CIRCUIT(self, own)
        circuit._time = Time(clock)
        return circuit

    def circuits(
        self, count: int, /, name: substrates.Name | str | Unset = UNSET, *, clock: Clock | Unset = UNSET
    ) -> Population:
        self.check_process()
        size = whole(count, 0, "circuits", "count")
        own = self.given_name(name, "circuits", self._subject, self.circuit_name)
        if isinstance(clock, Unset):
            return self._new_population(own, size, None)
        _check_clock(clock, "circuits")
        return self._new_population(own, size, clock)

    def scope(self, name: substrates.Name | str | Unset = UNSET, /) -> Scope:
        return Scope(self, self.given_name(name, "scope", self._subject, self.scope_name), None)

    def current(self) -> Current:
        circuit = self.currents.circuit
        return circuit.current if circuit is not None else self.currents.own(self.names, self._subject)

    def name(self, path: Any, mapper: Callable[[Any], str] | Unset = UNSET, /) -> Name:
        if type(path) is str and mapper is UNSET:
            return self._known_name(path) or self.names.intern(path)
        return self.names.make(path, mapper)

    def state(self) -> State:
        return self._subject.state

    def slot(self, *arguments: Any, type: Any = UNSET) -> Slot:
        return made_slot(self.names, "slot", arguments, type)

    def pool(self, function: Callable[[Any], Any], /) -> Pool:
        return Pool(self, checked_function(function, "pool", "function"))

    def fiber(self, *arguments: Any) -> Fiber[Any]:
        if len(arguments) > 1:
            raise TypeError(f"fiber takes at most a class, {len(arguments)} arguments were given")
        for witness in arguments:
            checked_witness(witness, "fiber")
        return Fiber(self)

    def flow(self, *arguments: Any) -> Flow[Any, Any]:
        if len(arguments) > 1:
            raise TypeError(f"flow takes at most a fiber or a class, {len(arguments)} arguments were given")
        start: Flow[Any, Any] = Flow(self)
        for given in arguments:
            if not is_witness(given):
                start = Flow(self, start._own(given, Fiber, "flow", "fiber").stages)
        return start

    def attach(self, recipe: Recipe[Any, Any], target: Any, /) -> Pipe:
        from .recipes import attach

        return attach(self, recipe, target)

    def recipe_source(self, recipe: Recipe[Any, Any], /) -> str:
        from .recipes import source

        return source(self, recipe)

    def owns(self, component: object, /) -> bool:
        if isinstance(component, (Pipe, Component)):
            return component._circuit._cortex is self
        if isinstance(component, Pipes):
            return component._population._cortex is self
        if isinstance(component, (Circuit, Population, Scope, Pool)) or type(component) in (Fiber, Flow):
            return component._cortex is self  # type: ignore[attr-defined]
        if isinstance(component, Slot):
            return component._name._names is self.names
        if isinstance(component, (Name, State)):
            return component._names is self.names
        if isinstance(component, Current):
            component = component.subject
        if isinstance(component, Subject):
            return component.extremity is self._subject
        return component is self

    def own_pipe(self, target: Any, operation: str, receiver: Called) -> Pipe | None:
        """Return `target` if it is a pipe of this cortex, None if it is no pipe.

        Raises:
            ProviderMismatchFault: a pipe of another provider, or a look-alike.
        """
        is_pipe = isinstance(target, substrates.Pipe)
        if is_pipe and isinstance(target, Pipe) and target._circuit._cortex is self:
            return target
        if is_pipe or (hasattr(target, "emit") and hasattr(target, "subject")):
            way_out = "create the pipe from the same cortex"
            raise mismatch(receiver, operation, f"{target!r}", "a pipe", self._provider, way_out)
        return None

    def pipe_given(self, target: Any, operation: str, parameter: str, receiver: Called) -> Pipe:
        """Return the pipe that a caller gave to `operation` of `receiver`.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: a pipe of another provider, or a look-alike.
            TypeError: no pipe.
        """
        own = self.own_pipe(present(target, operation, parameter), operation, receiver)
        if own is None:
            raise TypeError(f"{operation}({parameter}={target!r}): a pipe is required")
        return own

    def on_fault(self, hook: Callable[[Any, BaseException], object] | None, /) -> None:
        self.faults.hook = None if hook is None else checked_function(hook, "on_fault", "hook")

    def given_name(
        self, name: substrates.Name | str | Unset, operation: str, receiver: Called, default: Name
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

    def _new_population(self, name: Name, size: int, clock: Clock | None) -> Population:
        """Make a population; `clock` None for the system's."""
        return LoopPopulation(self, name, size, clock)

    @abstractmethod
    def facts(self) -> Mapping[str, int | float | str]: ...

    @abstractmethod
    def _stop(self) -> None:
        """End the engine's threads at the interpreter's exit; never blocks for long, never raises."""

    def _in_forked_child(self) -> None:
        # Another thread may have held these when the process forked; it does not exist here.
        self.forked = True
        self.lock = threading.RLock()
        renew_lock()


def _check_clock(clock: Any, operation: str) -> None:
    if not isinstance(present(clock, operation, "clock"), Clock):
        raise TypeError(f"{operation}(clock={clock!r}): a Clock is required")


def _call_if_alive(component: object, method: Callable[[Any], None]) -> Callable[[], None]:
    reference = weakref.ref(component)
    name = method.__name__

    def call() -> None:
        alive = reference()
        if alive is not None:
            getattr(alive, name)()

    return call
