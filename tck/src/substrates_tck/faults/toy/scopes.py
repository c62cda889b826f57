"""Scopes and closures of the toy."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import substrates
from substrates import ClosedFault, TemporalError
from substrates.absent import UNSET
from substrates.receptor import checked_function

from .names import Here, Name, Owned, Subject

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Closure", "Scope"]


class Closure(Here, substrates.Closure[Any]):
    """One use of a resource."""

    def __init__(self, scope: Scope, resource: Any) -> None:
        self.scope = scope
        self.resource = resource
        self.consumed = False

    def consume(self, block: Any, /) -> None:
        checked_function(block, "consume", "block")
        if self.scope.closed:
            return
        if self.consumed:
            raise TemporalError("consume: this closure was consumed", self.scope.subject)
        self.consumed = True
        self.scope.closures.pop(id(self.resource), None)
        self.use(block)

    def use(self, block: Any) -> None:
        """Call the block, then close the resource however it ended."""
        try:
            block(self.resource)
        finally:
            self.resource.close()


class Scope(Owned, Here, substrates.Scope):
    """What is closed together."""

    def __init__(self, cortex: Cortex, name: Name, parent: Scope | None) -> None:
        self.cortex = cortex
        self.parent = parent
        above = cortex.subject if parent is None else parent.subject
        self._subject = cortex.new_subject(substrates.Scope, name, above)
        self.closed = False
        self.resources: list[Any] = []
        self.closures: dict[int, Closure] = {}
        self.children: list[Scope] = []

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def part(self) -> str:
        return str(self._subject.name)

    @property
    def enclosure(self) -> Scope | None:
        return self.parent

    def __str__(self) -> str:
        return self.path()

    def __repr__(self) -> str:
        return f"<Scope {self.path()} ({self.cortex.provider})>"

    def register(self, resource: Any, /) -> Any:
        self._checked(resource, "register")
        self.hold(resource)
        return resource

    def closure(self, resource: Any, /) -> Any:
        self._checked(resource, "closure")
        if id(resource) not in self.closures:
            self.closures[id(resource)] = self.cortex.kinds["closure"](self, resource)
        return self.closures[id(resource)]

    def scope(self, name: Any = UNSET, /) -> Scope:
        given = Name.given(self.cortex, "scope" if name is UNSET else name, "scope", self._subject)
        self.require_open("scope")
        self.children.append(type(self)(self.cortex, given, self))
        return self.children[-1]

    def hold(self, resource: Any) -> None:
        """Keep a resource for the end, once."""
        if not any(held is resource for held in self.resources):
            self.resources.append(resource)

    def close(self) -> None:
        scopes = [self]
        while scopes:
            scope = scopes.pop()
            if not scope.closed:
                scope.closed = True
                for resource in scope.order():
                    scope.end(resource)
                scopes += scope.children

    def order(self) -> list[Any]:
        """Return the resources in the order in which they are closed."""
        held = [*self.resources, *(closure.resource for closure in self.closures.values())]
        return list({id(resource): resource for resource in held}.values())[::-1]

    def end(self, resource: Any) -> None:
        """Close a resource, whatever it raises."""
        try:
            resource.close()
        except BaseException as error:  # noqa: BLE001 - the others close too
            self.cortex.report(self._subject, error)

    def require_open(self, operation: str) -> None:
        """Refuse what is too late."""
        if self.closed:
            raise ClosedFault(self._subject, operation, f"{operation}: scope '{self}' is closed")

    def _checked(self, resource: Any, operation: str) -> None:
        self.cortex.checked(
            resource,
            substrates.Resource,
            operation,
            "resource",
            self._subject,
            looks=("close", "subject"),
        )
        self.require_open(operation)

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
