"""Programs as data: circuits, what is built on them, and the steps of the driver.

Values are small integers. A node with actions hands on a value less one, so that cascades end; operators that
could make values grow lead to nodes without actions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from substrates.recipe import Stage

__all__ = [
    "CHANNELS",
    "FUNCTIONS",
    "MOST",
    "SOURCES",
    "Action",
    "Basin",
    "Cell",
    "Conduit",
    "Head",
    "Node",
    "Operator",
    "Port",
    "Producer",
    "Program",
    "Step",
    "Subscriber",
    "Target",
]

CHANNELS: Final = ("x", "x.y", "x.y.z", "w")
"""The names of channels; three of them are one stem."""
MOST: Final = 4
"""The greatest value that a driver emits."""

SOURCES: Final[Mapping[str, str]] = {
    "odd": "lambda value: value % 2",
    "small": "lambda value: value < 3",
    "fails_on_2": "lambda value: 1 // (value - 2) or True",
    "half": "lambda value: value // 2",
    "none_on_1": "lambda value: None if value == 1 else value",
    "greater": "lambda last, value: value > last",
    "add": "lambda total, value: (total or 0) + value",
    "difference": "lambda last, value: value - (last or 0)",
    "at_least_5": "lambda total: total >= 5",
}
"""What operators of generated recipes call, by name; a script defines them so."""
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {name: eval(source) for name, source in SOURCES.items()}
"""The same as functions, for the model."""


@dataclass(frozen=True)
class Target:
    """Something that can be emitted to: the kind, its number, and of a conduit the channel."""

    kind: str
    number: int
    channel: str = ""


@dataclass(frozen=True)
class Operator:
    """An operator of a fiber: its method, its arguments (a `str` names a function), and its stage's name."""

    method: str
    arguments: tuple[Any, ...]
    stage: str = ""

    def as_stage(self) -> Stage:
        """Return it as a recipe holds it."""
        return Stage(self.stage or self.method, tuple(FUNCTIONS.get(each, each) for each in self.arguments))


@dataclass(frozen=True)
class Action:
    """What a node's receptor does with a value above 0.

    Attributes:
        kind: "emit" to `target` the value less one; "update" adds one to a port; "close" a subscriber;
            "subscribe" a subscriber, number `number`, to its conduit.
        target: of an emission.
        number: of the port or the subscriber.
    """

    kind: str
    target: Target | None = None
    number: int = 0


@dataclass(frozen=True)
class Node:
    """A pipe to a receptor that notes each value and then acts; if it `fails`, it raises on odd ones."""

    circuit: int
    actions: tuple[Action, ...] = ()
    fails: bool = False


@dataclass(frozen=True)
class Head:
    """A pipe with a recipe ahead of a node."""

    node: int
    operators: tuple[Operator, ...]


@dataclass(frozen=True)
class Conduit:
    """A conduit."""

    circuit: int
    stem: bool


@dataclass(frozen=True)
class Subscriber:
    """Registers, for the channels it is about, nodes' pipes, or receptors of its own that note the value.

    Attributes:
        conduit: which it is subscribed to, and whose circuit it belongs to.
        channels: which it registers anything for.
        nodes: whose pipes it registers; without any, its own receptor.
        fails: whether its callback raises at last.
    """

    conduit: int
    channels: tuple[str, ...]
    nodes: tuple[int, ...]
    fails: bool = False


@dataclass(frozen=True)
class Port:
    """A port that begins with 0."""

    circuit: int


@dataclass(frozen=True)
class Cell:
    """A cell that begins with 0."""

    circuit: int


@dataclass(frozen=True)
class Basin:
    """A basin."""

    circuit: int
    capacity: int


@dataclass(frozen=True)
class Step:
    """What the driver does.

    Attributes:
        kind: emit, subscribe, close_subscription, close_subscriber, close_conduit, update, replace,
            port_emit, drain, wait, or close_circuit.
        number: of the component that it is done to; of the subscription, in the order of subscribing.
        target: of an emission or a drain.
        value: which is emitted, or that a port is changed by.
    """

    kind: str
    number: int = 0
    target: Target | None = None
    value: int = 0


@dataclass(frozen=True)
class Producer:
    """A thread that emits values, one after the other."""

    emissions: tuple[tuple[Target, int], ...]


@dataclass(frozen=True)
class Program:
    """A program; see the module.

    Attributes:
        circuits: how many there are, 1 or 2.
        settled: whether the driver waits for everything before each step: otherwise two circuits, or what
            receptors do to what the driver uses too, would race.
        producers: threads that start when the steps are done; together with one circuit only.
    """

    circuits: int
    nodes: tuple[Node, ...]
    heads: tuple[Head, ...] = ()
    conduits: tuple[Conduit, ...] = ()
    subscribers: tuple[Subscriber, ...] = ()
    ports: tuple[Port, ...] = ()
    cells: tuple[Cell, ...] = ()
    basins: tuple[Basin, ...] = ()
    steps: tuple[Step, ...] = ()
    settled: bool = False
    producers: tuple[Producer, ...] = ()
