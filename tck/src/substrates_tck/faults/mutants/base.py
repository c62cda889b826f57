"""What a mutant is, and how one is made of a faulty class."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict, TypeVar, Unpack

from ...model import View
from ...model.flows import WindowOf
from ..toy import Cortex

__all__ = ["Faults", "Mutant"]

C = TypeVar("C", bound=type)


class Told(TypedDict):
    """What the decorators are told of a mutant.

    Attributes:
        fault: what is wrong with it.
        file: of the suite, where the test is that must catch it.
        test: the name of that test.
        says: a pattern of what its failure says.
        also: other tests that must catch it, by their ids, each with a pattern.
    """

    fault: str
    file: str
    test: str
    says: str
    also: NotRequired[Mapping[str, str]]


@dataclass(frozen=True)
class Mutant:
    """One faulty provider: the toy with one thing changed.

    Attributes:
        name: what it is chosen by.
        fault: what is wrong with it.
        killers: the tests that must fail on it, each with a pattern of what the failure says.
        kinds: the component classes that have the fault, by their keys in `toy.KINDS`.
        operators: the operators that have it, by their names in a recipe's stages.
        cortex: the cortex that has it.
    """

    name: str
    fault: str
    killers: Mapping[str, str]
    kinds: Mapping[str, Any] = field(default_factory=dict)
    operators: Mapping[str, Any] = field(default_factory=dict)
    cortex: type[Cortex] = Cortex


class Faults:
    """Makes mutants of the classes that it decorates, named for them, and collects them."""

    def __init__(self) -> None:
        self.mutants: list[Mutant] = []

    def kind(self, kind: str, **told: Unpack[Told]) -> Callable[[C], C]:
        """Make a mutant whose components of a kind are of the class."""
        return self._made(lambda made: {"kinds": {kind: made}}, told)

    def operator(self, *operators: str, **told: Unpack[Told]) -> Callable[[C], C]:
        """Make a mutant whose operators are of the class."""
        return self._made(lambda made: {"operators": dict.fromkeys(operators, made)}, told)

    def view(self, **told: Unpack[Told]) -> Callable[[C], C]:
        """Make a mutant whose windows are of the class."""

        def change(made: type[View]) -> dict[str, Any]:
            return {"operators": {"window": type(made.__name__, (WindowOf,), {"view": made})}}

        return self._made(change, told)

    def cortex(self, **told: Unpack[Told]) -> Callable[[C], C]:
        """Make a mutant whose cortex is of the class."""
        return self._made(lambda made: {"cortex": made}, told)

    def _made(self, change: Callable[[Any], dict[str, Any]], told: Told) -> Callable[[C], C]:
        killers = {f"{told['file']}::{told['test']}": told["says"], **told.get("also", {})}

        def decorate(made: C) -> C:
            words = re.findall("[A-Z][a-z0-9]*", made.__name__)
            name = "-".join(["toy", *words]).lower()
            self.mutants.append(Mutant(name, told["fault"], killers, **change(made)))
            return made

        return decorate
