"""Recipes of the toy: the chain of the model (`substrates_tck.model`) ahead of a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import substrates
from substrates import Recipe
from substrates.absent import present
from substrates.kernel import Lane

from ...model import Chain, Place
from .pipes import Pipe

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Attachment", "attached"]


class Attachment:
    """A recipe ahead of a pipe; a result is received there in the same step, if the circuit is the same."""

    def __init__(self, recipe: Recipe[Any, Any], target: Pipe) -> None:
        cortex = target.cortex
        self.target = target
        self.subject = cortex.new_subject(substrates.Pipe, target.subject.name, target.subject)
        self.chain = self.materialized(recipe, Place(self.subject, self.emit, self.owned, cortex.operators))

    def materialized(self, recipe: Recipe[Any, Any], place: Place) -> Chain:
        """Return machines for this attachment alone."""
        return Chain(recipe.stages, place)

    def emit(self, pipe: Any, value: Any) -> None:
        """Emit to a side path; its failures are its own."""
        self.target.circuit.isolate(pipe.subject, lambda: pipe.emit(value))

    def owned(self, made: Any, kind: type[Recipe[Any, Any]]) -> Any:
        """Check what a factory returned."""
        return self.target.cortex.checked(
            made, kind, "pipe", "factory", self.target.cortex.subject, foreign=(object,)
        )

    def receive(self, value: Any) -> None:
        """Run the chain, and those that it is stacked on, in the circuit's context."""
        now_ns = self.target.circuit.now_ns()
        results, at, run = [value], self, []
        try:
            while True:
                run.append(at.chain)
                results = [after for before in results for after in at.chain.step(before, now_ns)]
                if at.target.attachment is None:
                    break
                at = at.target.attachment
            for result in results:
                at.deliver(result)
        finally:
            for chain in run:
                self.passed(chain)

    def deliver(self, result: Any) -> None:
        """Have the target receive a result."""
        lane = self.target.lane
        self.target.receiver(result if lane is Lane.OBJECT else lane.admit(result))

    def passed(self, chain: Chain) -> None:
        """End what a chain has lent."""
        chain.passed()


def attached(cortex: Cortex, recipe: Any, target: Any) -> Pipe:
    """Return the pipe that runs a recipe ahead of a pipe or a cell."""
    cortex.checked(recipe, Recipe, "attach", "recipe", looks=("stages",))
    present(target, "pipe", "target")
    if isinstance(target, substrates.Cell) or (hasattr(target, "get") and hasattr(target, "pipe")):
        own = cortex.checked(target, substrates.Cell, "pipe", "target", looks=("get", "pipe")).pipe()
    else:
        own = cortex.pipe_given(target, "pipe", "target", cortex.subject)
    attachment: Attachment = cortex.kinds["attachment"](recipe, own)
    kind: type[Pipe] = cortex.kinds["pipe"]
    pipe = kind(own.circuit, attachment.subject, attachment.receive)
    pipe.attachment = attachment
    return pipe
