"""Programs as Python source, to be run by the kit and by hand."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Outcome
from .program import SOURCES, Action, Operator, Program, Step, Target

__all__ = ["script"]

HEADER = """\
import sys
import threading

import substrates

cortex = substrates.cortex({provider!r})
BOUND_S = {bound_s!r}
"""


def script(program: Program, provider: str, bound_s: float, outcome: Outcome | None = None) -> str:
    """Return a program of its own that does on `provider` what `program` says.

    It leaves what happened in `received`, `called`, `closed`, `refused` and `values`, as `Outcome` has them.

    Args:
        program: what to do.
        provider: on which.
        bound_s: how long it waits at most, each time.
        outcome: if given, the source ends with assertions that it is this.
    """
    lines = HEADER.format(provider=provider, bound_s=bound_s).splitlines()
    lines += [f"{name} = {source}" for name, source in SOURCES.items() if _calls(program, name)]
    lines += _set_up(program)
    lines += ["", "try:"]
    for at, step in enumerate(program.steps):
        if program.settled:
            lines.append("    settle()")
        lines += [f"    {line}" for line in _step(program, at, step)]
    lines.append("    settle()")
    if program.producers:
        lines += [f"    {line}" for line in _producers(program)]
    lines.append(f"    values = [{', '.join(f'cell{at}.get()' for at in range(len(program.cells)))}]")
    lines += ["finally:", "    for circuit in circuits:", "        circuit.close()"]
    if outcome is not None:
        lines += [
            "",
            f"assert received == {outcome.received!r}, received",
            f"assert called == {outcome.called!r}, called",
            f"assert [sorted(each) for each in closed] == {outcome.closed!r}, closed",
            f"assert refused == {outcome.refused!r}, refused",
            f"assert values == {outcome.cells!r}, values",
        ]
    return "\n".join(lines) + "\n"


def _calls(program: Program, name: str) -> bool:
    return any(name in each.arguments for head in program.heads for each in head.operators)


def _set_up(program: Program) -> Iterator[str]:
    count = program.circuits
    yield f"circuits = [cortex.circuit(f'circuit{{number}}') for number in range({count})]"
    for name in ("received", "called", "closed"):
        yield f"{name} = [[] for _ in range({count})]"
    yield "refused = []"
    yield "subscriptions = []"
    yield ""
    yield "def settle():"
    yield f"    for _ in range({1 if count == 1 else 12}):"
    yield "        for circuit in circuits:"
    yield "            circuit.wait(timeout=BOUND_S)"
    for number, node in enumerate(program.nodes):
        yield ""
        yield f"def receive{number}(value):"
        yield f"    received[{node.circuit}].append(('node{number}', value))"
        if node.actions:
            yield "    if value > 0:"
            for action in node.actions:
                yield f"        {_action(program, action)}"
        if node.fails:
            yield "    if value % 2:"
            yield "        raise RuntimeError('this receptor fails on odd values')"
    yield ""
    for number, node in enumerate(program.nodes):
        yield f"node{number} = circuits[{node.circuit}].pipe(receive{number})"
    for number, head in enumerate(program.heads):
        yield f"head{number} = cortex.fiber(){''.join(map(_operator, head.operators))}.pipe(node{head.node})"
    for number, conduit in enumerate(program.conduits):
        routing = "STEM" if conduit.stem else "PIPE"
        yield f"conduit{number} = circuits[{conduit.circuit}].conduit(routing=substrates.Routing.{routing})"
    for kind, specs in (("port", program.ports), ("cell", program.cells)):
        for number, spec in enumerate(specs):
            yield f"{kind}{number} = circuits[{spec.circuit}].{kind}(0)"  # type: ignore[attr-defined]
    for number, basin in enumerate(program.basins):
        yield f"basin{number} = circuits[{basin.circuit}].basin({basin.capacity})"
    yield from _subscribers(program)


def _subscribers(program: Program) -> Iterator[str]:
    for number, spec in enumerate(program.subscribers):
        circuit = program.conduits[spec.conduit].circuit
        yield ""
        yield f"def callback{number}(subject, registrar):"
        yield "    name = str(subject.name)"
        yield f"    called[{circuit}].append(({number}, name))"
        yield f"    if name in {spec.channels!r}:"
        for node in spec.nodes:
            yield f"        registrar.register(node{node})"
        if not spec.nodes:
            label = f"'subscriber{number}:' + name"
            yield f"        registrar.register(lambda value: received[{circuit}].append(({label}, value)))"
        if spec.fails:
            yield "    raise RuntimeError('this callback fails')"
        yield ""
        yield f"subscriber{number} = circuits[{circuit}].subscriber('subscriber{number}', callback{number})"
    yield ""
    yield "def subscribe(at, conduit, subscriber, circuit):"
    yield "    number = len(subscriptions)"
    yield "    try:"
    yield "        on_close = lambda _: closed[circuit].append(number)"
    yield "        subscriptions.append(conduit.subscribe(subscriber, on_close))"
    yield "    except substrates.ClosedFault:"
    yield "        refused.append(at)"
    yield "        subscriptions.append(None)"
    yield ""
    yield "def subscribe_within(conduit, subscriber):"
    yield "    try:"
    yield "        conduit.subscribe(subscriber)"
    yield "    except substrates.ClosedFault:"
    yield "        pass"
    yield ""
    yield "def close_subscription(number):"
    yield "    if number < len(subscriptions) and subscriptions[number] is not None:"
    yield "        subscriptions[number].close()"


def _operator(operator: Operator) -> str:
    return f".{operator.method}({', '.join(str(each) for each in operator.arguments)})"


def _target(target: Target) -> str:
    name = f"{target.kind}{target.number}"
    if target.kind == "channel":
        return f"conduit{target.number}.get({target.channel!r})"
    return f"{name}.pipe()" if target.kind in {"cell", "basin"} else name


def _action(program: Program, action: Action) -> str:
    if action.kind == "emit" and action.target is not None:
        return f"{_target(action.target)}.emit(min(value, 4) - 1)"
    if action.kind == "update":
        return f"port{action.number}.update(1, lambda current, amount: (current + amount) % 5)"
    if action.kind == "close":
        return f"subscriber{action.number}.close()"
    conduit = program.subscribers[action.number].conduit
    return f"subscribe_within(conduit{conduit}, subscriber{action.number})"


def _step(program: Program, at: int, step: Step) -> Iterator[str]:
    number = step.number
    if step.kind == "emit" and step.target is not None:
        yield f"{_target(step.target)}.emit({step.value})"
    elif step.kind == "subscribe":
        conduit = program.subscribers[number].conduit
        circuit = program.conduits[conduit].circuit
        yield f"subscribe({at}, conduit{conduit}, subscriber{number}, {circuit})"
    elif step.kind == "close_subscription":
        yield f"close_subscription({number})"
    elif step.kind == "close_subscriber":
        yield f"subscriber{number}.close()"
    elif step.kind == "close_conduit":
        yield f"conduit{number}.close()"
    elif step.kind == "update":
        yield f"port{number}.update({step.value}, lambda current, amount: (current + amount) % 5)"
    elif step.kind == "replace":
        yield f"port{number}.replace({step.value})"
    elif step.kind == "port_emit" and step.target is not None:
        yield f"port{number}.emit({_target(step.target)})"
    elif step.kind == "drain" and step.target is not None:
        yield f"basin{number}.drain({_target(step.target)})"
    elif step.kind == "close_circuit":
        yield f"circuits[{number}].close()"
    else:
        yield "settle()"


def _producers(program: Program) -> Iterator[str]:
    yield f"gate = threading.Barrier({len(program.producers)})"
    for number, producer in enumerate(program.producers):
        yield f"def produce{number}():"
        yield "    gate.wait(BOUND_S)"
        for target, value in producer.emissions:
            yield f"    {_target(target)}.emit({value})"
    names = ", ".join(f"produce{number}" for number in range(len(program.producers)))
    yield "interval = sys.getswitchinterval()"
    yield "sys.setswitchinterval(1e-5)"
    yield f"threads = [threading.Thread(target=each, daemon=True) for each in ({names},)]"
    yield "for each in received: each.clear()"
    yield "for thread in threads: thread.start()"
    yield "for thread in threads: thread.join(BOUND_S)"
    yield "sys.setswitchinterval(interval)"
    yield "settle()"
