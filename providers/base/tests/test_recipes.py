"""How recipes are compiled: what the TCK cannot see of it, and the time that operators are told."""

from __future__ import annotations

import copy
import gc
import linecache
import operator
import pickle
import random
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import substrates
from substrates import Cortex, Fiber, Flow, ManualClock, Pipe, Recipe, TemporalError, kernel
from substrates.kernel import Lane
from substrates.recipe import Stage
from substrates_base import Circuit, compiler
from substrates_base.compiler import compiled
from substrates_base.memories import Memory
from substrates_base.operators import NAMES, OPERATORS


@pytest.fixture
def cortex(provider: str) -> Cortex:
    return substrates.cortex(provider)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def circuit(cortex: Cortex, clock: ManualClock) -> Iterator[Circuit]:
    circuit = cortex.circuit("recipes", clock=clock)
    assert isinstance(circuit, Circuit)
    yield circuit
    circuit.close()
    circuit.wait(10)


@pytest.fixture
def shapes() -> Iterator[None]:
    """No shape has been compiled yet."""
    compiled.cache_clear()
    yield
    compiled.cache_clear()


class Forward(kernel.State):
    """Emits what it gets."""

    to: kernel.Pipe


@kernel.receptor(Forward, kernel.int64)
def forward(ctx: kernel.Context, state: Forward, value: int) -> None:
    """Emit the value."""
    ctx.emit(state.to, value)


def positive(value: int) -> bool:
    return value > 0


def not_negative(value: int) -> bool:
    return value >= 0


def fails(value: Any) -> Any:
    raise ArithmeticError(value)


def constant(result: Any) -> Callable[[Any], Any]:
    return lambda _: result


def played(recipe: Recipe[Any, Any], circuit: Circuit, *values: Any) -> list[Any]:
    received: list[Any] = []
    pipe = recipe.pipe(circuit.pipe(received.append))
    for value in values:
        pipe.emit(value)
    circuit.wait(10)
    return received


def everything(cortex: Cortex) -> list[Recipe[Any, Any]]:
    """Return one recipe per form of an operator."""
    fiber: Fiber[Any] = cortex.fiber()
    flow: Flow[Any, Any] = cortex.flow()
    compare = operator.sub
    ends: dict[str, Any] = {"key": abs, "compare": compare}
    bounded: list[Recipe[Any, Any]] = []
    for given in ({}, *({name: function} for name, function in ends.items())):
        bounded += [fiber.above(0, **given), fiber.below(9, **given)]
        bounded += [fiber.min(0, **given), fiber.max(9, **given)]
        bounded += [fiber.range(0, 9, **given), fiber.deadband(0, 9, **given), fiber.clamp(0, 9, **given)]
        bounded += [fiber.high(**given), fiber.low(**given)]
    second = timedelta(seconds=1)
    return [
        *bounded,
        fiber.guard(positive),
        fiber.guard(0, operator.lt),
        fiber.replace(abs),
        fiber.peek(abs),
        fiber.when(positive, fiber.diff()),
        fiber.limit(1),
        fiber.skip(1),
        fiber.every(2),
        fiber.every(second),
        fiber.chance(0.5),
        fiber.inhibit(1),
        fiber.delay(1, 0),
        fiber.diff(),
        fiber.diff(0),
        fiber.distinct(),
        fiber.distinct(2),
        fiber.change(abs),
        fiber.heartbeat(second),
        fiber.reduce(0, operator.add),
        fiber.relate(0, operator.add),
        fiber.integrate(0, operator.add, positive),
        fiber.rolling(2, operator.add, 0),
        fiber.tumble(2, operator.add, 0),
        fiber.edge(0, operator.lt),
        fiber.pulse(positive),
        fiber.steady(2),
        fiber.steady(2, operator.eq),
        fiber.streak(2, positive),
        fiber.hysteresis(positive, positive),
        fiber.take_while(positive),
        fiber.drop_while(positive),
        flow.map(abs),
        flow.scan(int, operator.add),
        flow.scan(int, operator.add, abs),
        flow.scan(int, operator.add, emit_with=operator.add),
        flow.relate(0, operator.add),
        flow.run(),
        flow.change(),
        flow.window(2),
        flow.window(second, 2),
        flow.fiber(lambda _: fiber),
        flow.flow(lambda _: flow),
    ]


# -- the source


def test_source_is_one_function_without_calls_between_operators(cortex: Cortex) -> None:
    fiber = cortex.fiber().guard(positive).diff().limit(3)

    assert fiber.source() == (
        "def attach(target, predicate_1, count_3):\n"
        "    held_2 = NOTHING\n"
        "    passed_3 = 0\n"
        "\n"
        "    def receive(value):\n"
        "        nonlocal held_2, passed_3\n"
        "        # 1: guard(predicate_1)\n"
        "        if not predicate_1(value):\n"
        "            return\n"
        "        # 2: diff()\n"
        "        if held_2 is not NOTHING and (value is held_2 or value == held_2):\n"
        "            return\n"
        "        held_2 = value\n"
        "        # 3: limit(count_3)\n"
        "        if passed_3 >= count_3:\n"
        "            return\n"
        "        passed_3 += 1\n"
        "        target(value)\n"
        "\n"
        "    return receive\n"
    )


def test_source_of_when_has_the_operators_of_its_fiber_inside(cortex: Cortex) -> None:
    fiber = cortex.fiber().when(positive, cortex.fiber().every(2)).limit(1)

    assert (
        "        # 1: when(predicate_1, fiber)\n"
        "        if predicate_1(value):\n"
        "            # 2: every(step_2)\n"
        "            seen_2 += 1\n"
        "            if seen_2 < step_2:\n"
        "                return\n"
        "            seen_2 = 0\n"
        "        # 3: limit(count_3)\n"
    ) in fiber.source()


def test_source_of_the_identity_calls_the_target(cortex: Cortex) -> None:
    assert cortex.flow().source() == (
        "def attach(target):\n    def receive(value):\n        target(value)\n\n    return receive\n"
    )


def test_source_is_what_runs(cortex: Cortex, circuit: Circuit, shapes: None) -> None:
    fiber = cortex.fiber().guard(positive).tee(circuit.pipe()).limit(3)

    fiber.pipe(circuit.pipe())

    (filename,) = (
        name for name in linecache.cache if name.startswith("<substrates recipe guard.tee.limit #")
    )
    assert "".join(linecache.getlines(filename)) == fiber.source()


def test_source_calls_neither_suppliers_nor_factories(cortex: Cortex) -> None:
    flow = cortex.flow().fiber(fails).scan(lambda: fails(0), operator.add).flow(fails)

    source = flow.source()

    assert "# 1: fiber(factory)\n" in source
    assert "# 2: scan(supplier, step_2)\n" in source
    assert "# 3: flow(factory)\n" in source


def test_every_operator_of_the_api_has_its_lines(cortex: Cortex) -> None:
    recipes = everything(cortex)
    recipes.append(cortex.fiber().tee(_pipe(cortex)).route(positive, _pipe(cortex)))

    known = set()
    for recipe in recipes:
        assert recipe.source()
        for stage in recipe.stages:
            assert hasattr(Fiber, stage.method) or hasattr(Flow, stage.method), stage.operator
            known.add(stage.operator)

    assert known == {key.partition(" ")[0] for key in OPERATORS}


def _pipe(cortex: Cortex) -> Any:
    circuit = cortex.circuit()
    circuit.close()
    return cortex.fiber().pipe(_target(circuit))


def _target(circuit: Any) -> Any:
    return circuit._receptor_pipe(None, lambda _: None, Lane.OBJECT)


def test_every_form_attaches_and_receives(cortex: Cortex, circuit: Circuit) -> None:
    before = circuit._cortex.faults.count.value()

    for recipe in everything(cortex):
        played(recipe, circuit, 1, 2, 2, 3)

    assert circuit._cortex.faults.count.value() == before


def test_names_of_operators_do_not_meet_those_of_the_code() -> None:
    for key, form in OPERATORS.items():
        for name in form.parameters:
            assert name not in NAMES, key


# -- tracebacks


@pytest.mark.parametrize(
    ("shown", "line", "make"),
    [
        ("guard", "if not predicate_2(value):", lambda fiber: fiber.guard(fails)),
        ("replace", "value = function_2(value)", lambda fiber: fiber.replace(fails)),
        ("peek", "receptor_2(value)", lambda fiber: fiber.peek(fails)),
        ("when", "if predicate_2(value):", lambda fiber: fiber.when(fails, fiber)),
        ("change", "key = key_2(value)", lambda fiber: fiber.change(fails)),
    ],
)
def test_traceback_shows_the_line_of_the_operator(
    cortex: Cortex, circuit: Circuit, shown: str, line: str, make: Callable[[Fiber[Any]], Fiber[Any]]
) -> None:
    errors: list[BaseException] = []
    cortex.on_fault(lambda _, error: errors.append(error))
    try:
        assert played(make(cortex.fiber().skip(0)), circuit, 7) == []
    finally:
        cortex.on_fault(None)

    (error,) = errors
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<substrates recipe")
    ]
    (frame,) = frames
    assert frame.filename.startswith(f"<substrates recipe skip.{shown} #")
    assert frame.name == "receive"
    assert frame.line == line
    assert frame.lineno is not None
    assert line in linecache.getline(frame.filename, frame.lineno)
    assert linecache.getline(frame.filename, frame.lineno - 1).strip().startswith(f"# 2: {shown}(")


def test_traceback_survives_a_check_of_the_line_cache(cortex: Cortex, circuit: Circuit, shapes: None) -> None:
    pipe = cortex.fiber().guard(positive).pipe(circuit.pipe())

    linecache.checkcache()

    assert _sources() == {"<substrates recipe guard #"}
    del pipe


# -- one compilation per shape, bounded


def test_a_shape_is_compiled_once(cortex: Cortex, circuit: Circuit, shapes: None) -> None:
    target = circuit.pipe()
    for limit in range(1, 20):
        fiber = cortex.fiber().guard(limit.__lt__).limit(limit)
        fiber.pipe(target)
        cortex.flow().fiber(constant(fiber)).pipe(target)

    assert compiled.cache_info().misses == 1
    assert compiled.cache_info().hits == 37


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda f: f.above(1), lambda f: f.above(1, key=abs)),
        (lambda f: f.above(1), lambda f: f.above(1, compare=operator.sub)),
        (lambda f: f.diff(), lambda f: f.diff(0)),
        (lambda f: f.steady(1), lambda f: f.steady(1, operator.eq)),
        (lambda f: f.when(positive, f).diff(), lambda f: f.when(positive, f.diff())),
        (lambda f: f.diff().limit(1), lambda f: f.limit(1).diff()),
    ],
)
def test_other_shapes_are_compiled_anew(
    cortex: Cortex,
    circuit: Circuit,
    shapes: None,
    one: Callable[[Fiber[Any]], Fiber[Any]],
    other: Callable[[Fiber[Any]], Fiber[Any]],
) -> None:
    for make in (one, other):
        make(cortex.fiber()).pipe(circuit.pipe())

    assert compiled.cache_info().misses == 2


def test_what_is_kept_is_bounded(shapes: None) -> None:
    assert compiled.cache_info().maxsize == compiler.SHAPES
    for length in range(compiler.SHAPES + 50):
        compiled((("skip", ()),) * (length % 40) + (("diff", ()),) * (length // 40))

    gc.collect()

    assert compiled.cache_info().currsize == compiler.SHAPES
    assert sum(name.startswith("<substrates recipe") for name in linecache.cache) == compiler.SHAPES


def test_lines_stay_while_a_pipe_runs_them_and_go_with_it(
    cortex: Cortex, circuit: Circuit, shapes: None
) -> None:
    pipe = cortex.fiber().guard(positive).pipe(circuit.pipe())

    compiled.cache_clear()
    gc.collect()
    assert _sources() == {"<substrates recipe guard #"}

    del pipe
    gc.collect()
    assert _sources() == set()


def _sources() -> set[str]:
    return {
        name.partition("#")[0] + "#"
        for name in list(linecache.cache)
        if name.startswith("<substrates recipe")
    }


def test_attaching_makes_no_cycle(cortex: Cortex, circuit: Circuit) -> None:
    class Held:
        def __call__(self, value: Any) -> bool:
            return True

    gc.collect()
    gc.disable()
    try:
        held = Held()
        gone = weakref.ref(held)
        fiber = cortex.fiber().guard(held).diff().when(positive, cortex.fiber().limit(1))
        pipe = cortex.flow(fiber).window(2).pipe(circuit.pipe())
        del held, fiber, pipe
        assert gone() is None
    finally:
        gc.enable()


def test_shapes_are_compiled_by_many_threads_at_once(cortex: Cortex, circuit: Circuit, shapes: None) -> None:
    received: list[int] = []
    target = circuit.pipe(received.append)
    begin = threading.Barrier(4)

    def work() -> None:
        begin.wait(10)
        for length in range(30):
            fiber: Fiber[int] = cortex.fiber()
            for _ in range(length):
                fiber = fiber.limit(1)
            pipe = fiber.pipe(target)
            pipe.emit(length)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    circuit.wait(10)

    assert sorted(received) == sorted(list(range(30)) * 4)


# -- without limits of Python's in sight


def test_many_operators(cortex: Cortex, circuit: Circuit) -> None:
    fiber: Fiber[int] = cortex.fiber()
    for _ in range(2_000):
        fiber = fiber.replace(lambda v: v + 1)

    assert played(fiber, circuit, 0, 1) == [2_000, 2_001]


def test_deeply_nested_fibers_of_when(cortex: Cortex, circuit: Circuit) -> None:
    fiber: Fiber[int] = cortex.fiber().every(2)
    for _ in range(120):
        fiber = cortex.fiber().when(not_negative, fiber).replace(lambda v: v + 1)

    assert played(fiber, circuit, 0, 1, -500, 2, 3) == [121, -499, 123]


def test_many_windows(cortex: Cortex, circuit: Circuit) -> None:
    flow: Flow[int, Any] = cortex.flow()
    for _ in range(45):
        flow = flow.window(2).map(lambda window: window.last())
    ended: list[Any] = []
    flow = flow.window(2).fiber(cortex.fiber().peek(ended.append)).map(lambda window: window.size())

    assert played(flow, circuit, 1, 2, 3) == [1, 2, 2]
    with pytest.raises(TemporalError):
        ended[-1].size()


def test_many_attachments_on_top_of_each_other(cortex: Cortex, circuit: Circuit) -> None:
    received: list[int] = []
    pipe: Pipe[int] = circuit.pipe(received.append)
    for _ in range(3 * sys.getrecursionlimit()):
        pipe = cortex.fiber().replace(lambda v: v + 1).pipe(pipe)

    pipe.emit(0)
    pipe.emit(1)
    circuit.wait(10)

    assert received == [3 * sys.getrecursionlimit(), 3 * sys.getrecursionlimit() + 1]


def test_counts_beyond_a_machine_word(cortex: Cortex, circuit: Circuit) -> None:
    fiber = cortex.fiber().limit(2**70).inhibit(0).distinct(2**70).rolling(1, operator.add, 0)
    flow = cortex.flow(fiber).window(2**70).map(lambda window: window.size())

    assert played(flow, circuit, 1, 2, 2) == [1, 2]
    assert played(cortex.fiber().delay(2**70, 5), circuit, 1, 2) == [5, 5]
    assert played(cortex.fiber().rolling(2**70, operator.add, 0), circuit, 1, 2) == []


# -- attaching


@pytest.mark.parametrize("behind", ["receptor", "scalar receptor", "kernel", "nothing"])
def test_attaching_to_a_closed_circuit_drops(cortex: Cortex, behind: str) -> None:
    circuit = cortex.circuit()
    received: list[Any] = []
    target: Pipe[Any]
    if behind == "receptor":
        target = circuit.pipe(received.append)
    elif behind == "kernel":
        target = circuit.pipe(forward.bind())
    elif behind == "nothing":
        target = circuit.pipe(lane=kernel.int64)
    else:
        target = circuit.pipe(received.append, lane=kernel.int64)
    circuit.close()

    early = cortex.fiber().diff().pipe(target)
    early.emit(1)
    circuit.wait(10)
    late = cortex.fiber().diff().pipe(target)
    late.emit(1)
    early.emit(2)
    circuit.wait(10)

    assert received == []
    assert late.subject.enclosure is target.subject


def test_scalar_target_takes_its_values_by_emit(cortex: Cortex, circuit: Circuit) -> None:
    received: list[Any] = []
    target = circuit.pipe(received.append, lane=kernel.int64)
    errors: list[Any] = []
    cortex.on_fault(lambda subject, error: errors.append((subject, error)))
    try:
        pipe = cortex.flow().map(lambda text: int(text) if text != "x" else text).pipe(target)
        for text in ("1", "x", "2"):
            pipe.emit(text)
        circuit.wait(10)
    finally:
        cortex.on_fault(None)

    assert received == [1, 2]
    assert [(subject, type(error)) for subject, error in errors] == [(pipe.subject, TypeError)]


def test_factories_get_the_subject_of_the_pipe_itself(cortex: Cortex, circuit: Circuit) -> None:
    seen: list[Any] = []

    def factory(subject: Any) -> Fiber[Any]:
        seen.append(subject)
        return cortex.fiber()

    target = circuit.pipe("named", fails)
    pipe = cortex.flow().fiber(factory).flow(lambda _: cortex.flow().fiber(factory)).pipe(target)

    assert seen == [pipe.subject, pipe.subject]
    assert all(subject is pipe.subject for subject in seen)
    assert pipe.subject.name is target.subject.name
    assert pipe.subject.enclosure is target.subject


def test_suppliers_and_factories_run_from_head_to_tail(cortex: Cortex, circuit: Circuit) -> None:
    log: list[str] = []

    def inner(_: Any) -> Flow[Any, Any]:
        log.append("factory")
        return cortex.flow().scan(lambda: log.append("inner"), operator.add)

    flow = cortex.flow().scan(lambda: log.append("first"), operator.add).flow(inner)
    flow = flow.scan(lambda: log.append("last"), operator.add)

    flow.pipe(circuit.pipe())

    assert log == ["first", "factory", "inner", "last"]


def test_seed_makes_attachments_decide_alike(cortex: Cortex, circuit: Circuit) -> None:
    fiber = cortex.fiber().chance(0.5, seed=7)
    decide = random.Random(7).random
    expected = [value for value in range(100) if decide() < 0.5]

    assert played(fiber, circuit, *range(100)) == expected
    assert played(fiber, circuit, *range(100)) == expected


# -- time


def test_one_reading_for_all_that_a_value_causes(
    cortex: Cortex, circuit: Circuit, clock: ManualClock
) -> None:
    seen: list[list[int]] = []
    windows = cortex.flow().window(timedelta(milliseconds=5), 10).map(_values).pipe(circuit.pipe(seen.append))

    def second(value: int) -> None:
        clock.jump(0.025)
        windows.emit(value + 1)

    later = circuit.pipe(second)

    def first(value: int) -> None:
        windows.emit(value)
        later.emit(value)

    head = circuit.pipe(first)
    head.emit(1)
    head.emit(10)
    circuit.wait(10)

    assert seen == [[1], [1, 2], [10], [10, 11]]


def test_reading_is_taken_when_the_value_is_processed(
    cortex: Cortex, circuit: Circuit, clock: ManualClock
) -> None:
    seen: list[list[int]] = []
    windows = (
        cortex.flow().window(timedelta(milliseconds=200), 10).map(_values).pipe(circuit.pipe(seen.append))
    )
    hold, held = threading.Event(), threading.Event()

    def block(_: Any) -> None:
        held.set()
        hold.wait(10)

    circuit.pipe(block).emit(0)
    assert held.wait(10)
    windows.emit(1)
    clock.advance(0.4)
    windows.emit(2)
    hold.set()
    circuit.wait(10)

    assert seen == [[1], [1, 2]]


def test_reading_outlives_a_time_slice(cortex: Cortex, circuit: Circuit, clock: ManualClock) -> None:
    """A cascade that is put back in its middle goes on with its own reading."""
    readings: list[int] = []

    def receive(turn: int) -> None:
        readings.append(circuit._now())
        clock.advance(0.001)
        others.emit(turn)
        if turn:
            pipe.emit(turn - 1)

    with cortex.circuit("other") as other:
        others: Pipe[int] = other.pipe(lambda _: None)
        pipe = circuit.pipe(receive)
        pipe.emit(20_000)
        circuit.wait(60)
        pipe.emit(0)
        circuit.wait(10)

    assert len(readings) == 20_002
    assert set(readings[:-1]) == {0}
    assert readings[-1] == 20_001 * 1_000_000


def test_jobs_and_kernels_lane_have_readings_too(
    cortex: Cortex, circuit: Circuit, clock: ManualClock
) -> None:
    readings: list[int] = []
    scalar = circuit.pipe(lambda _: readings.append(circuit._now()), lane=kernel.int64)
    plain = circuit.pipe(lambda _: readings.append(circuit._now()))
    for _ in range(3):
        scalar.emit(1)
        circuit.wait(10)
        clock.advance(1)
        plain.emit(1)
        circuit._job(lambda: readings.append(circuit._now()))
        circuit.wait(10)
        clock.advance(1)

    second = 1_000_000_000
    assert readings == [at * second for at in (0, 1, 1, 2, 3, 3, 4, 5, 5)]


def test_values_of_a_native_tail_have_readings_of_their_own(
    cortex: Cortex, circuit: Circuit, clock: ManualClock
) -> None:
    """Kernels of another circuit emit into one that Python runs; of alpha these come in batches."""
    readings: list[tuple[int, int, int]] = []

    def receive(value: int) -> None:
        first = circuit._now()
        clock.advance(1)
        readings.append((value, first, circuit._now()))

    target = circuit.pipe(receive, lane=kernel.int64)
    with cortex.circuit("kernels") as other:
        pipe = other.pipe(forward.bind(to=target))
        for value in range(100):
            pipe.emit(value)
        other.wait(10)
        circuit.wait(10)

    second = 1_000_000_000
    assert readings == [(value, value * second, value * second) for value in range(100)]


def test_closing_ends_with_a_reading_open(cortex: Cortex, clock: ManualClock) -> None:
    circuit = cortex.circuit(clock=clock)
    received: list[int] = []
    fiber = cortex.fiber().every(timedelta(seconds=1))
    pipe = fiber.pipe(circuit.pipe(received.append))
    closing: Pipe[int] = circuit.pipe(lambda _: (pipe.emit(2), circuit.close()))
    pipe.emit(1)
    circuit.wait(10)
    clock.advance(1)
    closing.emit(0)
    pipe.emit(3)
    circuit.wait(10)

    assert received[:1] == [2]


def test_a_clock_that_raises_drops_the_value(cortex: Cortex) -> None:
    class Broken(ManualClock):
        def now(self) -> int:
            raise ArithmeticError("no time")

    with cortex.circuit(clock=Broken()) as circuit:
        assert isinstance(circuit, Circuit)
        assert played(cortex.fiber().every(timedelta(seconds=1)), circuit, 1, 2) == []
        assert played(cortex.fiber().heartbeat(1), circuit, 1, 1, 2) == [1, 2]


def _values(window: Any) -> list[Any]:
    values: list[Any] = []
    window.for_each(values.append)
    return values


# -- windows


def test_window_belongs_to_the_thread_of_its_callback(cortex: Cortex, circuit: Circuit) -> None:
    raised: list[BaseException] = []

    def elsewhere(window: Any) -> None:
        try:
            window.size()
        except TemporalError as error:
            raised.append(error)

    def look(window: Any) -> int:
        thread = threading.Thread(target=elsewhere, args=(window,))
        thread.start()
        thread.join(10)
        size: int = window.size()
        return size

    pipe_of: list[Any] = []

    def factory(subject: Any) -> Fiber[Any]:
        pipe_of.append(subject)
        return cortex.fiber()

    flow = cortex.flow().window(3).fiber(factory).map(look)

    assert played(flow, circuit, 1, 2) == [1, 2]
    assert len(raised) == 2
    assert all(isinstance(error, TemporalError) and error.subject is pipe_of[0] for error in raised)
    assert "thread" in str(raised[0])


def test_an_older_window_stays_ended_while_a_newer_one_is_open(cortex: Cortex, circuit: Circuit) -> None:
    kept: list[Any] = []
    states: list[str] = []

    def look(window: Any) -> int:
        for old in kept:
            with pytest.raises(TemporalError):
                old.size()
            states.append(repr(old))
        kept.append(window)
        kept.append(window.reverse())
        states.append(repr(window))
        return 1

    assert played(cortex.flow().window(3).map(look), circuit, 1, 2) == [1, 1]
    assert states == ["<Window of 1>", "<Window, ended>", "<Window, ended>", "<Window of 2>"]


def test_window_is_neither_copied_nor_iterated(cortex: Cortex, circuit: Circuit) -> None:
    refused: list[str] = []

    def look(window: Any) -> int:
        attempts: list[Callable[[Any], object]] = [
            iter, reversed, len, bool, copy.copy, copy.deepcopy, pickle.dumps, list, operator.itemgetter(0),
            lambda given: 1 in given,
        ]  # fmt: skip
        for attempt in attempts:
            with pytest.raises(TypeError):
                attempt(window)
            refused.append("refused")
        return len({window: 1})

    assert played(cortex.flow().window(3).map(look), circuit, 1) == [1]
    assert len(refused) == 10


# -- what distinct remembers


def test_memory_of_values_without_a_hash() -> None:
    memory = Memory(None)
    values: list[Any] = [[1], [1], [2], {1}, frozenset({1}), frozenset({2}), {2}, ([],), ([],)]

    admitted = [memory.admits(value) for value in values]

    assert admitted == [True, False, True, True, False, True, False, True, False]


def test_bounded_memory_forgets_in_the_order_of_admission() -> None:
    memory = Memory(2)

    admitted = [memory.admits(value) for value in ([1], 2, [1], [3], [1], 2, [3])]

    assert admitted == [True, True, False, True, True, True, True]
    assert len(memory._order) == len(memory._hashed) + len(memory._unhashed) == 2


def test_memory_is_as_before_when_comparing_raises() -> None:
    class Bad:
        def __hash__(self) -> int:
            return hash(1)

        def __eq__(self, other: object) -> bool:
            raise ArithmeticError

    memory = Memory(2)
    assert memory.admits(1)
    with pytest.raises(ArithmeticError):
        memory.admits(Bad())

    assert not memory.admits(1)
    assert len(memory._order) == 1


# -- recipes as values


def test_recipes_pickle_with_their_arguments(cortex: Cortex, circuit: Circuit) -> None:
    fiber = cortex.fiber().guard(positive).above(1, key=abs).when(positive, cortex.fiber().diff()).limit(2)
    flow = cortex.flow(fiber).scan(int, operator.add).window(timedelta(seconds=1), 3).map(_values)

    for recipe in (fiber, flow):
        again = pickle.loads(pickle.dumps(recipe))
        assert type(again) is type(recipe)
        assert again.cortex is cortex
        assert again.source() == recipe.source()
        assert played(again, circuit, 2, 2, 3, 4) == played(recipe, circuit, 2, 2, 3, 4)


def test_recipes_that_hold_pipes_refuse_with_the_reason(cortex: Cortex, circuit: Circuit) -> None:
    for fiber in (cortex.fiber().tee(circuit.pipe()), cortex.fiber().route(positive, circuit.pipe())):
        with pytest.raises(TypeError, match="cannot be pickled: it belongs to a circuit of this process"):
            pickle.dumps(fiber)


def test_recipes_show_their_operators(cortex: Cortex) -> None:
    fiber = cortex.fiber().guard(0, operator.lt).every(timedelta(1)).diff().distinct(3).take_while(positive)
    flow = cortex.flow().scan(int, operator.add, emit_with=operator.add).change().fiber(fails).window(1, 2)
    many: Fiber[Any] = cortex.fiber()
    for _ in range(100):
        many = many.diff()

    provider = cortex.provider
    assert repr(fiber) == f"<Fiber guard(...).every(...).diff().distinct(...).take_while(...) ({provider})>"
    assert repr(flow) == f"<Flow scan(...).change().fiber(...).window(...) ({provider})>"
    assert repr(cortex.fiber()) == f"<Fiber identity ({provider})>"
    assert len(repr(many)) < 150
    assert "88 more" in repr(many)


def test_copies_of_a_recipe_are_the_recipe(cortex: Cortex) -> None:
    fiber = cortex.fiber().diff([])

    assert copy.copy(fiber) is fiber
    assert copy.deepcopy({"f": fiber})["f"] is fiber


@pytest.mark.parametrize(
    ("operator", "method"),
    [("guard_from", "guard"), ("take_while", "take_while"), ("transition", "change"), ("scan_emit", "scan")],
)
def test_stage_knows_its_method(operator: str, method: str) -> None:
    assert Stage(operator, ()).method == method


def test_bounds_need_the_comparisons_that_their_operator_makes(cortex: Cortex) -> None:
    class Lesser:
        def __lt__(self, other: object) -> bool:
            return False

    cortex.fiber().above(Lesser())
    for refused in (cortex.fiber().min, cortex.fiber().max):
        with pytest.raises(substrates.IncomparableError, match="give key= or compare="):
            refused(Lesser())


def test_a_duration_of_any_size_is_refused_in_words(cortex: Cortex) -> None:
    for seconds in (10**400, 2**63, -1, 0, 0.0, float("inf")):
        with pytest.raises(substrates.ConfigurationError, match="heartbeat"):
            cortex.fiber().heartbeat(seconds)
