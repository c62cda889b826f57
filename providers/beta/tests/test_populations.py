"""Populations where native code could get them wrong: threads, waits, ends and memory."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import substrates
from substrates import ForkedProcessError, kernel

PATIENCE_S = 60.0


class Relay(kernel.State):
    count: kernel.int64
    onward: kernel.Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: Any, state: Any, value: int) -> None:
    """Count, and pass everything on."""
    state.count += 1
    if state.onward:
        ctx.emit(state.onward, value)


class Order(kernel.State):
    even: kernel.int64
    odd: kernel.int64
    wrong: kernel.int64
    count: kernel.int64


@kernel.receptor(Order, kernel.int64)
def in_order(ctx: Any, state: Any, value: int) -> None:
    """Count what is not in its emitter's order: one emits even numbers that grow, one odd ones."""
    state.count += 1
    if value % 2 == 0:
        if value <= state.even:
            state.wrong += 1
        state.even = value
    else:
        if value <= state.odd:
            state.wrong += 1
        state.odd = value


@kernel.receptor(Relay, kernel.int64)
def fails(ctx: Any, state: Any, value: int) -> None:
    state.count = 1 // (value - 5)


@pytest.fixture(name="cortex")
def _cortex() -> Any:
    return substrates.cortex("beta")


def until(reached: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < end_s, "it does not come"
        gc.collect()
        time.sleep(0.001)


def in_threads(*bodies: Callable[[], object]) -> None:
    """Run the bodies at the same time; the first error is raised."""
    errors: list[BaseException] = []

    def guarded(body: Callable[[], object]) -> None:
        try:
            body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def held(cortex: Any) -> tuple[int, ...]:
    facts = cortex.facts()
    return tuple(facts[name] for name in ("circuits", "pipes", "engine_used_bytes"))


def settled(cortex: Any) -> tuple[int, ...]:
    """Return what is held once what tests before this one have left has gone."""
    readings = [held(cortex)]

    def same() -> bool:
        time.sleep(0.02)
        readings.append(held(cortex))
        return len(set(readings[-3:])) == 1 and len(readings) > 3

    until(same)
    return readings[-1]


# -- members and wiring


def test_population_is_of_the_engine(cortex: Any) -> None:
    with cortex.circuits(3) as population:
        assert type(population).__module__ == "substrates_beta.populations"


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 10_000])
def test_value_passes_all_members_of_a_line(cortex: Any, size: int) -> None:
    with cortex.circuits(size) as population:
        pipes = population.pipes(relay)
        pipes.state["onward"][:-1] = pipes.handles[1:]
        if size:
            pipes.emit(7, where=[0])
        until(lambda: population.wait() or pipes.state["count"].sum() == size)

        assert pipes.state["count"].tolist() == [1] * size
        assert len(set(pipes.handles.tolist())) == size


def test_row_is_the_state_of_the_members_pipe(cortex: Any) -> None:
    with cortex.circuits(5000) as population:
        pipes = population.pipes(relay)
        target = population[0].pipe(relay)
        pipes.state["count"][4999] = 11
        pipes[4999].state.onward = pipes[17]
        pipes[4998].state.onward = target

        assert pipes[4999].state.count == 11
        assert pipes[4999].state.onward is pipes[17]
        assert pipes.state["onward"][4999] == pipes.handles[17]
        assert pipes[4998].state.onward is target
        assert pipes[0].state.onward is None
        assert pipes.index(pipes[4098]) == 4098


def test_column_is_not_copied(cortex: Any) -> None:
    with cortex.circuits(10) as population:
        pipes = population.pipes(relay)
        column = pipes.state["count"]
        pipes.emit(np.arange(10))
        population.wait()

        assert column.tolist() == [1] * 10
        assert np.shares_memory(column, pipes.state["count"])


def test_member_that_was_let_go_is_the_one_it_was(cortex: Any) -> None:
    with cortex.circuits(10) as population:
        subject = population[3].subject
        current = population[3].current
        pipes = population.pipes(relay)
        pipe_subject = pipes[4].subject
        population[5].close()
        gc.collect()

        assert population[3].subject is subject
        assert population[3].current is current
        assert pipes[4].subject is pipe_subject
        assert pipe_subject.enclosure is population[4].subject
        with pytest.raises(substrates.ClosedFault):
            population[5].pipe(relay)
        population[6].pipe(relay)


def test_members_are_closed_with_their_population(cortex: Any) -> None:
    population = cortex.circuits(10)
    held_before = population[3]
    pipes = population.pipes(relay)
    population.close(wait=True)
    pipes.emit(1)
    population.wait()

    assert pipes.state["count"].tolist() == [0] * 10
    for member in (held_before, population[4]):
        with pytest.raises(substrates.ClosedFault):
            member.pipe(relay)


def test_closed_member_drops_and_others_receive(cortex: Any) -> None:
    with cortex.circuits(10) as population:
        pipes = population.pipes(relay)
        population[4].close(wait=True)
        pipes.emit(np.arange(10))
        population.wait()

        assert pipes.state["count"].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1, 1]


def test_fault_of_a_member_names_it(cortex: Any) -> None:
    faults: list[tuple[Any, BaseException]] = []
    cortex.on_fault(lambda subject, error: faults.append((subject, error)))
    try:
        with cortex.circuits(10, name="cells") as population:
            pipes = population.pipes("probes", fails)
            known = pipes[2]
            pipes.emit(5, where=[2, 3])
            population.wait()
            until(lambda: len(faults) == 2)

            subjects = sorted((subject for subject, _ in faults), key=lambda it: it is not known.subject)
            assert subjects[0] is known.subject
            assert [str(subject.name) for subject in subjects] == ["probes", "probes"]
            assert str(subjects[1].enclosure.name) == "cells"
    finally:
        cortex.on_fault(None)


def test_faults_of_pipes_that_are_gone_are_told(cortex: Any) -> None:
    """The memory of their pipes must not have been given back to the system before."""
    subjects: list[Any] = []
    cortex.on_fault(lambda subject, error: subjects.append(subject))
    before = settled(cortex)
    switch_s = sys.getswitchinterval()
    try:
        sys.setswitchinterval(10.0)  # the thread that tells faults gets no turn before
        population = cortex.circuits(3000)
        pipes = population.pipes("probes", fails)
        filler = cortex.circuits(100_000)
        for part in range(0, 3000, 100):
            pipes.emit(5, where=range(part, part + 100))
        end_s = time.monotonic() + 0.1
        while time.monotonic() < end_s:
            pass
        filler.close()
        population.close()
        del pipes, population, filler
        sys.setswitchinterval(switch_s)
        until(lambda: len(subjects) == 3000)
    finally:
        sys.setswitchinterval(switch_s)
        cortex.on_fault(None)

    assert {str(subject.name) for subject in subjects} == {"probes"}
    until(lambda: held(cortex) == before)


# -- emitting


def test_two_threads_emit_and_each_members_order_is_theirs(cortex: Any) -> None:
    size, rounds = 5000, 40
    with cortex.circuits(size) as population:
        pipes = population.pipes(in_order)

        def emit(first: int) -> None:
            for number in range(rounds):
                value = first + 2 * number
                if number % 2:
                    pipes.emit(np.full(size, value))
                else:
                    pipes.emit(value, where=np.arange(size)[::-1])

        in_threads(lambda: emit(2), lambda: emit(3))
        population.wait()

        assert pipes.state["count"].tolist() == [2 * rounds] * size
        assert pipes.state["wrong"].sum() == 0


def test_member_named_several_times_gets_its_values_in_order(cortex: Any) -> None:
    with cortex.circuits(7) as population:
        pipes = population.pipes(in_order)
        pipes.emit(np.arange(2, 2002, 2), where=np.tile([3, 5], 500))
        population.wait()

        assert pipes.state["count"].tolist() == [0, 0, 0, 500, 0, 500, 0]
        assert pipes.state["even"].tolist() == [0, 0, 0, 1998, 0, 2000, 0]
        assert pipes.state["wrong"].sum() == 0


@pytest.mark.parametrize("size", [10, 3000])
def test_emission_in_a_members_context_is_transit_there(cortex: Any, size: int) -> None:
    with cortex.circuits(size) as population:
        pipes = population.pipes(relay)
        seen: list[int] = []

        def receive(value: int) -> None:
            pipes.emit(value)
            pipes.emit(value, where=[1, 1])
            seen.append(int(pipes.state["count"][1]))

        pipe = population[1].pipe(receive)
        pipe.emit(1)
        pipe.emit(2)
        population.wait()
        population.wait()

        assert seen == [0, 3]
        assert pipes.state["count"].tolist() == [2, 6] + [2] * (size - 2)


def test_python_receptor_of_a_member_beside_the_kernel(cortex: Any) -> None:
    size = 5000
    with cortex.circuits(size) as population:
        got: list[int] = []
        pipes = population.pipes(relay)
        beside = population[4321].pipe(got.append, lane=kernel.int64)
        pipes[4321].state.onward = beside
        received: list[tuple[int, int]] = []
        others = population.pipes(lambda index, value: received.append((index, value)), lane=kernel.int64)
        pipes.state["onward"][7] = others[8]
        for value in range(20):
            pipes.emit(value)
        population.wait()
        population.wait()

        assert got == list(range(20))
        assert received == [(8, value) for value in range(20)]
        assert pipes.state["count"].tolist() == [20] * size
        assert pipes[7].state.onward is others[8]


def test_emission_that_finds_no_memory_says_how_far_it_came(cortex: Any) -> None:
    class Short:
        def emit(self, values: Any, where: Any) -> int:
            return 3

    with cortex.circuits(10) as population:
        pipes = population.pipes(relay)
        native, pipes._native = pipes._native, Short()
        try:
            with pytest.raises(MemoryError, match="3 of 10 values"):
                pipes.emit(1)
        finally:
            pipes._native = native


# -- waiting


def test_wait_never_returns_early(cortex: Any) -> None:
    """Each thread has pipes of its own, so after its wait the counts are exactly what it has emitted."""
    size = 300
    with cortex.circuits(size) as population:

        def emit_and_wait(pipes: Any, seed: int) -> None:
            random = np.random.default_rng(seed)
            expected = np.zeros(size, np.int64)
            for turn in range(1500):
                if turn % 50 == 0:
                    pipes.emit(turn)
                    expected += 1
                elif turn % 3 == 0:
                    member = int(random.integers(size))
                    pipes[member].emit(turn)
                    expected[member] += 1
                else:
                    chosen = random.integers(size, size=int(random.integers(1, 5)))
                    pipes.emit(turn, where=chosen)
                    np.add.at(expected, chosen, 1)
                population.wait()
                assert (pipes.state["count"] == expected).all(), f"turn {turn}"

        in_threads(*(partial(emit_and_wait, population.pipes(relay), seed) for seed in range(4)))


def test_idle_wait_looks_at_no_member(cortex: Any) -> None:
    with cortex.circuits(200_000) as population:
        pipes = population.pipes(relay)
        pipes.emit(1)
        population.wait()
        population.wait()
        times_s = []
        for _ in range(20):
            start_s = time.perf_counter()
            population.wait()
            times_s.append(time.perf_counter() - start_s)

        assert min(times_s) < 0.0005


def test_wait_that_is_late_says_so(cortex: Any) -> None:
    with cortex.circuits(10) as population:
        go = threading.Event()
        population[3].pipe(lambda value: go.wait(PATIENCE_S)).emit(1)
        with pytest.raises(TimeoutError):
            population.wait(0.01)
        go.set()
        population.wait(PATIENCE_S)


# -- ends


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "unclosed"])
@pytest.mark.parametrize(
    "shares", [True, False], ids=["to a held pipe", "to a pipe that the states alone hold"]
)
def test_population_dropped_in_full_flight_delivers_what_was_accepted(
    cortex: Any, closed: bool, shares: bool
) -> None:
    size, rounds = 6000, 10
    before = settled(cortex)
    with cortex.circuit() as other:
        got: list[int] = []
        target = other.pipe(got.append, lane=kernel.int64)

        def make() -> None:
            population = cortex.circuits(size)
            pipes = population.pipes(relay.bind(onward=target))
            for value in range(rounds):
                pipes.emit(value)
            if closed:
                population.close()

        make()
        if not shares:
            del target
        until(lambda: len(got) == size * rounds)

        assert sorted(got) == [value for value in range(rounds) for _ in range(size)]
    target = other = None
    until(lambda: held(cortex) == before)


def test_pipes_dropped_in_flight_pass_on_through_all_members(cortex: Any) -> None:
    size = 200
    with cortex.circuits(size) as population:
        got: list[int] = []

        def make() -> None:
            pipes = population.pipes(relay)
            pipes.state["onward"][:-1] = pipes.handles[1:]
            pipes.state["onward"][-1] = population[0].pipe(got.append, lane=kernel.int64)
            pipes.emit(5, where=[0])

        make()
        until(lambda: got == [5])


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_value_that_goes_in_a_circle_ends_with_its_pipes(cortex: Any) -> None:
    before = settled(cortex)

    def make() -> None:
        population = cortex.circuits(50)
        pipes = population.pipes(relay)
        pipes.state["onward"][...] = np.roll(pipes.handles, -1)
        pipes.emit(1)

    make()
    until(lambda: held(cortex) == before)


def test_memory_is_given_back(cortex: Any) -> None:
    def cycle() -> tuple[int, ...]:
        with cortex.circuits(20_000) as population:
            pipes = population.pipes(relay)
            more = population.pipes(in_order)
            pipes.state["onward"][...] = more.handles
            pipes.emit(1)
            assert cortex.facts()["circuits"] >= 20_000
            assert cortex.facts()["pipes"] >= 40_000
            assert cortex.facts()["engine_used_bytes"] >= 20_000 * (64 + 64 + 24 + 64 + 40)
        del population, pipes, more
        time.sleep(0.02)
        return held(cortex)

    before = settled(cortex)
    mapped = cortex.facts()["engine_bytes"]
    for _ in range(3):
        cycle()
        until(lambda: held(cortex) == before)
    until(lambda: cortex.facts()["engine_bytes"] < mapped + 4 * 256 * 1024)


def test_members_of_one_population_may_outlive_those_of_another(cortex: Any) -> None:
    first = cortex.circuits(5000)
    second = cortex.circuits(5000)
    pipes = second.pipes(relay)
    first.close()
    del first
    gc.collect()
    with cortex.circuits(5000) as third:
        others = third.pipes(relay)
        for _ in range(10):
            pipes.emit(1)
            others.emit(1)
        second.wait()
        third.wait()
        assert pipes.state["count"].tolist() == [10] * 5000
        assert others.state["count"].tolist() == [10] * 5000
    second.close()


def test_too_large_a_population_is_refused(cortex: Any) -> None:
    before = settled(cortex)
    for size in (10**12, 2**62, 2**80):
        with pytest.raises(MemoryError):
            cortex.circuits(size)
    assert held(cortex) == before


# -- garbage


def test_arrays_hold_what_they_need(cortex: Any) -> None:
    before = settled(cortex)
    with cortex.circuits(10) as population:
        pipes = population.pipes(relay)
        pipes.emit(1)
        population.wait()
        column = pipes.state["count"]
        handles = pipes.handles
        reference = weakref.ref(pipes)
        del pipes
        assert reference() is not None, "its handles are held"
        del handles
    del population
    gc.collect()
    assert column.tolist() == [1] * 10
    assert held(cortex) != before
    del column
    assert reference() is None, "it is reclaimed at once"
    until(lambda: held(cortex) == before)


def test_pipe_of_a_member_holds_what_it_is_of(cortex: Any) -> None:
    population = cortex.circuits(10)
    pipe = population.pipes(relay)[3]
    state = pipe.state
    reference: Any = weakref.ref(population)
    del population
    gc.collect()
    pipe.emit(1)
    assert pipe.subject.enclosure is reference()[3].subject
    reference().wait()
    assert state.count == 1
    reference().close()
    del pipe, state
    until(lambda: reference() is None)


def test_unclosed_population_is_warned_about_and_reclaimed(cortex: Any) -> None:
    before = settled(cortex)

    def dropped() -> None:
        cortex.circuits(10).pipes(relay)

    with pytest.warns(ResourceWarning, match="unclosed <Population"):
        dropped()
    until(lambda: held(cortex) == before)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_refuses(cortex: Any) -> None:
    with cortex.circuits(1000) as population:
        pipes = population.pipes(relay)
        pipes.emit(1)
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (lambda: pipes.emit(1), population.wait, lambda: cortex.circuits(2)):
                try:
                    call()
                except ForkedProcessError:
                    refused += 1
            population.close()
            del pipes
            os._exit(refused)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 3
        population.wait()
        assert pipes.state["count"].tolist() == [1] * 1000
