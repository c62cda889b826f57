"""Fibers: what they are composed of, and what they are attached to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from substrates import Circuit, Cortex, Fiber, Pipe
from substrates.errors import AbsentValueError, ProviderMismatchFault
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_CELLS, FOREIGN_FIBERS, FOREIGN_PIPES
from substrates_tck.marks import derived, each_lane, rule
from substrates_tck.vectors import Check, Refusal, Refused, Vector, add, cases, play, positive
from substrates_tck.waits import Settle


def _bare(fiber: Fiber[Any]) -> Fiber[Any]:
    """Return the fiber without operators of the same cortex."""
    return fiber.cortex.fiber()


# -- composition


@cases(
    Vector(
        "FIBER-COMP-01",
        "guard(pos).fiber(F.diff())",
        lambda f: f.guard(positive).fiber(_bare(f).diff()),
        [1, 1, -2, 3, 3, 4],
        [1, 3, 4],
    ),
    Vector("FIBER-COMP-02", "guard(pos).diff()", lambda f: f.guard(positive).diff(), [1, -1, 1], [1]),
    Vector("FIBER-COMP-02", "diff().guard(pos)", lambda f: f.diff().guard(positive), [1, -1, 1], [1, 1]),
    Vector(
        "FIBER-COMP-02",
        "guard(pos).diff().limit(3)",
        lambda f: f.guard(positive).diff().limit(3),
        [-1, 1, 1, 2, 3, 4, 5],
        [1, 2, 3],
    ),
    Vector(
        "FIBER-COMP-03",
        "fiber(F.diff())",
        lambda f: f.fiber(_bare(f).diff()),
        [1, 1, 2],
        [1, 2],
        derived=True,
    ),
    Vector(
        "FIBER-COMP-03",
        "diff().fiber(identity)",
        lambda f: f.diff().fiber(_bare(f)),
        [1, 1, 2],
        [1, 2],
        derived=True,
    ),
    Vector(
        "FIBER-COMP-03",
        "skip(1).fiber(F.every(2)).fiber(F.limit(2))",
        lambda f: f.skip(1).fiber(_bare(f).every(2)).fiber(_bare(f).limit(2)),
        range(1, 10),
        [3, 5],
        derived=True,
    ),
    Vector(
        "FIBER-COMP-03",
        "skip(1).fiber(F.every(2).fiber(F.limit(2)))",
        lambda f: f.skip(1).fiber(_bare(f).every(2).fiber(_bare(f).limit(2))),
        range(1, 10),
        [3, 5],
        derived=True,
    ),
    Vector(
        "FIBER-COMP-01",
        "guard(pos) | F.diff()",
        lambda f: f.guard(positive) | _bare(f).diff(),
        [1, 1, -2, 3, 3, 4],
        [1, 3, 4],
        derived=True,
    ),
)
def test_fibers_follow_each_other_in_reading_order(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-COMP-01")
@derived
def test_a_chain_may_be_long(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    recipe = cortex.fiber(int)
    for number in range(300):
        recipe = recipe.replace(lambda v: v + 1).guard(positive).skip(number % 2)

    received = play(recipe, [range(1000)], circuit, wait)[0]

    # Each second stage drops the first value that it gets.
    assert received == list(range(150 + 300, 1000 + 300))


@rule("FIBER-COMP-01", "FIBER-WHEN-01")
@derived
def test_fibers_may_be_nested_deeply(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    recipe = cortex.fiber(int).diff()
    for _ in range(40):
        recipe = cortex.fiber(int).when(positive, recipe.replace(lambda v: v + 1))

    received = play(recipe, [[1, 1, -1, -1, 2]], circuit, wait)[0]

    assert received == [41, -1, -1, 42]


@cases(
    Refusal("FIBER-COMP-04", "fiber(None)", lambda f: f.fiber(None), AbsentValueError),
    Refusal("FIBER-COMP-04", "fiber(object())", lambda f: f.fiber(object()), ProviderMismatchFault),
    Refusal("FIBER-PIPE-02", "identity.pipe(None)", lambda f: f.pipe(None), AbsentValueError),
    Refusal("FIBER-PIPE-02", "diff().pipe(None)", lambda f: f.diff().pipe(None), AbsentValueError),
    Refusal("FIBER-PIPE-03", "identity.pipe(42)", lambda f: f.pipe(42), TypeError, derived=True),
    Refusal("FIBER-COMP-04", "identity | 42", lambda f: f | 42, TypeError, derived=True),
)
def test_what_cannot_be_composed_is_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("FIBER-COMP-04")
@pytest.mark.parametrize("foreign", FOREIGN_FIBERS, ids=["DuckRecipe", "foreign_fiber"])
def test_a_foreign_fiber_is_refused(foreign: Any, cortex: Cortex) -> None:
    fiber = foreign(cortex.subject)

    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.fiber().fiber(fiber)

    assert caught.value.operation == "fiber"


# -- attachment to pipes


@cases(
    Vector(
        "FIBER-PIPE-01",
        "guard(pos).diff()",
        lambda f: f.guard(positive).diff(),
        [1, 1, -2, 3, 3, 4],
        [1, 3, 4],
    ),
    Vector("FIBER-PIPE-01", "peek(None)", lambda f: f.peek(lambda _: None), ["a", "b"], ["a", "b"]),
)
def test_an_attached_fiber_runs_ahead_of_the_pipe(case: Vector, check: Check) -> None:
    check(case)


@rule("FIBER-PIPE-01")
@pytest.mark.parametrize("shape", ["identity", "diff"])
def test_each_attachment_is_a_pipe_of_its_own(shape: str, cortex: Cortex, circuit: Circuit) -> None:
    fiber = cortex.fiber(int) if shape == "identity" else cortex.fiber(int).diff()
    target: Pipe[int] = circuit.pipe()

    first, second = fiber.pipe(target), fiber.pipe(target)

    assert isinstance(first, Pipe)
    assert first is not target
    assert first is not second
    assert cortex.owns(first)


@rule("FIBER-PIPE-01")
@derived
@each_lane
def test_a_fiber_is_attached_to_a_pipe_of_any_lane(
    lane: object, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[float] = []
    pipe = cortex.fiber().guard(positive).diff().pipe(circuit.pipe(received.append, lane=lane))
    for value in (1, 1, -2, 3, 3, 4):
        pipe.emit(value)
    wait(circuit)

    assert received == [1, 3, 4]


@rule("FIBER-PIPE-01")
@derived
def test_a_fiber_is_attached_with_a_bar(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    pipe = cortex.fiber(int).guard(positive) | circuit.pipe(received.append)
    for value in (1, -2, 3):
        pipe.emit(value)
    wait(circuit)

    assert received == [1, 3]


@rule("FIBER-PIPE-01")
@derived
def test_a_fiber_is_attached_to_a_pipe_of_a_closed_circuit_for_nothing(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []
    target: Pipe[int] = circuit.pipe(received.append)
    circuit.close()
    wait(circuit)

    cortex.fiber(int).guard(positive).pipe(target).emit(1)
    wait(circuit)

    assert received == []


@rule("FIBER-PIPE-01")
@derived
def test_a_fiber_is_attached_in_the_own_context(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    fiber = cortex.fiber(int).guard(positive)

    def attach(value: int) -> None:
        pipe = fiber.pipe(circuit.pipe(received.append))
        pipe.emit(-value)
        pipe.emit(value)

    circuit.pipe(attach).emit(7)
    wait(circuit)

    assert received == [7]


@rule("FIBER-PIPE-02")
@pytest.mark.parametrize("shape", ["identity", "diff"])
def test_a_valid_target_attaches_after_an_absent_one_was_refused(
    shape: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    fiber: Any = cortex.fiber() if shape == "identity" else cortex.fiber().diff()
    with pytest.raises(AbsentValueError):
        fiber.pipe(None)

    assert play(fiber, [[1, 2]], circuit, wait) == [[1, 2]]


@rule("FIBER-PIPE-03")
@pytest.mark.parametrize("shape", ["identity", "diff"])
@pytest.mark.parametrize(
    "foreign",
    [*FOREIGN_PIPES, *FOREIGN_CELLS],
    ids=["DuckPipe", "ForeignPipe", "DuckCell", "ForeignCell"],
)
def test_a_foreign_target_is_refused(
    foreign: Callable[[Any], Any], shape: str, cortex: Cortex, circuit: Circuit
) -> None:
    fiber = cortex.fiber() if shape == "identity" else cortex.fiber().diff()
    target = foreign(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as caught:
        fiber.pipe(target)

    assert caught.value.operation == "pipe"


@rule("FIBER-PIPE-05")
def test_a_target_may_take_more_than_the_fiber_passes(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[object] = []
    target: Pipe[object] = circuit.pipe(received.append)

    cortex.fiber(bool).diff().pipe(target).emit(True)
    target.emit("text")
    wait(circuit)

    assert received == [True, "text"]


@rule("FIBER-PIPE-06")
def test_an_attached_fiber_has_a_subject_below_its_targets(cortex: Cortex, circuit: Circuit) -> None:
    target: Pipe[int] = circuit.pipe("orders.filled", lambda _: None)
    first, second = cortex.fiber(int).diff().pipe(target), cortex.fiber(int).pipe(target)

    for pipe in (first, second):
        assert pipe.subject.name is target.subject.name
        assert pipe.subject.enclosure is target.subject
        assert pipe.subject.depth == target.subject.depth + 1
        assert pipe.subject is pipe.subject
    assert len({first.subject.id, second.subject.id, target.subject.id}) == 3


@rule("FIBER-PIPE-07")
@derived
def test_stacked_attachments_equal_a_composition(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    inputs = [1, 1, -2, 3]
    stacked: list[int] = []
    fiber = cortex.fiber(int)
    pipe = fiber.guard(positive).pipe(fiber.diff().pipe(circuit.pipe(stacked.append)))
    for value in inputs:
        pipe.emit(value)

    composed = play(fiber.guard(positive).fiber(fiber.diff()), [inputs], circuit, wait)[0]

    assert (stacked, composed) == ([1, 3], [1, 3])


@rule("FIBER-PIPE-07")
@derived
def test_a_stack_of_attachments_may_be_high(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    recipe = cortex.fiber(int).replace(lambda v: v + 1)
    pipe: Pipe[int] = circuit.pipe(received.append)
    for _ in range(1500):
        pipe = recipe.pipe(pipe)
    for value in (0, 1, 2):
        pipe.emit(value)
    wait(circuit)

    assert received == [1500, 1501, 1502]


# -- attachment to cells


@rule("FIBER-PIPE-04")
def test_what_a_fiber_passes_replaces_the_value_of_a_cell(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    cell = circuit.cell(0)
    pipe = cortex.fiber(int).reduce(0, add).pipe(cell)
    for value in (2, 3, 5):
        pipe.emit(value)
    wait(circuit)

    assert cell.get() == 10


@rule("FIBER-PIPE-04")
def test_what_a_fiber_drops_leaves_a_cell_as_it_was(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    cell = circuit.cell(0)
    pipe = cortex.fiber(int).guard(positive).pipe(cell)
    pipe.emit(-1)
    wait(circuit)
    before = cell.get()
    pipe.emit(7)
    wait(circuit)

    assert (before, cell.get()) == (0, 7)


@rule("FIBER-PIPE-04")
def test_a_fiber_runs_on_the_circuit_of_its_cell(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    contexts: list[object] = []
    cell = circuit.cell(0)
    pipe = cortex.fiber(int).peek(lambda _: contexts.append(cortex.current())).pipe(cell)

    other = new_circuit("tck.other")
    other.pipe(pipe).emit(3)
    wait(other, circuit)

    assert len(contexts) == 1
    assert contexts[0] is circuit.current
    assert cell.get() == 3


@rule("FIBER-PIPE-04", "FIBER-PIPE-06")
@derived
def test_a_fiber_ends_in_the_pipe_of_its_cell(cortex: Cortex, circuit: Circuit) -> None:
    cell = circuit.cell("level", 0)

    for pipe in (cortex.fiber(int).pipe(cell), cortex.fiber(int) | cell):
        assert pipe.subject.enclosure is cell.pipe().subject
