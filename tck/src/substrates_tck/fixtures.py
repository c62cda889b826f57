"""The fixtures of the kit: a cortex, circuits that are closed again, and bounded waiting."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import pytest

import substrates
from substrates import Circuit, Clock, Cortex, ManualClock, Name, Population
from substrates.absent import UNSET

from .vectors import Check, Refusal, Refused, TimedVector, Vector, confirm, play, refuse
from .waits import Background, Event, Gate, Settle, Task, Together, settle, until

__all__ = [
    "FAILED",
    "NewCircuit",
    "NewEvent",
    "NewGate",
    "NewPopulation",
    "Until",
    "background",
    "bound_s",
    "check",
    "circuit",
    "circuit_kind",
    "clock",
    "cortex",
    "eventually",
    "gate",
    "interleaved",
    "new_circuit",
    "new_event",
    "new_gate",
    "new_population",
    "refused",
    "timed",
    "together",
    "wait",
]

T = TypeVar("T")

FAILED: pytest.StashKey[bool] = pytest.StashKey()
"""Whether a test has failed, for what its fixtures do at the end."""

NewEvent = Callable[[str], Event]
NewGate = Callable[[], Gate]


class NewCircuit(Protocol):
    """Makes a circuit that is closed at the end of the test."""

    def __call__(self, name: str | Name | None = None, /, clock: Clock | None = None) -> Circuit:
        """Make it, with a name and a clock, or without."""


class NewPopulation(Protocol):
    """Makes a population that is closed at the end of the test."""

    def __call__(
        self, count: int, name: str | Name | None = None, /, clock: Clock | None = None
    ) -> Population:
        """Make it, with a name and a clock, or without."""


class Until(Protocol):
    """Waits until a condition holds."""

    def __call__(self, condition: Callable[[], object], what: str, /) -> None:
        """Wait; `what` says what it is, for the failure."""


@pytest.fixture(scope="session")
def bound_s(pytestconfig: pytest.Config) -> float:
    """Return the seconds after which a condition that does not come about is a failure."""
    bound: float = pytestconfig.getoption("bound")
    return bound


@pytest.fixture(scope="session")
def cortex(tck_provider: str) -> Cortex:
    """Return the cortex of the provider under test."""
    return substrates.cortex(tck_provider)


@pytest.fixture
def circuit_kind(request: pytest.FixtureRequest) -> str:
    """Return what the test's circuits are: "alone" or, of tests with the mark `members`, "member" as well."""
    kind: str = getattr(request, "param", "alone")
    return kind


@pytest.fixture
def new_population(request: pytest.FixtureRequest, cortex: Cortex, bound_s: float) -> Iterator[NewPopulation]:
    """Make populations that are closed at the end of the test, and must then end in time."""
    made: list[Population] = []

    def new(count: int, name: str | Name | None = None, /, clock: Clock | None = None) -> Population:
        own, time = UNSET if name is None else name, UNSET if clock is None else clock
        made.append(cortex.circuits(count, own, clock=time))
        return made[-1]

    yield new
    for population in reversed(made):
        population.close()
    if not request.node.stash.get(FAILED, False):
        for population in made:
            settle(population, bound_s)


@pytest.fixture
def new_circuit(
    request: pytest.FixtureRequest,
    cortex: Cortex,
    bound_s: float,
    circuit_kind: str,
    new_population: NewPopulation,
) -> Iterator[NewCircuit]:
    """Make circuits that are closed at the end of the test, and must then end in time.

    A circuit that is a member is the middle one of a population of its own.
    """
    made: list[Circuit] = []

    def new(name: str | Name | None = None, /, clock: Clock | None = None) -> Circuit:
        if circuit_kind == "member":
            made.append(new_population(3, name, clock)[1])
        else:
            own, time = UNSET if name is None else name, UNSET if clock is None else clock
            made.append(cortex.circuit(own, clock=time))
        return made[-1]

    yield new
    for circuit in reversed(made):
        circuit.close()
    if not request.node.stash.get(FAILED, False):
        for circuit in made:
            settle(circuit, bound_s)


@pytest.fixture
def circuit(new_circuit: NewCircuit) -> Circuit:
    """Return a new circuit named ``tck.circuit``."""
    return new_circuit("tck.circuit")


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still until the test moves it."""
    return ManualClock(1_000_000_000)


@pytest.fixture
def timed(new_circuit: NewCircuit, clock: ManualClock) -> Circuit:
    """Return a new circuit named ``tck.timed``, with `clock`."""
    return new_circuit("tck.timed", clock=clock)


@pytest.fixture
def wait(bound_s: float) -> Settle:
    """Return a function that waits for circuits, within the bound."""

    def wait_for(*circuits: Circuit | Population) -> None:
        for circuit in circuits:
            settle(circuit, bound_s)

    return wait_for


@pytest.fixture
def eventually(bound_s: float) -> Until:
    """Return a function that waits for a condition that nothing announces, within the bound."""

    def wait_until(condition: Callable[[], object], what: str, /) -> None:
        until(condition, what, bound_s)

    return wait_until


@pytest.fixture
def check(cortex: Cortex, new_circuit: NewCircuit, clock: ManualClock, wait: Settle) -> Check:
    """Return a function that fails unless a vector holds; timed vectors get a circuit with `clock`."""

    def check_vector(vector: Vector, /) -> None:
        recipe = vector.recipe(cortex)
        if isinstance(vector, TimedVector):
            received = play(recipe, [vector.inputs], new_circuit("tck.timed", clock=clock), wait, clock)
        else:
            received = play(recipe, [vector.inputs], new_circuit("tck.circuit"), wait)
        confirm(vector, received[0])

    return check_vector


@pytest.fixture
def refused(cortex: Cortex) -> Refused:
    """Return a function that fails unless a call is refused as it must be."""

    def check_refusal(refusal: Refusal, /) -> None:
        refuse(refusal, cortex)

    return check_refusal


@pytest.fixture
def new_gate(new_circuit: NewCircuit, bound_s: float) -> Iterator[NewGate]:  # noqa: ARG001 - comes before
    """Make gates; all are released before the test's circuits are closed."""
    made: list[Gate] = []

    def new() -> Gate:
        made.append(Gate(bound_s))
        return made[-1]

    yield new
    for gate in made:
        gate.release()


@pytest.fixture
def gate(new_gate: NewGate) -> Gate:
    """Return a gate."""
    return new_gate()


@pytest.fixture
def new_event(bound_s: float) -> NewEvent:
    """Make events, each with the condition that it stands for."""
    return lambda condition: Event(bound_s, condition)


@pytest.fixture
def background(new_circuit: NewCircuit, bound_s: float) -> Iterator[Background]:  # noqa: ARG001 - comes before
    """Start functions in threads of their own, which must end in time."""
    tasks: list[Task[Any]] = []

    def start(function: Callable[..., T], /, *arguments: Any) -> Task[T]:
        task = Task(function, arguments, bound_s)
        tasks.append(task)
        return task

    yield start
    for task in tasks:
        task.join()


@pytest.fixture
def together(background: Background, bound_s: float) -> Together:
    """Call a function in several threads, which start at once."""

    def call_together(threads: int, function: Callable[[int], object], /) -> None:
        start = threading.Barrier(threads)

        def call(number: int) -> None:
            start.wait(bound_s)
            function(number)

        for task in [background(call, number) for number in range(threads)]:
            task.result()

    return call_together


@pytest.fixture
def interleaved() -> Iterator[None]:
    """Make threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
