"""What is alpha's own in populations: memory, threads, adopted members, drops in full flight."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import substrates
from substrates import Pipes, Population, kernel

TIMEOUT_S = 30.0
SIZE = 5_000
"""More than the engine puts into one slab."""


class Count(kernel.State):
    """Counts, checks the order, and hands on."""

    count: kernel.int64
    last: kernel.int64 = -1
    wrong: kernel.int64
    here: kernel.Pipe = kernel.SELF
    onward: kernel.Pipe


@kernel.receptor(Count, kernel.int64)
def count(ctx: kernel.Context, state: Count, value: int) -> None:
    state.count += 1
    if value <= state.last:
        state.wrong += 1
    state.last = value
    if state.onward:
        ctx.emit(state.onward, value)


class Total(kernel.State):
    """Counts what comes from anybody."""

    count: kernel.int64


@kernel.receptor(Total, kernel.int64)
def total(ctx: kernel.Context, state: Total, value: int) -> None:
    state.count += 1


@pytest.fixture
def cortex() -> substrates.Cortex:
    return substrates.cortex("alpha")


@pytest.fixture
def make(cortex: substrates.Cortex) -> Iterator[Callable[[int], Population]]:
    made: list[Population] = []

    def population(size: int) -> Population:
        made.append(cortex.circuits(size, name="cell"))
        return made[-1]

    yield population
    for each in made:
        each.close()
    for each in made:
        each.wait(TIMEOUT_S)


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        gc.collect()
        time.sleep(0.005)
    return True


def counters(cortex: substrates.Cortex) -> tuple[int, int, int]:
    facts = cortex.facts()
    return int(facts["circuits"]), int(facts["pipes"]), int(facts["engine_used_bytes"])


def back_at(cortex: substrates.Cortex, before: tuple[int, int, int]) -> bool:
    """Tell whether no more is left than there was, of which something may have gone too."""
    return all(now <= then for now, then in zip(counters(cortex), before, strict=True))


def reaches(pipe: Any, wanted: int) -> bool:
    return bool(pipe.state.count >= wanted)


def let_go(held: list[Any], *, closes: bool) -> None:
    """Drop what is held, a population first, closed or with the warning that it is not."""
    if closes:
        held[0].close()
        held.clear()
    else:
        with pytest.warns(ResourceWarning, match="unclosed <Population"):
            clear(held)
    gc.collect()


def clear(held: list[Any]) -> None:
    held.clear()
    gc.collect()


def test_states_of_a_new_population_are_the_bindings(make: Callable[[int], Population]) -> None:
    pipes = make(SIZE).pipes(count.bind(last=-7))

    assert pipes.state["last"].tolist() == [-7] * SIZE
    assert pipes.state["here"].tolist() == pipes.handles.tolist()
    assert not pipes.state["onward"].any()
    assert len(set(pipes.handles.tolist())) == SIZE


def test_columns_are_the_kernels_memory(make: Callable[[int], Population]) -> None:
    population = make(SIZE)
    pipes = population.pipes(count.bind())
    column = pipes.state["count"]
    pipes.emit(np.zeros(SIZE, np.int64))
    population.wait(TIMEOUT_S)

    assert column.tolist() == [1] * SIZE
    assert column.ctypes.data == pipes.state["count"].ctypes.data
    assert [pipes[index].state.count for index in (0, 4094, 4095, SIZE - 1)] == [1] * 4


def test_a_wired_chain_runs_from_member_to_member(make: Callable[[int], Population]) -> None:
    population = make(SIZE)
    pipes = population.pipes(count.bind())
    pipes.state["onward"][:-1] = pipes.handles[1:]
    pipes[0].emit(3)

    assert eventually(lambda: bool(pipes.state["count"][-1] == 1))
    population.wait(TIMEOUT_S)
    assert pipes.state["count"].tolist() == [1] * SIZE
    assert pipes[7].state.onward is pipes[8]
    assert pipes[SIZE - 1].state.onward is None


def test_a_link_set_on_one_pipe_is_seen_in_the_column(make: Callable[[int], Population]) -> None:
    population = make(3)
    pipes, others = population.pipes(count.bind()), population.pipes(total.bind())
    pipes[1].state.onward = others[2]
    pipes.emit(0)
    population.wait(TIMEOUT_S)
    population.wait(TIMEOUT_S)

    assert pipes.state["onward"].tolist() == [0, int(others.handles[2]), 0]
    assert pipes[1].state.onward is others[2]
    assert others.state["count"].tolist() == [0, 0, 1]


def test_two_threads_emit_exactly_and_in_each_members_order(make: Callable[[int], Population]) -> None:
    population = make(SIZE)
    mine = [population.pipes(count.bind()) for _ in range(2)]
    both = population.pipes(total.bind())

    def emit(own: Any) -> None:
        rng = np.random.default_rng(1)
        for value in range(40):
            own.emit(np.full(SIZE, 2 * value))
            own.emit(2 * value + 1, where=rng.permutation(SIZE))
            both.emit(0, where=slice_of_members)

    slice_of_members = np.arange(0, SIZE, 2)
    threads = [threading.Thread(target=emit, args=(own,)) for own in mine]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    population.wait(TIMEOUT_S)

    for own in mine:
        assert own.state["count"].tolist() == [80] * SIZE
        assert not own.state["wrong"].any()
    assert both.state["count"][::2].tolist() == [80] * (SIZE // 2)
    assert not both.state["count"][1::2].any()


def test_no_wait_returns_early(make: Callable[[int], Population]) -> None:
    population = make(SIZE)
    wrong: list[str] = []

    def emit_and_wait(number: int) -> None:
        pipes = population.pipes(total.bind())
        rng = np.random.default_rng(number)
        expected = np.zeros(SIZE, np.int64)
        for _ in range(60):
            chosen = rng.random(SIZE) < rng.choice([0.001, 0.1, 1.0])
            pipes.emit(0, where=chosen)
            expected += chosen
            population.wait(TIMEOUT_S)
            if not np.array_equal(pipes.state["count"], expected):
                wrong.append(f"thread {number}")
                return

    threads = [threading.Thread(target=emit_and_wait, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


def test_an_idle_wait_costs_no_look_at_each_member(make: Callable[[int], Population]) -> None:
    small, large = make(1), make(1_000_000)
    large.wait(TIMEOUT_S)

    def best_ns(population: Population) -> int:
        times = []
        for _ in range(50):
            start = time.perf_counter_ns()
            population.wait()
            times.append(time.perf_counter_ns() - start)
        return min(times)

    assert best_ns(large) < best_ns(small) + 100_000  # reading 64 MB takes some milliseconds


def test_what_was_accepted_is_delivered_when_all_is_dropped_in_full_flight(
    cortex: substrates.Cortex, make: Callable[[int], Population]
) -> None:
    before = counters(cortex)
    circuit = cortex.circuit()
    end = circuit.pipe(total.bind())
    for number in range(6):
        population = cortex.circuits(SIZE)
        pipes = population.pipes(count.bind(onward=end))
        for value in range(3):
            pipes.emit(value)
        held = [population, pipes]
        del population, pipes
        let_go(held, closes=number % 2 == 0)
        wanted = (number + 1) * 3 * SIZE
        assert eventually(partial(reaches, end, wanted))
        circuit.wait(TIMEOUT_S)
        assert end.state.count == wanted
    circuit.close()
    del circuit, end
    assert eventually(lambda: back_at(cortex, before))


def test_targets_live_until_what_was_accepted_is_delivered(cortex: substrates.Cortex) -> None:
    before = counters(cortex)
    circuit = cortex.circuit()
    received: list[int] = []
    end = circuit.pipe(received.append, lane=kernel.int64)
    population = cortex.circuits(SIZE)
    pipes = population.pipes(count.bind())
    pipes.state["onward"] = end
    del end  # the pipes hold it
    pipes.emit(np.arange(SIZE))
    population.close()
    del population, pipes

    assert eventually(lambda: len(received) == SIZE)
    assert sorted(received) == list(range(SIZE))
    circuit.close()
    circuit.wait(TIMEOUT_S)
    del circuit
    assert eventually(lambda: back_at(cortex, before))
    assert not cortex.limbo  # type: ignore[attr-defined]


def test_memory_is_given_back(cortex: substrates.Cortex) -> None:
    def cycle() -> tuple[int, int, int]:
        with cortex.circuits(100_000) as population:
            pipes = population.pipes(count.bind())
            pipes.state["onward"][:-1] = pipes.handles[1:]
            pipes.emit(0, where=[0])
            population.wait(TIMEOUT_S)
            held = int(cortex.facts()["engine_bytes"])
            assert population[3].subject.name is population.subject.name
            assert pipes[99_999].subject.name is population.subject.name
            del pipes
        del population
        assert eventually(lambda: int(cortex.facts()["engine_bytes"]) < held - 10_000_000)
        return counters(cortex)

    gc.collect()
    subjects = dict(cortex.subjects)  # type: ignore[attr-defined]
    before = cycle()
    for _ in range(3):
        assert all(now <= then for now, then in zip(cycle(), before, strict=True))
    assert not cortex.subjects.keys() - subjects.keys()  # type: ignore[attr-defined]


def test_a_column_keeps_the_pipes(cortex: substrates.Cortex) -> None:
    before = counters(cortex)
    with cortex.circuits(SIZE) as population:
        pipes = population.pipes(total.bind())
        pipes.emit(0)
        population.wait(TIMEOUT_S)
        column, handles = np.asarray(pipes.state["count"]), np.asarray(pipes.handles).copy()
        del pipes
    del population

    assert column.tolist() == [1] * SIZE
    assert len(set(handles.tolist())) == SIZE
    assert not back_at(cortex, before)
    del column
    assert eventually(lambda: back_at(cortex, before))


def test_a_python_receptor_beside_the_kernel_keeps_the_members_order(
    cortex: substrates.Cortex, make: Callable[[int], Population]
) -> None:
    population = make(SIZE)
    pipes = population.pipes(count.bind())
    pipes.emit(0)
    received: list[tuple[int, int]] = []
    adopted = [0, 4095, SIZE - 1]
    beside = {
        index: population[index].pipe(
            lambda value, index=index: received.append((value, pipes[index].state.count))  # type: ignore[misc]
        )
        for index in adopted
    }
    for value in range(1, 20):
        pipes.emit(value)
        for pipe in beside.values():
            pipe.emit(value)
    population.wait(TIMEOUT_S)

    assert pipes.state["count"].tolist() == [20] * SIZE
    assert not pipes.state["wrong"].any()
    assert sorted(received) == sorted((value, value + 1) for value in range(1, 20) for _ in adopted)


def test_waits_for_what_kernels_give_members_that_python_runs(make: Callable[[int], Population]) -> None:
    sources, targets = make(50), make(50)
    received: list[int] = []
    ends: Pipes[int] = targets.pipes(lambda index, value: received.append(index), lane=kernel.int64)
    pipes = sources.pipes(count.bind())
    pipes.state["onward"] = ends.handles
    for value in range(1, 30):
        pipes.emit(value)
        sources.wait(TIMEOUT_S)
        targets.wait(TIMEOUT_S)

        assert len(received) == value * 50


def test_adopted_members_go_with_their_population(cortex: substrates.Cortex) -> None:
    before = counters(cortex)
    for closes in (True, False):
        population = cortex.circuits(10)
        pipes = population.pipes(count.bind())
        received: list[int] = []
        pipes_beside = [population[index].pipe(received.append) for index in (2, 3)]
        pipes.emit(0)
        pipes_beside[0].emit(1)
        population.wait(TIMEOUT_S)
        held = [population, pipes, pipes_beside]
        del population, pipes, pipes_beside
        let_go(held, closes=closes)
        assert received == [1]
    assert eventually(lambda: back_at(cortex, before))


def test_a_member_closed_alone_drops_and_the_others_go_on(make: Callable[[int], Population]) -> None:
    population = make(10)
    pipes = population.pipes(total.bind())
    population[4].close()
    pipes.emit(0)
    population.wait(TIMEOUT_S)

    assert pipes.state["count"].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    with pytest.raises(substrates.ClosedFault):
        population[4].pipe(print)


def test_a_closed_population_drops_and_makes_nothing(make: Callable[[int], Population]) -> None:
    population = make(10)
    pipes = population.pipes(total.bind())
    held = population[3]
    population.close(wait=True)
    pipes.emit(0)
    pipes[2].emit(0)

    assert not pipes.state["count"].any()
    for member in (held, population[4]):
        with pytest.raises(substrates.ClosedFault):
            member.pipe(total.bind())
    with pytest.raises(substrates.ClosedFault):
        population.pipes(total.bind())


@pytest.mark.parametrize("size", [10**10, 10**13, 2**62])
def test_what_does_not_fit_into_memory_is_refused_before_it_is_taken(
    cortex: substrates.Cortex, size: int
) -> None:
    before = int(cortex.facts()["engine_bytes"])

    with pytest.raises(MemoryError):
        cortex.circuits(size)

    assert int(cortex.facts()["engine_bytes"]) == before


def test_indices_changed_by_another_thread_harm_nobody(make: Callable[[int], Population]) -> None:
    population = make(SIZE)
    pipes = population.pipes(total.bind())
    where = np.arange(SIZE)
    where[100] = SIZE

    with pytest.raises(IndexError, match="100 of"):
        pipes._emit(np.array(0), where)  # type: ignore[attr-defined] # the check is over by then

    population.wait(TIMEOUT_S)
    assert pipes.state["count"].sum() == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_refused(make: Callable[[int], Population]) -> None:
    population = make(3)
    pipes = population.pipes(total.bind())
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (lambda: pipes.emit(0), population.wait, lambda: population.pipes(total.bind())):
            try:
                call()
            except substrates.ForkedProcessError:
                refused += 1
        os._exit(refused)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


@pytest.mark.parametrize("lane", [kernel.int64, kernel.float64])
def test_empty_populations_and_lanes(make: Callable[[int], Population], lane: Any) -> None:
    population = make(0)
    received: list[Any] = []
    pipes: Pipes[Any] = population.pipes(lambda index, value: received.append(value), lane=lane)
    counted = population.pipes(total.bind())
    pipes.emit([])
    counted.emit(1)
    population.wait(TIMEOUT_S)

    assert not received
    assert len(pipes.handles) == len(counted.state["count"]) == 0


def test_the_engines_part_goes_behind_all_finalizers_of_the_same_garbage(cortex: substrates.Cortex) -> None:
    with cortex.circuits(3) as population:
        pipes: Any = population.pipes(total.bind())
        members: Any = population

        # What the collector does not know it cannot finalize among the others, where they may still need it.
        assert not gc.is_tracked(members._owner)
        assert not gc.is_tracked(pipes._owner)
