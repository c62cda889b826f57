"""What a compiled recipe costs per value, against code by hand and against a chain of closures.

    python perfkit/benchmarks/recipes.py [--results DIR]

The chain is guard, diff, replace, limit, peek, ahead of a list that records. Three functions do the same: the
one that base compiles of the recipe; one closure as a programmer would write it by hand, with the same calls;
and one closure per operator, each calling the next. They are called directly, one after the other in each
round, on the same values, and take processor time; what they recorded is compared outside the timed parts.

The closures' bound is on what operators cost, above the functions that all three call (the floor): those are
half of everything, so that code by hand does not come below 0.6 of closures in all on CPython 3.11. For
information: that plain ratio, and the recipe behind a circuit. The run is kept like perfkit's. The exit
status is 1 if a bound below is broken.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from operator import truth
from pathlib import Path
from statistics import median
from typing import Any

import click

import substrates
from perfkit import environment
from perfkit.evidence import Evidence
from perfkit.providers import ours
from perfkit.tables import table
from substrates import Cortex, Fiber, spi

VALUES = 50_000
ROUNDS = 41
EMISSION_ROUNDS = 7
MOST_BY_HAND = 1.3
MOST_CLOSURES = 0.5
EVERY_DROPPED = 10
"""One value in so many does not pass the guard, and one is as the one before."""

Receive = Callable[[Any], Any]
Functions = tuple[Receive, Receive, Receive]


def values() -> list[int]:
    """Return what is emitted: most of it passes all operators."""
    made = []
    for at in range(1, VALUES + 1):
        if at % EVERY_DROPPED == 0:
            made.append(0)
        elif at % EVERY_DROPPED == 5:
            made.append(made[-1])
        else:
            made.append(at)
    return made


def functions(watch: Receive) -> Functions:
    """Return the functions of guard, replace and peek: the cheapest there are, so that operators count."""
    return truth, abs, watch


def recipe(cortex: Cortex, given: Functions) -> Fiber[Any]:
    """Return the chain as a fiber."""
    predicate, function, watch = given
    return cortex.fiber().guard(predicate).diff().replace(function).limit(VALUES).peek(watch)


def by_hand(given: Functions, target: Receive) -> Receive:
    """Return the chain as one closure."""
    predicate, function, watch = given
    nothing = object()
    last: Any = nothing
    passed = 0

    def receive(value: Any) -> None:
        nonlocal last, passed
        if not predicate(value):
            return
        if last is not nothing and (value is last or value == last):
            return
        last = value
        replaced = function(value)
        if replaced is None:
            return
        if passed >= VALUES:
            return
        passed += 1
        watch(replaced)
        target(replaced)

    return receive


def closures(given: Functions, target: Receive) -> Receive:
    """Return the chain as one closure per operator."""
    predicate, function, watch = given
    return _guard(predicate, _diff(_replace(function, _limit(VALUES, _peek(watch, target)))))


def floor(given: Functions, target: Receive) -> Receive:
    """Return what calls the same functions, and does nothing else."""
    predicate, function, watch = given

    def receive(value: Any) -> None:
        if predicate(value):
            function(value)
            watch(value)
            target(value)

    return receive


def _guard(predicate: Receive, then: Receive) -> Receive:
    def receive(value: Any) -> None:
        if predicate(value):
            then(value)

    return receive


def _diff(then: Receive) -> Receive:
    nothing = object()
    last: Any = nothing

    def receive(value: Any) -> None:
        nonlocal last
        if last is nothing or not (value is last or value == last):
            last = value
            then(value)

    return receive


def _replace(function: Receive, then: Receive) -> Receive:
    def receive(value: Any) -> None:
        replaced = function(value)
        if replaced is not None:
            then(replaced)

    return receive


def _limit(count: int, then: Receive) -> Receive:
    passed = 0

    def receive(value: Any) -> None:
        nonlocal passed
        if passed < count:
            passed += 1
            then(value)

    return receive


def _peek(watch: Receive, then: Receive) -> Receive:
    def receive(value: Any) -> None:
        watch(value)
        then(value)

    return receive


class Contender:
    """One of what is compared: a function made anew for each round, and what it recorded."""

    def __init__(self, make: Callable[[Functions, Receive], Receive]) -> None:
        self._make = make
        self.samples: list[float] = []

    def round(self, given: list[int]) -> tuple[list[Any], list[Any]]:
        """Receive all values once, note the time per value, return what was recorded and watched."""
        recorded: list[Any] = []
        watched: list[Any] = []
        receive = self._make(functions(watched.append), recorded.append)
        gc.collect()
        gc.disable()
        try:
            begun = time.thread_time_ns()
            for value in given:
                receive(value)
            spent = time.thread_time_ns() - begun
        finally:
            gc.enable()
        self.samples.append(spent / len(given))
        return recorded, watched


def emission_ns(cortex: Cortex, given: list[int], expected: list[Any]) -> float:
    """Return what one value costs through a circuit, emission and delivery included."""
    with cortex.circuit("recipes") as circuit:
        recorded: list[Any] = []
        watched: list[Any] = []
        pipe = recipe(cortex, functions(watched.append)).pipe(circuit.pipe(recorded.append))
        emit = pipe.emit
        begun = time.perf_counter_ns()
        for value in given:
            emit(value)
        circuit.wait()
        spent = time.perf_counter_ns() - begun
        if recorded != expected:
            raise SystemExit(f"{cortex.provider}: the recipe behind a circuit passed other values")
        return spent / len(given)


def _judged(what: str, ratio: float, most: float | None, broken: list[str]) -> list[str]:
    """Return the row of a ratio; note in `broken` that it is above its bound, if it has one."""
    if most is None:
        return [what, f"{ratio:.2f} x", "", ""]
    if ratio > most:
        broken.append(f"{what}: {ratio:.2f} x, bound {most} x")
    return [what, f"{ratio:.2f} x", f"{most} x", "yes" if ratio <= most else "NO"]


@click.command()
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(results: Path) -> None:
    """Measure, print a table, keep the run."""
    cortex = substrates.cortex("reference")
    given = values()
    contenders: dict[str, Contender] = {}
    with cortex.circuit("direct") as circuit:

        def compiled(functions: Functions, target: Receive) -> Receive:
            # The function that base has made: not of the api, but it is what is to be measured.
            pipe: Any = recipe(cortex, functions).pipe(circuit.pipe(target))
            receive: Receive = pipe._receive
            return receive

        contenders = {
            "compiled": Contender(compiled),
            "by hand": Contender(by_hand),
            "closures": Contender(closures),
            "floor": Contender(floor),
        }
        names = list(contenders)
        expected: list[Any] = []
        for turn in range(ROUNDS):  # interleaved, so that a change of the machine's mood meets all
            outcomes = {name: contenders[name].round(given) for name in (names if turn % 2 else names[::-1])}
            expected, watched = outcomes["by hand"]
            if watched != expected or len(expected) != VALUES - 2 * VALUES // EVERY_DROPPED:
                raise SystemExit("the function by hand passed other values than it should")
            for name, outcome in outcomes.items():
                if name != "floor" and outcome != (expected, watched):
                    raise SystemExit(f"{name} passed other values than the function by hand")

    figures: dict[str, Any] = {"schema": 1, "workload": "recipes", "values": VALUES, "rounds": ROUNDS}
    rows: list[list[str]] = []
    broken: list[str] = []
    for name, contender in contenders.items():
        cost = median(contender.samples)
        figures[f"{name.replace(' ', '_')}_ns"] = cost
        rows.append([f"{name}, called directly", f"{cost:.1f} ns per value", "", ""])
    for name, most in (("by hand", MOST_BY_HAND), ("closures", None)):
        pairs = zip(contenders["compiled"].samples, contenders[name].samples, strict=True)
        ratio = median(mine / other for mine, other in pairs)
        figures[f"ratio_to_{name.replace(' ', '_')}"] = ratio
        rows.append(_judged(f"compiled to {name}", ratio, most, broken))
    samples = [contenders[name].samples for name in ("compiled", "closures", "floor")]
    above = median((mine - least) / (other - least) for mine, other, least in zip(*samples, strict=True))
    figures["ratio_to_closures_above_floor"] = above
    rows.append(_judged("compiled to closures, both above the floor", above, MOST_CLOSURES, broken))
    for provider in ours():
        chosen = substrates.cortex(provider)
        cost = median(emission_ns(chosen, given, expected) for _ in range(EMISSION_ROUNDS))
        figures[f"emission_ns_{provider}"] = cost
        rows.append([f"behind a circuit of {provider}", f"{cost:.0f} ns per value", "", ""])

    evidence = Evidence(results, "recipes", "all")
    text = table(["measure", "median", "bound", "kept"], rows)
    click.echo(text)
    described = environment.describe(spi.load("reference"), cortex)
    evidence.conclude(text, {**figures, "verified": True, "broken": broken}, described)
    click.echo(f"kept in {evidence.folder}", err=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
