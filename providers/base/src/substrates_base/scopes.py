"""Scopes and closures."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import substrates
from substrates import ClosedFault, TemporalError
from substrates.absent import UNSET, Unset, present

from .circuits import Circuit
from .components import Resource
from .faults import is_interrupt
from .names import Name
from .origin import mismatch
from .populations import Population
from .subjects import Subject

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Closure", "Scope"]

R = TypeVar("R", bound=substrates.Resource)


class Closure(substrates.Closure[R], Generic[R]):
    """See `substrates.Closure`."""

    __slots__ = ("_consumed", "_resource", "_scope")

    def __init__(self, scope: Scope, resource: R) -> None:
        self._scope = scope
        self._resource = resource
        self._consumed = False

    def consume(self, block: Callable[[R], object], /) -> None:
        present(block, "consume", "block")
        if not callable(block):
            raise TypeError(f"consume({block!r}): a callable is required")
        if self._scope._closed:
            return
        if self._consumed:
            raise TemporalError("consume: this closure was consumed; get a new one from the scope")
        self._consumed = True
        self._scope._closures.pop(id(self._resource), None)
        try:
            block(self._resource)
        finally:
            self._resource.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"the closure of {self._resource!r} cannot be pickled: it belongs to this process")


class Scope(substrates.Scope):
    """See `substrates.Scope`."""

    __slots__ = ("_children", "_closed", "_closures", "_cortex", "_parent", "_resources", "_subject")

    def __init__(self, cortex: Cortex, name: Name, parent: Scope | None) -> None:
        self._cortex = cortex
        self._parent = parent
        enclosing: Subject = parent.subject if parent else cortex.subject
        self._subject = Subject(substrates.Scope, name, enclosing)
        self._closed = False
        # Identity counts, not equality; dicts keep the order of registration. The resources of closures that
        # are registered by nothing else come behind all that are.
        self._resources: dict[int, substrates.Resource] = {}
        self._closures: dict[int, Closure[Any]] = {}
        self._children: dict[Scope, None] = {}

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def part(self) -> str:
        return str(self._subject.name)

    @property
    def enclosure(self) -> Scope | None:
        return self._parent

    def __str__(self) -> str:
        return self.path()

    def __repr__(self) -> str:
        return f"<Scope {self.path()} ({self._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: what it holds belongs to this process")

    def register(self, resource: R, /) -> R:
        self._check(resource, "register")
        self._resources.setdefault(id(resource), resource)
        return resource

    def closure(self, resource: R, /) -> Closure[R]:
        self._check(resource, "closure")
        closure = self._closures.get(id(resource))
        if closure is None:
            closure = self._closures[id(resource)] = Closure(self, resource)
        return closure

    def scope(self, name: substrates.Name | str | Unset = UNSET, /) -> Scope:
        own = self._cortex.given_name(name, "scope", self._subject, self._cortex.scope_name)
        self._require_open("scope")
        child = Scope(self._cortex, own, self)
        self._children[child] = None
        return child

    def close(self) -> None:
        # Own resources in reverse, then the children in reverse: a walk without recursion, however deep. What
        # is closed is let go of only then, so that a call which an interrupt cuts short can be repeated.
        interrupt: KeyboardInterrupt | None = None
        scopes = [self]
        while scopes:
            scope = scopes[-1]
            scope._closed = True
            try:
                scope._close_resources()
            except KeyboardInterrupt as error:
                if interrupt is not None:
                    raise
                interrupt = error  # `with` closes but once, so the first one waits until all is closed
                continue
            scopes.pop()
            scopes += scope._children
        self._children.clear()
        if self._parent is not None:
            self._parent._children.pop(self, None)
        if interrupt is not None:
            raise interrupt

    def _close_resources(self) -> None:
        resources = {**self._resources, **{key: held._resource for key, held in self._closures.items()}}
        for key, resource in reversed(resources.items()):
            self._close_one(resource)
            self._resources.pop(key, None)
            self._closures.pop(key, None)

    def _close_one(self, resource: substrates.Resource) -> None:
        try:
            resource.close()
        except BaseException as error:
            if is_interrupt(error):
                raise
            self._cortex.faults.report(self, error)  # the others close too (SCOPE-CLOSE-04)

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

    def _check(self, resource: Any, operation: str) -> None:
        present(resource, operation, "resource")
        if not (isinstance(resource, (Circuit, Population, Resource)) and self._cortex.owns(resource)):
            if isinstance(resource, substrates.Resource) or (
                hasattr(resource, "close") and hasattr(resource, "subject")
            ):
                provider = self._cortex.provider
                raise mismatch(self._subject, operation, f"{resource!r}", "a resource", provider)
            raise TypeError(f"{operation}({resource!r}): a resource is required")
        self._require_open(operation)

    def _require_open(self, operation: str) -> None:
        if self._closed:
            raise ClosedFault(
                self._subject, operation, f"{operation}: scope '{self}' is closed; make a new scope"
            )
