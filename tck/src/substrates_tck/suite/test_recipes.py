"""Recipes: what they are made of, and that each attachment begins anew."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from substrates import Circuit, Cortex, Fiber, Flow, Pipe, Run, Subject
from substrates.errors import AbsentValueError, ConfigurationError, ProviderMismatchFault
from substrates_tck.fixtures import NewCircuit
from substrates_tck.foreigners import ForeignCell, ForeignPipe, foreign_fiber, foreign_flow
from substrates_tck.marks import derived, rule
from substrates_tck.vectors import (
    FUNCTIONS,
    ONCE,
    Check,
    Refusal,
    Refused,
    Vector,
    add,
    boom,
    cases,
    play,
    positive,
)
from substrates_tck.waits import Settle, Together

FOREIGN_USES: dict[str, Callable[[Cortex, Circuit, Subject[Any]], object]] = {
    "tee": lambda cortex, _, subject: cortex.fiber().tee(ForeignPipe(subject)),
    "route": lambda cortex, _, subject: cortex.fiber().route(positive, ForeignPipe(subject)),
    "when": lambda cortex, _, subject: cortex.fiber().when(positive, foreign_fiber(subject)),
    "fiber of a fiber": lambda cortex, _, subject: cortex.fiber().fiber(foreign_fiber(subject)),
    "fiber of a flow": lambda cortex, _, subject: cortex.flow().fiber(foreign_fiber(subject)),
    "flow of a flow": lambda cortex, _, subject: cortex.flow().flow(foreign_flow(subject)),
    "flow of a cortex": lambda cortex, _, subject: cortex.flow(foreign_fiber(subject)),
    "pipe to a pipe": lambda cortex, _, subject: cortex.fiber().pipe(ForeignPipe(subject)),
    "pipe to a cell": lambda cortex, _, subject: cortex.flow().pipe(ForeignCell(subject)),
    "pool of a fiber": lambda _, circuit, subject: circuit.conduit().pool(foreign_fiber(subject)),
    "pool of a flow": lambda _, circuit, subject: circuit.conduit().pool(foreign_flow(subject)),
}


def _sum(state: Any, value: int) -> int:
    """Return a sum; a state that is absent counts as nothing."""
    return (state or 0) + value


# -- values and configuration


@rule("COMMON-VAL-01")
@derived
def test_an_operator_leaves_its_receiver_as_it_was(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    base = cortex.fiber(int).guard(positive)
    limited, skipped = base.limit(1), base.skip(1)

    received = [play(recipe, [[1, 2, 3]], circuit, wait)[0] for recipe in (limited, skipped, base)]

    assert received == [[1], [2, 3], [1, 2, 3]]


@rule("COMMON-VAL-01")
@derived
def test_an_operator_of_a_flow_leaves_its_receiver_as_it_was(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    base = cortex.flow(int).map(lambda v: v + 1)
    text, total = base.map(str), base.scan(lambda: 0, add)

    received = [play(recipe, [[1, 2]], circuit, wait)[0] for recipe in (text, total, base)]

    assert received == [["2", "3"], [2, 5], [2, 3]]


@rule("COMMON-VAL-01")
@derived
def test_recipes_are_values_compared_by_identity(cortex: Cortex) -> None:
    for recipe, other in (
        (cortex.fiber().limit(1), cortex.fiber().limit(1)),
        (cortex.flow().map(str), cortex.flow().map(str)),
    ):
        assert recipe == recipe
        assert recipe != other
        assert len({recipe, recipe, other}) == 2
        assert copy.copy(recipe) is recipe
        assert copy.deepcopy(recipe) is recipe


@rule("COMMON-VAL-02")
@derived
def test_threads_share_a_recipe(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle, together: Together, interleaved: None
) -> None:
    recipe = cortex.flow(int).fiber(cortex.fiber(int).diff().every(2)).scan(lambda: 0, add)
    circuits = [new_circuit(f"tck.circuit{number}") for number in range(4)]
    received: list[list[int]] = [[] for _ in circuits]

    def use(number: int) -> None:
        for _ in range(20):
            pipe = recipe.pipe(circuits[number].pipe(received[number].append))
            for value in (1, 1, 2, 3, 4):
                pipe.emit(value)

    together(4, use)
    wait(*circuits)

    assert received == [[2, 6] * 20] * 4


@rule("COMMON-VAL-02")
@derived
def test_a_recipe_is_pickled_with_its_functions(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    fiber = cortex.fiber(int).guard(positive).above(3, key=abs).when(positive, cortex.fiber(int).diff())
    flow = cortex.flow(fiber).map(str).run()

    restored_fiber, restored_flow = pickle.loads(pickle.dumps((fiber, flow)))

    assert type(restored_fiber) is Fiber
    assert type(restored_flow) is Flow
    assert play(restored_fiber, [[4, 4, -5, 3, 6]], circuit, wait)[0] == [4, 6]
    assert play(restored_flow, [[4, 4, -5, 3, 6]], circuit, wait)[0] == [Run("4", 1), Run("6", 1)]


@cases(
    Vector("COMMON-VAL-03", "fiber()", lambda f: f, [1, 1, 2], [1, 1, 2]),
    Vector("COMMON-VAL-03", "flow()", lambda f: f, [1, 1, 2], [1, 1, 2], flow=True),
    Vector("COMMON-VAL-04", "fiber(int)", lambda f: f.cortex.fiber(int), ["a"], ["a"]),
    Vector("COMMON-VAL-04", "flow(int)", lambda f: f.cortex.flow(int), ["a"], ["a"], flow=True),
    Vector(
        "COMMON-VAL-04", "fiber(list[int])", lambda f: f.cortex.fiber(list[int]), ["a"], ["a"], derived=True
    ),
    Vector(
        "COMMON-VAL-06",
        "flow(guard(pos))",
        lambda f: f.cortex.flow(f.cortex.fiber().guard(positive)),
        [-1, 2, -3, 4],
        [2, 4],
        flow=True,
    ),
    Vector(
        "COMMON-VAL-06",
        "flow(guard(pos)).map(-v)",
        lambda f: f.cortex.flow(f.cortex.fiber().guard(positive)).map(lambda v: -v),
        [-1, 2, -3, 4],
        [-2, -4],
        flow=True,
    ),
    Vector(
        "COMMON-VAL-06",
        "flow().fiber(guard(pos)).map(-v)",
        lambda f: f.fiber(f.cortex.fiber().guard(positive)).map(lambda v: -v),
        [-1, 2, -3, 4],
        [-2, -4],
        flow=True,
    ),
)
def test_what_the_factories_of_the_cortex_return(case: Vector, check: Check) -> None:
    check(case)


@rule("COMMON-VAL-03")
def test_the_factories_of_the_cortex_return_one_kind_each(cortex: Cortex) -> None:
    assert {type(cortex.fiber()), type(cortex.fiber(int))} == {Fiber}
    assert {type(cortex.flow()), type(cortex.flow(int)), type(cortex.flow(cortex.fiber()))} == {Flow}


@cases(
    Refusal("COMMON-VAL-05", "cortex.fiber(None)", lambda f: f.cortex.fiber(None), AbsentValueError),
    Refusal(
        "COMMON-VAL-05 COMMON-VAL-07", "cortex.flow(None)", lambda f: f.cortex.flow(None), AbsentValueError
    ),
    Refusal(
        "COMMON-VAL-07", "cortex.flow(object())", lambda f: f.cortex.flow(object()), ProviderMismatchFault
    ),
    Refusal(
        "COMMON-VAL-07",
        "cortex.flow(foreign fiber)",
        lambda f: f.cortex.flow(foreign_fiber(f.cortex.subject)),
        ProviderMismatchFault,
    ),
    Refusal("COMMON-VAL-04", "cortex.fiber(42)", lambda f: f.cortex.fiber(42), TypeError, derived=True),
)
def test_what_the_factories_of_the_cortex_refuse(case: Refusal, refused: Refused) -> None:
    refused(case)


@rule("COMMON-CFG-01")
@derived
def test_a_refused_call_does_not_damage_its_receiver(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    fiber = cortex.fiber(int).guard(positive)
    with pytest.raises(ConfigurationError):
        fiber.limit(-1)

    assert play(fiber, [[-1, 1]], circuit, wait) == [[1]]


@rule("COMMON-CFG-01")
@derived
def test_coroutine_functions_are_refused(cortex: Cortex) -> None:
    async def function(*_arguments: Any) -> None:
        """Do nothing."""

    accepted = []
    for name, build in FUNCTIONS.items():
        try:
            build(cortex.fiber(), cortex.flow(), function)
        except ConfigurationError:
            continue
        accepted.append(name)

    assert accepted == []


@cases(
    Vector(
        "COMMON-CFG-02", "reduce(None, sum)", lambda f: f.reduce(None, _sum), [1, 2], [1, 3], derived=True
    ),
    Vector(
        "COMMON-CFG-02", "relate(None, sum)", lambda f: f.relate(None, _sum), [1, 2], [1, 3], derived=True
    ),
    Vector(
        "COMMON-CFG-02",
        "integrate(None, sum, pos)",
        lambda f: f.integrate(None, _sum, positive),
        [1, 2],
        [1, 2],
        derived=True,
    ),
    Vector(
        "COMMON-CFG-02",
        "flow relate(None, sum)",
        lambda f: f.relate(None, _sum),
        [1, 2],
        [1, 3],
        derived=True,
        flow=True,
    ),
    Vector(
        "COMMON-CFG-02",
        "scan(lambda: None, sum)",
        lambda f: f.scan(lambda: None, _sum),
        [1, 2],
        [1, 3],
        derived=True,
        flow=True,
    ),
)
def test_what_may_be_absent(case: Vector, check: Check) -> None:
    check(case)


@rule("COMMON-CFG-04")
@derived
@pytest.mark.parametrize("use", FOREIGN_USES)
def test_a_component_of_another_provider_is_refused_wherever_it_is_passed(
    use: str, cortex: Cortex, circuit: Circuit
) -> None:
    foreign = circuit.pipe().subject

    with pytest.raises(ProviderMismatchFault) as caught:
        FOREIGN_USES[use](cortex, circuit, foreign)

    assert caught.value.operation == use.split(maxsplit=1)[0]
    assert isinstance(caught.value.subject, Subject)


@rule("COMMON-CFG-05", "COMMON-MAT-04", "COMMON-MAT-05")
@derived
@pytest.mark.parametrize("operator", ONCE)
def test_a_function_is_called_once_for_each_value_and_never_before(
    operator: str, cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    values: list[int] = []

    def function(*arguments: int) -> int:
        values.append(arguments[-1])
        return arguments[-1]

    recipe = ONCE[operator](cortex.fiber(), cortex.flow(), function)
    # A bound by key is a key itself, which is made when the operator is added.
    configured = values.copy()
    pipe = recipe.pipe(circuit.pipe())
    attached = values.copy()
    for value in (3, 4, 5):
        pipe.emit(value)
    wait(circuit)

    assert configured == ([1] if operator == "above by key" else [])
    assert attached == configured
    assert values == [*configured, 3, 4, 5]


@rule("COMMON-CFG-05")
@derived
@pytest.mark.parametrize("operator", ["rolling", "steady same", "high by compare", "above by compare"])
def test_a_function_is_not_called_when_its_operator_is_added(operator: str, cortex: Cortex) -> None:
    FUNCTIONS[operator](cortex.fiber(), cortex.flow(), boom)


# -- materialization and state


@rule("COMMON-MAT-01")
def test_each_attachment_begins_anew(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    recipe = cortex.fiber(int).diff()

    assert play(recipe, [[1, 1, 2], [1, 1, 2]], circuit, wait) == [[1, 2], [1, 2]]


@rule("COMMON-MAT-01")
def test_an_attachment_after_emissions_begins_anew(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    recipe = cortex.flow(int).fiber(cortex.fiber(int).skip(1)).scan(lambda: 0, add)

    assert [play(recipe, [[1, 2, 3]], circuit, wait)[0] for _ in range(3)] == [[2, 5]] * 3


@cases(
    Vector(
        "COMMON-MAT-03",
        "e=every(2); e.fiber(e)",
        lambda f: (every := f.every(2)).fiber(every),
        range(1, 9),
        [4, 8],
        derived=True,
    ),
    Vector(
        "COMMON-MAT-03",
        "e=every(2); when(pos, e).when(pos, e)",
        lambda f: f.when(positive, every := f.every(2)).when(positive, every),
        range(1, 9),
        [4, 8],
        derived=True,
    ),
    Vector(
        "COMMON-MAT-03",
        "s=scan(0, add); s.flow(s)",
        lambda f: (scan := f.scan(lambda: 0, add)).flow(scan),
        [1, 2, 3],
        [1, 4, 10],
        derived=True,
        flow=True,
    ),
    Vector("COMMON-MAT-06", "delay(2, 0)", lambda f: f.delay(2, 0), [], [], derived=True),
    Vector("COMMON-MAT-06", "reduce(0, add)", lambda f: f.reduce(0, add), [], [], derived=True),
    Vector(
        "COMMON-MAT-06", "scan(5, add)", lambda f: f.scan(lambda: 5, add), [], [], derived=True, flow=True
    ),
)
def test_each_occurrence_has_its_own_state_and_emits_nothing_by_itself(case: Vector, check: Check) -> None:
    check(case)


@rule("COMMON-MAT-04")
@derived
def test_attachments_share_the_functions_themselves(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    class Total:
        def __init__(self) -> None:
            self.sum = 0

        def __call__(self, value: int) -> int:
            self.sum += value
            return self.sum

        def __deepcopy__(self, memo: dict[int, Any]) -> Total:
            raise AssertionError("copied")

    total = Total()

    received = play(cortex.fiber(int).replace(total), [[1, 2], [10, 20]], circuit, wait)

    assert received == [[1, 13], [11, 33]]
    assert total.sum == 33


@rule("COMMON-MAT-05")
def test_a_mapping_that_counts_sees_each_value_once(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    total = 0

    def running(value: int) -> int:
        nonlocal total
        total += value
        return total

    assert play(cortex.flow(int).map(running), [[1, 2, 3]], circuit, wait) == [[1, 3, 6]]


@rule("COMMON-MAT-05")
@derived
def test_rolling_combines_once_for_each_value_it_holds(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    calls: list[tuple[int, int]] = []

    def combine(state: int, value: int) -> int:
        calls.append((state, value))
        return state + value

    play(cortex.fiber(int).rolling(2, combine, 0), [[1, 2, 3]], circuit, wait)

    assert calls == [(0, 1), (1, 2), (0, 2), (2, 3)]


@rule("COMMON-MAT-05")
@derived
def test_a_dropped_value_reaches_no_later_function(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    seen: list[int] = []

    play(cortex.fiber(int).guard(positive).limit(2).peek(seen.append), [[-1, 1, -2, 2, 3]], circuit, wait)

    assert seen == [1, 2]


@rule("COMMON-MAT-07")
def test_a_recipe_runs_on_the_circuit_of_each_target(
    cortex: Cortex, new_circuit: NewCircuit, wait: Settle
) -> None:
    contexts: list[tuple[int, object]] = []
    recipe = cortex.flow(int).fiber(
        cortex.fiber(int).diff().peek(lambda v: contexts.append((v, cortex.current())))
    )
    circuits = [new_circuit("tck.x"), new_circuit("tck.y")]
    received: list[list[int]] = [[], []]
    pipes = [recipe.pipe(circuit.pipe(out.append)) for circuit, out in zip(circuits, received, strict=True)]
    for _ in range(2):
        pipes[0].emit(1)
        pipes[1].emit(10)
    wait(*circuits)

    assert received == [[1], [10]]
    assert len(contexts) == 2
    assert dict(contexts)[1] is circuits[0].current
    assert dict(contexts)[10] is circuits[1].current


@rule("COMMON-MAT-08")
@derived
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda f, kept: f.delay(1, kept), id="delay"),
        pytest.param(lambda f, kept: f.reduce(kept, lambda s, _: s), id="reduce"),
        pytest.param(lambda f, kept: f.relate(kept, lambda p, _: p), id="relate"),
        pytest.param(lambda f, kept: f.integrate(kept, lambda s, _: s, lambda _: True), id="integrate"),
        pytest.param(lambda f, kept: f.rolling(1, lambda s, _: s, kept), id="rolling"),
        pytest.param(lambda f, kept: f.tumble(1, lambda s, _: s, kept), id="tumble"),
        pytest.param(lambda f, kept: f.clamp(kept, [8]), id="clamp"),
    ],
)
def test_initial_values_and_bounds_are_kept_by_reference(
    call: Callable[[Any, Any], Any], cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    kept = [7]

    received = play(call(cortex.fiber(), kept), [[[1]], [[1]]], circuit, wait)

    assert [len(values) for values in received] == [1, 1]
    assert received[0][0] is kept
    assert received[1][0] is kept


@rule("COMMON-MAT-09")
@derived
def test_a_recipe_is_attached_twice_to_one_target(cortex: Cortex, circuit: Circuit, wait: Settle) -> None:
    received: list[int] = []
    target: Pipe[int] = circuit.pipe(received.append)
    recipe = cortex.fiber(int).limit(1)
    first, second = recipe.pipe(target), recipe.pipe(target)
    for pipe, value in ((first, 1), (first, 2), (second, 3), (second, 4)):
        pipe.emit(value)
    wait(circuit)

    assert received == [1, 3]
