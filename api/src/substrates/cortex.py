"""The cortex: where everything of one provider begins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .absent import UNSET, Unset
from .circuit import Circuit
from .current import Current
from .name import Name
from .scope import Scope
from .subject import Subject, Substrate

__all__ = ["Cortex"]


class Cortex(Substrate):
    """The root of one provider in this process; got from `substrates.cortex`, never closed.

    Contract: CORTEX-SINGLE-01 to CORTEX-CURRENT-08.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Cortex]: ...

    @property
    @abstractmethod
    def provider(self) -> str:
        """The name of the provider, as it is chosen by."""

    @abstractmethod
    def circuit(self, name: Name | str | Unset = UNSET, /) -> Circuit:
        """Make a new circuit, never cached.

        Raises:
            AbsentValueError: `name` is None.
            ProviderMismatchFault: a name of another provider.
            ConfigurationError: the name is malformed.
            MemoryError: the engine has no room for it.

        Contract: CIRCUIT-ID-01 to -04, CORTEX-CIRCUIT-03, -04.
        """

    @abstractmethod
    def scope(self, name: Name | str | Unset = UNSET, /) -> Scope:
        """Make a new root scope.

        Raises:
            As `circuit`.

        Contract: SCOPE-ID-01, CORTEX-SCOPE-05.
        """

    @abstractmethod
    def current(self) -> Current:
        """Return the token of the calling context: the circuit's inside its callbacks, else the thread's.

        Contract: CURRENT-01 to -03, -06.
        """

    @abstractmethod
    def name(self, path: str | Name | Iterable[Any] | type, mapper: Callable[[Any], str] = ..., /) -> Name:
        """Return the interned name of a dotted path, a class, a function, an enum member, or parts.

        Args:
            path: a dotted path; or an iterable of paths, at least one; or an object with a dotted name.
            mapper: with an iterable, turns each element into a path.

        Raises:
            AbsentValueError: None, also as an element or a mapped element.
            ConfigurationError: an empty path, an empty segment, no element.

        Contract: NAME-PARSE-01 to -03, NAME-FACTORY-16 to -19.
        """

    @abstractmethod
    def facts(self) -> Mapping[str, int | float | str]:
        """Return what the engine counts right now.

        ``circuits`` and ``pipes`` (that exist), ``workers`` (threads) and ``faults`` (isolated failures since
        the start); of engines that know it, ``engine_bytes`` (held for circuits, pipes and kernel states) and
        ``allocated_bytes`` (taken from the system for emissions since the start); and what else it likes.
        """

    @abstractmethod
    def on_fault(self, hook: Callable[[Subject[Any] | None, BaseException], object] | None, /) -> None:
        """Call `hook` with the subject and the exception of each failure of client code from now on.

        Failures are isolated, logged on the logger ``substrates`` with their traceback, and counted
        (`facts`) in any case. The hook runs in the context of the failed callback; what it raises is
        logged. One hook at a time; None removes it.

        Contract: ISO-09.
        """
