"""Windows: what their views and terminals say, and that they can be used in their callback alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Reversible, Sequence, Sized
from typing import Any, Protocol

import pytest

from substrates import (
    AbsentValueError,
    Circuit,
    ConfigurationError,
    Cortex,
    EmptyWindowError,
    Flow,
    Pipe,
    TemporalError,
    Window,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import boom
from substrates_tck.waits import Gate, Settle

Look = Callable[[Window[Any]], object]


class Looking(Protocol):
    """Emits values into a window, and tells what is seen of it in its callback."""

    def __call__(self, capacity: int, look: Look, values: Iterable[Any], /) -> list[Any]:
        """Return what `look` returned, or raised, for each window."""


@pytest.fixture
def looking(cortex: Cortex, circuit: Circuit, wait: Settle) -> Looking:
    """Return a function that looks at windows of a new circuit."""

    def look_at(capacity: int, look: Look, values: Iterable[Any], /) -> list[Any]:
        seen: list[Any] = []
        head = (
            cortex.flow().window(capacity).pipe(circuit.pipe(lambda window: seen.append(tried(look, window))))
        )
        for value in values:
            head.emit(value)
        wait(circuit)
        return seen

    return look_at


def tried(look: Look, window: Window[Any]) -> Any:
    """Return what `look` returns or raises: what a callback raises would be lost."""
    try:
        return look(window)
    except Exception as error:
        return error


def discard(_value: object) -> None:
    """Receive."""


def values_of(window: Window[Any]) -> list[Any]:
    """Return what a window shows, copied."""
    values: list[Any] = []
    window.for_each(values.append)
    return values


def concatenated(window: Window[Any]) -> str:
    """Return the values as text, one after the other."""
    return window.fold("", lambda text, value: f"{text}{value}")


# -- lifetime

OPERATIONS: dict[str, Look] = {
    "first": lambda w: w.first(),
    "last": lambda w: w.last(),
    "size": lambda w: w.size(),
    "is_empty": lambda w: w.is_empty(),
    "prefix": lambda w: w.prefix(1),
    "suffix": lambda w: w.suffix(1),
    "skip": lambda w: w.skip(0),
    "trim": lambda w: w.trim(0),
    "slice": lambda w: w.slice(0, 1),
    "reverse": lambda w: w.reverse(),
    "for_each": lambda w: w.for_each(print),
    "all": lambda w: w.all(bool),
    "any": lambda w: w.any(bool),
    "none": lambda w: w.none(bool),
    "count": lambda w: w.count(bool),
    "fold": lambda w: w.fold(0, operator.add),
    "reduce": lambda w: w.reduce(0, operator.add),
}

VIEWS: dict[str, Callable[[Window[Any]], Window[Any]]] = {
    "prefix(1)": lambda w: w.prefix(1),
    "suffix(1)": lambda w: w.suffix(1),
    "skip(1)": lambda w: w.skip(1),
    "trim(1)": lambda w: w.trim(1),
    "slice(0, 1)": lambda w: w.slice(0, 1),
    "reverse": lambda w: w.reverse(),
    "prefix(0)": lambda w: w.prefix(0),
    "reverse.prefix(1)": lambda w: w.reverse().prefix(1),
}


@rule("WIN-LIFE-02")
def test_these_are_the_operations_of_a_window() -> None:
    assert {name for name in vars(Window) if not name.startswith("_")} == set(OPERATIONS)
    assert len(OPERATIONS) == 17


@rule("WIN-LIFE-01")
def test_a_window_can_be_used_in_its_callback_and_not_afterwards(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[int]] = []
    sizes: list[int] = []

    def receive(window: Window[int]) -> None:
        sizes.append(window.size())
        kept.append(window)

    cortex.flow(int).window(2).pipe(circuit.pipe(receive)).emit(1)
    wait(circuit)

    assert sizes == [1]
    with pytest.raises(TemporalError):
        kept[0].size()


@rule("WIN-LIFE-01", "WIN-LIFE-02")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_works_in_the_callback_and_is_refused_afterwards(
    operation: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[int]] = []
    seen: list[Any] = []

    def receive(window: Window[int]) -> None:
        kept.append(window)
        seen.append(tried(OPERATIONS[operation], window))

    cortex.flow(int).window(2).pipe(circuit.pipe(receive)).emit(1)
    wait(circuit)

    assert not isinstance(seen[0], Exception), seen
    with pytest.raises(TemporalError):
        OPERATIONS[operation](kept[0])


@rule("WIN-LIFE-01", "WIN-LIFE-02")
def test_a_window_is_refused_in_a_later_callback_of_its_own_circuit(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[list[Any]] = []
    later: Pipe[Window[int]] = circuit.pipe(
        lambda window: seen.append([tried(look, window) for look in OPERATIONS.values()])
    )

    cortex.flow(int).window(2).pipe(circuit.pipe(later.emit)).emit(1)
    wait(circuit)

    assert [[type(error) for error in errors] for errors in seen] == [[TemporalError] * 17]


@rule("WIN-LIFE-01", "WIN-LIFE-03")
@derived
def test_what_was_kept_of_an_earlier_window_is_refused_in_a_later_windows_callback(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[int]] = []
    seen: list[Any] = []

    def receive(window: Window[int]) -> None:
        # A provider may hand out the same object again (WIN-LIFE-06), which is then the later window.
        seen.extend(tried(OPERATIONS["first"], old) for old in kept if old is not window)
        kept.extend([window, window.reverse(), window.skip(1), window.trim(1)])

    head = cortex.flow(int).window(3).pipe(circuit.pipe(receive))
    for value in (1, 2, 3, 4):
        head.emit(value)
    wait(circuit)

    assert len(seen) >= 3
    assert [error for error in seen if not isinstance(error, TemporalError)] == []


@rule("WIN-LIFE-01")
def test_a_window_that_a_later_stage_dropped_is_refused_afterwards(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[Window[int]] = []
    seen: list[Any] = []
    later: Pipe[Window[int]] = circuit.pipe(lambda window: seen.append(tried(OPERATIONS["size"], window)))

    def drop(window: Window[int]) -> bool:
        later.emit(window)
        return False

    flow = cortex.flow(int).window(2).fiber(cortex.fiber().guard(drop))
    flow.pipe(circuit.pipe(received.append)).emit(1)
    wait(circuit)

    assert received == []
    assert [type(error) for error in seen] == [TemporalError]


@rule("WIN-LIFE-03")
@derived
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_goes_stale_with_its_window(view: str, cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    kept: list[Window[int]] = []
    sizes: list[int] = []
    seen: list[dict[str, Any]] = []

    def try_all(window: Window[int]) -> None:
        seen.append({name: type(tried(look, window)) for name, look in OPERATIONS.items()})

    later: Pipe[Window[int]] = circuit.pipe(try_all)

    def receive(window: Window[int]) -> None:
        kept.append(VIEWS[view](window))
        sizes.append(kept[-1].size())
        later.emit(kept[-1])

    cortex.flow(int).window(3).pipe(circuit.pipe(receive)).emit(1)
    wait(circuit)
    try_all(kept[0])

    assert len(sizes) == 1
    assert seen == [dict.fromkeys(OPERATIONS, TemporalError)] * 2


@rule("WIN-LIFE-04")
@derived
def test_the_error_carries_the_subject_of_the_pipe_that_the_window_came_from(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[int]] = []
    flow = cortex.flow(int).map(abs).window(2).fiber(cortex.fiber().limit(1))
    heads = [flow.pipe(circuit.pipe(name, kept.append)) for name in ("window.one", "window.two")]

    for head in heads:
        head.emit(1)
    wait(circuit)

    for head, window in zip(heads, kept, strict=True):
        with pytest.raises(TemporalError) as caught:
            window.first()
        assert caught.value.subject is head.subject


@rule("WIN-LIFE-05")
def test_a_window_stays_as_it_is_while_its_callback_emits_into_the_same_chain(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[list[int]] = []

    def receive(window: Window[int]) -> None:
        seen.append(values_of(window))
        if window.last() == 1:
            head.emit(2)
            seen.append(values_of(window))

    head: Pipe[int] = cortex.flow(int).window(2).pipe(circuit.pipe(receive))
    head.emit(1)
    wait(circuit)

    assert seen == [[1], [1], [1, 2]]


@rule("WIN-LIFE-05")
@derived
def test_views_taken_before_an_emission_into_the_same_chain_stay_as_they_are(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[list[int]] = []

    def receive(window: Window[int]) -> None:
        if window.last() == 3:
            views = [window.prefix(1), window.reverse(), window.skip(1)]
            head.emit(4)
            seen.extend(values_of(view) for view in views)

    head: Pipe[int] = cortex.flow(int).window(2).pipe(circuit.pipe(receive))
    for value in (1, 2, 3):
        head.emit(value)
    wait(circuit)

    assert seen == [[2], [3, 2], [3]]


@rule("WIN-LIFE-06")
@derived
def test_windows_are_compared_by_identity(looking: Looking) -> None:
    def look(window: Window[int]) -> tuple[bool, bool, bool]:
        return window == window, window == window.prefix(1), {window: 1}[window] == 1

    assert looking(2, look, [1, 2]) == [(True, True, True), (True, False, True)]


@rule("WIN-LIFE-07")
@derived
@pytest.mark.parametrize(
    "traverse",
    [
        pytest.param(iter, id="iter"),
        pytest.param(list, id="list"),
        pytest.param(reversed, id="reversed"),
        pytest.param(lambda w: 1 in w, id="in"),
        pytest.param(lambda w: w[0], id="index"),
        pytest.param(lambda w: w[:], id="index-slice"),
        pytest.param(lambda w: [*w], id="unpack"),
        pytest.param(bool, id="bool"),
    ],
)
def test_there_is_no_traversal_but_for_each(traverse: Look, looking: Looking) -> None:
    (error,) = looking(2, traverse, [1])

    assert isinstance(error, TypeError)


@rule("WIN-LIFE-07")
@derived
def test_a_window_is_none_of_pythons_collections(looking: Looking) -> None:
    kinds = (Container, Iterable, Reversible, Sequence, Sized)

    assert looking(2, lambda w: [isinstance(w, kind) for kind in kinds], [1]) == [[False] * 5]


@rule("WIN-LIFE-07")
@derived
def test_values_are_kept_by_copying_them_in_the_callback(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    values: list[int] = []

    head = cortex.flow(int).window(2).pipe(circuit.pipe(lambda w: w.for_each(values.append)))
    for value in (1, 2, 3):
        head.emit(value)
    wait(circuit)

    assert values == [1, 1, 2, 2, 3]


@rule("WIN-LIFE-07")
@derived
def test_a_windows_repr_neither_raises_nor_tells_its_values(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[str]] = []
    shown: list[str] = []

    def receive(window: Window[str]) -> None:
        kept.append(window)
        shown.append(repr(window))

    cortex.flow(str).window(2).pipe(circuit.pipe(receive)).emit("secret")
    wait(circuit)

    assert len(shown) == 1
    assert "secret" not in shown[0] + repr(kept[0])


@rule("WIN-LIFE-08")
@derived
@pytest.mark.parametrize("kind", [Exception, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["receptor", "map", "peek"])
def test_a_window_goes_stale_when_what_got_it_raises(
    place: str, kind: type[BaseException], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept: list[Window[int]] = []
    seen: list[Any] = []
    later: Pipe[Window[int]] = circuit.pipe(lambda window: seen.append(tried(OPERATIONS["size"], window)))

    def fail(window: Window[int]) -> None:
        kept.append(window)
        later.emit(window)
        raise kind("as the test wants it")

    flow: Flow[int, Any] = cortex.flow(int).window(2)
    if place == "map":
        flow = flow.map(fail)
    elif place == "peek":
        flow = flow.fiber(cortex.fiber().peek(fail))
    flow.pipe(circuit.pipe(fail if place == "receptor" else discard)).emit(1)
    wait(circuit)

    assert [type(error) for error in seen] == [TemporalError]
    with pytest.raises(TemporalError):
        kept[0].size()


@rule("WIN-LIFE-09")
@derived
def test_stages_behind_a_window_run_within_its_lease(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    two = cortex.fiber().guard(lambda w: w.size() == 2)

    head = cortex.flow(int).window(2).fiber(two).map(lambda w: w.first() + w.last())
    pipe = head.pipe(circuit.pipe(received.append))
    for value in (1, 2, 3):
        pipe.emit(value)
    wait(circuit)

    assert received == [3, 5]


@rule("WIN-LIFE-10")
@derived
def test_a_window_sent_to_a_side_pipe_has_expired_on_arrival(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    main: list[Any] = []
    side: list[Any] = []
    aside: Pipe[Window[int]] = circuit.pipe(lambda w: side.append(tried(OPERATIONS["size"], w)))

    flow = cortex.flow(int).window(2).fiber(cortex.fiber().tee(aside))
    flow.pipe(circuit.pipe(lambda w: main.append(tried(OPERATIONS["size"], w)))).emit(1)
    wait(circuit)

    assert main == [1]
    assert len(side) == 1
    assert isinstance(side[0], TemporalError)


@rule("WIN-LIFE-10")
@derived
def test_a_window_routed_to_a_side_pipe_has_expired_on_arrival(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    main: list[Any] = []
    side: list[Any] = []
    aside: Pipe[Window[int]] = circuit.pipe(lambda w: side.append(tried(OPERATIONS["size"], w)))

    flow = cortex.flow(int).window(2).fiber(cortex.fiber().route(lambda w: w.size() == 2, aside))
    head = flow.pipe(circuit.pipe(lambda w: main.append(tried(OPERATIONS["size"], w))))
    head.emit(1)
    head.emit(2)
    wait(circuit)

    assert main == [1]
    assert len(side) == 1
    assert isinstance(side[0], TemporalError)


@rule("WIN-LIFE-10")
@derived
def test_a_window_emitted_on_by_its_receptor_has_expired_on_arrival(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[Any] = []
    onward: Pipe[Window[int]] = circuit.pipe(lambda w: seen.append(tried(OPERATIONS["size"], w)))

    def receive(window: Window[int]) -> None:
        onward.emit(window)
        seen.append(tried(OPERATIONS["size"], window))

    cortex.flow(int).window(2).pipe(circuit.pipe(receive)).emit(1)
    wait(circuit)

    assert seen[0] == 1
    assert len(seen) == 2
    assert isinstance(seen[1], TemporalError)


@rule("WIN-LIFE-10")
@derived
def test_a_window_sent_to_another_circuit_expires_there(
    new_circuit: NewCircuit, cortex: Cortex, wait: Settle, gate: Gate
) -> None:
    here, there = new_circuit("window.here"), new_circuit("window.there")
    seen: list[Any] = []

    def receive(window: Window[int]) -> None:
        gate.hold()
        seen.append(tried(OPERATIONS["size"], window))

    cortex.flow(int).window(2).pipe(here.pipe(there.pipe(receive))).emit(1)
    gate.await_entered()
    wait(here)
    gate.release()
    wait(there)

    assert len(seen) == 1
    assert isinstance(seen[0], TemporalError)


# -- terminals and views, vector by vector


def cut(window: Window[Any]) -> tuple[list[Any], ...]:
    """Return what WIN-VIEW-05 shows of a window's reverse."""
    r = window.reverse()
    views = (r, r.prefix(2), r.suffix(2), r.slice(1, 2), r.skip(1), r.trim(1))
    return tuple(values_of(view) for view in views)


VECTORS = [
    pytest.param(
        3,
        lambda w: (w.first(), w.last(), w.reverse().first(), w.reverse().last()),
        [1, 2, 3, 4],
        [(1, 1, 1, 1), (1, 2, 2, 1), (1, 3, 3, 1), (2, 4, 4, 2)],
        marks=rule("WIN-TERM-01"),
        id="WIN-TERM-01 first and last, and of the reverse",
    ),
    pytest.param(
        3,
        lambda w: (
            *(w.size(), w.prefix(2).size(), w.slice(2, 2).size(), w.skip(1).size(), w.trim(1).size()),
            w.reverse().size(),
        ),
        [1, 2, 3, 4],
        [(1, 1, 0, 0, 0, 1), (2, 2, 0, 1, 1, 2), (3, 2, 1, 2, 2, 3), (3, 2, 1, 2, 2, 3)],
        marks=rule("WIN-TERM-03"),
        id="WIN-TERM-03 sizes of the root and of views",
    ),
    pytest.param(
        3,
        lambda w: (w.is_empty(), w.slice(2, 2).is_empty(), w.skip(1).is_empty(), w.reverse().is_empty()),
        [1, 2, 3, 4],
        [(False, True, True, False), (False, True, False, False), *[(False, False, False, False)] * 2],
        marks=rule("WIN-TERM-03"),
        id="WIN-TERM-03 is_empty of the root and of views",
    ),
    pytest.param(
        3,
        lambda w: (
            *(w.any(lambda v: v % 2), w.all(lambda v: v > 0), w.none(lambda v: v < 0)),
            w.count(lambda v: v % 2 == 0),
        ),
        [1, 2, 3, 4],
        [(True, True, True, 0), (True, True, True, 1), (True, True, True, 1), (True, True, True, 2)],
        marks=rule("WIN-TERM-04"),
        id="WIN-TERM-04 any, all, none and count",
    ),
    pytest.param(
        3,
        lambda w: (
            *(w.any(lambda v: v > 3), w.all(lambda v: v > 1), w.none(lambda v: v == 1)),
            w.count(lambda v: v > 9),
        ),
        [1, 2, 3, 4],
        [*[(False, False, False, 0)] * 3, (True, True, True, 0)],
        marks=rule("WIN-TERM-04"),
        id="WIN-TERM-04 any, all, none and count, the other way round",
    ),
    pytest.param(
        3,
        lambda w: (
            *(w.fold(0, operator.add), w.reduce(1, operator.mul)),
            concatenated(w),
        ),
        [1, 2, 3, 4],
        [(1, 1, "1"), (3, 2, "12"), (6, 6, "123"), (9, 24, "234")],
        marks=rule("WIN-TERM-05"),
        id="WIN-TERM-05 sum, product and concatenation",
    ),
    pytest.param(
        3,
        lambda w: concatenated(w.reverse()),
        [1, 2, 3],
        ["1", "21", "321"],
        marks=rule("WIN-TERM-05"),
        id="WIN-TERM-05 concatenation of the reverse",
    ),
    pytest.param(
        3,
        lambda w: (
            *(w.prefix(0).reduce(7, operator.add), w.prefix(0).fold("seed", lambda _s, _v: boom())),
            *(w.prefix(0).count(boom), w.prefix(0).all(boom), w.prefix(0).any(boom), w.prefix(0).none(boom)),
            w.prefix(0).is_empty(),
        ),
        [1, 2],
        [(7, "seed", 0, True, False, True, True), (7, "seed", 0, True, False, True, True)],
        marks=rule("WIN-TERM-06"),
        id="WIN-TERM-06 terminals of an empty view",
    ),
    pytest.param(
        3,
        lambda w: w.fold("s", lambda s, v: None if v == 2 else f"{s}{v}"),
        [1, 2, 3],
        ["s1", None, "None3"],
        marks=[rule("WIN-TERM-07"), derived],
        id="WIN-TERM-07 fold whose function returns None",
    ),
    pytest.param(
        3,
        lambda w: w.reduce(0, lambda s, v: None if v == 2 else (v if s is None else s + v)),
        [1, 2, 3],
        [1, None, 3],
        marks=[rule("WIN-TERM-07"), derived],
        id="WIN-TERM-07 reduce whose function returns None",
    ),
    pytest.param(
        4,
        lambda w: (values_of(w.prefix(2)), values_of(w.suffix(2))),
        [1, 2, 3, 4, 5, 6],
        [
            *(([1], [1]), ([1, 2], [1, 2]), ([1, 2], [2, 3])),
            *(([1, 2], [3, 4]), ([2, 3], [4, 5]), ([3, 4], [5, 6])),
        ],
        marks=rule("WIN-VIEW-01"),
        id="WIN-VIEW-01 prefix(2) and suffix(2)",
    ),
    pytest.param(
        4,
        lambda w: (values_of(w.prefix(0)), values_of(w.suffix(0))),
        [1, 2, 3, 4, 5, 6],
        [([], [])] * 6,
        marks=rule("WIN-VIEW-01"),
        id="WIN-VIEW-01 prefix(0) and suffix(0)",
    ),
    pytest.param(
        4,
        lambda w: (w.prefix(10) is w, w.suffix(10) is w, w.prefix(w.size()) is w, w.suffix(w.size()) is w),
        [1, 2, 3, 4, 5, 6],
        [(True, True, True, True)] * 6,
        marks=rule("WIN-VIEW-02"),
        id="WIN-VIEW-02 prefix and suffix of all are the window",
    ),
    pytest.param(
        4,
        lambda w: (v := w.reverse().skip(1)) is v.prefix(10) and v is v.suffix(10),
        [1, 2, 3, 4, 5, 6],
        [True] * 6,
        marks=[rule("WIN-VIEW-02"), derived],
        id="WIN-VIEW-02 prefix and suffix of all are the view",
    ),
    pytest.param(
        5,
        lambda w: (values_of(w.prefix(4).suffix(2)), values_of(w.suffix(4).prefix(2))),
        [1, 2, 3, 4, 5, 6],
        [
            *(([1], [1]), ([1, 2], [1, 2]), ([2, 3], [1, 2])),
            *(([3, 4], [1, 2]), ([3, 4], [2, 3]), ([4, 5], [3, 4])),
        ],
        marks=rule("WIN-VIEW-03"),
        id="WIN-VIEW-03 views of views",
    ),
    pytest.param(
        5,
        lambda w: [
            values_of(w.reverse().skip(1).trim(1)),
            values_of(w.skip(1).reverse().prefix(2)),
            values_of(w.trim(1).reverse().slice(1, 2).reverse()),
            values_of(w.slice(1, 3).skip(1).suffix(5)),
        ],
        [1, 2, 3, 4, 5, 6],
        [
            *([[], [], [], []], [[], [2], [], []], [[2], [3, 2], [1], [3]]),
            *([[3, 2], [4, 3], [1, 2], [3, 4]], [[4, 3, 2], [5, 4], [2, 3], [3, 4]]),
            [[5, 4, 3], [6, 5], [3, 4], [4, 5]],
        ],
        marks=[rule("WIN-VIEW-03"), derived],
        id="WIN-VIEW-03 views of views of every kind",
    ),
    pytest.param(
        3,
        lambda w: (values_of(w.slice(1, 2)), values_of(w.skip(1)), values_of(w.trim(1))),
        [1, 2, 3, 4, 5],
        [
            *(([], [], []), ([2], [2], [1]), ([2, 3], [2, 3], [1, 2])),
            *(([3, 4], [3, 4], [2, 3]), ([4, 5], [4, 5], [3, 4])),
        ],
        marks=rule("WIN-VIEW-04"),
        id="WIN-VIEW-04 slice(1, 2), skip(1) and trim(1)",
    ),
    pytest.param(
        3,
        lambda w: [values_of(view) for view in (w.slice(0, 0), w.slice(9, 1), w.skip(9), w.trim(9))],
        [1, 2, 3, 4],
        [[[], [], [], []]] * 4,
        marks=rule("WIN-VIEW-04"),
        id="WIN-VIEW-04 nothing or beyond the end",
    ),
    pytest.param(
        3,
        lambda w: (values_of(w.skip(0)), values_of(w.trim(0))),
        [1, 2, 3, 4],
        [([1], [1]), ([1, 2], [1, 2]), ([1, 2, 3], [1, 2, 3]), ([2, 3, 4], [2, 3, 4])],
        marks=rule("WIN-VIEW-04"),
        id="WIN-VIEW-04 skip(0) and trim(0)",
    ),
    pytest.param(
        3,
        cut,
        [1, 2, 3, 4, 5],
        [
            ([1], [1], [1], [], [], []),
            ([2, 1], [2, 1], [2, 1], [1], [1], [2]),
            ([3, 2, 1], [3, 2], [2, 1], [2, 1], [2, 1], [3, 2]),
            ([4, 3, 2], [4, 3], [3, 2], [3, 2], [3, 2], [4, 3]),
            ([5, 4, 3], [5, 4], [4, 3], [4, 3], [4, 3], [5, 4]),
        ],
        marks=rule("WIN-VIEW-05"),
        id="WIN-VIEW-05 the reverse and its views",
    ),
    pytest.param(
        4,
        lambda w: values_of(w.reverse()),
        [1, 2, 3, 4, 5],
        [[1], [2, 1], [3, 2, 1], [4, 3, 2, 1], [5, 4, 3, 2]],
        marks=rule("WIN-VIEW-05"),
        id="WIN-VIEW-05 the reverse of window(4)",
    ),
    pytest.param(
        3,
        lambda w: values_of(w.reverse().reverse()),
        [1, 2],
        [[1], [1, 2]],
        marks=[rule("WIN-VIEW-06"), derived],
        id="WIN-VIEW-06 the reverse of the reverse",
    ),
    pytest.param(
        3,
        lambda w: (values_of(w.skip(1)), values_of(w)),
        [1, 2],
        [([], [1]), ([2], [1, 2])],
        marks=[rule("WIN-VIEW-08"), derived],
        id="WIN-VIEW-08 a view does not change its root",
    ),
]


@pytest.mark.parametrize(("capacity", "look", "inputs", "outputs"), VECTORS)
def test_vector(capacity: int, look: Look, inputs: list[int], outputs: list[Any], looking: Looking) -> None:
    assert looking(capacity, look, inputs) == outputs


@rule("WIN-VIEW-08")
@derived
def test_views_do_not_change_one_another(looking: Looking) -> None:
    def look(window: Window[int]) -> list[list[int]]:
        views = [view(window) for view in VIEWS.values()]
        return [values_of(view) for view in (window, *views, *reversed(views), window)]

    views = [[1], [3], [2, 3], [1, 2], [1], [3, 2, 1], [], [3]]
    assert looking(3, look, [1, 2, 3])[-1] == [[1, 2, 3], *views, *reversed(views), [1, 2, 3]]


@rule("WIN-TERM-02")
@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda w: w.prefix(0).first(), id="prefix(0).first()"),
        pytest.param(lambda w: w.suffix(0).last(), id="suffix(0).last()"),
        pytest.param(lambda w: w.skip(9).last(), id="skip(9).last()", marks=derived),
        pytest.param(
            lambda w: w.reverse().slice(9, 1).first(), id="reverse.slice(9,1).first()", marks=derived
        ),
    ],
)
def test_an_empty_view_has_no_first_and_no_last_value(look: Look, looking: Looking) -> None:
    (error,) = looking(3, look, [1])

    assert isinstance(error, EmptyWindowError)
    assert isinstance(error, LookupError)


@rule("WIN-TERM-03")
def test_a_root_window_has_one_value_or_more_up_to_its_capacity(looking: Looking) -> None:
    assert looking(3, lambda w: (w.size(), w.is_empty()), range(6)) == [
        *((1, False), (2, False)),
        *[(3, False)] * 4,
    ]


@rule("WIN-TERM-04")
@pytest.mark.parametrize(
    ("terminal", "answer", "until"),
    [("all", lambda v: v != 2, 2), ("any", lambda v: v == 2, 2), ("none", lambda v: v == 2, 2)],
    ids=["all", "any", "none"],
)
def test_all_any_and_none_ask_no_more_than_they_need(
    terminal: str, answer: Callable[[int], bool], until: int, looking: Looking
) -> None:
    asked: list[int] = []

    def ask(value: int) -> bool:
        asked.append(value)
        return answer(value)

    def look(window: Window[int]) -> list[int]:
        asked.clear()
        getattr(window, terminal)(ask)
        return list(asked)

    assert looking(4, look, [1, 2, 3, 4])[-1] == [1, until]
    assert looking(4, lambda w: look(w.reverse()), [1, 2, 3, 4])[-1] == [4, 3, until]


@rule("WIN-TERM-04")
@derived
def test_count_asks_every_value_in_order(looking: Looking) -> None:
    asked: list[int] = []

    def look(window: Window[int]) -> list[int]:
        asked.clear()
        window.reverse().skip(1).count(asked.append)
        return list(asked)

    assert looking(4, look, [1, 2, 3, 4])[-1] == [3, 2, 1]


@rule("WIN-TERM-04")
@derived
def test_truth_is_what_counts_of_a_predicates_answer(looking: Looking) -> None:
    def look(window: Window[int]) -> tuple[object, ...]:
        return (
            window.all(lambda v: "yes"),
            window.any(lambda v: []),
            window.none(lambda v: None),
            window.count(lambda v: v - 1),
        )

    seen = looking(2, look, [1, 2])

    assert seen == [(True, False, True, 0), (True, False, True, 1)]
    assert [[type(value) for value in values] for values in seen] == [[bool, bool, bool, int]] * 2


ABSENT: dict[str, Look] = {
    "all(None)": lambda w: w.all(_none),
    "any(None)": lambda w: w.any(_none),
    "none(None)": lambda w: w.none(_none),
    "count(None)": lambda w: w.count(_none),
    "fold(None, f)": lambda w: w.fold(None, lambda _s, _v: None),
    "fold(s, None)": lambda w: w.fold(0, _none),
    "reduce(None, f)": lambda w: w.reduce(None, lambda _s, _v: None),
    "reduce(i, None)": lambda w: w.reduce(0, _none),
    "for_each(None)": lambda w: w.for_each(_none),
}
_none: Any = None


@rule("WIN-TERM-08")
@pytest.mark.parametrize("call", ABSENT)
def test_a_terminal_refuses_none(call: str, looking: Looking) -> None:
    (error,) = looking(2, ABSENT[call], [1])

    assert isinstance(error, AbsentValueError)


@rule("WIN-TERM-08")
@pytest.mark.parametrize("call", ABSENT)
def test_a_terminal_of_an_empty_view_refuses_none_too(call: str, looking: Looking) -> None:
    (error,) = looking(2, lambda w: ABSENT[call](w.prefix(0)), [1])

    assert isinstance(error, AbsentValueError)


@rule("WIN-TERM-08")
@derived
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        *(((None,), AbsentValueError), ((1.0,), TypeError), (("1",), TypeError), ((True,), TypeError)),
        *(((None, 1), AbsentValueError), ((0, None), AbsentValueError)),
        *(((0.0, 1), TypeError), ((0, 1.0), TypeError)),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else repr(value),
)
def test_a_view_refuses_none_and_what_is_no_whole_number(
    arguments: tuple[Any, ...], error: type[Exception], looking: Looking
) -> None:
    views = ("slice",) if len(arguments) == 2 else ("prefix", "suffix", "skip", "trim")

    for view in views:
        (raised,) = looking(2, operator.methodcaller(view, *arguments), [1])
        assert type(raised) is error, view


@rule("WIN-TERM-08")
@derived
def test_a_terminal_refuses_what_cannot_be_called(looking: Looking) -> None:
    nothing: Any = 42
    calls: list[Look] = [
        *(lambda w: w.all(nothing), lambda w: w.any(nothing), lambda w: w.none(nothing)),
        *(lambda w: w.count(nothing), lambda w: w.fold(0, nothing), lambda w: w.reduce(0, nothing)),
        lambda w: w.for_each(nothing),
    ]

    (errors,) = looking(2, lambda w: [type(tried(call, w.prefix(0))) for call in calls], [1])

    assert errors == [TypeError] * 7


@rule("WIN-TERM-09")
@derived
def test_what_a_function_raises_leaves_the_terminal_and_drops_the_emission(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    received: list[int] = []

    flow = cortex.flow(int).window(2).map(lambda w: w.fold(0, lambda a, v: boom() if v == 2 else a + v))
    head = flow.pipe(circuit.pipe(received.append))
    for value in (1, 2, 3, 4):
        head.emit(value)
    wait(circuit)

    assert received == [1, 7]


@rule("WIN-TERM-09")
@derived
@pytest.mark.parametrize("terminal", ["all", "any", "none", "count", "for_each", "fold", "reduce"])
def test_what_a_function_raises_is_what_its_caller_gets(terminal: str, looking: Looking) -> None:
    error = ValueError("as the test wants it")

    def fail(*_values: object) -> None:
        raise error

    arguments = (0, fail) if terminal in {"fold", "reduce"} else (fail,)
    seen = looking(2, lambda w: getattr(w, terminal)(*arguments), [1])

    assert len(seen) == 1
    assert seen[0] is error


@rule("WIN-VIEW-07")
@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda w: w.prefix(-1), id="prefix(-1)"),
        pytest.param(lambda w: w.suffix(-1), id="suffix(-1)"),
        pytest.param(lambda w: w.skip(-1), id="skip(-1)"),
        pytest.param(lambda w: w.trim(-1), id="trim(-1)"),
        pytest.param(lambda w: w.slice(-1, 1), id="slice(-1, 1)"),
        pytest.param(lambda w: w.slice(0, -1), id="slice(0, -1)"),
    ],
)
def test_a_view_refuses_a_negative_count_or_offset(look: Look, looking: Looking) -> None:
    root, view, empty = (
        looking(2, derive, [1])[0]
        for derive in (look, lambda w: look(w.reverse()), lambda w: look(w.prefix(0)))
    )

    assert [type(error) for error in (root, view, empty)] == [ConfigurationError] * 3
