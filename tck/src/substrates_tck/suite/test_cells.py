"""Cells: the latest value, replaced in the circuit's order, read from anywhere."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Cell,
    Circuit,
    Conduit,
    Cortex,
    Pipe,
    ProviderMismatchFault,
    Receptor,
    Recipe,
    Resource,
    Source,
    Subject,
    Substrate,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_CELLS, ForeignName
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside
from substrates_tck.waits import Background, Gate, Settle

ABSENT: dict[str, Callable[[Any], object]] = {
    "cell(None)": lambda circuit: circuit.cell(None),
    "cell(None, 0)": lambda circuit: circuit.cell(None, 0),
    "cell(name, None)": lambda circuit: circuit.cell("n", None),
}


@rule("CELL-CREATE-01", "CIRCUIT-FACT-04")
@pytest.mark.parametrize("call", ABSENT.values(), ids=ABSENT)
def test_a_cell_needs_a_value_and_a_name_that_is_given(
    call: Callable[[Any], object], circuit: Circuit, wait: Settle
) -> None:
    with pytest.raises(AbsentValueError):
        call(circuit)

    cell = circuit.cell(1)
    cell.pipe().emit(2)
    wait(circuit)
    assert cell.get() == 2


@rule("CELL-CREATE-01", "ERR-PROV-01")
def test_a_cells_name_is_of_the_same_provider(circuit: Circuit) -> None:
    with pytest.raises(ProviderMismatchFault) as refused:
        circuit.cell(ForeignName("foreign"), 0)

    assert refused.value.subject is circuit.subject
    assert refused.value.operation == "cell"


@rule("CELL-CREATE-01")
@derived
@pytest.mark.parametrize("arguments", [(), ("n", 0, 1)], ids=["none", "three"])
def test_a_cell_takes_one_argument_or_two(arguments: tuple[Any, ...], circuit: Any) -> None:
    with pytest.raises(TypeError) as refused:
        circuit.cell(*arguments)

    assert not isinstance(refused.value, AbsentValueError)


@rule("CELL-CREATE-02", "CIRCUIT-FACT-02", "CIRCUIT-FACT-03", "COMMON-NAME-07", "COMMON-SUBJ-08")
def test_a_cells_subject_tells_kind_name_and_circuit(cortex: Cortex, circuit: Circuit) -> None:
    name = cortex.name("tck.cell")
    unnamed, named = circuit.cell(0), circuit.cell(name, 0)

    assert unnamed.subject.name is circuit.subject.name
    assert named.subject.name is name
    for cell in (unnamed, named):
        assert isinstance(cell, Cell)
        assert cell.subject.type is Cell
        assert cell.subject.enclosure is circuit.subject
        assert cell.subject is cell.subject


@rule("CELL-CAP-03", "RES-01")
def test_a_cell_is_a_substrate_and_nothing_that_is_emitted_to_or_closed(circuit: Circuit) -> None:
    cell = circuit.cell(0)

    assert isinstance(cell, Substrate)
    assert not isinstance(cell, (Pipe, Receptor, Resource, Source))
    for attribute in ("emit", "receive", "close", "set", "subscribe"):
        assert not hasattr(cell, attribute), attribute
    assert not callable(cell)


@rule("CELL-GET-04", "CIRCUIT-FACT-10")
def test_a_cell_holds_its_first_value_until_another_is_processed(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    cell = circuit.cell(42)
    assert cell.get() == 42

    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    cell.pipe().emit(43)
    assert cell.get() == 42
    gate.release()
    wait(circuit)

    assert cell.get() == 43


@rule("CELL-GET-04")
def test_a_cell_can_be_read_from_any_context(
    circuit: Circuit, new_circuit: NewCircuit, wait: Settle, background: Background
) -> None:
    cell = circuit.cell("here")

    assert cell.get() == "here"
    assert background(cell.get).result() == "here"
    assert inside(circuit, wait, cell.get) == "here"
    assert inside(new_circuit("cell.other"), wait, cell.get) == "here"


@rule("CELL-GET-04", "COMMON-ABSENT-05")
@pytest.mark.parametrize("value", [0, False, "", (), 0.0], ids=["0", "False", "str", "tuple", "0.0"])
def test_a_cell_holds_values_that_are_false(value: object, circuit: Circuit, wait: Settle) -> None:
    seeded: Cell[object] = circuit.cell(value)
    replaced: Cell[object] = circuit.cell("n", 1)
    assert seeded.get() is value

    replaced.pipe().emit(value)
    wait(circuit)

    assert replaced.get() is value


@rule("CELL-GET-05")
@pytest.mark.parametrize("values", [[2], [1, 2, 3, 4, 5]], ids=["one", "five"])
def test_the_last_value_wins(values: list[int], circuit: Circuit, wait: Settle) -> None:
    cell = circuit.cell(1)

    for value in values:
        cell.pipe().emit(value)
    wait(circuit)

    assert cell.get() == values[-1]


@rule("CELL-GET-05")
def test_a_value_replaces_and_does_not_merge(circuit: Circuit, wait: Settle) -> None:
    cell: Cell[dict[str, int]] = circuit.cell({"a": 1})

    cell.pipe().emit({"b": 2})
    wait(circuit)

    assert cell.get() == {"b": 2}


@rule("CELL-GET-06")
def test_the_object_itself_is_handed_out(circuit: Circuit, wait: Settle) -> None:
    first, second = [1], [2]
    cell = circuit.cell(first)
    assert cell.get() is first

    cell.pipe().emit(second)
    wait(circuit)

    assert cell.get() is second
    assert inside(circuit, wait, cell.get) is second


@rule("CELL-GET-06")
def test_a_later_receptor_of_the_circuit_reads_what_an_earlier_emission_put_there(
    circuit: Circuit, wait: Settle
) -> None:
    cell = circuit.cell(0)
    read: list[int] = []
    reader: Pipe[int] = circuit.pipe(lambda _: read.append(cell.get()))

    for value in (1, 2, 3):
        cell.pipe().emit(value)
        reader.emit(0)
    wait(circuit)

    assert read == [1, 2, 3]


@rule("CELL-GET-06")
def test_a_reader_that_polls_sees_values_in_order_and_the_last_one(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    cell: Cell[tuple[int, int]] = circuit.cell((0, 0))
    last = 5000

    def poll() -> list[tuple[int, int]]:
        seen = [cell.get()]
        while seen[-1][0] < last:
            value = cell.get()
            if value is not seen[-1]:
                seen.append(value)
        return seen

    polling = background(poll)
    for number in range(1, last + 1):
        cell.pipe().emit((number, number * number))
    wait(circuit)
    seen = polling.result()

    assert all(square == number * number for number, square in seen)
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


@rule("CELL-PIPE-07", "CIRCUIT-FACT-10", "SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04")
def test_a_cells_pipe_is_one_and_enclosed_by_the_cell(cortex: Cortex, circuit: Circuit) -> None:
    cell = circuit.cell("tck.cell", 0)
    pipe = cell.pipe()

    assert cell.pipe() is pipe
    assert isinstance(pipe, Pipe)
    assert pipe.subject.type is Pipe
    assert pipe.subject.name is cell.subject.name
    assert list(pipe.subject) == [pipe.subject, cell.subject, circuit.subject, cortex.subject]
    assert pipe.subject.depth == 4


@rule("CELL-PIPE-07")
@derived
def test_threads_that_race_for_a_cells_pipe_get_one(
    circuit: Circuit, background: Background, interleaved: None
) -> None:
    for _ in range(50):
        cell = circuit.cell(0)
        tasks = [background(cell.pipe) for _ in range(4)]
        assert len({id(task.result()) for task in tasks}) == 1


@rule("CELL-PIPE-08")
def test_an_absent_emission_is_refused_and_changes_nothing(circuit: Circuit, wait: Settle) -> None:
    cell = circuit.cell(1)
    anything: Any = None

    with pytest.raises(AbsentValueError):
        cell.pipe().emit(anything)
    wait(circuit)

    assert cell.get() == 1


@rule("COMMON-FRESH-09", "CIRCUIT-FACT-01")
def test_every_cell_has_a_value_of_its_own(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    name = cortex.name("tck.cell")
    first, second = circuit.cell(name, 0), circuit.cell(name, 0)

    first.pipe().emit(7)
    wait(circuit)

    assert first is not second
    assert first.subject.id is not second.subject.id
    assert (first.get(), second.get()) == (7, 0)


@rule("CELL-RECIPE-09")
def test_a_fiber_may_end_in_a_cell(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    cell = circuit.cell(0)
    pipe = cortex.fiber(int).reduce(0, operator.add).pipe(cell)

    for value in (2, 3, 5):
        pipe.emit(value)
    wait(circuit)

    assert cell.get() == 10


@rule("CELL-RECIPE-09")
@derived
def test_a_recipe_that_ends_in_a_cell_is_a_pipe_ahead_of_the_cells(cortex: Cortex, circuit: Circuit) -> None:
    cell = circuit.cell("tck.cell", 0)
    pipes: list[Pipe[Any]] = [cortex.fiber(int).diff().pipe(cell), cortex.flow(int).map(abs).pipe(cell)]

    for pipe in pipes:
        assert isinstance(pipe, Pipe)
        assert pipe is not cell.pipe()
        assert pipe.subject.enclosure is cell.pipe().subject
        assert pipe.subject.name is cell.subject.name


Drawdown = tuple[float, float, float]


def _drawdown(state: Drawdown, change: float) -> Drawdown:
    value = state[0] * (1 + change)
    peak = max(state[1], value)
    return value, peak, value / peak - 1


SCANS: dict[str, Callable[[Cortex], Recipe[float, Drawdown]]] = {
    "scan(supplier, step)": lambda cortex: cortex.flow(float).scan(lambda: (1.0, 1.0, 0.0), _drawdown),
    "scan(supplier, step, emit)": lambda cortex: cortex.flow(float).scan(
        lambda: (1.0, 1.0, 0.0), _drawdown, lambda state: state
    ),
}


@rule("CELL-RECIPE-09")
@pytest.mark.parametrize("scan", SCANS.values(), ids=SCANS)
def test_a_flow_may_end_in_a_cell(
    scan: Callable[[Cortex], Recipe[float, Drawdown]], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    cell: Cell[Drawdown] = circuit.cell((1.0, 1.0, 0.0))
    pipe = scan(cortex).pipe(cell)

    pipe.emit(0.10)
    pipe.emit(-0.20)
    wait(circuit)

    assert cell.get() == pytest.approx((0.88, 1.1, -0.2), abs=1e-12)


RECIPES: dict[str, Callable[[Cortex], Any]] = {
    "fiber": lambda cortex: cortex.fiber(int).diff(),
    "flow": lambda cortex: cortex.flow(int).map(abs),
}


@rule("CELL-RECIPE-09")
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_recipe_needs_a_cell(recipe: Callable[[Cortex], Any], cortex: Cortex) -> None:
    with pytest.raises(AbsentValueError):
        recipe(cortex).pipe(None)


@rule("CELL-RECIPE-09", "ERR-PROV-01", "SPI-MIX-13")
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("kind", FOREIGN_CELLS, ids=lambda kind: kind.__name__)
def test_a_recipe_ends_in_no_cell_of_another_provider(
    kind: Callable[[Subject[Any]], Any],
    recipe: Callable[[Cortex], Any],
    cortex: Cortex,
    circuit: Circuit,
    wait: Settle,
) -> None:
    genuine = circuit.cell(0)

    with pytest.raises(ProviderMismatchFault) as refused:
        recipe(cortex).pipe(kind(genuine.subject))

    assert refused.value.operation == "pipe"
    genuine.pipe().emit(1)
    wait(circuit)
    assert genuine.get() == 1


@rule("CELL-CROSS-10")
def test_a_cell_is_updated_by_its_own_circuit(cortex: Cortex, new_circuit: NewCircuit, wait: Settle) -> None:
    owner, feeder = new_circuit("cell.owner"), new_circuit("cell.feeder")
    contexts: list[object] = []
    cell = owner.cell(0)

    def add(total: int, value: int) -> int:
        contexts.append(cortex.current())
        return total + value

    target = cortex.fiber(int).reduce(0, add).pipe(cell)
    feed: Pipe[int] = feeder.pipe(target.emit)
    feed.emit(1)
    feed.emit(2)
    wait(feeder, owner)

    assert cell.get() == 3
    assert contexts == [owner.current, owner.current]


@rule("CELL-AGG-11")
def test_many_channels_may_feed_one_cell(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    def add(sums: dict[str, int], entry: tuple[str, int]) -> dict[str, int]:
        return {**sums, entry[0]: sums.get(entry[0], 0) + entry[1]}

    cell: Cell[dict[str, int]] = circuit.cell({})
    total = cortex.flow(tuple[str, int]).scan(dict, add).pipe(cell)
    conduit: Conduit[int] = circuit.conduit(int)

    def subscribed(subject: Any, registrar: Any) -> None:
        registrar.register(lambda value: total.emit((str(subject.name), value)))

    conduit.subscribe(circuit.subscriber("tck.sums", subscribed))
    for channel, value in (("left", 1), ("right", 2), ("left", 3)):
        conduit.get(channel).emit(value)
    wait(circuit)

    assert cell.get() == {"left": 4, "right": 2}


@rule("CELL-CLOSED-12", "CIRCUIT-CLOSE-10")
def test_a_cell_stays_readable_after_close(circuit: Circuit, wait: Settle, background: Background) -> None:
    cell = circuit.cell(1)
    cell.pipe().emit(2)
    wait(circuit)

    circuit.close()
    cell.pipe().emit(3)
    assert cell.get() == 2
    wait(circuit)
    cell.pipe().emit(4)

    assert cell.get() == 2
    assert background(cell.get).result() == 2


@rule("CELL-CLOSED-12", "CIRCUIT-CLOSE-05")
@derived
def test_what_was_accepted_before_close_still_gets_into_the_cell(
    circuit: Circuit, wait: Settle, gate: Gate
) -> None:
    cell = circuit.cell(0)
    circuit.pipe(gate.hold).emit(0)
    gate.await_entered()
    cell.pipe().emit(1)
    circuit.close()
    cell.pipe().emit(2)
    gate.release()
    wait(circuit)

    assert cell.get() == 1


@rule("COMMON-FIFO-02")
def test_eight_producers_reach_a_cell_in_their_own_orders(
    circuit: Circuit, wait: Settle, background: Background, interleaved: None
) -> None:
    cell: Cell[tuple[int, int]] = circuit.cell((-1, -1))
    read: list[tuple[int, int]] = []
    reader: Pipe[int] = circuit.pipe(lambda _: read.append(cell.get()))

    def produce(producer: int) -> None:
        for number in range(1000):
            cell.pipe().emit((producer, number))
            reader.emit(0)

    for task in [background(produce, producer) for producer in range(8)]:
        task.result()
    wait(circuit)

    assert len(read) == 8000
    for producer in range(8):
        numbers = [number for by, number in read if by == producer]
        assert numbers == sorted(numbers)
