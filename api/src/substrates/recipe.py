"""Recipes: chains of operators as immutable data, and what `Fiber` and `Flow` share."""

from __future__ import annotations

import operator as _operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Self, TypeVar

from .absent import UNSET, present
from .cell import CellOf
from .errors import ConfigurationError, IncomparableError, ProviderMismatchFault
from .pipe import Pipe
from .receptor import checked_function

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Order", "Recipe", "Stage", "bounds", "order", "whole"]

I = TypeVar("I")  # noqa: E741 - as the contract names the type that goes in
O = TypeVar("O")  # noqa: E741 - and the one that comes out


_FORMS: Final = ("_from", "_interval", "_within", "_same", "_emit_with", "_emit", "_factory")
"""What the name of an operator has behind the method's."""
_INCLUSIVE: Final = ("min", "max", "range")
"""Operators that pass what equals a bound, so that they need ``<=`` and ``>=`` too."""
_SHOWN: Final = 12
"""How many stages a repr shows."""


class Stage(NamedTuple):
    """One operator of a recipe.

    A provider gives each `operator` its meaning; the arguments have been checked.
    """

    operator: str
    """The name of the method, with an ending for its other forms; `Flow.change` adds a ``transition``."""
    arguments: tuple[Any, ...]
    """Its arguments; a duration in nanoseconds, an order as an `Order`, a recipe as a recipe."""

    @property
    def method(self) -> str:
        """The name of the method that it was added by."""
        if self.operator == "transition":
            return "change"
        return next(
            (self.operator.removesuffix(form) for form in _FORMS if self.operator.endswith(form)),
            self.operator,
        )


class Order(NamedTuple):
    """How a comparison operator orders values; at most one of the two is not None."""

    key: Callable[[Any], Any] | None
    """Values are compared by their keys, as in `sorted`. Bounds in a stage's arguments are keys already."""
    compare: Callable[[Any, Any], Any] | None
    """``compare(value, bound)`` is negative, zero or positive."""


class Recipe(Generic[I, O]):
    """A chain of operators that runs in a circuit's context ahead of a pipe.

    Immutable: every operator returns another recipe. A recipe may be shared between threads and attached any
    number of times, on any circuits of its provider; every attachment has a state of its own. Arguments are
    checked when an operator is added. What a user's function raises later drops that emission, and is
    reported; what an operator had noted before stays noted. Recipes are compared by identity; they pickle if
    their arguments do.

    Contract: COMMON-VAL-01 to COMMON-EQ-03.
    """

    __slots__ = ("__weakref__", "_cortex", "_stages")

    def __init__(self, cortex: Cortex, stages: tuple[Stage, ...] = ()) -> None:
        """For providers; users call `Cortex.fiber` and `Cortex.flow`."""
        self._cortex = cortex
        self._stages = stages

    @property
    def cortex(self) -> Cortex:
        """The cortex that it was made by."""
        return self._cortex

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its operators, in the order in which a value meets them."""
        return self._stages

    def pipe(self, target: Pipe[O] | CellOf[O], /) -> Pipe[I]:
        """Attach this recipe: make a pipe that runs it, on the target's circuit, ahead of `target`.

        The pipe is named as the target and enclosed by its subject. The operators and a receptor of
        the same circuit behind them are one step. Suppliers and factories among the arguments run here and
        now, in the order of the chain; if one raises, that is raised and no pipe is made.

        Raises:
            AbsentValueError: `target` is None; a factory returned None.
            ProviderMismatchFault: `target`, or what a factory returned, is of another provider.
            TypeError: neither pipe nor cell.

        Contract: FIBER-PIPE-01 to -07, FLOW-PIPE-01 to -06.
        """
        return self._cortex.attach(self, target)

    def source(self) -> str:
        """Return the source of the function that the provider makes of this recipe, to read and to debug.

        It is what tracebacks show. Providers that interpret recipes return a description.
        """
        return self._cortex.recipe_source(self)

    def __repr__(self) -> str:
        shown = [f"{stage.method}({'...' if stage.arguments else ''})" for stage in self._stages[:_SHOWN]]
        if len(self._stages) > _SHOWN:
            shown.append(f"... {len(self._stages) - _SHOWN} more")
        return f"<{type(self).__name__} {'.'.join(shown) or 'identity'} ({self._cortex.provider})>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._cortex.provider, self._stages)

    # -- for the operators

    def _more(self, operator: str, arguments: tuple[Any, ...]) -> tuple[Stage, ...]:
        """Return the stages and one more."""
        return (*self._stages, Stage(operator, arguments))

    def _own(self, component: Any, kind: type | tuple[type, ...], operation: str, parameter: str) -> Any:
        """Return `component` if it is a `kind` of this provider.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: anything else.
        """
        present(component, operation, parameter)
        if isinstance(component, kind) and self._cortex.owns(component):
            return component
        raise ProviderMismatchFault(
            self._cortex.subject,
            operation,
            f"{operation}({parameter}={component!r}): not made by {self._cortex.provider!r};"
            " create it from the same cortex",
        )


def _restore(kind: type[Recipe[Any, Any]], provider: str, stages: tuple[Stage, ...]) -> Recipe[Any, Any]:
    from . import cortex

    return kind(cortex(provider), stages)


def whole(value: Any, least: int, operation: str, parameter: str) -> int:
    """Return `value` as an int.

    Raises:
        AbsentValueError: None.
        TypeError: no whole number; a bool is none.
        ConfigurationError: below `least`.
    """
    present(value, operation, parameter)
    try:
        if isinstance(value, bool):
            raise TypeError
        number = _operator.index(value)
    except TypeError:
        raise TypeError(f"{operation}({parameter}={value!r}): a whole number is required") from None
    if number < least:
        raise ConfigurationError(f"{operation}({parameter}={number}): {parameter} must be {least} or more")
    return number


def order(key: Any, compare: Any, operation: str) -> Order:
    """Return the order of a comparison operator.

    Raises:
        AbsentValueError: one of them is None.
        TypeError: one is not callable, or both are given.
    """
    if key is not UNSET and compare is not UNSET:
        raise TypeError(f"{operation}(key=..., compare=...): give one of them")
    return Order(
        None if key is UNSET else checked_function(key, operation, "key"),
        None if compare is UNSET else checked_function(compare, operation, "compare"),
    )


def bounds(operation: str, given: Order, **values: Any) -> tuple[Any, ...]:
    """Return the bounds of a comparison operator as its stage keeps them: keys if there is a key function.

    Raises:
        AbsentValueError: a bound is None.
        IncomparableError: the bounds have no natural order.
        ConfigurationError: a bound is not equal to itself (NaN); the lower is above the upper.
    """
    for parameter, value in values.items():
        present(value, operation, parameter)
    # No generator: in one, a StopIteration of `key` would become another error.
    kept = tuple([given.key(value) if given.key else value for value in values.values()])
    first, last = kept[0], kept[-1]
    shown = ", ".join(f"{parameter}={value!r}" for parameter, value in values.items())
    if given.compare is not None:
        crossed = given.compare(first, last) > 0 if len(kept) > 1 else False
    else:
        try:
            crossed = bool(last < first)
            bool(first > last)
            if operation in _INCLUSIVE:
                bool(first <= last)
                bool(last >= first)
        except TypeError as error:
            raise IncomparableError(
                f"{operation}({shown}): these have no order ({error}); give key= or compare="
            ) from error
        if any(bool(bound != bound) for bound in kept):
            raise ConfigurationError(f"{operation}({shown}): a bound must be equal to itself")
    if crossed:
        raise ConfigurationError(f"{operation}({shown}): the lower bound is above the upper")
    return kept
