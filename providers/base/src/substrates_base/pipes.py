"""What all pipes share, whoever delivers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import substrates
from substrates.kernel import Field, Lane

from .names import Name
from .subjects import Subject, subject_of

if TYPE_CHECKING:
    from .circuits import Circuit

__all__ = ["FanOut", "Pipe", "checked_target"]


class Pipe(substrates.Pipe[Any]):
    """A pipe of one circuit; an engine's pipe adds `emit` (and `lane`, `state` where they differ).

    It holds its circuit; the circuit does not hold it.

    It has no layout of its own, so that a native class, which has one, can stand beside it in the bases:
    whoever subclasses it brings the attributes below, and `__weakref__`.

    Attributes:
        _circuit: its circuit.
        _name: None for the circuit's.
        _subject: None until somebody asks for it.
    """

    __slots__ = ()

    _circuit: Circuit
    _name: Name | None
    if TYPE_CHECKING:  # a property, because a slot that only subclasses have could not be assigned to

        @property
        def _subject(self) -> Subject | None: ...
        @_subject.setter
        def _subject(self, subject: Subject | None) -> None: ...

    @property
    def subject(self) -> Subject:
        subject = self._subject
        if subject is None:
            circuit = self._circuit
            subject = subject_of(self, substrates.Pipe, self._name or circuit._name, circuit.subject)
        return subject

    @property
    def lane(self) -> Lane:
        return Lane.OBJECT

    @property
    def _direct(self) -> Callable[[Any], object]:
        """What to call in the own circuit's context instead of `emit`, to have a value received at once.

        It may raise what the receptor raises. An engine that cannot do that leaves it at `emit`.
        """
        return self.emit

    def _recipe_pipe(
        self,
        make: Callable[[Callable[[Any], object]], Callable[[Any], object]],
        subject: Subject,
        *,
        apart: bool,
    ) -> Pipe:
        """Make a pipe ahead of this one.

        Args:
            make: given what to call with this pipe's values, returns what receives those of the new one.
            subject: the new pipe's.
            apart: whether they are two steps of the circuit instead of one.
        """
        return self._circuit._enclosed_pipe(subject, make(self.emit if apart else self._direct))

    @property
    def _cell(self) -> int:
        """What stands for this pipe in the memory of a kernel's state: unique while it lives, not 0."""
        return id(self)

    @property
    def state(self) -> Any:
        raise TypeError(f"{self!r} has no kernel, so it has no state")

    def __repr__(self) -> str:
        circuit = self._circuit
        name = self._name or circuit._name
        return f"<Pipe {name} of circuit '{circuit._name}' ({circuit._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: it belongs to a circuit of this process")


class FanOut:
    """A receptor that emits to several pipes in order (FANOUT-01, -05)."""

    __slots__ = ("_circuit", "_targets")

    def __init__(self, circuit: Circuit, targets: Sequence[Pipe]) -> None:
        self._circuit = circuit
        self._targets = targets

    def __call__(self, value: Any) -> None:
        for target in self._targets:
            try:
                target.emit(value)
            except BaseException as error:  # noqa: BLE001 - the other targets get theirs
                self._circuit._cortex.faults.report(target, error)


def checked_target(pipe: Pipe, field: Field, target: Any, operation: str) -> Pipe:
    """Return `target` if the kernel field `field` of `pipe` may hold it.

    Raises:
        ProviderMismatchFault: of another provider.
        TypeError: no pipe, or of another lane.
    """
    own = pipe._circuit._own_pipe(target, operation)
    if own is None:
        raise TypeError(f"{field.name}={target!r}: a pipe or None is required")
    if own.lane is not field.lane:
        raise TypeError(
            f"{field.name}={target!r}: the pipe takes {own.lane.value},"
            f" the field holds pipes of {field.lane.value}"
        )
    return own
