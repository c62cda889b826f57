"""A toy engine that is easily broken: one thread a circuit, two queues, one lock.

It shares no code with any provider, and does what the contract demands of pipes to Python receptors, of
waiting and of closing; there are no scopes, no kernels and no fan-out. Its seams are the methods of
`Circuit` that `substrates_tck.faults.mutants` overrides:

1. `accept` takes an emission in, from whatever thread; inside the context it becomes transit (`defer`).
2. `take` chooses the next item: transit before ingress.
3. `deliver` calls the receptor, and isolates what it raises.
4. `wake` tells the sleeping thread that there is work.
5. `arrive` opens the gate of a barrier that has come up.
6. `end` asks for the end behind all that was accepted.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import substrates
from substrates import ClosedFault, ContextError
from substrates.absent import UNSET, present
from substrates.kernel import Lane, State

__all__ = ["Barrier", "Circuit", "Cortex", "Item", "Pipe"]

Item = tuple[Any, Any]
_log = logging.getLogger("substrates")


class _Id(substrates.Id):
    __slots__ = ()


class _Name(substrates.Name):
    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def part(self) -> str:
        return self._path.rpartition(".")[2]

    @property
    def enclosure(self) -> Any:
        above = self._path.rpartition(".")[0]
        return _Name(above) if above else None

    def name(self, suffix: Any, _mapper: Any = None, /) -> _Name:
        return _Name(f"{self._path}.{suffix}")

    def __truediv__(self, suffix: Any) -> _Name:
        return self.name(suffix)

    def __str__(self) -> str:
        return self._path

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __le__(self, other: Any) -> bool:
        return str(self) <= str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)

    def __ge__(self, other: Any) -> bool:
        return str(self) >= str(other)


class _Subject(substrates.Subject[Any]):
    def __init__(self, kind: type, name: _Name, enclosure: _Subject | None) -> None:
        self._kind = kind
        self._name = name
        self._enclosure = enclosure
        self._id = _Id()

    @property
    def part(self) -> str:
        return f"Subject[name={self._name},type={self._kind.__name__},id={id(self._id)}]"

    @property
    def enclosure(self) -> _Subject | None:
        return self._enclosure

    @property
    def id(self) -> _Id:
        return self._id

    @property
    def name(self) -> _Name:
        return self._name

    @property
    def state(self) -> substrates.State:
        raise NotImplementedError("the toy has no states")

    @property
    def type(self) -> Any:
        return self._kind

    def __lt__(self, other: Any) -> bool:
        return self.path() < str(other.path())

    def __le__(self, other: Any) -> bool:
        return self.path() <= str(other.path())

    def __gt__(self, other: Any) -> bool:
        return self.path() > str(other.path())

    def __ge__(self, other: Any) -> bool:
        return self.path() >= str(other.path())


class _Current(substrates.Current):
    def __init__(self, subject: _Subject) -> None:
        self._subject = subject

    @property
    def subject(self) -> _Subject:
        return self._subject


class Pipe(substrates.Pipe[Any]):
    """A pipe to a Python receptor."""

    def __init__(self, circuit: Circuit, name: _Name, receive: Callable[[Any], object], lane: Lane) -> None:
        self.circuit = circuit
        self.receive = receive
        self._lane = lane
        self._subject = _Subject(substrates.Pipe, name, circuit.subject)

    @property
    def subject(self) -> _Subject:
        return self._subject

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def state(self) -> State:
        raise TypeError("the toy has no kernels")

    def emit(self, value: Any, /) -> None:
        self.circuit.accept((self, self._lane.admit(value)))


class Barrier:
    """Stands in the ingress where a pipe stands."""

    def __init__(self) -> None:
        self.gate = threading.Event()


class Circuit(substrates.Circuit):
    """One thread, two queues.

    `ingress` and `closing` are guarded by `lock`; `transit` belongs to the thread.
    """

    def __init__(self, cortex: Cortex, name: str) -> None:
        self._cortex = cortex
        self._name = _Name(name)
        self._subject = _Subject(substrates.Circuit, self._name, cortex.subject)
        self._current = _Current(_Subject(substrates.Current, self._name, self._subject))
        self.lock = threading.Condition()
        self.ingress: deque[Item] = deque()
        self.transit: deque[Item] = deque()
        self.closing = False
        self.asleep = False
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toy", daemon=True)
        self._thread.start()

    # -- the seams

    def accept(self, item: Item) -> None:
        """Take an emission in."""
        if self.inside:
            self.defer(item)
            return
        with self.lock:
            if not self.closing:
                self.ingress.append(item)
                self.wake()

    def defer(self, item: Item) -> None:
        """Append to the transit."""
        self.transit.append(item)

    def take(self) -> Item | None:
        """Return the next item, None if there is none; the lock is held."""
        if self.transit:
            return self.transit.popleft()
        return self.ingress.popleft() if self.ingress else None

    def deliver(self, pipe: Pipe, value: Any) -> None:
        """Call the receptor."""
        try:
            pipe.receive(value)
        except BaseException as error:  # noqa: BLE001 - the trust boundary
            _log.error("%s raised %s", pipe.subject, type(error))

    def wake(self) -> None:
        """Tell the thread that there is work; the lock is held."""
        self.lock.notify()

    def arrive(self, barrier: Barrier) -> None:
        """Let go whoever waits at a barrier."""
        barrier.gate.set()

    def end(self) -> None:
        """Ask for the end; the lock is held."""
        self.closing = True

    # -- the rest

    @property
    def inside(self) -> bool:
        """Whether the caller is in this circuit's context."""
        return self._cortex.running.circuit is self

    def _run(self) -> None:
        self._cortex.running.circuit = self
        while True:
            with self.lock:
                item = self.take()
                while item is None and not self.closing:
                    self.asleep = True
                    self.lock.wait()
                    self.asleep = False
                    item = self.take()
            if item is None:
                self.ended.set()
                return
            if isinstance(item[0], Barrier):
                self.arrive(item[0])
            else:
                self.deliver(*item)

    @property
    def subject(self) -> _Subject:
        return self._subject

    @property
    def current(self) -> _Current:
        return self._current

    def pipe(self, *arguments: Any, lane: Any = UNSET) -> Pipe:
        name = self._name if len(arguments) < 2 else _Name(str(arguments[0]))
        target = present(arguments[-1], "pipe", "target") if arguments else _discard
        if self.closing:
            raise ClosedFault(self._subject, "pipe", f"pipe: circuit '{self._name}' is closed")
        if isinstance(target, Pipe):
            return target if target.circuit is self else Pipe(self, name, target.emit, target.lane)
        receive = getattr(target, "receive", target)
        if not callable(receive):
            raise TypeError(f"pipe({target!r}): the toy has pipes to receptors alone")
        return Pipe(self, name, receive, Lane.OBJECT if lane is UNSET else Lane.of(lane))

    def wait(self, timeout: float | timedelta | None = None) -> None:
        if self.inside:
            raise ContextError(f"wait: called in the own context of circuit '{self._name}'")
        barrier = Barrier()
        with self.lock:
            gate = self.ended if self.closing else barrier.gate
            if not self.closing:
                self.ingress.append((barrier, None))
                self.lock.notify()
        if not gate.wait(timeout.total_seconds() if isinstance(timeout, timedelta) else timeout):
            raise TimeoutError(f"wait(timeout={timeout}): circuit '{self._name}' still has work")

    def close(self, *, wait: bool = False) -> None:
        if wait and self.inside:
            raise ContextError(f"close: called in the own context of circuit '{self._name}'")
        with self.lock:
            if not self.closing:
                self.end()
                self.lock.notify()
        if wait:
            self.ended.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()


def _discard(value: Any) -> None:
    """Receive and ignore."""


class _Running(threading.local):
    circuit: Circuit | None = None
    own: _Current | None = None


class Cortex(substrates.Cortex):
    """Makes toy circuits of one class."""

    def __init__(self, provider: str, kind: type[Circuit]) -> None:
        self._provider = provider
        self._kind = kind
        self._subject = _Subject(substrates.Cortex, _Name("cortex"), None)
        self.running = _Running()

    @property
    def subject(self) -> _Subject:
        return self._subject

    @property
    def provider(self) -> str:
        return self._provider

    def circuit(self, name: Any = UNSET, /) -> Circuit:
        return self._kind(self, "circuit" if name is UNSET else str(name))

    def scope(self, _name: Any = UNSET, /) -> substrates.Scope:
        raise NotImplementedError("the toy has no scopes")

    def current(self) -> _Current:
        if self.running.circuit is not None:
            return self.running.circuit.current
        if self.running.own is None:
            self.running.own = _Current(_Subject(substrates.Current, _Name("thread"), self._subject))
        return self.running.own

    def name(self, path: Any, _mapper: Any = UNSET, /) -> _Name:
        return _Name(str(path))

    def state(self) -> substrates.State:
        raise NotImplementedError("the toy has no states")

    def slot(self, *_arguments: Any, type: Any = UNSET) -> substrates.Slot[Any]:
        raise NotImplementedError("the toy has no slots")

    def facts(self) -> Mapping[str, int | float | str]:
        return {}

    def on_fault(self, _hook: Any, /) -> None:
        raise NotImplementedError("the toy has no hook")
