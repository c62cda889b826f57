"""The error categories of the contract, each also the built-in that Python code would catch.

Contract: ERR-CAT-01, ERR-FAULT-01, -04.

Category -> class:

========== ========================== =====================================================
ABSENT     `AbsentValueError`         a required argument, list element or emission is None
ARG        `ConfigurationError`       present, but out of range or malformed
CONTEXT    `ContextError`             called from a context where it would deadlock
TEMPORAL   `TemporalError`            a scoped object used after its scope
PROVIDER   `ProviderMismatchFault`    an object that another runtime made
AFFINITY   `AffinityFault`            a subscriber of another circuit
CLOSED     `ClosedFault`              a synchronous operation on a closed receiver
INCOMP.    `IncomparableError`        bounds that have no order
EMPTY      `EmptyWindowError`         the first or last value of an empty window
SELECT     `ProviderNotFoundError`,   no provider could be chosen
           `AmbiguousProviderError`,
           `ProviderLoadError`
========== ========================== =====================================================

An argument of an unrelated type (``42`` as a name) raises a plain `TypeError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .subject import Subject

__all__ = [
    "AbsentValueError",
    "AffinityFault",
    "AmbiguousProviderError",
    "ClosedFault",
    "ConfigurationError",
    "ContextError",
    "EmptyWindowError",
    "Fault",
    "ForkedProcessError",
    "IncomparableError",
    "ProviderError",
    "ProviderLoadError",
    "ProviderMismatchFault",
    "ProviderNotFoundError",
    "SubstratesError",
    "TemporalError",
]


class SubstratesError(Exception):
    """Base of every error that the contract names."""


class AbsentValueError(SubstratesError, TypeError):
    """A required value is None (category ABSENT)."""


class ConfigurationError(SubstratesError, ValueError):
    """A value is present but malformed or out of range (category ARG)."""


class ContextError(SubstratesError, RuntimeError):
    """The call is not allowed in the context it was made from (category CONTEXT)."""


class TemporalError(SubstratesError, RuntimeError):
    """A temporal object (registrar, window, closure) was used outside its scope (category TEMPORAL).

    Args:
        message: what was used, and until when it could be.
        subject: of the component that the object came from, if it has one.

    Contract: REGISTRAR-TEMP-06, -07, WIN-LIFE-01, -04, CLOSURE-06.
    """

    def __init__(self, message: str, subject: Subject[Any] | None = None) -> None:
        super().__init__(message)
        self._subject = subject

    @property
    def subject(self) -> Subject[Any] | None:
        """The subject of the component that the object came from; of a window, its pipe's."""
        return self._subject


class IncomparableError(SubstratesError, TypeError):
    """Bounds cannot be ordered, neither by `<` nor by the key given (category INCOMPARABLE)."""


class EmptyWindowError(SubstratesError, LookupError):
    """The first or last value of a window without values (category EMPTY)."""


class ForkedProcessError(SubstratesError, RuntimeError):
    """A runtime made before `os.fork` was used in the child: its threads stayed in the parent."""


class ProviderError(SubstratesError):
    """No provider could be chosen or loaded (category SELECT)."""


class ProviderNotFoundError(ProviderError, LookupError):
    """The chosen provider is not installed, or none is."""


class AmbiguousProviderError(ProviderError, LookupError):
    """Several providers are installed and none was chosen."""


class ProviderLoadError(ProviderError, RuntimeError):
    """The chosen provider is installed but did not load; `__cause__` says why."""


class Fault(SubstratesError):
    """A call that the receiver refuses: wrong provider, wrong circuit, or closed.

    Args:
        subject: the subject of the *receiver*, never of the offending argument.
        operation: the plain name of the operation that was called.
        message: what was wrong, with what, and the way out.
        cause: the exception behind it, kept as `__cause__`.

    Contract: ERR-FAULT-01, -02, -03.
    """

    def __init__(
        self, subject: Subject[Any], operation: str, message: str, cause: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self._subject = subject
        self._operation = operation
        self.__cause__ = cause

    def __reduce__(self) -> tuple[Any, ...]:
        # To be copied; pickling is refused by the subject, which stands for a component of this process.
        return type(self), (self._subject, self._operation, *self.args, self.__cause__), self.__dict__

    @property
    def subject(self) -> Subject[Any]:
        """The subject of the receiver that refused."""
        return self._subject

    @property
    def operation(self) -> str:
        """The name of the refused operation."""
        return self._operation


class ProviderMismatchFault(Fault, TypeError):
    """An argument was not made by the receiver's provider (category PROVIDER)."""


class AffinityFault(Fault, ValueError):
    """A subscriber was given to a source of another circuit (category AFFINITY)."""


class ClosedFault(Fault, RuntimeError):
    """A synchronous operation on a closed receiver (category CLOSED)."""
