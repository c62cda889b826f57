"""How programs are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from .program import (
    CHANNELS,
    MOST,
    Action,
    Basin,
    Cell,
    Conduit,
    Head,
    Node,
    Operator,
    Port,
    Producer,
    Program,
    Step,
    Subscriber,
    Target,
)

__all__ = ["concurrent_programs", "programs"]

Draw = Callable[[st.SearchStrategy[Any]], Any]

SHRINKING = (
    Operator("guard", ("odd",)),
    Operator("guard", ("small",)),
    Operator("guard", ("fails_on_2",)),
    Operator("guard", (0, "greater"), "guard_from"),
    Operator("replace", ("half",)),
    Operator("replace", ("none_on_1",)),
    Operator("diff", ()),
    Operator("diff", (1,), "diff_from"),
    Operator("distinct", (2,), "distinct_within"),
    Operator("change", ("half",)),
    Operator("limit", (3,)),
    Operator("skip", (1,)),
    Operator("every", (2,)),
    Operator("inhibit", (1,)),
    Operator("edge", (0, "greater")),
    Operator("pulse", ("odd",)),
    Operator("steady", (2,)),
    Operator("streak", (2, "small")),
    Operator("hysteresis", ("odd", "small")),
    Operator("take_while", ("small",)),
    Operator("drop_while", ("small",)),
)
"""Operators that pass what came in, or less."""
VALUES = st.sampled_from((0, 1, 2, 3, 3, MOST, MOST))
FOLDING = (
    Operator("reduce", (0, "add")),
    Operator("relate", (0, "difference")),
    Operator("integrate", (0, "add", "at_least_5")),
    Operator("rolling", (2, "add", 0)),
    Operator("tumble", (2, "add", 0)),
    Operator("delay", (1, 0)),
)
"""Operators that may pass more, for nodes that do not act."""


@st.composite
def programs(draw: Draw, circuits: int = 1) -> Program:
    """Draw a program for one driver, of one circuit or of two."""
    owner = st.integers(0, circuits - 1)
    count = draw(st.integers(2, 4))
    conduits = tuple(Conduit(draw(owner), draw(st.booleans())) for _ in range(draw(st.integers(1, 2))))
    cells = tuple(Cell(draw(owner)) for _ in range(draw(st.integers(0, 1))))
    basins = tuple(Basin(draw(owner), draw(st.integers(1, 3))) for _ in range(draw(st.integers(0, 1))))
    ports = tuple(Port(draw(owner)) for _ in range(draw(st.integers(0, 1))))
    subscribers = tuple(_subscriber(draw, conduits, count) for _ in range(draw(st.integers(1, 3))))
    reach = _targets(draw, count, conduits, cells, basins)
    homes = [draw(owner) for _ in range(count)]
    nodes = tuple(_node(draw, home, reach, ports, subscribers, conduits) for home in homes)
    heads = tuple(_head(draw, nodes) for _ in range(draw(st.integers(0, 2))))
    settled = circuits > 1 or any(
        action.kind in {"close", "subscribe"} for node in nodes for action in node.actions
    )
    emitted = (*reach, *(Target("head", at) for at in range(len(heads))))
    begin = [Step("subscribe", number) for number in range(len(subscribers)) if draw(st.booleans())]
    step = _steps(emitted, conduits, subscribers, ports, basins)
    steps = (*begin, *draw(st.lists(step, min_size=12, max_size=40)))
    if draw(st.integers(0, 4)) == 0:
        steps = (*steps, Step("close_circuit", draw(owner)), Step("emit", target=emitted[0], value=1))
    return Program(
        circuits, nodes, heads, conduits, subscribers, ports, cells, basins, steps, settled=settled
    )


@st.composite
def concurrent_programs(draw: Draw) -> Program:
    """Draw a program of several producers on one circuit, whose outcome depends on their order alone."""
    count = draw(st.integers(1, 3))
    conduits = tuple(Conduit(0, draw(st.booleans())) for _ in range(draw(st.integers(0, 1))))
    subscribers = tuple(
        _subscriber(draw, conduits, count) for _ in range(draw(st.integers(0, 2)) if conduits else 0)
    )
    reach = _targets(draw, count, conduits, (), ())
    nodes = tuple(_node(draw, 0, reach, (), (), ()) for _ in range(count))
    steps = tuple(Step("subscribe", number) for number in range(len(subscribers)))
    emission = st.tuples(st.sampled_from(reach), VALUES)
    producers = draw(
        st.lists(st.lists(emission, min_size=6, max_size=12).map(tuple).map(Producer), min_size=2, max_size=3)
    )
    return Program(1, nodes, (), conduits, subscribers, steps=steps, producers=tuple(producers), settled=True)


def _targets(
    draw: Draw,
    nodes: int,
    conduits: tuple[Conduit, ...],
    cells: tuple[Cell, ...],
    basins: tuple[Basin, ...],
) -> tuple[Target, ...]:
    targets = [Target("node", at) for at in range(nodes)]
    for at in range(len(conduits)):
        names = draw(st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=3, unique=True))
        targets += [Target("channel", at, name) for name in names]
    targets += [Target("cell", at) for at in range(len(cells))]
    targets += [Target("basin", at) for at in range(len(basins))]
    return tuple(targets)


def _subscriber(draw: Draw, conduits: tuple[Conduit, ...], nodes: int) -> Subscriber:
    return Subscriber(
        draw(st.integers(0, len(conduits) - 1)),
        tuple(draw(st.lists(st.sampled_from(CHANNELS), min_size=1, unique=True))),
        tuple(draw(st.lists(st.integers(0, nodes - 1), max_size=2))),
        draw(st.booleans()),
    )


def _node(
    draw: Draw,
    home: int,
    reach: tuple[Target, ...],
    ports: tuple[Port, ...],
    subscribers: tuple[Subscriber, ...],
    conduits: tuple[Conduit, ...],
) -> Node:
    actions = [st.sampled_from(reach).map(lambda target: Action("emit", target))] * 3
    own_ports = [at for at, port in enumerate(ports) if port.circuit == home]
    if own_ports:
        actions.append(st.sampled_from(own_ports).map(lambda number: Action("update", number=number)))
    own = [at for at, each in enumerate(subscribers) if conduits[each.conduit].circuit == home]
    if own:
        actions.append(st.sampled_from(own).map(lambda number: Action("subscribe", number=number)))
        actions.append(st.sampled_from(own).map(lambda number: Action("close", number=number)))
    return Node(
        home,
        tuple(draw(st.lists(st.one_of(actions), min_size=draw(st.integers(0, 1)), max_size=2))),
        draw(st.booleans()),
    )


def _head(draw: Draw, nodes: tuple[Node, ...]) -> Head:
    node = draw(st.integers(0, len(nodes) - 1))
    usable = SHRINKING if nodes[node].actions else SHRINKING + FOLDING
    return Head(node, tuple(draw(st.lists(st.sampled_from(usable), max_size=3))))


def _steps(
    reach: tuple[Target, ...],
    conduits: tuple[Conduit, ...],
    subscribers: tuple[Subscriber, ...],
    ports: tuple[Port, ...],
    basins: tuple[Basin, ...],
) -> st.SearchStrategy[Step]:
    target, value = st.sampled_from(reach), VALUES
    channels = st.sampled_from([each for each in reach if each.kind in {"channel", "head"}])
    weighted: list[tuple[int, st.SearchStrategy[Step]]] = [
        (6, st.builds(lambda target, value: Step("emit", target=target, value=value), target, value)),
        (9, st.builds(lambda target, value: Step("emit", target=target, value=value), channels, value)),
        (2, st.just(Step("wait"))),
        (1, _of("close_conduit", conduits)),
        (3, _of("subscribe", subscribers)),
        (2, st.integers(0, 3).map(lambda number: Step("close_subscription", number))),
        (1, _of("close_subscriber", subscribers)),
    ]
    if ports:
        which, amount = st.integers(0, len(ports) - 1), st.integers(1, MOST)
        weighted += [
            (2, st.builds(lambda number, value: Step("update", number, value=value), which, amount)),
            (1, st.builds(lambda number, value: Step("replace", number, value=value), which, amount)),
            (3, st.builds(lambda number, to: Step("port_emit", number, to), which, target)),
        ]
    if basins:
        which = st.integers(0, len(basins) - 1)
        weighted.append((3, st.builds(lambda number, to: Step("drain", number, to), which, target)))
    drawn = [at for at, (weight, _) in enumerate(weighted) for _ in range(weight)]
    return st.sampled_from(drawn).flatmap(lambda at: weighted[at][1])


def _of(kind: str, components: tuple[Any, ...]) -> st.SearchStrategy[Step]:
    return st.integers(0, len(components) - 1).map(lambda number: Step(kind, number))
