"""Populations: circuits in a sequence, their pipes, and what is emitted to, waited for and closed as one.

That a member behaves like a circuit made alone is asserted by the modules with the mark `members`.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ClosedFault,
    ConfigurationError,
    ContextError,
    Cortex,
    ManualClock,
    Pipe,
    Pipes,
    Population,
    Resource,
    Subject,
    kernel,
)
from substrates_tck.fixtures import NewCircuit, NewGate, NewPopulation, Until
from substrates_tck.marks import derived, rule
from substrates_tck.outcomes import inside, noted, outcome, refused
from substrates_tck.waits import Background, Gate, Settle, Together

SIZE = 5

Received = list[tuple[int, Any]]


@pytest.fixture
def population(new_population: NewPopulation) -> Population:
    """Return a population of `SIZE` members named ``tck.population``."""
    return new_population(SIZE, "tck.population")


def _logging(population: Population, lane: Any = object) -> tuple[Pipes[Any], list[list[Any]]]:
    """Return pipes, and what each member received, in order."""
    logs: list[list[Any]] = [[] for _ in population]
    return population.pipes(lambda index, value: logs[index].append(value), lane=lane), logs


# -- a sequence of circuits


@rule("POPULATION-MEMBER-01")
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_a_population_has_as_many_members_as_were_asked_for(
    count: int, new_population: NewPopulation, wait: Settle
) -> None:
    population = new_population(count)

    assert len(population) == count
    assert len(list(population)) == count
    assert all(isinstance(member, Circuit) for member in population)
    assert isinstance(population, Sequence)
    wait(population)


@rule("POPULATION-MEMBER-01")
def test_an_empty_population_can_be_used(new_population: NewPopulation, wait: Settle) -> None:
    population = new_population(0)
    pipes, logs = _logging(population)

    pipes.emit([])
    wait(population)

    assert logs == []
    assert list(pipes) == []
    assert list(population) == []
    with pytest.raises(IndexError):
        population[0]


@rule("POPULATION-MEMBER-01")
def test_an_index_gives_the_same_member_every_time(population: Population) -> None:
    members = list(population)

    assert len(set(map(id, members))) == SIZE
    for index, member in enumerate(members):
        assert population[index] is member
        assert population.index(member) == index


@rule("POPULATION-MEMBER-01")
def test_a_negative_index_counts_from_the_end(population: Population) -> None:
    for index in range(SIZE):
        assert population[index - SIZE] is population[index], f"population[{index - SIZE}]"


@rule("POPULATION-MEMBER-01")
@pytest.mark.parametrize("index", [SIZE, -SIZE - 1, 10**30])
def test_an_index_beyond_the_members_is_an_index_error(index: int, population: Population) -> None:
    refused(IndexError, lambda: population[index])


@rule("POPULATION-MEMBER-01")
@pytest.mark.parametrize("index", ["0", 1.0, None, (0, 1)])
def test_an_index_of_another_kind_is_a_type_error(index: Any, population: Population) -> None:
    refused(TypeError, lambda: population[index])


@rule("POPULATION-MEMBER-01")
@pytest.mark.parametrize(
    "part",
    [
        slice(None),
        slice(1, 3),
        slice(-2, None),
        slice(None, None, -1),
        slice(4, 0, -2),
        slice(3, 1),
        slice(9),
    ],
    ids=str,
)
def test_a_slice_gives_these_members(part: slice, population: Population) -> None:
    members = list(population)
    sliced = population[part]

    assert isinstance(sliced, Sequence)
    assert len(sliced) == len(members[part])
    assert all(got is wanted for got, wanted in zip(sliced, members[part], strict=True))


@rule("POPULATION-MEMBER-01")
def test_a_slice_can_be_indexed_and_sliced_again(population: Population) -> None:
    members = list(population)
    odd = population[1::2]

    assert odd[0] is members[1]
    assert odd[-1] is members[3]
    assert list(odd[::-1]) == [members[3], members[1]]
    assert list(population[1:][1:][:-1]) == members[2:4]
    assert list(reversed(odd)) == [members[3], members[1]]
    assert members[3] in odd
    assert members[2] not in odd
    assert odd.index(members[3]) == 1
    refused(IndexError, lambda: odd[2])


@rule("POPULATION-MEMBER-01")
def test_members_can_be_iterated_reversed_and_counted(population: Population) -> None:
    members = [population[index] for index in range(SIZE)]

    assert list(population) == members
    assert list(reversed(population)) == members[::-1]
    assert population.count(members[2]) == 1


@rule("POPULATION-MEMBER-01")
def test_only_members_are_contained(population: Population, new_population: NewPopulation) -> None:
    stranger: Any = new_population(2)[0]

    assert all(member in population for member in population)
    for other in (stranger, population, 0, None, "tck.population"):
        assert other not in population
    refused(ValueError, population.index, stranger)
    refused(ValueError, population.index, population[1], 2)


@rule("POPULATION-MEMBER-01")
def test_a_population_is_true_and_equal_to_itself_alone(new_population: NewPopulation) -> None:
    one, other = new_population(0), new_population(0)

    assert one
    assert one == one
    assert one != other
    assert len({one, other}) == 2


# -- members are circuits


@rule("POPULATION-MEMBER-02")
def test_members_have_the_populations_name_and_subjects_of_their_own(
    cortex: Cortex, population: Population
) -> None:
    subjects = [member.subject for member in population]

    assert population.subject.name == cortex.name("tck.population")
    assert {subject.name for subject in subjects} == {population.subject.name}
    assert len({subject.id for subject in (population.subject, *subjects)}) == SIZE + 1
    assert len(set(map(id, subjects))) == SIZE
    assert all(member.subject is subject for member, subject in zip(population, subjects, strict=True))
    assert {subject.type for subject in subjects} == {Circuit}
    assert population.subject.type is Population


@rule("POPULATION-MEMBER-02", "CIRCUIT-ID-01")
def test_what_encloses_a_population_and_its_members(cortex: Cortex, population: Population) -> None:
    assert population.subject.enclosure is cortex.subject
    for member in population:
        assert member.subject.enclosure is cortex.subject


@rule("POPULATION-MEMBER-02")
def test_a_population_without_a_name_is_named_as_a_circuit_without_one(
    new_population: NewPopulation, new_circuit: NewCircuit
) -> None:
    assert new_population(1).subject.name == new_circuit().subject.name


@rule("POPULATION-MEMBER-02")
def test_every_call_makes_another_population(new_population: NewPopulation) -> None:
    one, other = new_population(2, "tck.same"), new_population(2, "tck.same")

    assert one is not other
    assert not set(one) & set(other)
    assert one.subject.id != other.subject.id


@rule("POPULATION-MEMBER-02")
def test_populations_and_what_is_theirs_belong_to_the_cortex(cortex: Cortex, population: Population) -> None:
    pipes: Pipes[Any] = population.pipes(lambda index, value: None)

    assert isinstance(population, Resource)
    for each in (population, population[0], pipes, pipes[0]):
        assert cortex.owns(each), each


@rule("POPULATION-MEMBER-02")
def test_members_run_apart(population: Population, new_gate: NewGate, wait: Settle) -> None:
    gate = new_gate()
    received: list[int] = []
    population[0].pipe(gate.hold).emit(1)
    gate.await_entered()

    population[1].pipe(received.append).emit(2)
    wait(population[1])

    assert received == [2]
    gate.release()
    wait(population)


@rule("POPULATION-MEMBER-02")
def test_members_have_the_populations_clock(
    new_population: NewPopulation, clock: ManualClock, wait: Settle
) -> None:
    population = new_population(2, "tck.population", clock=clock)
    ticks: Received = []
    pipes: Pipes[Any] = population.pipes(lambda index, tick: ticks.append((index, tick)))
    tickers = [member.ticker(10, pipe) for member, pipe in zip(population, pipes, strict=True)]

    clock.advance(10)
    wait(population)

    assert sorted(index for index, _ in ticks) == [0, 1]
    for ticker in tickers:
        ticker.close()


@rule("POPULATION-MEMBER-02", "PIPE-EMIT-01")
def test_members_have_pipes_conduits_and_cells_as_circuits_do(population: Population, wait: Settle) -> None:
    received: list[int] = []
    cells = [member.cell(0) for member in population]
    conduit = population[1].conduit(int)
    conduit.subscribe(
        population[1].subscriber("tck", lambda subject, registrar: registrar.register(received.append))
    )

    for index, cell in enumerate(cells):
        cell.pipe().emit(index * 10)
    conduit.get("tck.channel").emit(7)
    wait(population)

    assert [cell.get() for cell in cells] == [0, 10, 20, 30, 40]
    assert received == [7]


@rule("POPULATION-MEMBER-02")
def test_populations_and_pipes_are_neither_pickled_nor_copied(population: Population) -> None:
    pipes: Pipes[Any] = population.pipes(lambda index, value: None)

    for each in (population, pipes, population[0]):
        for copied in (copy.copy, copy.deepcopy):
            refused(TypeError, copied, each)


@rule("POPULATION-MEMBER-02")
def test_a_population_tells_what_it_is(population: Population, tck_provider: str) -> None:
    pipes: Pipes[Any] = population.pipes("tck.pipes", lambda index, value: None)

    assert "tck.population" in repr(population)
    assert str(SIZE) in repr(population)
    assert tck_provider in repr(population)
    assert tck_provider in repr(pipes)


@rule("POPULATION-MEMBER-03")
@pytest.mark.parametrize("count", [-1, -(2**70)])
def test_a_negative_count_is_refused(count: int, cortex: Cortex) -> None:
    refused(ConfigurationError, cortex.circuits, count)


@rule("POPULATION-MEMBER-03")
@pytest.mark.parametrize("count", ["2", 2.0, True, [2]])
def test_a_count_of_another_kind_is_refused(count: Any, cortex: Cortex) -> None:
    refused(TypeError, cortex.circuits, count)


@rule("POPULATION-MEMBER-04")
@pytest.mark.parametrize("count", [10**12, 2**63, 10**30])
def test_a_population_too_large_for_memory_is_refused_at_once(count: int, cortex: Cortex) -> None:
    gc.collect()  # what other tests have left goes now, and not in between
    before = cortex.facts()["circuits"]

    refused(MemoryError, cortex.circuits, count)

    assert cortex.facts()["circuits"] == before


# -- pipes


@rule("POPULATION-PIPES-01")
def test_pipes_are_a_sequence_with_one_for_each_member(population: Population) -> None:
    pipes: Pipes[Any] = population.pipes(lambda index, value: None)
    listed = list(pipes)

    assert len(pipes) == len(listed) == SIZE
    assert pipes.population is population
    assert all(isinstance(pipe, Pipe) for pipe in listed)
    assert [pipe.subject.enclosure for pipe in listed] == [member.subject for member in population]
    for index, pipe in enumerate(listed):
        assert pipes[index] is pipe
        assert pipes[index - SIZE] is pipe, f"pipes[{index - SIZE}]"
        assert pipes.index(pipe) == index
        assert pipe in pipes
    assert list(pipes[3:0:-2]) == [listed[3], listed[1]]
    assert list(pipes[1:][1:]) == listed[2:]
    assert list(reversed(pipes)) == listed[::-1]
    assert population[0].pipe() not in pipes
    refused(IndexError, lambda: pipes[SIZE])
    refused(IndexError, lambda: pipes[-SIZE - 1])
    refused(TypeError, lambda: pipes["0"])  # type: ignore[call-overload]


@rule("POPULATION-PIPES-01")
def test_pipes_have_the_populations_name_or_one_of_their_own(cortex: Cortex, population: Population) -> None:
    unnamed: Pipes[Any] = population.pipes(lambda index, value: None)
    named: Pipes[Any] = population.pipes("tck.named", lambda index, value: None)

    assert {pipe.subject.name for pipe in unnamed} == {population.subject.name}
    assert {pipe.subject.name for pipe in named} == {cortex.name("tck.named")}
    assert len({pipe.subject.id for pipe in (*unnamed, *named)}) == 2 * SIZE


@rule("POPULATION-PIPES-02")
def test_the_callable_gets_the_index_and_the_value_in_the_members_context(
    cortex: Cortex, population: Population, wait: Settle
) -> None:
    seen: list[tuple[int, str, object]] = []
    pipes: Pipes[Any] = population.pipes(lambda index, value: seen.append((index, value, cortex.current())))

    for index in (3, 0, 4, 1, 2):
        pipes[index].emit(f"for {index}")
    wait(population)

    assert sorted(seen, key=lambda each: each[0]) == [
        (index, f"for {index}", member.current) for index, member in enumerate(population)
    ]


@rule("POPULATION-PIPES-02", "ISO-01")
def test_a_callable_that_raises_is_isolated_and_told_with_the_members_pipe(
    cortex: Cortex, population: Population, wait: Settle
) -> None:
    received: Received = []
    told: list[Subject[Any] | None] = []

    def receive(index: int, value: int) -> None:
        if index == 1:
            raise ValueError(value)
        received.append((index, value))

    pipes: Pipes[Any] = population.pipes(receive)
    cortex.on_fault(lambda subject, error: told.append(subject))
    try:
        pipes.emit([7] * SIZE)
        wait(population)
    finally:
        cortex.on_fault(None)

    assert sorted(received) == [(index, 7) for index in (0, 2, 3, 4)]
    assert told == [pipes[1].subject]


@rule("POPULATION-PIPES-03")
def test_pipes_tell_their_lane_and_take_no_other_values(population: Population, wait: Settle) -> None:
    plain, logs = _logging(population)
    scalar, numbers = _logging(population, kernel.int64)

    assert plain.lane is plain[0].lane is kernel.Lane.OBJECT
    assert scalar.lane is scalar[0].lane is kernel.Lane.INT64
    scalar[1].emit(5)
    refused(TypeError, scalar[1].emit, "5")
    wait(population)
    assert numbers == [[], [5], [], [], []]
    assert logs == [[]] * SIZE


@rule("POPULATION-PIPES-03")
def test_pipes_to_a_callable_have_no_states(population: Population) -> None:
    pipes, _ = _logging(population)

    refused(TypeError, lambda: pipes.state)
    refused(TypeError, lambda: pipes.handles)
    refused(TypeError, lambda: pipes[0].state)


@rule("POPULATION-PIPES-03")
def test_what_is_no_callable_is_refused(population: Population) -> None:
    pipes: Any = population.pipes

    async def coroutine(index: int, value: object) -> None:
        """Do nothing, later."""

    refused(AbsentValueError, pipes, None)
    refused(AbsentValueError, pipes, None, print)
    refused(AbsentValueError, pipes, "n", None)
    refused(TypeError, pipes, 3)
    refused(TypeError, pipes)
    refused(TypeError, pipes, "n", print, print)
    refused(TypeError, lambda: pipes(print, lane=3))
    refused(AbsentValueError, lambda: pipes(print, lane=None))
    refused(ConfigurationError, pipes, "a..b", print)
    refused(ConfigurationError, pipes, coroutine)


@rule("POPULATION-PIPES-03", "POPULATION-CLOSE-01", "ERR-FAULT-03")
def test_a_closed_population_makes_no_pipes(population: Population) -> None:
    population.close()

    fault = refused(ClosedFault, population.pipes, lambda index, value: None)

    assert fault.subject is population.subject
    assert fault.operation == "pipes"


# -- emission


@rule("POPULATION-EMIT-01")
def test_each_value_goes_to_its_member(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    pipes.emit(list("abcde"))
    pipes.emit(tuple("ABCDE"))
    wait(population)

    assert logs == [["a", "A"], ["b", "B"], ["c", "C"], ["d", "D"], ["e", "E"]]


@rule("POPULATION-EMIT-01", "POPULATION-EMIT-03")
def test_the_order_is_that_of_a_loop_over_the_pipes(new_population: NewPopulation, wait: Settle) -> None:
    where = [2, 0, 2, -1, 0, 2, 1, 4, -5, 2]
    values = [f"value {number}" for number in range(len(where))]
    at_once, by_loop = new_population(SIZE), new_population(SIZE)
    pipes, logs = _logging(at_once)
    looped, wanted = _logging(by_loop)

    pipes.emit(values, where=where)
    for index, value in zip(where, values, strict=True):
        looped[index].emit(value)
    wait(at_once, by_loop)

    assert logs == wanted
    assert logs[2] == ["value 0", "value 2", "value 5", "value 9"]


@rule("POPULATION-EMIT-01", "CIRCUIT-ORDER-01")
def test_a_members_order_spans_single_emissions_and_those_to_all(
    population: Population, wait: Settle
) -> None:
    logs: list[list[Any]] = [[] for _ in population]
    first: Pipes[Any] = population.pipes(lambda index, value: logs[index].append(("first", value)))
    second: Pipes[Any] = population.pipes(lambda index, value: logs[index].append(("second", value)))

    first.emit([1] * SIZE)
    second[2].emit(2)
    second.emit([3, 4], where=[2, 2])
    first[2].emit(5)
    first.emit([6] * SIZE)
    wait(population)

    assert logs[2] == [("first", 1), ("second", 2), ("second", 3), ("second", 4), ("first", 5), ("first", 6)]
    assert logs[0] == [("first", 1), ("first", 6)]


@rule("POPULATION-EMIT-01", "CIRCUIT-ORDER-01")
def test_what_one_circuit_emits_to_a_population_reaches_each_member_in_order(
    population: Population, new_circuit: NewCircuit, wait: Settle
) -> None:
    pipes, logs = _logging(population)

    def emit_twice(value: int) -> None:
        pipes.emit([value] * SIZE)
        pipes.emit([-value, -value], where=[3, 1])

    circuit = new_circuit()
    sender = circuit.pipe(emit_twice)
    for value in range(1, 20):
        sender.emit(value)
    wait(circuit)
    wait(population)

    both = [each for value in range(1, 20) for each in (value, -value)]
    assert logs == [both[::2], both, both[::2], both, both[::2]]


@rule("POPULATION-EMIT-02")
@pytest.mark.parametrize("lane", [kernel.int64, kernel.float64], ids=["int64", "float64"])
def test_one_number_goes_to_every_member(lane: Any, population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population, lane)

    pipes.emit(7)
    pipes.emit(8, where=[1, -1, 1])
    pipes.emit(9, where=[])
    wait(population)

    assert logs == [[7], [7, 8, 8], [7], [7], [7, 8]]


@rule("POPULATION-EMIT-02")
def test_on_the_object_lane_the_values_are_a_sequence(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    for wrong in (7, "abcde", b"abcde", object()):
        refused(TypeError, pipes.emit, wrong)
    pipes.emit([[1], [2], [3], [4], (5, 6)])
    wait(population)

    assert logs == [[[1]], [[2]], [[3]], [[4]], [(5, 6)]]


@rule("POPULATION-EMIT-03")
def test_indices_choose_members_from_both_ends(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    pipes.emit(["a", "b", "c"], where=[-1, 0, -SIZE])
    pipes.emit([], where=[])
    pipes.emit(["d"], where=(3,))
    wait(population)

    assert logs == [["b", "c"], [], [], ["d"], ["a"]]


@rule("POPULATION-EMIT-03")
def test_booleans_choose_members(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    pipes.emit(["a", "b"], where=[False, True, False, False, True])
    pipes.emit([], where=[False] * SIZE)
    pipes.emit(list("ABCDE"), where=[True] * SIZE)
    wait(population)

    assert logs == [["A"], ["a", "B"], ["C"], ["D"], ["b", "E"]]


WRONG: dict[str, tuple[type[Exception], Any, Any]] = {
    "too few": (ValueError, [1, 2], None),
    "too many": (ValueError, [1] * (SIZE + 1), None),
    "none": (ValueError, [], None),
    "fewer than indices": (ValueError, [1, 2], [0, 1, 2]),
    "more than booleans": (ValueError, [1, 2], [True, False, False, False, False]),
    "too few booleans": (ValueError, [1, 2], [True, True]),
    "indices in rows": (ValueError, [1, 2], [[0, 1]]),
    "one index": (ValueError, [1], 0),
    "beyond the end": (IndexError, [1, 2], [0, SIZE]),
    "beyond the beginning": (IndexError, [1, 2], [0, -SIZE - 1]),
    "text as indices": (TypeError, [1, 2], ["0", "1"]),
    "floats as indices": (TypeError, [1, 2], [0.0, 1.0]),
    "None as an index": (TypeError, [1, 2], [0, None]),
    "None": (AbsentValueError, None, None),
    "None at the end": (AbsentValueError, [1, 2, 3, 4, None], None),
    "None with indices": (AbsentValueError, [1, None], [0, 1]),
}


@rule("POPULATION-EMIT-04", "ERR-FAULT-05")
@pytest.mark.parametrize("lane", [object, kernel.int64, kernel.float64], ids=["object", "int64", "float64"])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_before_anything_is_admitted(
    case: str, lane: Any, population: Population, wait: Settle
) -> None:
    category, values, where = WRONG[case]
    pipes, logs = _logging(population, lane)

    error = outcome(lambda: pipes.emit(values, where=where))
    wait(population)

    assert isinstance(error, category), f"emit({values!r}, where={where!r}) gave {error!r}"
    assert str(error)
    assert logs == [[]] * SIZE, "nothing was to be admitted"


@rule("POPULATION-EMIT-04")
@pytest.mark.parametrize(
    ("lane", "last", "category"),
    [
        (kernel.int64, "5", TypeError),
        (kernel.int64, 5.0, TypeError),
        (kernel.int64, 2**63, OverflowError),
        (kernel.int64, -(2**63) - 1, OverflowError),
        (kernel.int64, 2**80, OverflowError),
        (kernel.float64, "5", TypeError),
        (kernel.float64, 10**400, OverflowError),
        (kernel.float64, object(), TypeError),
    ],
    ids=lambda each: "object" if type(each) is object else getattr(each, "__name__", str(each)[:24]),
)
def test_a_last_value_that_does_not_fit_the_lane_refuses_all(
    lane: Any, last: Any, category: type[Exception], population: Population, wait: Settle
) -> None:
    pipes, logs = _logging(population, lane)

    refused(category, pipes.emit, [1, 2, 3, 4, last])
    refused(category, pipes.emit, last)
    wait(population)

    assert logs == [[]] * SIZE, "nothing was to be admitted"


@rule("POPULATION-EMIT-05")
def test_values_for_closed_members_are_dropped_and_the_others_get_theirs(
    population: Population, wait: Settle
) -> None:
    pipes, logs = _logging(population)
    population[1].close()
    population[4].close()

    pipes.emit(list("abcde"))
    pipes.emit(["x", "y"], where=[1, 2])
    wait(population)

    assert logs == [["a"], [], ["c", "y"], ["d"], []]


@rule("POPULATION-EMIT-05", "POPULATION-CLOSE-01")
def test_values_for_a_closed_population_are_dropped_but_still_checked(
    population: Population, wait: Settle
) -> None:
    pipes, logs = _logging(population)
    population.close()

    pipes.emit([1] * SIZE)
    refused(ValueError, pipes.emit, [1])
    wait(population)

    assert logs == [[]] * SIZE


@rule("POPULATION-EMIT-05")
def test_another_thread_may_emit(population: Population, background: Background, wait: Settle) -> None:
    pipes, logs = _logging(population)

    background(pipes.emit, list("abcde")).result()
    wait(population)

    assert logs == [["a"], ["b"], ["c"], ["d"], ["e"]]


@rule("POPULATION-EMIT-05", "CIRCUIT-ORDER-01")
def test_each_of_two_threads_keeps_its_order_and_loses_nothing(
    population: Population, together: Together, wait: Settle, interleaved: None
) -> None:
    pipes, logs = _logging(population)

    def produce(number: int) -> None:
        for value in range(200):
            pipes.emit([(number, value)] * SIZE)

    together(2, produce)
    wait(population)

    for log in logs:
        for number in range(2):
            assert [value for own, value in log if own == number] == list(range(200))


@rule("POPULATION-EMIT-05", "CIRCUIT-TRANSIT-01")
def test_what_a_member_emits_to_itself_among_all_is_transit(
    population: Population, gate: Gate, wait: Settle
) -> None:
    logs: list[list[Any]] = [[] for _ in population]

    def receive(index: int, value: str) -> None:
        logs[index].append(value)
        if value == "go":
            pipes.emit([f"sent {place}" for place in range(SIZE)])
            pipes.emit(["again"], where=[2])
            logs[index].append("has emitted")

    pipes: Pipes[Any] = population.pipes(receive)
    population[2].pipe(gate.hold).emit(1)
    gate.await_entered()
    pipes.emit(["go", "outside"], where=[2, 2])
    gate.release()
    wait(population)
    wait(population)

    assert logs[2] == ["go", "has emitted", "sent 2", "again", "outside"]
    assert [logs[index] for index in (0, 1, 3, 4)] == [[f"sent {index}"] for index in (0, 1, 3, 4)]


# -- waiting


@rule("POPULATION-WAIT-01")
def test_wait_returns_after_all_that_members_accepted_before(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    for round_ in range(50):
        pipes.emit([round_] * SIZE)
        wait(population)
        assert logs == [list(range(round_ + 1))] * SIZE


@rule("POPULATION-WAIT-01")
@pytest.mark.parametrize("busy", range(SIZE))
def test_wait_waits_for_the_one_member_that_is_busy(
    busy: int, population: Population, gate: Gate, wait: Settle
) -> None:
    population[busy].pipe(gate.hold).emit(1)
    gate.await_entered()

    with pytest.raises(TimeoutError) as error:
        population.wait(timeout=0.05)
    gate.release()
    wait(population)

    assert "tck.population" in str(error.value)


@rule("POPULATION-WAIT-01")
def test_wait_covers_what_is_emitted_to_members_one_by_one(population: Population, wait: Settle) -> None:
    for lane in (object, kernel.int64, kernel.float64):
        received: list[Any] = []
        pipes = [member.pipe(received.append, lane=lane) for member in population]
        for _ in range(20):
            received.clear()
            for pipe in pipes:
                pipe.emit(1)
            wait(population)
            assert received == [1] * SIZE


@rule("POPULATION-WAIT-01")
def test_each_wait_covers_one_more_hop_from_member_to_member(population: Population, wait: Settle) -> None:
    visited: list[int] = []

    def hop(index: int, value: int) -> None:
        visited.append(index)
        if index:  # backwards, so that no wait meets a hop on its way by chance
            pipes[index - 1].emit(value)

    pipes: Pipes[Any] = population.pipes(hop)
    pipes[-1].emit(1)
    for hops in range(1, SIZE + 1):
        wait(population)
        assert len(visited) >= hops
    assert visited == [4, 3, 2, 1, 0]


@rule("POPULATION-WAIT-01")
def test_wait_returns_although_a_member_gets_new_work_all_the_time(
    population: Population, new_circuit: NewCircuit, wait: Settle
) -> None:
    stop = threading.Event()
    circuit = new_circuit()
    there: Pipe[int] = population[3].pipe(lambda value: back.emit(value + 1))
    back: Pipe[int] = circuit.pipe(lambda value: None if stop.is_set() else there.emit(value + 1))
    there.emit(0)

    try:
        for _ in range(20):
            wait(population)
    finally:
        stop.set()
    wait(circuit)


@rule("POPULATION-WAIT-01")
def test_wait_takes_a_timedelta_and_no_limit(population: Population) -> None:
    population.wait()
    population.wait(None)
    population.wait(timedelta(seconds=10))
    population.wait(10)


@rule("POPULATION-WAIT-02")
@pytest.mark.parametrize(
    ("timeout", "category"),
    [
        (-1, ConfigurationError),
        (timedelta(seconds=-1), ConfigurationError),
        (float("nan"), ConfigurationError),
        ("1", TypeError),
        (object(), TypeError),
    ],
    ids=["negative", "negative timedelta", "nan", "text", "object"],
)
def test_a_senseless_timeout_is_refused(
    timeout: Any, category: type[Exception], population: Population
) -> None:
    refused(category, population.wait, timeout)


@rule("POPULATION-WAIT-02")
@pytest.mark.parametrize("member", [0, 2, SIZE - 1])
def test_waiting_in_a_members_context_is_refused_and_changes_nothing(
    member: int, population: Population, wait: Settle
) -> None:
    calls: dict[str, Callable[[], object]] = {
        "wait": population.wait,
        "wait(timeout)": lambda: population.wait(timeout=1),
        "close(wait)": lambda: population.close(wait=True),
        "await": population.__await__,
    }

    errors = {
        what: inside(population[member], wait, lambda call=call: noted(call))  # type: ignore[misc]
        for what, call in calls.items()
    }

    assert {what: type(error) for what, error in errors.items()} == dict.fromkeys(calls, ContextError)
    population.pipes(lambda index, value: None)


@rule("POPULATION-WAIT-02")
def test_waiting_in_another_circuits_context_is_allowed(
    population: Population, new_circuit: NewCircuit, wait: Settle
) -> None:
    pipes, logs = _logging(population)

    def emit_and_wait() -> None:
        pipes.emit([1] * SIZE)
        population.wait()

    assert inside(new_circuit(), wait, emit_and_wait) is None
    assert logs == [[1]] * SIZE


@rule("POPULATION-WAIT-02", "POPULATION-CLOSE-01")
def test_waiting_for_a_closed_population_waits_for_its_end(
    population: Population, gate: Gate, wait: Settle
) -> None:
    received: list[int] = []
    population[4].pipe(gate.hold).emit(1)
    population[4].pipe(received.append).emit(2)
    gate.await_entered()
    population.close()

    with pytest.raises(TimeoutError):
        population.wait(timeout=0.05)
    gate.release()
    wait(population)

    assert received == [2]
    population.wait(timeout=0)


@rule("POPULATION-WAIT-03")
def test_a_population_can_be_awaited_while_the_event_loop_goes_on(
    population: Population, gate: Gate, bound_s: float
) -> None:
    order: list[str] = []
    population[3].pipe(gate.hold).emit(1)
    population[3].pipe(order.append).emit("received")
    gate.await_entered()

    async def wait_for_it() -> None:
        await population
        order.append("awaited")

    async def main() -> None:
        waiting = asyncio.ensure_future(wait_for_it())
        for _ in range(20):
            await asyncio.sleep(0.001)
        order.append("the loop went on")
        assert not waiting.done()
        gate.release()
        await asyncio.wait_for(waiting, bound_s)

    asyncio.run(main())

    assert order == ["the loop went on", "received", "awaited"]


@rule("POPULATION-WAIT-03")
def test_a_population_can_be_awaited_again_and_again_and_when_it_is_closed(
    population: Population, bound_s: float
) -> None:
    pipes, logs = _logging(population)

    async def main() -> None:
        for round_ in range(20):
            pipes.emit([round_] * SIZE)
            await asyncio.wait_for(_awaited(population), bound_s)
            assert logs == [list(range(round_ + 1))] * SIZE
        population.close()
        await asyncio.wait_for(_awaited(population), bound_s)

    asyncio.run(main())


async def _awaited(population: Population) -> None:
    await population


@rule("POPULATION-WAIT-03")
def test_an_await_can_be_cancelled_and_the_population_lives_on(
    population: Population, gate: Gate, wait: Settle
) -> None:
    pipes, logs = _logging(population)
    population[0].pipe(gate.hold).emit(1)
    gate.await_entered()

    async def main() -> None:
        waiting = asyncio.ensure_future(_awaited(population))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.release()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(10), 0.001)

    asyncio.run(main())
    pipes.emit([1] * SIZE)
    wait(population)

    assert logs == [[1]] * SIZE


# -- the end


@rule("POPULATION-CLOSE-01")
def test_closing_a_population_closes_every_member(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)
    pipes.emit([1] * SIZE)

    population.close()
    pipes.emit([2] * SIZE)
    for member in population:
        refused(ClosedFault, member.pipe, print)
    wait(population)

    assert logs == [[1]] * SIZE, "what was accepted before is received, what comes after is not"


@rule("POPULATION-CLOSE-01")
def test_a_population_may_be_closed_again_and_by_many_threads(
    population: Population, together: Together, wait: Settle
) -> None:
    pipes, logs = _logging(population)
    pipes.emit([1] * SIZE)

    together(4, lambda _: population.close())
    population.close()
    population.close(wait=True)
    wait(population)

    assert logs == [[1]] * SIZE


@rule("POPULATION-CLOSE-01")
def test_close_and_wait_returns_when_all_members_have_ended(
    population: Population, gate: Gate, background: Background
) -> None:
    received: list[int] = []
    population[4].pipe(gate.hold).emit(1)
    population[4].pipe(received.append).emit(2)
    gate.await_entered()

    task = background(lambda: population.close(wait=True))
    assert not task.done
    gate.release()
    task.result()

    assert received == [2]


@rule("POPULATION-CLOSE-01")
def test_a_population_may_be_closed_in_a_members_context(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    assert inside(population[1], wait, population.close) is None
    pipes.emit([1] * SIZE)
    wait(population)

    assert logs == [[]] * SIZE


@rule("POPULATION-CLOSE-02")
def test_a_member_may_be_closed_alone(population: Population, wait: Settle) -> None:
    pipes, logs = _logging(population)

    population[2].close(wait=True)
    pipes.emit([1] * SIZE)
    wait(population)

    assert logs == [[1], [1], [], [1], [1]]
    refused(ClosedFault, population[2].pipe, print)
    population[3].pipe(print)


@rule("POPULATION-CLOSE-02")
def test_a_population_with_a_closed_member_makes_pipes_for_the_others(
    population: Population, wait: Settle
) -> None:
    population[2].close(wait=True)

    pipes, logs = _logging(population)
    pipes.emit([1] * SIZE)
    wait(population)
    assert logs == [[1], [1], [], [1], [1]]


@rule("POPULATION-CLOSE-02")
def test_members_may_be_closed_one_by_one(cortex: Cortex, wait: Settle) -> None:
    population = cortex.circuits(3)
    pipes, logs = _logging(population)
    pipes.emit([1, 2, 3])

    for member in population:
        member.close()
    wait(population)
    pipes.emit([4, 5, 6])
    population.close(wait=True)

    assert logs == [[1], [2], [3]]


@rule("POPULATION-CLOSE-02")
def test_leaving_a_population_waits_and_closes(cortex: Cortex, wait: Settle) -> None:
    with cortex.circuits(3, "tck.with") as population:
        pipes, logs = _logging(population)
        pipes.emit([1, 2, 3])

    assert logs == [[1], [2], [3]]
    refused(ClosedFault, population.pipes, print)
    wait(population)


@rule("POPULATION-CLOSE-02")
def test_a_population_that_is_left_by_an_exception_is_closed_without_waiting(
    population: Population, gate: Gate, wait: Settle
) -> None:
    population[0].pipe(gate.hold).emit(1)
    gate.await_entered()

    with pytest.raises(ZeroDivisionError), population:
        raise ZeroDivisionError

    refused(ClosedFault, population.pipes, print)
    gate.release()
    wait(population)


@rule("POPULATION-CLOSE-02", "SCOPE-REG-01")
def test_a_scope_closes_a_population(cortex: Cortex, population: Population, wait: Settle) -> None:
    scope = cortex.scope("tck.scope")

    assert scope.register(population) is population
    scope.close()

    refused(ClosedFault, population.pipes, print)
    wait(population)


@rule("POPULATION-CLOSE-02", "SCOPE-REG-01")
@derived
def test_a_closure_closes_a_population_and_a_scope_a_member(
    cortex: Cortex, population: Population, wait: Settle
) -> None:
    scope = cortex.scope("tck.scope")
    seen: list[Population] = []
    scope.register(population[0])

    scope.closure(population).consume(seen.append)
    scope.close()

    assert seen == [population]
    refused(ClosedFault, population.pipes, print)
    wait(population)


# -- dropped


Counts = dict[str, int]


@pytest.fixture
def given_back(cortex: Cortex, eventually: Until) -> Callable[[], None]:
    """Return a function that waits until no more circuits and pipes are alive than before the test."""

    def counts() -> Counts:
        gc.collect()
        return {kind: int(cortex.facts()[kind]) for kind in ("circuits", "pipes")}

    before = counts()

    def wait_for_it() -> None:
        eventually(
            lambda: all(count <= before[kind] for kind, count in counts().items()),
            f"no more circuits and pipes were alive than before: {before}",
        )

    return wait_for_it


@rule("POPULATION-CLOSE-03", "PYTHON-DROP-02")
def test_a_closed_and_dropped_population_is_given_back(
    cortex: Cortex, given_back: Callable[[], None]
) -> None:
    for _ in range(5):
        population = cortex.circuits(20)
        pipes: Pipes[Any] = population.pipes(lambda index, value: None)
        pipes.emit([1] * 20)
        pipes[3].subject.path()
        population[4].subject.path()
        population.close(wait=True)
        del population, pipes

    given_back()


@rule("POPULATION-CLOSE-03", "PYTHON-DROP-01")
def test_a_population_that_is_dropped_unclosed_warns_once_and_is_given_back(
    cortex: Cortex, given_back: Callable[[], None], eventually: Until
) -> None:
    received: Received = []

    def drop() -> None:
        population = cortex.circuits(20, "tck.dropped")
        pipes: Pipes[Any] = population.pipes(lambda index, value: received.append((index, value)))
        for value in range(10):
            pipes.emit([value] * 20)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drop()
        eventually(lambda: len(received) == 200, "what a dropped population had accepted was received")
        given_back()

    messages = [str(each.message) for each in caught if each.category is ResourceWarning]
    assert len(messages) == 1, messages
    assert "tck.dropped" in messages[0]


@rule("POPULATION-CLOSE-03")
@pytest.mark.parametrize(
    "keep",
    [
        lambda population, pipes: population[1],
        lambda population, pipes: pipes,
        lambda population, pipes: pipes[1],
        lambda population, pipes: population[1:],
        lambda population, pipes: pipes[1:],
        lambda population, pipes: population[1].pipe(),
    ],
    ids=["a member", "pipes", "a pipe", "a slice", "a slice of pipes", "a member's own pipe"],
)
def test_what_belongs_to_a_population_keeps_it_alive(
    keep: Callable[[Any, Any], object], cortex: Cortex, given_back: Callable[[], None]
) -> None:
    population = cortex.circuits(3, "tck.kept")
    received: Received = []
    pipes: Pipes[Any] = population.pipes(lambda index, value: received.append((index, value)))
    kept = keep(population, pipes)
    other = population[2]
    gone = weakref.ref(population)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del population, pipes, other
        for _ in range(3):
            gc.collect()
        alive = gone()
        assert alive is not None, "the population went although something of it was held"
        alive.close(wait=True)
    del alive
    assert kept is not None
    del kept
    given_back()
