"""Attaching recipes: from a chain of operators and a target to a pipe that runs one ahead of the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import substrates
from substrates import Fiber, Flow, ProviderMismatchFault, Recipe
from substrates.absent import present
from substrates.recipe import Stage

from .compiler import Shape, compiled, rendered
from .operators import OPERATORS
from .pipes import Pipe
from .subjects import Subject

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["attach", "source"]

STACKED = 64
"""How many attachments on top of each other are one step: each takes a frame of Python's stack."""


def attach(cortex: Cortex, recipe: Recipe[Any, Any], target: Any) -> Pipe:
    """See `substrates.Recipe.pipe`."""
    cortex.check_process()
    _check_own(cortex, recipe, "attach")
    pipe = _target(cortex, target)
    enclosing = pipe.subject
    subject = Subject(substrates.Pipe, enclosing.name, enclosing)
    arguments: list[Any] = []
    code = compiled(_Attachment(cortex, subject, arguments).shape(recipe.stages))

    def receiving(direct: Callable[[Any], object]) -> Callable[[Any], object]:
        given = {
            "target": direct,
            "subject": subject,
            "now": pipe._circuit._now,
        }
        return code.attach(*(given[name] for name in code.given), *arguments)

    return pipe._recipe_pipe(receiving, subject, apart=enclosing.depth % STACKED == 0)


def source(cortex: Cortex, recipe: Recipe[Any, Any]) -> str:
    """See `substrates.Recipe.source`."""
    _check_own(cortex, recipe, "recipe_source")
    return rendered(_Attachment(cortex, None, []).shape(recipe.stages))


def _check_own(cortex: Cortex, recipe: Any, operation: str) -> None:
    """Refuse what is no recipe of this cortex.

    Raises:
        AbsentValueError: None.
        ProviderMismatchFault: of another provider, or a look-alike.
        TypeError: no recipe.
    """
    if type(recipe) in (Fiber, Flow) and recipe.cortex is cortex:
        return
    present(recipe, operation, "recipe")
    if isinstance(recipe, Recipe) or all(hasattr(recipe, name) for name in ("stages", "pipe")):
        raise _mismatch(cortex, operation, "recipe", recipe)
    raise TypeError(f"{operation}(recipe={recipe!r}): a fiber or a flow is required")


def _target(cortex: Cortex, target: Any) -> Pipe:
    """Return the pipe that a recipe is attached to.

    Raises:
        AbsentValueError: None.
        ProviderMismatchFault: of another provider, or a look-alike.
        TypeError: neither pipe nor cell.
    """
    own = cortex.own_pipe(present(target, "pipe", "target"), "pipe", cortex.subject)
    if own is not None:
        return own
    if isinstance(target, substrates.Cell) and cortex.owns(target):
        updating: Any = target.pipe()
        return updating  # type: ignore[no-any-return]
    if isinstance(target, substrates.Cell) or all(
        hasattr(target, name) for name in ("get", "pipe", "subject")
    ):
        raise _mismatch(cortex, "pipe", "target", target)
    raise TypeError(f"pipe(target={target!r}): a pipe or a cell is required")


def _mismatch(cortex: Cortex, operation: str, parameter: str, given: Any) -> ProviderMismatchFault:
    return ProviderMismatchFault(
        cortex.subject,
        operation,
        f"{operation}({parameter}={given!r}): of another provider, given to {cortex.provider!r};"
        " create it from the same cortex",
    )


class _Attachment:
    """Walks a chain from head to tail, calls suppliers and factories, and gathers arguments.

    Args:
        cortex: the recipe's.
        subject: of the pipe that is being made; None if none is, and nothing is to be called.
        arguments: where the arguments of the operators go.
    """

    def __init__(self, cortex: Cortex, subject: Subject | None, arguments: list[Any]) -> None:
        self._cortex = cortex
        self._subject = subject
        self._arguments = arguments

    def shape(self, stages: tuple[Stage, ...]) -> Shape:
        shapes: list[tuple[str, Any]] = []
        self._walk(stages, shapes)
        return tuple(shapes)

    # No generator: in one, a StopIteration of a supplier would become another error.
    def _walk(self, stages: tuple[Stage, ...], shapes: list[tuple[str, Any]]) -> None:
        for operator, given in stages:
            key, arguments = operator, given
            if self._subject is not None:
                if operator == "fiber_factory" or operator == "flow_factory":
                    self._walk(self._made(operator, given[0]), shapes)
                    continue
                if operator in ("scan", "scan_emit", "scan_emit_with"):
                    arguments = (given[0](), *given[1:])
                elif operator in ("tee", "route"):
                    arguments = (*given[:-1], given[-1].emit)
            if f"{operator} by key" in OPERATORS:
                order = given[-1]
                key += " by key" if order.key else " by compare" if order.compare else ""
                arguments = (*given[:-1], order.key or order.compare)
            self._arguments += [
                argument for argument, name in zip(arguments, OPERATORS[key].parameters, strict=False) if name
            ]
            shapes.append((key, self.shape(given[1].stages) if operator == "when" else ()))

    def _made(self, operator: str, factory: Any) -> tuple[Stage, ...]:
        """Return the stages of what a factory returns.

        Raises:
            AbsentValueError: None.
            ProviderMismatchFault: not a recipe of this provider.
            Exception: what the factory raises.
        """
        kind: type[Recipe[Any, Any]] = Fiber if operator == "fiber_factory" else Flow
        operation = operator.removesuffix("_factory")
        made = present(factory(self._subject), operation, "factory(...)")
        if isinstance(made, kind) and self._cortex.owns(made):
            return made.stages
        raise _mismatch(self._cortex, operation, "factory(...)", made)
