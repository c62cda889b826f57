from __future__ import annotations

import ctypes
import math
import os
import re
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from substrates import kernel
from substrates.errors import ConfigurationError
from substrates.kernel import INT64, Lane
from substrates.pipe import Pipe
from substrates.subject import Subject

numba = pytest.importorskip("numba")

LOW, HIGH = -(2**63), 2**63 - 1
MEMORY = 0x1000_0000

Function = Callable[[Any, Any, Any], object]
Slot = tuple[int, int]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's kernels are kept: nowhere else, and none from before."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


class Meter(kernel.State):
    count: kernel.int64
    burst: kernel.int64
    mean: kernel.float64
    here: kernel.Pipe
    onward: kernel.Pipe
    alarm: kernel.Float64Pipe


HERE, ALARM = 101, 102


# --- a native engine, as small as it gets: one delivery ---


class Context(ctypes.Structure):
    """`substrates_context`."""


Grow = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Context))
Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Context), ctypes.c_void_p, ctypes.c_int64)
Context._fields_ = [("tail", ctypes.c_void_p), ("limit", ctypes.c_void_p), ("grow", Grow)]
SLOT = 16


@dataclass
class Outcome:
    """What one delivery did."""

    code: int
    slots: list[Slot]
    cells: list[int]
    grown: int


def deliver(
    known: kernel.Kernel[Any], value: float, cells: list[int], room: int = 8, fault: int = 0
) -> Outcome:
    """Run a kernel natively on a window of `room` slots; it grows by one at a time, or fails with `fault`."""
    window = (ctypes.c_int64 * 200)()
    state = (ctypes.c_int64 * len(cells))(*cells)
    start = ctypes.addressof(window)
    grown = 0

    def grow(context: Any) -> int:
        nonlocal grown
        grown += 1
        if not fault:
            context.contents.limit += SLOT
        return fault

    context = Context(start, start + room * SLOT, Grow(grow))
    code = Entry(known.address())(
        context, ctypes.addressof(state), known.lane.to_bits(known.lane.admit(value))
    )
    emitted = (context.tail - start) // SLOT
    slots = [(window[2 * place], window[2 * place + 1]) for place in range(emitted)]
    return Outcome(code, slots, list(state), grown)


# --- the same in plain Python ---


class Handle(Pipe[Any]):
    """A pipe that only has a lane and, for comparison, its native handle."""

    def __init__(self, lane: Lane, number: int) -> None:
        self._lane = lane
        self.number = number

    @property
    def subject(self) -> Subject[Pipe[Any]]:
        raise NotImplementedError

    @property
    def lane(self) -> Lane:
        return self._lane

    @property
    def state(self) -> kernel.State:
        raise NotImplementedError

    def emit(self, value: Any, /) -> None:
        raise NotImplementedError


class PythonContext:
    """Keeps what is emitted as native slots."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []

    def emit(self, pipe: Handle | None, value: Any, /) -> None:
        if pipe is not None:
            self.slots.append((pipe.number, pipe.lane.to_bits(pipe.lane.cast(value))))


class PythonLinks:
    """Keeps a state's pipes."""

    def __init__(self, pipes: dict[str, Handle]) -> None:
        self.pipes: dict[str, Any] = dict(pipes)

    def _link(self, field: kernel.Field, target: Any) -> None:
        self.pipes[field.name] = target

    def _linked(self, field: kernel.Field) -> Any:
        return self.pipes.get(field.name)


def both(function: Function, value: float, lane: Any = kernel.int64, **fields: Any) -> Outcome:
    """Run a function natively and in Python, and return what both did: it must be the same.

    Pipe fields are given as native handles. A null pipe's slots, which engines skip, are left out.
    """
    known = kernel.receptor(Meter, lane)(function)
    handles = {
        field.name: Handle(field.lane, fields.pop(field.name))
        for field in Meter.layout.fields
        if field.is_pipe and field.name in fields
    }
    memory = bytearray(known.bind(**fields).memory)
    cells = list(memoryview(memory).cast("q"))
    for field in Meter.layout.fields:
        if field.name in handles:
            cells[field.index] = handles[field.name].number
    native = deliver(known, value, cells)

    context, links = PythonContext(), PythonLinks(handles)
    raised: Exception | None = None
    try:
        function(context, Meter(memoryview(memory), links), known.lane.admit(value))
    except Exception as error:
        raised = error
    reported = known.fault(native.code) if native.code else None
    assert type(reported) is type(raised)
    if reported and raised and not isinstance(raised, ZeroDivisionError):  # which has other words
        assert reported.args == raised.args
    python = list(memoryview(memory).cast("q"))
    for field in Meter.layout.fields:
        if field.is_pipe:
            pipe = links.pipes.get(field.name)
            python[field.index] = pipe.number if pipe else 0

    native.slots = [slot for slot in native.slots if slot[0]]
    assert native == Outcome(native.code, context.slots, python, native.grown)
    return native


def bits(number: float) -> int:
    return int(struct.unpack("=q", struct.pack("=d", number))[0])


# --- state, values, emissions ---


def relay(ctx: kernel.Context, state: Meter, value: int) -> None:
    state.count += 1
    if value > 0:
        ctx.emit(state.here, value - 1)
    elif state.onward:
        ctx.emit(state.onward, state.burst)


@pytest.mark.parametrize(
    ("value", "slots"), [(5, [(HERE, 4)]), (0, [(ALARM, 9)]), (HIGH, [(HERE, HIGH - 1)])]
)
def test_relay_emits_and_counts(value: int, slots: list[Slot]) -> None:
    done = both(relay, value, count=2, burst=9, here=HERE, onward=ALARM)
    assert (done.code, done.slots, done.cells[0]) == (0, slots, 3)


def test_null_pipe_is_false_and_emits_nothing() -> None:
    assert both(relay, 0).slots == []
    assert both(relay, 3).slots == []


def test_float64_lane_carries_doubles() -> None:
    def average(ctx: kernel.Context, state: Meter, value: float) -> None:
        state.count += 1
        state.mean += (value - state.mean) / state.count
        ctx.emit(state.alarm, state.mean)
        ctx.emit(state.alarm, 3)
        ctx.emit(state.here, value)

    done = both(average, 2.5, kernel.float64, count=1, mean=1.5, alarm=ALARM, here=HERE)

    assert done.slots == [(ALARM, bits(2.0)), (ALARM, bits(3.0)), (HERE, 2)]


def test_returned_value_is_ignored() -> None:
    def answer(ctx: kernel.Context, state: Meter, value: int) -> object:
        if value:
            return value
        return None

    def anything(ctx: kernel.Context, state: Meter, value: int) -> object:
        return [value], state.here

    assert both(answer, 7).code == both(answer, 0).code == 0
    assert both(anything, 7, here=HERE).code == 0


FLOATS = [0.0, 0.9, -0.9, 2.5, -2.5, 1e18, 2.0**63, -(2.0**63), 1e300, -1e300, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("number", FLOATS)
def test_float_given_to_int64_is_cut_the_same(number: float) -> None:
    def cut(ctx: kernel.Context, state: Meter, value: float) -> None:
        state.count = value  # type: ignore[assignment]
        ctx.emit(state.here, value)

    both(cut, number, kernel.float64, here=HERE)


@pytest.mark.parametrize("value", [HIGH, LOW, -1, 2**62])
def test_integers_wrap_the_same(value: int) -> None:
    def wrap(ctx: kernel.Context, state: Meter, value: int) -> None:
        state.count = value * 6364136223846793005 + 1442695040888963407
        state.burst = -value
        state.mean = value + 1
        state.count ^= state.count << 13
        ctx.emit(state.here, value + value)
        ctx.emit(state.alarm, value * 3)

    both(wrap, value, here=HERE, alarm=ALARM)


@pytest.mark.parametrize("value", [7, -7])
def test_arithmetic_is_the_same(value: int) -> None:
    def compute(ctx: kernel.Context, state: Meter, value: int) -> None:
        ctx.emit(state.here, value // 3)
        ctx.emit(state.here, value % 3)
        ctx.emit(state.here, value / 2)
        ctx.emit(state.here, value > 3)
        ctx.emit(state.here, value >> 1)
        ctx.emit(state.here, abs(value) ** 2)
        ctx.emit(state.here, min(value, 2))
        ctx.emit(state.alarm, value / 3)
        ctx.emit(state.alarm, math.sin(value))
        ctx.emit(state.alarm, value % 2.5)
        ctx.emit(state.alarm, -value // 2.5)
        ctx.emit(state.alarm, round(value / 2))
        state.count = value == 7

    assert len(both(compute, value, here=HERE, alarm=ALARM).slots) == 12


def test_pipes_can_be_moved_compared_and_dropped() -> None:
    def juggle(ctx: kernel.Context, state: Meter, value: int) -> None:
        state.onward = state.here
        if state.onward is state.here and state.onward == state.here:
            state.count += 1
        if state.onward is not None and not state.onward is None:  # noqa: E714
            state.count += 10
        if not state.alarm and state.alarm is None:
            state.count += 100
        if value:
            state.here = None
        if state.onward is not state.here and state.onward != state.here:
            state.count += 1000

    assert both(juggle, 1, here=HERE).cells[0] == 1111
    assert both(juggle, 0, here=HERE).cells[0] == 111


@pytest.mark.parametrize("value", [0, 1, 2])
def test_variable_may_be_a_pipe_or_none(value: int) -> None:
    def choose(ctx: kernel.Context, state: Meter, value: int) -> None:
        target = None
        if value == 1:
            target = state.here
        elif value == 2:
            target = state.onward  # null
        ctx.emit(target, value)
        ctx.emit(None, value)
        if target:
            state.count = 1
        if target is None:
            state.burst = 1
        state.onward = target

    done = both(choose, value, here=HERE)

    assert done.slots == ([(HERE, 1)] if value == 1 else [])


def test_loop_and_helper() -> None:
    limit = 4

    @numba.extending.register_jitable  # type: ignore[untyped-decorator]
    def twice(number: int) -> int:
        return number * 2

    def spread(ctx: kernel.Context, state: Meter, value: int) -> None:
        for step in range(limit):
            ctx.emit(state.here, twice(value) + step)

    assert both(spread, 10, here=HERE).slots == [(HERE, 20 + step) for step in range(4)]


# --- a full window ---


def fan(ctx: kernel.Context, state: Meter, value: int) -> None:
    for step in range(value):
        ctx.emit(state.here, step)
    state.count = 1


CELLS = [0, 0, 0, HERE, 0, 0]


def test_full_window_grows_and_loses_nothing() -> None:
    done = deliver(kernel.receptor(Meter, INT64)(fan), 20, CELLS, room=3)
    assert (done.code, done.grown, done.cells[0]) == (0, 17, 1)
    assert done.slots == [(HERE, step) for step in range(20)]


@pytest.mark.parametrize(("fault", "code"), [(MEMORY, MEMORY), (5, 5), (1, 1), (-1, MEMORY), (-2, MEMORY)])
def test_failing_growth_ends_the_kernel_with_its_code(fault: int, code: int) -> None:
    known = kernel.receptor(Meter, INT64)(fan)

    done = deliver(known, 20, CELLS, room=3, fault=fault)

    assert (done.code, done.grown, done.cells[0], len(done.slots)) == (code, 1, 0, 3)
    assert isinstance(known.fault(MEMORY), MemoryError)


def test_failing_growth_is_not_caught_by_the_kernel() -> None:
    def stubborn(ctx: kernel.Context, state: Meter, value: int) -> None:
        try:
            ctx.emit(state.here, value)
        except Exception:
            state.count = 1
        state.burst = 1

    done = deliver(kernel.receptor(Meter, INT64)(stubborn), 20, CELLS, room=0, fault=MEMORY)

    assert (done.code, done.cells[:2]) == (MEMORY, [0, 0])


# --- exceptions ---


@pytest.mark.parametrize("value", [0, 1, 2, 3, 4])
def test_exception_becomes_a_fault_and_what_was_done_stays(value: int) -> None:
    def fail(ctx: kernel.Context, state: Meter, value: int) -> None:
        ctx.emit(state.here, value)
        state.count = 1
        if value == 0:
            state.count = 10 // value
        if value == 1:
            state.mean = 1.0 / (value - 1)
        if value == 2:
            raise ValueError("two is one too many", 2)
        if value == 3:
            raise KeyError
        if value == 4:
            raise AssertionError

    done = both(fail, value, here=HERE)

    assert done.code > MEMORY
    assert (done.slots, done.cells[0]) == ([(HERE, value)], 1)


def test_fault_says_where() -> None:
    def fail(ctx: kernel.Context, state: Meter, value: int) -> None:
        raise ValueError("no")

    known = kernel.receptor(Meter, INT64)(fail)
    fault = known.fault(deliver(known, 1, CELLS).code)

    line = fail.__code__.co_firstlineno + 1
    assert fault.__notes__ == [f'  File "{__file__}", line {line}, in fail (compiled kernel)']


def test_caught_exception_is_none() -> None:
    def careful(ctx: kernel.Context, state: Meter, value: int) -> None:
        try:
            state.count = 10 // value
        except Exception:
            state.count = -1

    assert both(careful, 0).cells[0] == -1
    assert both(careful, 2).cells[0] == 5


def test_exception_with_run_time_arguments_keeps_its_type() -> None:
    def fail(ctx: kernel.Context, state: Meter, value: int) -> None:
        raise ValueError("bad", value)

    known = kernel.receptor(Meter, INT64)(fail)
    fault = known.fault(deliver(known, 42, CELLS).code)

    assert isinstance(fault, ValueError)
    assert fault.args[0] == "bad"


# --- what cannot be compiled ---


def _unknown_field(ctx: Any, state: Any, value: int) -> None:
    state.count = state.nope


def _unknown_target(ctx: Any, state: Any, value: int) -> None:
    state.nope = 1


def _text(ctx: Any, state: Any, value: int) -> None:
    state.count = "five"


def _number_as_pipe(ctx: Any, state: Any, value: int) -> None:
    state.here = 1


def _other_lane(ctx: Any, state: Any, value: int) -> None:
    state.here = state.alarm


def _emit_text(ctx: Any, state: Any, value: int) -> None:
    ctx.emit(state.here, "five")


def _emit_to_number(ctx: Any, state: Any, value: int) -> None:
    ctx.emit(state.count, 1)


def _emit_nothing(ctx: Any, state: Any, value: int) -> None:
    ctx.emit(state.here)


def _other_method(ctx: Any, state: Any, value: int) -> None:
    ctx.send(1)


def _large(ctx: Any, state: Any, value: int) -> None:
    state.count = value & 0xFFFF_FFFF_FFFF_FFFF


def _unknown_name(ctx: Any, state: Any, value: int) -> None:
    state.count = missing  # type: ignore[name-defined]  # noqa: F821


def _mixture(ctx: Any, state: Any, value: int) -> None:
    state.count = value + "five"  # type: ignore[operator]


def _import(ctx: Any, state: Any, value: int) -> None:
    import os

    state.count = os.getpid()


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_unknown_field, "state Meter has no field 'nope'; its fields are count, burst, mean"),
        (_unknown_target, "state Meter has no field 'nope'; its fields are count, burst, mean"),
        (_text, "field 'count' of state Meter holds int64, it cannot be given unicode_type"),
        (_number_as_pipe, "field 'here' of state Meter holds Pipe[int64], it cannot be given int64"),
        (_other_lane, "field 'here' of state Meter holds Pipe[int64], it cannot be given Pipe[float64]"),
        (_emit_text, "ctx.emit: a number is required, not unicode_type"),
        (_emit_to_number, "ctx.emit: a pipe field of the state is required, not int64"),
        (_emit_nothing, "ctx.emit takes a pipe and a value"),
        (_other_method, "ctx has no 'send'; it has emit"),
        (_large, "18446744073709551615 does not fit int64"),
        (_unknown_name, "NameError: name 'missing' is not defined"),
        (_mixture, "add(int64, Literal[str](five)): no such operation"),
        (_import, "Use of unsupported opcode (IMPORT_NAME) found"),
    ],
)
def test_what_cannot_be_compiled_is_refused_with_its_line(function: Function, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        kernel.receptor(Meter, INT64)(function)

    code = function.__code__
    place = f"kernel {function.__qualname__!r}: {code.co_filename}:{code.co_firstlineno + 1}: "
    assert str(caught.value).startswith(place + problem)
    assert len(str(caught.value)) < len(place) + 301
    assert type(caught.value.__cause__).__module__ == "numba.core.errors"


def test_reason_in_a_helper_is_found() -> None:
    @numba.extending.register_jitable  # type: ignore[untyped-decorator]
    def helper(state: Any) -> None:
        state.nope = 1

    def calls(ctx: Any, state: Any, value: int) -> None:
        helper(state)

    with pytest.raises(
        ConfigurationError, match=f":{calls.__code__.co_firstlineno + 1}: state Meter has no field"
    ):
        kernel.receptor(Meter, INT64)(calls)


def test_without_numba_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["substrates.kernel.receptor"], "_numba_installed", lambda: False)
    known = kernel.receptor(Meter, INT64)(relay)
    with pytest.raises(ConfigurationError, match=r"substrates\[kernels\]"):
        known.address()


# --- the machine code ---


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="reads x86-64 assembly")
def test_body_and_emission_are_inlined() -> None:
    from substrates.kernel.lowering import build

    machine, _, entry = build(kernel.Kernel("relay", Meter, INT64, relay, None))

    assembly = machine._owner[0].get_asm_str()  # type: ignore[index]
    body = re.split(rf"^{re.escape(entry)}:$", assembly, flags=re.MULTILINE)[1].split(".Lfunc_end")[0]
    assert entry.removeprefix("substrates.") not in body
    assert set(re.findall(r"push\w*\s+(\S+)", body)) <= {"%rax"}, "no more than the stack aligned"
    assert not re.search(r"[xy]mm", body), "a wide store defeats store forwarding"
    # LLVM may share the stores of the relay's two emissions.
    assert len(re.findall(r"addq\s+\$16,|leaq\s+16\(", body)) in {1, 2}, body
    fast = body.split("retq")[0].split("cmpq")[0]
    assert "%rsp" not in fast, "nothing is stored for the slow path"


def test_kernels_compile_in_several_threads_at_once() -> None:
    def define(number: int) -> kernel.Kernel[Any]:
        def add(ctx: kernel.Context, state: Meter, value: int) -> None:
            state.count = value + number

        return kernel.receptor(Meter, INT64)(add)

    made: dict[int, kernel.Kernel[Any]] = {}
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait(30)
        made[number] = define(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert {number: deliver(known, 100, CELLS).cells[0] for number, known in made.items()} == {
        number: 100 + number for number in range(4)
    }


def test_kernel_gets_its_address_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = kernel.Kernel[Any]("relay", Meter, INT64, relay, None)
    start = threading.Barrier(4)
    addresses = []

    def work() -> None:
        start.wait(30)
        addresses.append(known.address())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert addresses == [known.address()] * 4


# --- the cache ---

PROGRAM = """
    import sys
    from substrates import kernel
    import settings

    class Meter(kernel.State):
        count: kernel.int64

    @kernel.receptor(Meter, kernel.int64)
    def meter(ctx, state, value):
        if value == 1:
            raise ValueError("one")
        state.count = value * settings.FACTOR + EXTRA

    sys.path.insert(0, TESTS)
    from test_kernel_compiler import deliver
    done = deliver(meter, 10, [0])
    print(done.cells[0], repr(meter.fault(deliver(meter, 1, [0]).code)), COMPILED)
"""


def _program(folder: Path, text: str = PROGRAM, extra: int = 3) -> None:
    text = (
        textwrap.dedent(text).replace("EXTRA", str(extra)).replace("TESTS", repr(str(Path(__file__).parent)))
    )
    # Importing this file imports Numba, so ask before.
    text = text.replace("sys.path.insert", "COMPILED = 'numba' in sys.modules\nsys.path.insert")
    (folder / "program.py").write_text(text)
    (folder / "settings.py").write_text("FACTOR = 2\n")


def _run(folder: Path) -> str:
    command = [sys.executable, "-B", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_second_run_neither_compiles_nor_imports_numba(tmp_path: Path, cache: Path) -> None:
    _program(tmp_path)
    assert _run(tmp_path) == "23 ValueError('one') True"
    assert _run(tmp_path) == "23 ValueError('one') False"
    assert len(list(cache.glob("program.meter-*.kernel"))) == 1


def test_change_of_the_code_compiles_again(tmp_path: Path) -> None:
    _program(tmp_path)
    _run(tmp_path)
    _program(tmp_path, extra=4)
    assert _run(tmp_path) == "24 ValueError('one') True"


def test_change_of_what_the_code_refers_to_compiles_again(tmp_path: Path) -> None:
    _program(tmp_path)
    _run(tmp_path)
    (tmp_path / "settings.py").write_text("FACTOR = 5\n")
    assert _run(tmp_path) == "53 ValueError('one') True"


@pytest.mark.parametrize("damage", [b"", b"x" * 100, None], ids=["empty", "foreign", "last byte"])
def test_damaged_entry_compiles_again(tmp_path: Path, cache: Path, damage: bytes | None) -> None:
    _program(tmp_path)
    _run(tmp_path)
    [entry] = cache.glob("*.kernel")
    entry.write_bytes(entry.read_bytes()[:-1] + b"?" if damage is None else damage)
    assert _run(tmp_path) == "23 ValueError('one') True"
    assert _run(tmp_path) == "23 ValueError('one') False"


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "folder"))
    _program(tmp_path)
    assert _run(tmp_path) == "23 ValueError('one') True"
    assert _run(tmp_path) == "23 ValueError('one') True"


def test_entries_lie_beside_the_source_else_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    _program(tmp_path)
    (tmp_path / "__pycache__").write_text("in the way")

    assert _run(tmp_path) == "23 ValueError('one') True"
    assert _run(tmp_path) == "23 ValueError('one') False"
    assert len(list((tmp_path / "home" / "substrates").glob("*.kernel"))) == 1

    (tmp_path / "__pycache__").unlink()
    (tmp_path / "settings.py").write_text("FACTOR = 5\n")
    _run(tmp_path)
    assert len(list((tmp_path / "__pycache__").glob("*.kernel"))) == 1


def test_code_without_a_file_is_not_kept(cache: Path) -> None:
    names: dict[str, Any] = {}
    exec("def f(ctx, state, value): state.count = value", names)

    known = kernel.receptor(Meter, INT64)(names["f"])

    assert deliver(known, 6, CELLS).cells[0] == 6
    assert list(cache.iterdir()) == []


class Level(IntEnum):
    HIGH = 3


def _uses_enum(ctx: kernel.Context, state: Meter, value: int) -> None:
    state.count = Level.HIGH.value


def test_code_that_refers_to_what_cannot_be_told_is_not_kept(cache: Path) -> None:
    known = kernel.receptor(Meter, INT64)(_uses_enum)
    assert deliver(known, 6, CELLS).cells[0] == 3
    assert list(cache.iterdir()) == []


def test_code_that_needs_numba_at_run_time_is_not_kept(cache: Path) -> None:
    def allocate(ctx: kernel.Context, state: Meter, value: int) -> None:
        numbers = [value, value + 1]
        numbers.append(3)
        state.count = len(numbers) + numbers[0]

    assert deliver(kernel.receptor(Meter, INT64)(allocate), 6, CELLS).cells[0] == 9
    assert list(cache.glob("*.kernel")) == []


def test_closures_with_other_values_are_other_kernels_and_few_are_kept(cache: Path) -> None:
    def define(number: int) -> kernel.Kernel[Any]:
        def add(ctx: kernel.Context, state: Meter, value: int) -> None:
            state.count = value + number

        return kernel.receptor(Meter, INT64)(add)

    results = [deliver(define(number), 1, CELLS).cells[0] for number in range(3)]
    again = [deliver(define(number), 1, CELLS).cells[0] for number in range(3)]

    assert results == again == [1, 2, 3]
    assert len(list(cache.iterdir())) == 3
