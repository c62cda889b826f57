"""Fibers: what filters and replaces values one by one, and what sends them aside."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import Circuit, Cortex, Fiber, Pipe, Receptor
from substrates.errors import (
    AbsentValueError,
    ProviderMismatchFault,
)
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import FOREIGN_FIBERS, FOREIGN_PIPES
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    Check,
    Refusal,
    Refused,
    Vector,
    boom,
    cases,
    play,
    positive,
)
from substrates_tck.waits import Settle

# -- guard, replace


@cases(
    Vector("FIBER-GUARD-01", "guard(pos)", lambda f: f.guard(positive), [-1, 2, -3, 4], [2, 4]),
    Vector("FIBER-GUARD-01", "guard(pos)", lambda f: f.guard(positive), [2, 2, -1, 2], [2, 2, 2]),
    Vector(
        "FIBER-GUARD-02",
        "guard(boom() if v == 2 else True)",
        lambda f: f.guard(lambda v: boom() if v == 2 else True),
        [1, 2, 3],
        [1, 3],
        derived=True,
    ),
)
def test_guard_judges_each_value_by_itself(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Vector(
        "FIBER-REPLACE-01", "replace(v * 10)", lambda f: f.replace(lambda v: v * 10), [1, 2, 3], [10, 20, 30]
    ),
    Vector(
        "FIBER-REPLACE-02",
        "replace(v * 10 if v % 2 == 0 else None)",
        lambda f: f.replace(lambda v: v * 10 if v % 2 == 0 else None),
        [1, 2],
        [20],
    ),
    Vector(
        "FIBER-REPLACE-03",
        "replace(boom() if v == 2 else v)",
        lambda f: f.replace(lambda v: boom() if v == 2 else v),
        [1, 2, 3],
        [1, 3],
        derived=True,
    ),
)
def test_replace_passes_what_its_function_returns(case: Vector, check: Check) -> None:
    check(case)


# -- peek


@rule("FIBER-PEEK-01")
def test_peek_sees_each_value_and_passes_the_very_same(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[Any] = []

    def see(value: Any) -> str:
        seen.append(value)
        return "ignored"

    values = [[1], [2], [3]]
    received = play(cortex.fiber().peek(see), [values], circuit, wait)[0]

    assert [id(value) for value in seen] == [id(value) for value in values]
    assert [id(value) for value in received] == [id(value) for value in values]


@rule("FIBER-PEEK-01")
def test_peek_passes_whatever_its_receptor_returns(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    seen: list[int] = []

    received = play(cortex.fiber().peek(seen.append), [[1, 2, 3]], circuit, wait)[0]

    assert (seen, received) == ([1, 2, 3], [1, 2, 3])


@rule("FIBER-PEEK-01")
@derived
def test_peek_takes_an_object_that_receives(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    class Keeper(Receptor[int]):
        def __init__(self) -> None:
            self.kept: list[int] = []

        def receive(self, value: int, /) -> None:
            self.kept.append(value)

    keeper = Keeper()

    received = play(cortex.fiber(int).peek(keeper), [[1, 2]], circuit, wait)[0]

    assert (keeper.kept, received) == ([1, 2], [1, 2])


@rule("FIBER-PEEK-02")
def test_peek_sees_what_earlier_stages_passed_before_later_ones_do(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[int] = []
    recipe = cortex.fiber(int).guard(positive).diff().peek(seen.append)

    play(recipe, [[1, 1, -2, 3, 3, 4]], circuit, wait)

    assert seen == [1, 3, 4]


@rule("FIBER-PEEK-02")
@derived
def test_peek_comes_before_the_stages_behind_it(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    recipe = cortex.fiber(int).peek(lambda v: log.append(f"first {v}")).limit(1)

    play(recipe.peek(lambda v: log.append(f"second {v}")), [[1, 2]], circuit, wait)

    assert log == ["first 1", "second 1", "first 2"]


@cases(
    Vector(
        "FIBER-PEEK-03",
        "peek(boom() if v == 2 else None)",
        lambda f: f.peek(lambda v: boom() if v == 2 else None),
        [1, 2, 3],
        [1, 3],
        derived=True,
    ),
)
def test_peek_drops_what_its_receptor_fails_on(case: Vector, check: Check) -> None:
    check(case)


# -- tee, route


@rule("FIBER-TEE-01")
@pytest.mark.parametrize("place", ["own", "other"])
def test_tee_emits_each_value_to_the_side_pipe_and_passes_it(
    place: str, cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    side: list[int] = []
    beside = circuit if place == "own" else new_circuit("tck.beside")

    received = play(cortex.fiber(int).tee(beside.pipe(side.append)), [[1, 2, 3]], circuit, wait)[0]
    wait(beside)

    assert (side, received) == ([1, 2, 3], [1, 2, 3])


@rule("FIBER-TEE-02")
@derived
@pytest.mark.parametrize("place", ["own", "other"])
def test_what_fails_behind_the_side_pipe_does_not_touch_the_main_path(
    place: str, cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    beside = circuit if place == "own" else new_circuit("tck.beside")

    received = play(cortex.fiber(int).tee(beside.pipe(boom)), [[1, 2]], circuit, wait)[0]
    wait(beside)

    assert received == [1, 2]


@rule("FIBER-TEE-02")
@derived
def test_the_side_pipe_of_another_circuit_receives_in_its_own_context(
    cortex: Cortex, circuit: Circuit, new_circuit: NewCircuit, wait: Settle
) -> None:
    beside = new_circuit("tck.beside")
    contexts: list[object] = []

    play(
        cortex.fiber(int).tee(beside.pipe(lambda _: contexts.append(cortex.current()))), [[1]], circuit, wait
    )
    wait(beside)

    assert len(contexts) == 1
    assert contexts[0] is beside.current


@rule("FIBER-TEE-02")
@derived
def test_the_side_emission_is_queued(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    log: list[str] = []
    side: Pipe[int] = circuit.pipe(lambda v: log.append(f"side {v}"))
    recipe = cortex.fiber(int).tee(side).peek(lambda v: log.append(f"stage {v}"))

    play(recipe, [[1, 2]], circuit, wait)

    assert log == ["stage 1", "side 1", "stage 2", "side 2"]


@rule("FIBER-TEE-03")
@derived
def test_each_path_of_a_tee_keeps_the_order(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    side: list[int] = []
    values = list(range(100))

    received = play(cortex.fiber(int).tee(circuit.pipe(side.append)), [values], circuit, wait)[0]

    assert (side, received) == (values, values)


@rule("FIBER-TEE-04")
@derived
def test_all_attachments_share_the_side_pipe(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    side: list[int] = []

    received = play(cortex.fiber(int).tee(circuit.pipe(side.append)), [[1], [2]], circuit, wait)

    assert (side, received) == ([1, 2], [[1], [2]])


@rule("FIBER-ROUTE-01")
def test_route_sends_matches_aside_and_passes_the_others(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    side: list[int] = []
    recipe = cortex.fiber(int).route(positive, circuit.pipe(side.append))

    received = play(recipe, [[1, -2, 3, -4]], circuit, wait)[0]

    assert (side, received) == ([1, 3], [-2, -4])


def _two_routes(
    cortex: Cortex, circuit: Circuit, wait: Settle, second: Any, values: list[int]
) -> tuple[list[int], list[int], list[int]]:
    sides: tuple[list[int], list[int]] = ([], [])
    recipe = cortex.fiber(int).route(positive, circuit.pipe(sides[0].append))
    received = play(recipe.route(second, circuit.pipe(sides[1].append)), [values], circuit, wait)[0]
    return (*sides, received)


@rule("FIBER-ROUTE-02")
def test_chained_routes_partition_the_stream(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    paths = _two_routes(cortex, circuit, wait, lambda v: v < 0, [1, -2, 0, 3, -4])

    assert paths == ([1, 3], [-2, -4], [0])


@rule("FIBER-ROUTE-03")
@derived
def test_the_first_route_that_matches_wins(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    paths = _two_routes(cortex, circuit, wait, lambda v: v > 10, [20])

    assert paths == ([20], [], [])


@rule("FIBER-ROUTE-04")
@derived
def test_a_value_that_the_predicate_of_a_route_fails_on_goes_nowhere(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    side: list[int] = []
    recipe = cortex.fiber(int).route(lambda v: boom() if v == 2 else v > 2, circuit.pipe(side.append))

    received = play(recipe, [[1, 2, 3]], circuit, wait)[0]

    assert (side, received) == ([3], [1])


@rule("FIBER-TEE-05")
def test_an_absent_side_pipe_of_a_tee_is_refused(cortex: Cortex) -> None:
    with pytest.raises(AbsentValueError):
        cortex.fiber().tee(None)  # type: ignore[arg-type]  # what the test is about


@rule("FIBER-ROUTE-05")
@pytest.mark.parametrize("absent", ["predicate", "pipe"])
def test_an_absent_predicate_or_side_pipe_of_a_route_is_refused(
    absent: str, cortex: Cortex, circuit: Circuit
) -> None:
    fiber: Any = cortex.fiber()
    arguments = (positive, None) if absent == "pipe" else (None, circuit.pipe())

    with pytest.raises(AbsentValueError):
        fiber.route(*arguments)


FOREIGN_SIDES = pytest.mark.parametrize(
    "foreign", [*FOREIGN_PIPES, lambda _: object()], ids=["DuckPipe", "ForeignPipe", "object"]
)


@rule("FIBER-TEE-06")
@derived
@FOREIGN_SIDES
def test_a_foreign_side_pipe_of_a_tee_is_refused(foreign: Any, cortex: Cortex, circuit: Circuit) -> None:
    pipe = foreign(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.fiber().tee(pipe)

    assert caught.value.operation == "tee"


@rule("FIBER-ROUTE-06")
@derived
@FOREIGN_SIDES
def test_a_foreign_side_pipe_of_a_route_is_refused(foreign: Any, cortex: Cortex, circuit: Circuit) -> None:
    pipe = foreign(circuit.pipe().subject)

    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.fiber().route(positive, pipe)

    assert caught.value.operation == "route"


# -- when


def _sub(fiber: Fiber[Any]) -> Fiber[Any]:
    """Return the fiber without operators of the same cortex."""
    return fiber.cortex.fiber()


@cases(
    Vector(
        "FIBER-WHEN-01",
        "when(pos, F.guard(v > 2))",
        lambda f: f.when(positive, _sub(f).guard(lambda v: v > 2)),
        [-1, 1, 3, -4],
        [-1, 3, -4],
    ),
    Vector(
        "FIBER-WHEN-02",
        "when(v > 10, F.diff()).when(v < 0, F.guard(v % 2 == 0))",
        lambda f: f.when(lambda v: v > 10, _sub(f).diff()).when(
            lambda v: v < 0, _sub(f).guard(lambda v: v % 2 == 0)
        ),
        [20, 20, 30, -3, -4, 5],
        [20, 30, -4, 5],
    ),
    Vector(
        "FIBER-WHEN-02",
        "when(v % 2, F.replace(v * 10)).when(v > 20, F.replace(v + 1))",
        lambda f: f.when(lambda v: v % 2, _sub(f).replace(lambda v: v * 10)).when(
            lambda v: v > 20, _sub(f).replace(lambda v: v + 1)
        ),
        [3, 2, 5],
        [31, 2, 51],
    ),
    Vector(
        "FIBER-WHEN-03",
        "when(v > 10, F.diff())",
        lambda f: f.when(lambda v: v > 10, _sub(f).diff()),
        [20, 5, 20, 30],
        [20, 5, 30],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-03",
        "when(pos, F.every(2))",
        lambda f: f.when(positive, _sub(f).every(2)),
        [1, -1, 2, -2, 3, 4],
        [-1, 2, -2, 4],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-04",
        "when(boom() if v == 2 else v > 2, F.replace(-v))",
        lambda f: f.when(lambda v: boom() if v == 2 else v > 2, _sub(f).replace(lambda v: -v)),
        [1, 2, 3],
        [1, -3],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-05",
        "when(pos, F.replace(boom() if v == 2 else v))",
        lambda f: f.when(positive, _sub(f).replace(lambda v: boom() if v == 2 else v)),
        [1, 2, -2, 3],
        [1, -2, 3],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-06",
        "when(pos, identity)",
        lambda f: f.when(positive, _sub(f)),
        [1, -1],
        [1, -1],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-01",
        "when(pos, F.replace(v * 2)).limit(3)",
        lambda f: f.when(positive, _sub(f).replace(lambda v: v * 2)).limit(3),
        [1, -1, 2, 3],
        [2, -1, 4],
        derived=True,
    ),
    Vector(
        "FIBER-WHEN-03",
        "when(pos, F.when(v % 2, F.every(2)))",
        lambda f: f.when(positive, _sub(f).when(lambda v: v % 2, _sub(f).every(2))),
        [1, 2, -1, 3, 5, 7],
        [2, -1, 3, 7],
        derived=True,
    ),
)
def test_when_sends_matches_through_its_fiber_first(case: Vector, check: Check) -> None:
    check(case)


@cases(
    Refusal("FIBER-GUARD-03", "guard(None)", lambda f: f.guard(None), AbsentValueError),
    Refusal("FIBER-REPLACE-04", "replace(None)", lambda f: f.replace(None), AbsentValueError),
    Refusal("FIBER-PEEK-04", "peek(None)", lambda f: f.peek(None), AbsentValueError),
    Refusal("FIBER-WHEN-07", "when(pos, None)", lambda f: f.when(positive, None), AbsentValueError),
    Refusal("FIBER-WHEN-07", "when(None, identity)", lambda f: f.when(None, f), AbsentValueError),
    Refusal(
        "FIBER-WHEN-07", "when(pos, object())", lambda f: f.when(positive, object()), ProviderMismatchFault
    ),
    Refusal("FIBER-GUARD-03", "guard(42)", lambda f: f.guard(42), TypeError, derived=True),
    Refusal("FIBER-PEEK-04", "peek(42)", lambda f: f.peek(42), TypeError, derived=True),
)
def test_absent_and_alien_functions_are_refused(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("FIBER-WHEN-07")
@pytest.mark.parametrize("foreign", FOREIGN_FIBERS, ids=["DuckRecipe", "foreign_fiber"])
def test_a_foreign_fiber_of_when_is_refused(foreign: Any, cortex: Cortex) -> None:
    fiber = foreign(cortex.subject)

    with pytest.raises(ProviderMismatchFault) as caught:
        cortex.fiber().when(positive, fiber)

    assert caught.value.operation == "when"
