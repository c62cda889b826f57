from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from typing import Any, TypeVar

import pytest

from substrates import kernel
from substrates.errors import AbsentValueError, ConfigurationError
from substrates.kernel import FLOAT64, INT64, OBJECT, SELF, Lane
from substrates.pipe import Pipe
from substrates.subject import Subject

S = TypeVar("S", bound=kernel.State)
LOW, HIGH = -(2**63), 2**63 - 1
HUGE = 10**5000
"""An integer that has no repr: more digits than Python prints."""


class FakePipe(Pipe[Any]):
    """A pipe that only has a lane."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

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


class FakeLinks:
    """Holds a state's pipes in a dictionary."""

    def __init__(self) -> None:
        self.pipes: dict[str, Pipe[Any] | None] = {}

    def _link(self, field: kernel.Field, target: Pipe[Any] | None) -> None:
        self.pipes[field.name] = target

    def _linked(self, field: kernel.Field) -> Pipe[Any] | None:
        return self.pipes.get(field.name)


class Meter(kernel.State):
    count: kernel.int64
    burst: kernel.int64 = 5
    mean: kernel.float64 = 0.5
    here: kernel.Pipe = SELF
    onward: kernel.Pipe
    alarm: kernel.Float64Pipe


def idle(ctx: kernel.Context, state: Meter, value: int) -> None:
    pass


def kernel_of(state_type: type[kernel.State], lane: Lane = INT64) -> kernel.Kernel[Any]:
    return kernel.Kernel("idle", state_type, lane, idle, None)


def state_of(state_type: type[S], memory: bytes | None = None) -> S:
    cells = bytearray(state_type.layout.initial if memory is None else memory)
    return state_type(memoryview(cells), FakeLinks())


# --- layouts ---


def test_fields_are_cells_in_the_order_of_their_annotation() -> None:
    fields = Meter.layout.fields
    assert [(field.name, field.index, field.lane, field.is_pipe, field.default) for field in fields] == [
        ("count", 0, INT64, False, 0),
        ("burst", 1, INT64, False, 5),
        ("mean", 2, FLOAT64, False, 0.5),
        ("here", 3, INT64, True, SELF),
        ("onward", 4, INT64, True, None),
        ("alarm", 5, FLOAT64, True, None),
    ]
    assert Meter.layout.size == 48


def test_state_without_fields_is_empty() -> None:
    class Nothing(kernel.State):
        pass

    assert Nothing.layout == kernel.Layout((), 0)
    assert kernel_of(Nothing).bind().memory == b""


def test_subclass_has_the_fields_of_its_base_first_with_their_defaults() -> None:
    class More(Meter):
        extra: kernel.float64 = 2.0

    assert [field.name for field in More.layout.fields[:-1]] == [field.name for field in Meter.layout.fields]
    assert [field.default for field in More.layout.fields] == [0, 5, 0.5, SELF, None, None, 2.0]


def test_subclass_may_give_a_field_another_default() -> None:
    class Fast(Meter):
        burst = 9

    class Odd(Meter):
        burst: kernel.int64 = 7

    assert state_of(Fast).burst == 9
    assert state_of(Odd).burst == 7
    assert state_of(Meter).burst == 5
    assert [field.index for field in Fast.layout.fields] == list(range(6))


def test_fields_come_from_all_bases() -> None:
    class Left(kernel.State):
        a: kernel.int64 = 1

    class Right(kernel.State):
        b: kernel.int64 = 2

    class Both(Left, Right):
        c: kernel.int64 = 3

    assert {field.name: field.default for field in Both.layout.fields} == {"a": 1, "b": 2, "c": 3}


def test_annotation_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Bad: field 'name' is <class 'str'>"):

        class Bad(kernel.State):
            name: str


@pytest.mark.parametrize("name", ["layout", "_hidden"])
def test_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"field {name!r} is reserved"):
        type("Bad", (kernel.State,), {"__annotations__": {name: kernel.int64}, "__module__": __name__})


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (kernel.int64, "5"),
        (kernel.int64, 1.5),
        (kernel.int64, 2**63),
        (kernel.int64, None),
        (kernel.float64, "x"),
        (kernel.Pipe, 1),
    ],
)
def test_default_of_the_wrong_kind_is_refused(kind: Any, default: Any) -> None:
    namespace = {"__annotations__": {"field": kind}, "__module__": __name__, "field": default}
    with pytest.raises(ConfigurationError, match="kernel state Bad: field="):
        type("Bad", (kernel.State,), namespace)


def test_annotation_that_names_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Bad: name 'missing' is not defined"):
        type("Bad", (kernel.State,), {"__annotations__": {"field": "missing"}, "__module__": __name__})


# --- the view ---


def test_state_is_a_view_of_its_memory() -> None:
    cells = bytearray(Meter.layout.initial)
    state = Meter(memoryview(cells), FakeLinks())

    state.count = -3
    state.mean = 1.25

    assert cells[:8] == (-3).to_bytes(8, sys.byteorder, signed=True)
    cells[8:16] = (11).to_bytes(8, sys.byteorder)
    assert (state.count, state.burst, state.mean) == (-3, 11, 1.25)


def test_pipe_fields_are_kept_by_the_links() -> None:
    state, pipe = state_of(Meter), FakePipe(INT64)

    assert state.onward is None
    state.onward = pipe

    assert state.onward is pipe


def test_unknown_field_cannot_be_assigned() -> None:
    state: Any = state_of(Meter)
    with pytest.raises(AttributeError, match="conut"):
        state.conut = 1


def test_repr_shows_the_fields() -> None:
    assert repr(state_of(Meter)) == "Meter(count=0, burst=5, mean=0.5, here=None, onward=None, alarm=None)"


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3)])
@pytest.mark.parametrize("fields", [{}, {"count": 3}])
def test_state_made_by_hand_is_refused_with_the_way_to_get_one(
    arguments: tuple[Any, ...], fields: dict[str, Any]
) -> None:
    for state_type in (kernel.State, Meter):
        with pytest.raises(TypeError, match=rf"^{state_type.__name__}\(\): .*Kernel\.bind.*Pipe\.state"):
            state_type(*arguments, **fields)


# --- conversions ---

INTEGERS = [
    (7, 7),
    (True, 1),
    (HIGH + 1, LOW),
    (LOW - 1, HIGH),
    (2**64 + 5, 5),
    (2.9, 2),
    (-2.9, -2),
    (1e300, HIGH),
    (-1e300, LOW),
    (math.inf, HIGH),
    (-math.inf, LOW),
    (2.0**63, HIGH),
    (-(2.0**63), LOW),
    (math.nan, 0),
]


@pytest.mark.parametrize(("given", "stored"), INTEGERS)
def test_int64_field_wraps_integers_and_cuts_floats(given: Any, stored: int) -> None:
    state = state_of(Meter)
    state.count = given
    assert state.count == stored
    assert type(state.count) is int
    assert INT64.cast(given) == stored


@pytest.mark.parametrize(("given", "stored"), [(7, 7.0), (True, 1.0), (1.5, 1.5), (2**64 + 5, 5.0)])
def test_float64_field_takes_integers_as_int64_has_them(given: Any, stored: float) -> None:
    state = state_of(Meter)
    state.mean = given
    assert state.mean == stored
    assert type(state.mean) is float
    assert FLOAT64.cast(given) == stored


@pytest.mark.parametrize("field", ["count", "mean"])
@pytest.mark.parametrize("value", ["5", None, b"5", 1j, []])
def test_number_field_takes_numbers_only(field: str, value: Any) -> None:
    with pytest.raises(TypeError):
        setattr(state_of(Meter), field, value)


@pytest.mark.parametrize("lane", [INT64, FLOAT64])
@pytest.mark.parametrize("number", [0, 1, -1, HIGH, LOW])
def test_bits_keep_the_number(lane: Lane, number: int) -> None:
    admitted = lane.admit(number)
    assert lane.from_bits(lane.to_bits(admitted)) == admitted


def test_lane_of_what_stands_for_it() -> None:
    given = [kernel.int64, kernel.float64, object, INT64]
    assert [Lane.of(lane) for lane in given] == [INT64, FLOAT64, OBJECT, INT64]
    with pytest.raises(AbsentValueError):
        Lane.of(None)
    with pytest.raises(TypeError, match=r"use kernel\.int64"):
        Lane.of(int)


@pytest.mark.parametrize(
    ("lane", "value", "error"),
    [
        (INT64, None, AbsentValueError),
        (INT64, 1.0, TypeError),
        (INT64, HIGH + 1, OverflowError),
        (FLOAT64, "1", TypeError),
        (FLOAT64, [], TypeError),
        (FLOAT64, 10**400, OverflowError),
        pytest.param(INT64, HUGE, OverflowError, id="int64-huge"),
        pytest.param(INT64, -HUGE, OverflowError, id="int64-minus-huge"),
        pytest.param(FLOAT64, HUGE, OverflowError, id="float64-huge"),
        (INT64, [HUGE], TypeError),
        (FLOAT64, [HUGE], TypeError),
        (OBJECT, None, AbsentValueError),
    ],
)
def test_lane_admits_what_fits(lane: Lane, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        lane.admit(value)


def test_integer_too_long_to_print_is_reported_by_its_size() -> None:
    with pytest.raises(OverflowError, match=r"^emit\(an integer of 16610 bits\): .* int64"):
        INT64.admit(HUGE)
    with pytest.raises(OverflowError, match=r"^emit\(an integer of 16610 bits\): .* float64"):
        FLOAT64.admit(HUGE)


# --- bindings ---


def test_bind_packs_numbers_and_collects_pipes() -> None:
    onward = FakePipe(INT64)

    binding = kernel_of(Meter).bind(burst=7, mean=1, onward=onward)

    state = state_of(Meter, binding.memory)
    assert (state.count, state.burst, state.mean) == (0, 7, 1.0)
    assert [(field.name, target) for field, target in binding.links] == [("here", SELF), ("onward", onward)]


def test_bind_may_leave_out_a_default_pipe() -> None:
    assert kernel_of(Meter).bind(here=None).links == ()


def test_bind_refuses_an_unknown_field() -> None:
    with pytest.raises(TypeError, match=r"idle.bind: no field brust; the fields are count, burst"):
        kernel_of(Meter).bind(brust=1)


def test_bind_takes_a_field_named_self() -> None:
    state_type = type(
        "Odd", (kernel.State,), {"__annotations__": {"self": kernel.int64}, "__module__": __name__}
    )
    assert kernel_of(state_type).bind(self=3).memory == (3).to_bytes(8, sys.byteorder)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_bind_refuses_an_integer_beyond_64_bits(value: int) -> None:
    with pytest.raises(OverflowError, match=f"burst={value}: 64 bits"):
        kernel_of(Meter).bind(burst=value)


@pytest.mark.parametrize("field", ["burst", "mean"])
@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["huge", "minus-huge"])
def test_bind_reports_an_integer_too_long_to_print_by_its_size(field: str, value: int) -> None:
    with pytest.raises(OverflowError, match=f"^{field}=an integer of 16610 bits: "):
        kernel_of(Meter).bind(**{field: value})


def test_bind_refuses_an_integer_for_a_pipe_however_long() -> None:
    with pytest.raises(TypeError, match="onward=an integer of 16610 bits"):
        kernel_of(Meter).bind(onward=HUGE)


@pytest.mark.parametrize(("field", "value"), [("burst", 1.5), ("burst", "1"), ("burst", None), ("mean", "1")])
def test_bind_refuses_another_kind_of_number(field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{field}={value!r}: the field holds"):
        kernel_of(Meter).bind(**{field: value})


def test_bind_refuses_a_pipe_of_another_lane() -> None:
    with pytest.raises(TypeError, match="the pipe takes float64, the field holds pipes of int64"):
        kernel_of(Meter).bind(onward=FakePipe(FLOAT64))


def test_bind_refuses_self_where_the_kernel_takes_another_lane() -> None:
    with pytest.raises(TypeError, match="the kernel takes float64, the field holds pipes of int64"):
        kernel_of(Meter, FLOAT64).bind()


def test_bind_refuses_what_is_no_pipe() -> None:
    with pytest.raises(TypeError, match=r"a pipe, None or kernel\.SELF is required"):
        kernel_of(Meter).bind(onward=3)


# --- definition ---


def test_definition_checks_its_arguments() -> None:
    with pytest.raises(TypeError, match=r"a subclass of kernel\.State"):
        kernel.receptor(int, kernel.int64)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a kernel takes kernel\.int64 or kernel\.float64"):
        kernel.receptor(Meter, object)
    with pytest.raises(AbsentValueError):
        kernel.receptor(Meter, None)
    with pytest.raises(TypeError, match="a plain Python function"):
        kernel.receptor(Meter, kernel.int64)(print)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def f(ctx, state): pass", "exactly ctx, state, value"),
        ("def f(ctx, state, value, more=1): pass", "exactly ctx, state, value"),
        ("def f(ctx, state, value, *rest): pass", "exactly ctx, state, value"),
        ("def f(ctx, state, value): yield", "a generator or a coroutine"),
        ("async def f(ctx, state, value): pass", "a generator or a coroutine"),
    ],
)
def test_definition_checks_the_function(source: str, problem: str) -> None:
    names: dict[str, Any] = {}
    exec(source, names)
    with pytest.raises(ConfigurationError, match=f"kernel 'f': <string>:1: .*{problem}"):
        kernel.receptor(Meter, kernel.int64)(names["f"])


@pytest.mark.parametrize(
    ("address", "error"),
    [
        (None, AbsentValueError),
        ("4096", TypeError),
        (True, TypeError),
        (0, ConfigurationError),
        (-1, ConfigurationError),
        (2**64, ConfigurationError),
        pytest.param(-HUGE, ConfigurationError, id="minus-huge"),
    ],
)
def test_address_must_be_one(address: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="address"):
        kernel.from_address(address, Meter, INT64)


def test_highest_address_is_one() -> None:
    assert kernel.from_address(2**64 - 1, Meter, INT64).address() == 2**64 - 1


@pytest.mark.parametrize(
    ("option", "wanted"), [({"python": 3}, "python=3.*a function"), ({"name": 3}, "name=3.*a string")]
)
def test_options_of_another_kind_are_refused(option: dict[str, Any], wanted: str) -> None:
    with pytest.raises(TypeError, match=wanted):
        kernel.from_address(4096, Meter, INT64, **option)


def test_kernel_and_binding_are_their_own_copies_and_refuse_to_be_pickled() -> None:
    known = kernel.from_address(4096, Meter, INT64, name="theirs")
    for one in (known, known.bind(burst=7)):
        assert copy.copy(one) is one
        assert copy.deepcopy(one) is one
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match=r"theirs.* cannot be pickled: .*of this process"):
                pickle.dumps(one, protocol)


def test_kernel_known_by_address_reports_its_own_faults() -> None:
    known = kernel.from_address(4096, Meter, INT64, name="theirs")

    fault = known.fault(3)

    assert known.address() == 4096
    assert isinstance(fault, kernel.KernelError)
    assert (str(fault), fault.code) == ("kernel 'theirs' returned the fault code 3", 3)
    assert isinstance(known.fault(0x1000_0000), MemoryError)


def test_import_loads_neither_numba_nor_numpy() -> None:
    code = "import sys, substrates.kernel; print({'numba', 'numpy', 'llvmlite'} & set(sys.modules) or 'none')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"
