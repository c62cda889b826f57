"""The sequential model: what a program has to do, worked out in one thread, one job after the other.

It shares nothing with any provider. A circuit is two queues of jobs; a job from within goes to the transit,
any other to the ingress; transit is emptied before the next job of the ingress. The driver's every step is
carried to its end before the next, which is the one legal outcome for one circuit; and for two of them if the
driver settles, because then each takes in from the other alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ..model.chain import Chain
from .program import Action, Program, Step, Subscriber, Target

__all__ = ["Outcome", "TooLongError", "cascade", "expected"]

MOST_WORK: Final = 20_000
"""Jobs, deliveries and callbacks: a program that needs more is not worth running."""

Job = Callable[[], object]


class TooLongError(Exception):
    """A program has more to do than it is worth."""


@dataclass
class Outcome:
    """What a program leaves behind.

    Attributes:
        received: per circuit, what nodes and subscribers' receptors noted, in order: (name, value).
        called: per circuit, which subscriber was called back for which channel: (number, channel).
        closed: per circuit, whose on-close was called, sorted: the numbers of the subscriptions.
        refused: the numbers of the steps that were refused as closed.
        cells: the values of cells at the end.
    """

    received: list[list[tuple[str, int]]]
    called: list[list[tuple[int, str]]]
    closed: list[list[int]]
    refused: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)


class _Circuit:
    def __init__(self) -> None:
        self.ingress: deque[Job] = deque()
        self.transit: deque[Job] = deque()
        self.closed = False


class _Subscription:
    def __init__(self, number: int | None, spec: int) -> None:
        self.number = number
        self.spec = spec


class _Conduit:
    def __init__(self) -> None:
        self.subscriptions: list[_Subscription] = []
        self.channels: dict[str, dict[_Subscription, list[Callable[[int], object]]]] = {}
        self.closed = False


class _Machine:
    """One run of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.circuits = [_Circuit() for _ in range(program.circuits)]
        self.conduits = [_Conduit() for _ in program.conduits]
        self.heads = [Chain([each.as_stage() for each in head.operators]) for head in program.heads]
        self.ports = [0 for _ in program.ports]
        self.cells = [0 for _ in program.cells]
        self.basins: list[deque[int]] = [deque(maxlen=basin.capacity) for basin in program.basins]
        self.ended_subscribers: set[int] = set()
        self.subscriptions: list[_Subscription | None] = []
        self.running: int | None = None
        self.work = 0
        count = program.circuits
        self.outcome = Outcome(
            [[] for _ in range(count)], [[] for _ in range(count)], [[] for _ in range(count)]
        )

    # -- queues

    def accept(self, circuit: int, job: Job) -> None:
        """Give a job its place."""
        self.spend()
        there = self.circuits[circuit]
        if self.running == circuit:
            there.transit.append(job)
        elif not there.closed:
            there.ingress.append(job)

    def pump(self) -> None:
        """Do all jobs of all circuits."""
        busy = True
        while busy:
            busy = False
            for number, circuit in enumerate(self.circuits):
                while circuit.transit or circuit.ingress:
                    busy = True
                    self.running = number
                    job = circuit.transit.popleft() if circuit.transit else circuit.ingress.popleft()
                    job()
                    self.running = None

    def spend(self) -> None:
        """Count something that is done."""
        self.work += 1
        if self.work > MOST_WORK:
            raise TooLongError

    # -- emissions

    def emit(self, target: Target, value: int) -> None:
        """Emit to whatever it is."""
        program, number = self.program, target.number
        if target.kind == "node":
            self.accept(program.nodes[number].circuit, lambda: self.receive(number, value))
        elif target.kind == "head":
            node = program.heads[number].node
            self.accept(program.nodes[node].circuit, lambda: self.run_head(number, node, value))
        elif target.kind == "channel":
            circuit = program.conduits[number].circuit
            self.accept(circuit, lambda: self.dispatch(number, target.channel, value))
        elif target.kind == "cell":
            self.accept(program.cells[number].circuit, lambda: self.cells.__setitem__(number, value))
        else:
            self.accept(program.basins[number].circuit, lambda: self.basins[number].append(value))

    def run_head(self, head: int, node: int, value: int) -> None:
        """Run a recipe; what fails drops the value."""
        try:
            self.heads[head].run(value, 0, lambda result: self.receive(node, result))
        except ArithmeticError:
            return

    def receive(self, number: int, value: int) -> None:
        """Note a value and act on it."""
        node = self.program.nodes[number]
        self.outcome.received[node.circuit].append((f"node{number}", value))
        if value > 0:
            for action in node.actions:
                self.act(node.circuit, action, value)

    def act(self, circuit: int, action: Action, value: int) -> None:
        """Do what a receptor does."""
        if action.kind == "emit" and action.target is not None:
            self.emit(action.target, min(value, 4) - 1)
        elif action.kind == "update":
            self.accept(circuit, lambda: self.add(action.number, 1))
        elif action.kind == "close":
            self.close_subscriber(action.number)
        else:
            self.subscribe(action.number, None)

    # -- conduits

    def dispatch(self, number: int, channel: str, value: int) -> None:
        """Deliver to a channel, and under STEM to those above it."""
        names = [channel]
        if self.program.conduits[number].stem:
            names += [channel.rsplit(".", up)[0] for up in range(1, channel.count(".") + 1)]
        for name in names:
            self.deliver(number, name, value)

    def deliver(self, number: int, name: str, value: int) -> None:
        """Deliver to one channel; whoever sees it for the first time is asked first."""
        conduit = self.conduits[number]
        known = conduit.channels.setdefault(name, {})
        for subscription in conduit.subscriptions:
            self.spend()
            if subscription not in known:
                known[subscription] = self.ask(number, subscription, name)
        for subscription in list(conduit.subscriptions):
            for receive in known[subscription]:
                receive(value)

    def ask(self, number: int, subscription: _Subscription, name: str) -> list[Callable[[int], object]]:
        """Call a subscriber's callback and return what it registers."""
        spec: Subscriber = self.program.subscribers[subscription.spec]
        circuit = self.program.conduits[number].circuit
        self.outcome.called[circuit].append((subscription.spec, name))
        if name not in spec.channels:
            return []
        if not spec.nodes:
            label = f"subscriber{subscription.spec}:{name}"
            return [lambda value: self.outcome.received[circuit].append((label, value))]
        return [lambda value, to=to: self.emit(Target("node", to), value) for to in spec.nodes]  # type: ignore[misc]

    def subscribe(self, spec: int, number: int | None) -> bool:
        """Queue a subscription; return whether it was accepted."""
        at = self.program.subscribers[spec].conduit
        conduit = self.conduits[at]
        if conduit.closed or spec in self.ended_subscribers:
            return False
        subscription = _Subscription(number, spec)
        if number is not None:
            self.subscriptions.append(subscription)
        self.accept(self.program.conduits[at].circuit, lambda: conduit.subscriptions.append(subscription))
        return True

    def end(self, at: int, subscription: _Subscription) -> None:
        """End a subscription, in its circuit."""
        conduit = self.conduits[at]
        if subscription in conduit.subscriptions:
            conduit.subscriptions.remove(subscription)
            if subscription.number is not None:
                self.outcome.closed[self.program.conduits[at].circuit].append(subscription.number)

    def close_subscriber(self, spec: int) -> None:
        """Queue the end of all subscriptions of a subscriber."""
        self.ended_subscribers.add(spec)
        at = self.program.subscribers[spec].conduit

        def end() -> None:
            for subscription in list(self.conduits[at].subscriptions):
                if subscription.spec == spec:
                    self.end(at, subscription)

        self.accept(self.program.conduits[at].circuit, end)

    def close_conduit(self, at: int) -> None:
        """Queue the end of all subscriptions of a conduit."""
        self.conduits[at].closed = True

        def end() -> None:
            for subscription in list(self.conduits[at].subscriptions):
                self.end(at, subscription)

        self.accept(self.program.conduits[at].circuit, end)

    # -- values

    def add(self, port: int, amount: int) -> None:
        """Change a port's value, in its circuit."""
        self.ports[port] = (self.ports[port] + amount) % 5

    def drain(self, number: int, target: Target) -> None:
        """Hand on what a basin has, in its circuit."""
        values = list(self.basins[number])
        self.basins[number].clear()
        for value in values:
            self.emit(target, value)

    # -- the driver

    def do(self, at: int, step: Step) -> None:
        """Do a step and all that follows from it."""
        number, program = step.number, self.program
        if step.kind == "emit" and step.target is not None:
            self.emit(step.target, step.value)
        elif step.kind == "subscribe":
            if not self.subscribe(number, len(self.subscriptions)):
                self.outcome.refused.append(at)
                self.subscriptions.append(None)
        elif step.kind == "close_subscription":
            self.close_subscription(number)
        elif step.kind == "close_subscriber":
            self.close_subscriber(number)
        elif step.kind == "close_conduit":
            self.close_conduit(number)
        elif step.kind == "update":
            self.accept(program.ports[number].circuit, lambda: self.add(number, step.value))
        elif step.kind == "replace":
            circuit = program.ports[number].circuit
            self.accept(circuit, lambda: self.ports.__setitem__(number, step.value))
        elif step.kind == "port_emit" and step.target is not None:
            to = step.target
            self.accept(program.ports[number].circuit, lambda: self.emit(to, self.ports[number]))
        elif step.kind == "drain" and step.target is not None:
            into = step.target
            self.accept(program.basins[number].circuit, lambda: self.drain(number, into))
        elif step.kind == "close_circuit":
            self.circuits[number].closed = True
        self.pump()

    def close_subscription(self, number: int) -> None:
        """Queue the end of a subscription, if there is one of that number."""
        subscription = self.subscriptions[number] if number < len(self.subscriptions) else None
        if subscription is not None:
            at = self.program.subscribers[subscription.spec].conduit
            self.accept(self.program.conduits[at].circuit, lambda: self.end(at, subscription))


def expected(program: Program) -> Outcome:
    """Return what `program` has to leave behind when its steps are done.

    Raises:
        TooLongError: it does too much.
    """
    machine = _Machine(program)
    for at, step in enumerate(program.steps):
        machine.do(at, step)
    machine.outcome.cells = list(machine.cells)
    for closed in machine.outcome.closed:
        closed.sort()  # who ends at the same moment does so in no promised order
    return machine.outcome


def cascade(program: Program, target: Target, value: int) -> list[tuple[str, int]]:
    """Return what is received when, after the steps, one value more is emitted to `target` of circuit 0."""
    machine = _Machine(program)
    for at, step in enumerate(program.steps):
        machine.do(at, step)
    before = len(machine.outcome.received[0])
    machine.emit(target, value)
    machine.pump()
    return machine.outcome.received[0][before:]
