"""Populations as arrays: the states of their kernels, wiring by handles, values in NumPy arrays."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from substrates import (
    ClosedFault,
    Cortex,
    Pipes,
    Population,
    ProviderMismatchFault,
    kernel,
)
from substrates_tck.fixtures import NewCircuit, NewPopulation, Until
from substrates_tck.foreigners import ForeignPipe
from substrates_tck.marks import kernels, population_kernels, rule
from substrates_tck.outcomes import outcome, refused
from substrates_tck.waits import Background, Settle

SIZE = 5


@pytest.fixture(scope="module")
def library() -> Any:
    """Return the kit's kernels; they are compiled on import."""
    import substrates_tck.kernels as module

    assert isinstance(module, ModuleType)
    return module


@pytest.fixture
def population(new_population: NewPopulation) -> Population:
    """Return a population of `SIZE` members."""
    return new_population(SIZE, "tck.population")


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


# -- values in arrays, whatever receives them


def _logging(population: Population, lane: Any) -> tuple[Pipes[Any], list[list[Any]]]:
    logs: list[list[Any]] = [[] for _ in population]
    return population.pipes(lambda index, value: logs[index].append(value), lane=lane), logs


@rule("POPULATION-EMIT-01")
@pytest.mark.parametrize("kind", ["int64", "int8", "uint16", "uint64", "bool", ">i4"])
def test_integer_arrays_are_taken_on_the_int64_lane(kind: str, population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population, kernel.int64)
    values = np.array([0, 1, 1, 0, 1], kind)

    pipes.emit(values)
    pipes.emit(values[::-1])
    pipes.emit(np.array(1, kind))
    wait(population)

    assert logs == [[0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 1]]
    assert {type(value) for log in logs for value in log} == {int}


@rule("POPULATION-EMIT-01")
@pytest.mark.parametrize("kind", ["float64", "float32", "int32", "uint64", "bool"])
def test_number_arrays_are_taken_on_the_float64_lane(kind: str, population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population, kernel.float64)

    pipes.emit(np.array([0, 1, 1, 0, 1], kind))
    pipes.emit(np.array(1, kind))
    pipes.emit([0.5, 1, 2, 3, 4])
    wait(population)

    assert logs == [[0, 1, 0.5], [1, 1, 1], [1, 1, 2], [0, 1, 3], [1, 1, 4]]
    assert {type(value) for log in logs for value in log} == {float}


@rule("POPULATION-EMIT-01")
def test_an_array_is_read_before_emit_returns(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population, kernel.int64)
    values, where = np.arange(3), np.array([0, 1, 2])

    pipes.emit(values, where=where)
    values[:] = where[:] = 4
    wait(population)

    assert logs == [[0], [1], [2], [], []]


@rule("POPULATION-EMIT-03")
@pytest.mark.parametrize("lane", [object, kernel.int64], ids=["object", "int64"])
def test_indices_and_booleans_may_be_arrays(lane: Any, population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population, lane)

    pipes.emit([1, 2, 3], where=np.array([-1, 0, -1], np.int8))
    pipes.emit([4, 5], where=np.array([0, 1], np.uint64))
    pipes.emit([6, 7], where=np.arange(SIZE) >= 3)
    pipes.emit([], where=np.zeros(SIZE, bool))
    pipes.emit([], where=np.empty(0, np.int64))
    wait(population)

    assert logs == [[2, 4], [5], [], [6], [1, 3, 7]]


@rule("POPULATION-EMIT-04")
@pytest.mark.parametrize(
    ("lane", "values", "where", "category"),
    [
        (kernel.int64, np.ones(SIZE), None, TypeError),
        (kernel.int64, np.ones(SIZE, complex), None, TypeError),
        (kernel.int64, np.array(list("abcde")), None, TypeError),
        (kernel.float64, np.array(list("12345")), None, TypeError),
        (kernel.float64, np.ones(SIZE, complex), None, TypeError),
        (kernel.int64, np.array([0, 1, 2, 3, 2**63], np.uint64), None, OverflowError),
        (kernel.int64, np.ones((SIZE, 1), int), None, ValueError),
        (kernel.int64, np.ones((1, SIZE), int), None, ValueError),
        (kernel.int64, np.ones(SIZE - 1, int), None, ValueError),
        (kernel.int64, np.array([1, 2, 3, 4, None], object), None, TypeError),
        (kernel.int64, 1, np.array([0, SIZE]), IndexError),
        (kernel.int64, 1, np.array([0, 2**63], np.uint64), IndexError),
        (kernel.int64, 1, np.array([0.0, 1.0]), TypeError),
        (kernel.int64, 1, np.array([[0, 1]]), ValueError),
        (kernel.int64, 1, np.ones(SIZE + 1, bool), ValueError),
        (kernel.int64, [1, 2], np.array([0, 1, 2]), ValueError),
    ],
    ids=lambda each: f"{each.dtype}{each.shape}" if isinstance(each, np.ndarray) else None,
)
def test_arrays_that_do_not_fit_are_refused_before_anything_is_admitted(
    lane: Any, values: Any, where: Any, category: type[Exception], population: Population, wait: Settle
) -> None:
    pipes, logs = _logging(population, lane)

    error = outcome(lambda: pipes.emit(values, where=where))
    wait(population)

    assert isinstance(error, category), f"emit({values!r}, where={where!r}) gave {error!r}"
    assert logs == [[]] * SIZE, "nothing was to be admitted"


# -- kernels: states


@rule("POPULATION-WAIT-01")
@kernels
def test_wait_covers_the_kernels_that_members_have_of_their_own(
    library: Any, population: Population, wait: Settle
) -> None:
    pipes = [member.pipe(library.relay.bind()) for member in population]

    for round_ in range(1, 6):
        for pipe in pipes:
            pipe.emit(2000)
        wait(population)
        assert [pipe.state.count for pipe in pipes] == [2001 * round_] * SIZE


@rule("POPULATION-PIPES-04", "POPULATION-STATE-01", "KERNEL-STATE-01")
@population_kernels
def test_each_member_has_a_state_of_its_own_with_the_bound_values(
    library: Any, population: Population, wait: Settle
) -> None:
    pipes = population.pipes(library.relay.bind(burst=3))

    pipes.emit([0, 1, 2, 3, 4])
    wait(population)

    assert len(pipes.state) == SIZE
    assert pipes.state["burst"].tolist() == [3] * SIZE
    assert pipes.state["count"].tolist() == [1, 2, 3, 4, 5]
    for index, pipe in enumerate(pipes):
        assert (pipe.state.count, pipe.state.burst) == (index + 1, 3)
    assert pipes.lane is kernel.Lane.INT64


@rule("POPULATION-PIPES-04")
@population_kernels
def test_a_kernel_without_bound_values_and_a_name_may_be_given(
    library: Any, cortex: Cortex, population: Population, wait: Settle
) -> None:
    pipes = population.pipes("tck.tally", library.tally)
    others = population.pipes(library.tally)

    pipes.emit(7)
    others.emit(8, where=[0])
    wait(population)

    assert {pipe.subject.name for pipe in pipes} == {cortex.name("tck.tally")}
    assert pipes.state["total"].tolist() == [7] * SIZE
    assert others.state["total"].tolist() == [8, 0, 0, 0, 0]


@rule("POPULATION-PIPES-04", "KERNEL-RESULT-01")
@population_kernels
def test_kernels_in_a_population_compute_what_each_computes_alone(
    library: Any, population: Population, new_circuit: NewCircuit, wait: Settle
) -> None:
    pipes = population.pipes(library.average)
    circuits = [new_circuit() for _ in range(SIZE)]
    alone = [circuit.pipe(library.average.bind()) for circuit in circuits]

    for number in range(10):
        values = np.linspace(-1.5, number / 3, SIZE)
        pipes.emit(values)
        for pipe, value in zip(alone, values.tolist(), strict=True):
            pipe.emit(value)
    wait(population, *circuits)

    for field in (each for each in pipes.state.dtype.names if each != "onward"):
        assert pipes.state[field].tolist() == [getattr(pipe.state, field) for pipe in alone], field


@rule("POPULATION-PIPES-04", "POPULATION-CLOSE-01")
@population_kernels
def test_a_closed_population_makes_no_kernels_pipes(library: Any, population: Population) -> None:
    population.close()

    refused(ClosedFault, population.pipes, library.tally.bind())


@rule("POPULATION-PIPES-04")
@population_kernels
def test_what_a_kernel_cannot_be_bound_with_or_given_is_refused(library: Any, population: Population) -> None:
    anything: Any = population.pipes

    refused(TypeError, lambda: anything(library.tally, lane=kernel.int64))
    for pipe, category in (
        (ForeignPipe(population.subject), ProviderMismatchFault),
        (population[0].pipe(print), TypeError),
    ):
        error = outcome(lambda pipe=pipe: anything(library.forward.bind(onward=pipe)))  # type: ignore[misc]
        assert isinstance(error, category), error


@rule("POPULATION-STATE-01")
@population_kernels
def test_a_column_is_the_kernels_own_memory(library: Any, population: Population, wait: Settle) -> None:
    pipes = population.pipes(library.tally)
    count, total = pipes.state["count"], pipes.state["total"]
    address = _address(count)

    for round_ in range(1, 4):
        pipes.emit(10)
        wait(population)
        assert count.tolist() == [round_] * SIZE, "the column that was got before shows it"
        assert total.tolist() == [10 * round_] * SIZE
        assert _address(pipes.state["count"]) == address
    assert count.dtype == np.int64
    assert count.shape == (SIZE,)
    total[2] = 1000
    pipes.emit(1)
    wait(population)
    assert pipes[2].state.total == 1001


@rule("POPULATION-STATE-01")
@population_kernels
def test_columns_have_the_types_of_their_fields(library: Any, population: Population) -> None:
    states = population.pipes(library.relay).state

    assert states.shape == (SIZE,)
    assert set(states.dtype.names) == {"count", "burst", "here", "onward"}
    assert states["count"].dtype == np.int64
    assert population.pipes(library.average).state.dtype.fields is not None
    assert np.float64 in [
        each[0] for each in (population.pipes(library.average).state.dtype.fields or {}).values()
    ]
    refused(KeyError, lambda: states["nothing"])


@rule("POPULATION-STATE-01")
@population_kernels
def test_rows_are_read_and_not_written(library: Any, population: Population, wait: Settle) -> None:
    pipes = population.pipes(library.tally)
    pipes.emit([1, 2, 3, 4, 5])
    wait(population)

    assert pipes.state[3]["total"] == 4
    assert pipes.state[1:3]["total"].tolist() == [2, 3]
    refused(TypeError, lambda: pipes.state.__setitem__(3, pipes.state[2]))


@rule("POPULATION-STATE-02")
@population_kernels
def test_states_can_be_read_after_the_end(library: Any, population: Population) -> None:
    pipes = population.pipes(library.tally)
    pipes.emit(7)
    count = pipes.state["count"]

    population.close(wait=True)
    pipes.emit(7)

    assert count.tolist() == pipes.state["count"].tolist() == [1] * SIZE


@rule("POPULATION-STATE-02")
@population_kernels
@pytest.mark.parametrize(
    "keep",
    [
        lambda pipes: pipes.state,
        lambda pipes: pipes.state["count"],
        lambda pipes: pipes.state["count"][1:],
        lambda pipes: pipes.state["onward"],
        lambda pipes: pipes.state[1:],
        lambda pipes: pipes.handles,
        lambda pipes: pipes.handles[2:],
        lambda pipes: pipes[0].state,
    ],
    ids=["states", "column", "part", "pipe column", "rows", "handles", "some handles", "one state"],
)
def test_what_is_held_of_the_states_keeps_the_population_alive(
    keep: Callable[[Any], Any], library: Any, cortex: Cortex, eventually: Until
) -> None:
    population = cortex.circuits(3, "tck.kept")
    pipes = population.pipes(library.relay)
    kept = keep(pipes)
    gone = weakref.ref(population)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del population, pipes
        gc.collect()
        alive = gone()
        assert alive is not None, "the population went although something of it was held"
        alive.close(wait=True)
    del alive
    assert kept is not None
    del kept

    eventually(lambda: gc.collect() is not None and gone() is None, "the population is given back")


@rule("POPULATION-CLOSE-03")
@population_kernels
def test_populations_of_wired_kernels_are_given_back(library: Any, cortex: Cortex, eventually: Until) -> None:
    gc.collect()
    before = {kind: int(cortex.facts()[kind]) for kind in ("circuits", "pipes")}

    for _ in range(3):
        with cortex.circuits(10) as population:
            pipes = population.pipes(library.relay)
            pipes.state["onward"][...] = np.roll(pipes.handles, 1)
            pipes.emit(1)
        del population, pipes

    eventually(
        lambda: (
            gc.collect() is not None
            and all(int(cortex.facts()[kind]) <= count for kind, count in before.items())
        ),
        f"no more circuits and pipes were alive than before: {before}",
    )


# -- kernels: wiring


def _settle(population: Population, wait: Settle, hops: int) -> None:
    for _ in range(hops):
        wait(population)


@rule("POPULATION-STATE-03", "KERNEL-EMIT-03")
@population_kernels
def test_a_chain_is_wired_by_slices_of_handles(library: Any, population: Population, wait: Settle) -> None:
    pipes = population.pipes(library.forward.bind(plus=1))

    pipes.state["onward"][:-1] = pipes.handles[1:]
    pipes.emit([10], where=[0])
    _settle(population, wait, SIZE)

    assert pipes.state["count"].tolist() == [1] * SIZE
    for index in range(SIZE - 1):
        assert pipes[index].state.onward is pipes[index + 1]
    assert pipes[SIZE - 1].state.onward is None
    assert pipes.state["onward"][:-1].tolist() == pipes.handles[1:].tolist()
    assert pipes.state["onward"][-1] == 0


@rule("POPULATION-STATE-03")
@population_kernels
@pytest.mark.parametrize(
    ("wire", "wanted"),
    [
        (lambda column, handles: column.__setitem__(slice(None), np.roll(handles, 1)), [4, 0, 1, 2, 3]),
        (lambda column, handles: column.__setitem__(..., handles[::-1]), [4, 3, 2, 1, 0]),
        (lambda column, handles: column.__setitem__(..., handles[[1, 1, 0, 0, 4]]), [1, 1, 0, 0, 4]),
        (lambda column, handles: column.__setitem__([0, 3], handles[[2, 4]]), [2, None, None, 4, None]),
        (lambda column, handles: column.__setitem__(slice(2, 3), handles[3:4]), [None, None, 3, None, None]),
        (lambda column, handles: column.__setitem__(..., handles[2:3]), [2] * SIZE),
        (
            lambda column, handles: column.__setitem__(np.arange(SIZE) % 2 == 1, handles[:2]),
            [None, 0, None, 1, None],
        ),
        (lambda column, handles: column.__setitem__(..., handles.copy()), [0, 1, 2, 3, 4]),
    ],
    ids=["roll", "reversed", "fancy", "fancy both", "one", "one for all", "booleans", "copy"],
)
def test_a_column_takes_handles_however_they_are_arranged(
    wire: Callable[[Any, Any], None], wanted: Any, library: Any, population: Population
) -> None:
    pipes = population.pipes(library.forward)
    column = pipes.state["onward"]

    wire(column, pipes.handles)

    linked = [pipe.state.onward for pipe in pipes]
    assert linked == [None if index is None else pipes[index] for index in wanted]


@rule("POPULATION-STATE-03")
@population_kernels
def test_a_column_takes_one_pipe_for_all_and_none(
    library: Any, population: Population, new_circuit: NewCircuit, wait: Settle
) -> None:
    circuit = new_circuit()
    received: list[int] = []
    target = circuit.pipe(received.append, lane=kernel.int64)
    pipes = population.pipes(library.forward)

    pipes.state["onward"] = target
    pipes.state["onward"][1] = None
    pipes.state["onward"][3:] = None
    del target
    gc.collect()
    pipes.emit([10, 20, 30, 40, 50])
    wait(population)
    wait(circuit)
    pipes.state["onward"] = None
    pipes.emit(1)
    wait(population)
    wait(circuit)

    assert sorted(received) == [10, 30]
    assert [pipe.state.onward for pipe in pipes] == [None] * SIZE


@rule("POPULATION-STATE-03")
@population_kernels
def test_a_column_takes_handles_of_another_population_and_keeps_it(
    library: Any, population: Population, new_population: NewPopulation, wait: Settle
) -> None:
    other = new_population(SIZE)
    received: list[tuple[int, int]] = []
    targets: Pipes[Any] = other.pipes(lambda index, value: received.append((index, value)), lane=kernel.int64)
    pipes = population.pipes(library.forward)

    pipes.state["onward"] = targets.handles
    del targets
    gc.collect()
    pipes.emit([0, 1, 2, 3, 4])
    wait(population)
    wait(other)

    assert sorted(received) == [(index, index) for index in range(SIZE)]


@rule("POPULATION-STATE-03")
@population_kernels
def test_a_state_tells_the_pipes_of_another_population_that_it_leads_to(
    library: Any, population: Population, new_population: NewPopulation
) -> None:
    other = new_population(SIZE)
    received: Pipes[Any] = other.pipes(lambda index, value: None, lane=kernel.int64)
    forwarded = other.pipes(library.forward)
    pipes = population.pipes(library.forward)
    column = pipes.state["onward"]

    column[:] = received.handles
    assert [pipe.state.onward for pipe in pipes] == list(received)
    column[1:3] = forwarded.handles[3:]

    wanted = [received[0], forwarded[3], forwarded[4], received[3], received[4]]
    assert [pipe.state.onward for pipe in pipes] == wanted


@rule("POPULATION-STATE-03", "KERNEL-EMIT-02")
@population_kernels
def test_a_pipe_field_that_is_bound_to_self_is_each_members_own(
    library: Any, population: Population, wait: Settle
) -> None:
    pipes = population.pipes(library.relay)

    pipes.emit([0, 10, 20, 0, 5])
    wait(population)

    assert pipes.state["count"].tolist() == [1, 11, 21, 1, 6]
    assert pipes.state["here"].tolist() == pipes.handles.tolist()
    assert [pipe.state.here for pipe in pipes] == list(pipes)


@rule("POPULATION-STATE-03")
@population_kernels
def test_handles_are_unique_read_only_and_always_the_same(library: Any, population: Population) -> None:
    pipes = population.pipes(library.tally)
    handles = pipes.handles

    assert handles.dtype == np.uint64
    assert handles.shape == (SIZE,)
    assert len(set(handles.tolist())) == SIZE
    assert 0 not in handles.tolist()
    assert pipes.handles.tolist() == handles.tolist()
    refused(ValueError, lambda: handles.__setitem__(0, 1))


@rule("POPULATION-STATE-04", "ERR-FAULT-05")
@population_kernels
def test_what_is_no_pipe_of_the_fields_lane_is_refused_as_a_whole(
    library: Any, population: Population, new_circuit: NewCircuit
) -> None:
    pipes = population.pipes(library.forward)
    column = pipes.state["onward"]
    column[...] = np.roll(pipes.handles, 1)
    before = column.tolist()
    averages = population.pipes(library.average)
    made_up = pipes.handles.copy()
    made_up[1] += np.uint64(8)
    wrong: dict[str, tuple[type[Exception], Any]] = {
        "an integer": (TypeError, 5),
        "integers": (TypeError, [1, 2, 3, 4, 5]),
        "an array of integers": (TypeError, np.arange(SIZE, dtype=np.uint64)),
        "handles without their pipes": (TypeError, np.array(pipes.handles.tolist(), np.uint64)),
        "computed of handles": (TypeError, pipes.handles + np.uint64(0)),
        "handles with one changed": (TypeError, made_up),
        "halves of handles": (TypeError, pipes.handles.view(np.uint32)[:SIZE]),
        "handles out of step": (
            TypeError,
            pipes.handles.view(np.uint8)[4:-4].view(np.uint64)[[0, 1, 2, 3, 0]],
        ),
        "a number": (TypeError, 0.5),
        "text": (TypeError, "pipes"),
        "pipes": (TypeError, pipes),
        "handles of another lane": (TypeError, averages.handles),
        "a pipe of another lane": (TypeError, averages[0]),
        "a pipe of the object lane": (TypeError, new_circuit().pipe(print)),
        "a foreign pipe": (ProviderMismatchFault, ForeignPipe(population.subject)),
        "too many": (ValueError, pipes.handles[[0, 1, 2, 3, 4, 0]]),
        "too few": (ValueError, pipes.handles[1:]),
    }

    for what, (category, value) in wrong.items():
        error = outcome(lambda value=value: column.__setitem__(..., value))  # type: ignore[misc]
        assert isinstance(error, category), f"{what}: {error!r}"
        assert column.tolist() == before, what
    error = outcome(lambda: column.__setitem__(SIZE, pipes.handles[:1]))
    assert isinstance(error, IndexError)
    assert [pipe.state.onward for pipe in pipes] == [pipes[index - 1] for index in range(SIZE)]


@rule("POPULATION-STATE-04")
@population_kernels
def test_a_part_of_a_pipe_column_is_not_assigned_behind_its_back(
    library: Any, population: Population
) -> None:
    pipes = population.pipes(library.forward)
    column = pipes.state["onward"]

    for write in (
        lambda: column[1:].__setitem__(0, pipes.handles[:1]),
        lambda: column.fill(1),
        lambda: np.copyto(column, pipes.handles),
        lambda: column.view(np.ndarray).__setitem__(0, 1),
        lambda: pipes.state[1:3]["onward"].__setitem__(0, 1),
    ):
        error = outcome(write)
        assert isinstance(error, (TypeError, ValueError)), error
    assert column.tolist() == [0] * SIZE


# -- kernels: emission


@rule("POPULATION-EMIT-01", "KERNEL-ORDER-01")
@population_kernels
def test_kernels_receive_an_array_in_its_order(
    library: Any, new_population: NewPopulation, wait: Settle
) -> None:
    population = new_population(3)
    pipes = population.pipes(library.ordered)

    values = np.arange(3000) // 3
    pipes.emit(values, where=np.arange(3000) % 3)
    pipes.emit(np.arange(1000, 1100), where=np.full(100, -1))
    wait(population)

    assert pipes.state["errors"].tolist() == [0, 0, 0]
    assert pipes.state["next"].tolist() == [1000, 1000, 1100]


@rule("POPULATION-EMIT-05")
@population_kernels
def test_threads_emit_arrays_to_kernels_and_lose_nothing(
    library: Any, population: Population, background: Background, wait: Settle
) -> None:
    pipes = population.pipes(library.tally)

    def produce(value: int) -> None:
        for _ in range(100):
            pipes.emit(np.full(SIZE, value))

    for task in [background(produce, value) for value in (1, 1000)]:
        task.join()
    wait(population)

    assert pipes.state["count"].tolist() == [200] * SIZE
    assert pipes.state["total"].tolist() == [100_100] * SIZE


@rule("POPULATION-EMIT-05")
@population_kernels
def test_values_for_kernels_of_closed_members_are_dropped(
    library: Any, population: Population, wait: Settle
) -> None:
    pipes = population.pipes(library.tally)
    population[3].close(wait=True)

    pipes.emit(5)
    wait(population)

    assert pipes.state["count"].tolist() == [1, 1, 1, 0, 1]
