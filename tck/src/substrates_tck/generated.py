"""The public operations, read from the api itself: their forms, and what can be wrong with each argument.

1. `forms` reads every public operation of every exported class, one form per overload.
2. `PARAMETERS` tells what kind of argument a parameter takes, by its annotation; `PARTICULAR` where that is
   not enough.
3. A kind (`Argument`) has a valid value and wrong ones, by the category of the error that they must raise.
4. `cases` makes one case for each form, parameter and wrong value. What is unknown becomes a case that fails,
   so that a new operation cannot escape.
"""

from __future__ import annotations

import enum
import inspect
import math
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import substrates
from substrates import (
    LONG,
    NAME,
    AbsentValueError,
    Circuit,
    ConfigurationError,
    Cortex,
    ManualClock,
    ProviderMismatchFault,
    Routing,
    kernel,
)

from .foreigners import (
    FOREIGN_CELLS,
    FOREIGN_FIBERS,
    FOREIGN_FLOWS,
    FOREIGN_NAMES,
    FOREIGN_PIPES,
    FOREIGN_POOLS,
    FOREIGN_SLOTS,
    FOREIGN_STATES,
    FOREIGN_SUBJECTS,
    FOREIGN_SUBSCRIBERS,
    DuckResource,
    ForeignCircuit,
    ForeignName,
)
from .waits import Settle

__all__ = [
    "CATEGORIES",
    "NULLABLE",
    "UNCHECKED",
    "Argument",
    "Bench",
    "Case",
    "Form",
    "argument",
    "call",
    "cases",
    "forms",
]

CATEGORIES: Final[dict[str, type[Exception]]] = {
    "absent": AbsentValueError,
    "foreign": ProviderMismatchFault,
    "kind": TypeError,
    "range": ConfigurationError,
}
"""What a wrong value of each category raises; "kind" is no `AbsentValueError`."""
UNCHECKED: Final = {
    "Clock": "users write clocks; `ManualClock` stands for them",
    "Extent": "by its subclasses",
    "Lookup": "by its subclasses",
    "Receptor": "users write receptors; `of` takes whatever is present",
    "Recipe": "by its subclasses",
    "Resource": "by its subclasses",
    "Source": "by its subclasses",
}
"""Exported classes whose operations are not called by themselves, with the reason."""
NULLABLE: Final = {
    "Circuit.wait(timeout)": "no limit",
    "Cortex.on_fault(hook)": "removes the hook",
    "Fiber.integrate(initial)": "a state may be absent (FIBER-INTEGRATE-01)",
    "Fiber.reduce(initial)": "a state may be absent (FIBER-REDUCE-01)",
    "Fiber.relate(initial)": "there may be no previous value (FIBER-RELATE-01)",
    "Flow.relate(initial)": "there may be no previous value (FLOW-RELATE-01)",
    "Pipes.emit(where)": "every member",
    "Population.wait(timeout)": "no limit",
    "Cortex.owns(component)": "asks about anything, and never raises",
    "*.close(wait)": "a flag: anything is true or false",
    "ManualClock.call_at(due_ns)": "called by providers, not by users",
    "substrates.cortex(provider)": "the provider is chosen by the environment",
}
"""Where None is allowed, with the reason."""
OPERATORS: Final = ("__contains__", "__getitem__", "__truediv__")
"""Operations that Python's syntax calls; `|` answers with Python's own TypeError."""


@dataclass
class Bench:
    """What valid arguments are taken from.

    Attributes:
        cortex: of the provider under test.
        circuit: whose operations are called.
        clock: of the circuit.
        wait: waits for circuits.
        probing: whether receivers are asked to show that they still work as before.
        received: what came out of the circuit, for the receivers' own use.
    """

    cortex: Cortex
    circuit: Circuit
    clock: ManualClock
    wait: Settle
    probing: bool = True
    received: list[Any] = field(default_factory=list)


Make = Callable[[Bench], Any]


@dataclass(frozen=True)
class Argument:
    """A kind of argument.

    Attributes:
        valid: makes a valid one.
        wrong: category and label of each wrong one, and what makes it.
    """

    valid: Make
    wrong: dict[tuple[str, str], Make]


@dataclass(frozen=True)
class Form:
    """One way to call an operation.

    Attributes:
        owner: the class; None for a function of the module.
        operation: its name.
        parameters: what the api says of them.
    """

    owner: type[Any] | None
    operation: str
    parameters: tuple[inspect.Parameter, ...]

    @property
    def place(self) -> str:
        """Where it is."""
        return f"{self.owner.__name__}.{self.operation}" if self.owner else self.operation

    def __str__(self) -> str:
        """Return it as one would write it."""
        return f"{self.place}({', '.join(parameter.name for parameter in self.parameters)})"


@dataclass(frozen=True)
class Case:
    """One form with one wrong argument.

    Attributes:
        form: the form.
        parameter: the name of the parameter.
        category: of the error.
        make: makes the wrong argument; None if the generator does not know how to call this form.
    """

    form: Form
    parameter: str
    category: str
    make: Make | None


class Color(enum.Enum):
    """An enumeration."""

    RED = "red"


class _Nothing(kernel.State):
    seen: kernel.int64


@kernel.receptor(_Nothing, kernel.int64)
def _ignore(_ctx: Any, state: Any, value: Any) -> None:
    state.seen = value


async def _coroutine(*arguments: Any) -> None:
    """Do nothing, later."""


def _always(value: Any) -> Make:
    return lambda _: value


def _argument(valid: Any, *, nullable: bool = False, **wrong: dict[str, Any]) -> Argument:
    """Return a kind; functions among the values make them."""

    def making(value: Any) -> Make:
        return value.make if isinstance(value, _Made) else _always(value)

    found: dict[tuple[str, str], Make] = {} if nullable else {("absent", "None"): _always(None)}
    for category, values in wrong.items():
        found.update({(category, label): making(value) for label, value in values.items()})
    return Argument(making(valid), found)


@dataclass(frozen=True)
class _Made:
    """Marks a value that is made of the bench."""

    make: Make


def _foreign(kinds: tuple[Callable[..., Any], ...], genuine: Make) -> dict[str, Any]:
    def making(kind: Callable[..., Any]) -> _Made:
        return _Made(lambda bench: kind(genuine(bench)))

    return {kind.__name__: making(kind) for kind in kinds}


def _beside(made: _Made) -> _Made:
    return _Made(lambda bench: [_pipe(bench), made.make(bench)])


def _subject(bench: Bench) -> Any:
    return bench.circuit.subject


def _pipe(bench: Bench) -> Any:
    return bench.circuit.pipe()


def _slot(bench: Bench) -> Any:
    return bench.cortex.slot("tck.slot", 1)


PIPES: Final = _foreign(FOREIGN_PIPES, _subject)
NAMES: Final = _foreign(FOREIGN_NAMES, _always("foreign"))
UNRELATED: Final = {"int": 42, "object": object()}
COROUTINE: Final = {"coroutine": _coroutine}
MALFORMED: Final = {"empty": "", "empty segment": "a..b"}

ANYTHING: Final = _argument(1)
FLAG: Final = _argument(False, nullable=True)
NAMED: Final = _argument("tck.valid", foreign=NAMES, kind=UNRELATED, range=MALFORMED)
PATH: Final = _argument(
    "a.b",
    absent={"list of None": ["a", None]},
    foreign=NAMES | {"list of ForeignName": ["a", ForeignName("foreign")]},
    kind={"int": 42, "bytes": b"a", "list of int": ["a", 42]},
    range=MALFORMED | {"list of empty": ["a", ""]},
)
PIPE: Final = _argument(_Made(_pipe), foreign=PIPES, kind=UNRELATED)
TARGET: Final = _argument(_Made(_pipe), foreign=PIPES | _foreign(FOREIGN_CELLS, _subject), kind=UNRELATED)
TARGETS: Final = _argument(
    _Made(lambda bench: [_pipe(bench), _pipe(bench)]),
    foreign={f"list of {label}": _beside(made) for label, made in PIPES.items()},
    kind=UNRELATED | {"list of int": [42], "text": "text"},
    absent={"list of None": _Made(lambda bench: [_pipe(bench), None])},
)
FUNCTION: Final = _argument(lambda *_: 1, kind=UNRELATED)
CHECKED: Final = _argument(lambda *_: 1, kind=UNRELATED, range=COROUTINE)
TEXT_FUNCTION: Final = _argument(lambda *_: "text", kind=UNRELATED)
COMPARE: Final = _argument(lambda *_: 0, kind=UNRELATED, range=COROUTINE)
RECEPTOR: Final = CHECKED
RECEIVER: Final = _argument(lambda _: None, foreign=PIPES, kind=UNRELATED, range=COROUTINE)
LOW: Final = _argument(1, kind={"object": object()}, range={"nan": math.nan})
HIGH: Final = _argument(9, kind={"object": object()}, range={"nan": math.nan, "lower": 0})
BOUND: Final = LOW
FIBER: Final = _argument(
    _Made(lambda bench: bench.cortex.fiber()), foreign=_foreign(FOREIGN_FIBERS, _subject), kind=UNRELATED
)
FLOW: Final = _argument(
    _Made(lambda bench: bench.cortex.flow()), foreign=_foreign(FOREIGN_FLOWS, _subject), kind=UNRELATED
)
POOLED: Final = _argument(
    _Made(lambda bench: bench.circuit.conduit()), foreign=_foreign(FOREIGN_POOLS, _pipe), kind=UNRELATED
)
SUBSCRIBER: Final = _argument(
    _Made(lambda bench: bench.circuit.subscriber("tck.valid", lambda *_: None)),
    foreign=_foreign(FOREIGN_SUBSCRIBERS, _subject),
    kind=UNRELATED,
    range=COROUTINE,
)
RESOURCE: Final = _argument(
    _Made(lambda bench: bench.circuit.conduit()),
    foreign={
        "DuckResource": _Made(lambda bench: DuckResource(bench.circuit.subject)),
        "ForeignCircuit": _Made(lambda bench: ForeignCircuit(bench.circuit.subject, bench.circuit.current)),
    },
    kind=UNRELATED,
)
SLOT: Final = _argument(_Made(_slot), foreign=_foreign(FOREIGN_SLOTS, _slot), kind=UNRELATED)
STORED: Final = _argument(
    1,
    foreign=_foreign(FOREIGN_STATES, lambda bench: bench.cortex.state()),
    kind={"object": object(), "list": [1]},
    range={"beyond 64 bits": 2**63},
)
TYPED: Final = _argument(1, kind={"object": object(), "text": "1"}, range={"beyond 64 bits": 2**63})
LOOKED_UP: Final = _argument(
    "a", foreign=NAMES | PIPES | _foreign(FOREIGN_SUBJECTS, _subject), kind=UNRELATED, range=MALFORMED
)
CLASS: Final = _argument(int, kind=UNRELATED)
COUNT_KINDS: Final = {"text": "1", "float": 1.5, "bool": True, "object": object()}
COUNT: Final = _argument(1, kind=COUNT_KINDS, range={"-1": -1, "-2**70": -(2**70)})
SIZE: Final = _argument(1, kind=COUNT_KINDS, range={"0": 0, "-1": -1, "-2**70": -(2**70)})
NO_DURATION: Final = {"0s": timedelta(0), "-1s": timedelta(seconds=-1)}
DURATION: Final = _argument(
    1,
    kind={"text": "1", "bool": True, "object": object()},
    range=NO_DURATION | {"0": 0, "-1": -1, "nan": math.nan, "inf": math.inf},
)

PARAMETERS: Final[dict[str, Argument]] = {
    "A": ANYTHING,
    "Binding[E]": _argument(_Made(lambda _: _ignore.bind()), kind=UNRELATED),
    "Clock": _argument(_Made(lambda _: ManualClock()), kind=UNRELATED),
    "E": ANYTHING,
    "E_contra": ANYTHING,
    "Enum": _argument(Color.RED, kind=UNRELATED),
    "Extent": _argument(_Made(_subject), kind=UNRELATED),
    "Fiber[E]": FIBER,
    "Fiber[O]": FIBER,
    "Flow[O, P]": FLOW,
    "Flow[T, E]": FLOW,
    "Iterable[Pipe[E]]": TARGETS,
    "Lane | object": _argument(object, kind=UNRELATED),
    "Name | str": NAMED,
    "Name | str | Subject[Any] | Substrate": LOOKED_UP,
    "Pipe[Capture[E]]": PIPE,
    "Pipe[E]": PIPE,
    "Pipe[E] | Receptor[E] | Callable[[E], object]": RECEIVER,
    "Pipe[O] | CellOf[O]": TARGET,
    "Pipe[int]": PIPE,
    "Pool[Pipe[E]]": POOLED,
    "R": ANYTHING,
    "Receptor[E] | Callable[[E], object]": RECEPTOR,
    "Recipe[Any, Any]": FIBER,
    "Recipe[I, O]": FIBER,
    "Routing": _argument(Routing.STEM, kind={"text": "STEM", "int": 1}),
    "SlotType[Name]": _argument(NAME, kind=UNRELATED),
    "SlotType[T]": _argument(LONG, kind=UNRELATED),
    "SlotValue": STORED,
    "Slot[Any]": SLOT,
    "Slot[T]": SLOT,
    "Subscriber[E] | Callable[[Subject[Pipe[E]], Registrar[E]], object]": SUBSCRIBER,
    "T": TYPED,
    "V": STORED,
    "bool": FLAG,
    "float | timedelta | None": _argument(
        10,
        nullable=True,
        kind={"text": "soon", "object": object()},
        range={"-1": -1, "nan": math.nan, "-1s": timedelta(seconds=-1)},
    ),
    "int": SIZE,
    "int | timedelta": _argument(1, kind=COUNT_KINDS, range=NO_DURATION | {"0": 0, "-1": -1}),
    "object": _argument(1, nullable=True),
    "str": _argument("-", kind=UNRELATED),
    "str | Name": NAMED,
    "str | Name | Iterable[Any] | Enum | Callable[..., Any]": PATH,
    "timedelta | float": DURATION,
    "type[E]": CLASS,
}
"""What kind of argument a parameter takes, by its annotation; callables are `CHECKED`."""
PARTICULAR: Final[dict[str, Argument]] = {
    **{f"Window.{name}(count)": COUNT for name in ("prefix", "suffix", "skip", "trim", "slice")},
    **{f"Fiber.{name}(count)": COUNT for name in ("limit", "skip", "inhibit")},
    **{f"Fiber.{name}(lower)": LOW for name in ("above", "range", "deadband", "clamp")},
    **{f"Fiber.{name}(upper)": HIGH for name in ("range", "deadband", "clamp")},
    **{f"Fiber.{name}(bound)": BOUND for name in ("min", "max")},
    **{f"Fiber.{name}(compare)": COMPARE for name in ("above", "below", "min", "max", "high", "low")},
    **{f"Fiber.{name}(compare)": COMPARE for name in ("range", "deadband", "clamp")},
    **{f"{owner}.path(mapper)": TEXT_FUNCTION for owner in ("Name", "Subject", "Scope")},
    **{
        f"{owner}.{name}({parameter})": FUNCTION
        for owner in ("Name", "Subject", "Scope")
        for name in ("fold", "fold_to")
        for parameter in ("initial", "accumulate")
    },
    **{
        f"Window.{name}({parameter})": FUNCTION
        for name, parameter in (
            *(("for_each", "action"), ("all", "predicate"), ("any", "predicate"), ("none", "predicate")),
            *(("count", "predicate"), ("fold", "function"), ("reduce", "function")),
        )
    },
    "Closure.consume(block)": FUNCTION,
    "Cortex.circuits(count)": COUNT,
    "Cortex.name(mapper)": TEXT_FUNCTION,
    "Cortex.on_fault(hook)": _argument(None, nullable=True, kind=UNRELATED),
    "Fiber.below(upper)": BOUND,
    "Fiber.chance(probability)": _argument(
        0.5, kind={"text": "0.5", "bool": True}, range={"-0.1": -0.1, "1.1": 1.1, "nan": math.nan}
    ),
    "Fiber.chance(seed)": _argument(1, kind={"object": object(), "list": [1]}),
    "Fiber.integrate(initial)": _argument(1, nullable=True),
    "Fiber.reduce(initial)": _argument(1, nullable=True),
    "Fiber.relate(initial)": _argument(1, nullable=True),
    "Flow.relate(initial)": _argument(1, nullable=True),
    "ManualClock.call_at(due_ns)": _argument(1, nullable=True),
    "Name.name(mapper)": TEXT_FUNCTION,
    "Pipes.emit(values)": _argument(
        [1, 2],
        absent={"list of None": [1, None]},
        kind={"int": 42, "object": object(), "text": "ab", "bytes": b"ab"},
    ),
    "Pipes.emit(where)": _argument([1, 0], nullable=True, kind={"text": ["a", "b"], "floats": [0.0, 1.0]}),
    "Scope.closure(resource)": RESOURCE,
    "Scope.register(resource)": RESOURCE,
    "Window.slice(offset)": COUNT,
    "substrates.cortex(provider)": _argument(
        _Made(lambda bench: bench.cortex.provider), nullable=True, kind=UNRELATED
    ),
}
"""Parameters whose annotation does not tell their kind."""
COMPANIONS: Final[dict[str, dict[str, Make]]] = {
    "Cortex.name(path, mapper)": {"path": _always(["a", "b"])},
    "Name.name(suffix, mapper)": {"suffix": _always(["a", "b"])},
}
"""Valid values that go with each other: a mapper needs something to map."""
NEEDING: Final = ("mapper",)
"""Parameters that need their companions."""
ALTERNATIVES: Final = {"compare": "key"}
"""Parameters that are given instead of another, and so not in a valid call that has the other."""


def forms() -> Iterator[Form]:
    """Return the forms of the public operations that take arguments, in a stable order."""
    yield from _forms(None, "substrates.cortex", substrates.cortex)
    for name in sorted(substrates.__all__):
        owner = getattr(substrates, name)
        if not inspect.isclass(owner) or name in UNCHECKED:
            continue
        for operation in sorted(dir(owner)):
            if operation.startswith("_") and operation not in OPERATORS:
                continue
            function = inspect.getattr_static(owner, operation)
            if isinstance(function, (staticmethod, classmethod)):
                function = function.__func__
            if inspect.isfunction(function) and function.__module__.startswith("substrates"):
                yield from _forms(owner, operation, function)


def _forms(owner: type[Any] | None, operation: str, function: Callable[..., Any]) -> Iterator[Form]:
    for form in typing.get_overloads(function) or [function]:
        parameters = tuple(inspect.signature(form).parameters.values())
        if owner is not None:
            parameters = parameters[1:]
        if parameters:
            yield Form(owner, operation, parameters)


def argument(form: Form, parameter: inspect.Parameter) -> Argument | None:
    """Return the kind of argument that `parameter` takes, None if that is unknown."""
    particular = PARTICULAR.get(f"{form.place}({parameter.name})")
    if particular is not None:
        return particular
    annotation = str(parameter.annotation).removesuffix(" | Unset")
    if re.fullmatch(r"Callable\[.*\]", annotation):
        return CHECKED
    return PARAMETERS.get(annotation)


def call(form: Form, receiver: Any, bench: Bench, parameter: str | None = None, wrong: Any = None) -> object:
    """Call an operation with valid arguments, but `wrong` for `parameter`.

    With a wrong argument, optional ones that it does not need are left out.
    """
    companions = COMPANIONS.get(str(form), {})
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    behind = False
    for each in form.parameters:
        here = each.name == parameter
        keyword = each.kind is inspect.Parameter.KEYWORD_ONLY
        optional = each.default is not inspect.Parameter.empty
        if parameter is None:
            left_out = each.name in ALTERNATIVES
        else:
            left_out = optional and not here and (keyword or behind)
        if left_out:
            continue
        behind = behind or here
        if here:
            value = wrong
        elif each.name in companions and (parameter is None or parameter in NEEDING):
            value = companions[each.name](bench)
        else:
            kind = argument(form, each)
            assert kind is not None, f"{form}: no valid argument is known for {each}"
            value = kind.valid(bench)
        if keyword:
            keywords[each.name] = value
        else:
            positional.append(value)
    function = getattr(receiver, form.operation) if form.owner else receiver
    result: object = function(*positional, **keywords)
    return result


def cases() -> dict[str, Case]:
    """Return the cases by their labels, which are unique and the same in every run."""
    found: dict[str, Case] = {}

    def add(label: str, case: Case) -> None:
        number = 2
        unique = label
        while unique in found:
            unique = f"{label}#{number}"
            number += 1
        found[unique] = case

    for form in forms():
        for parameter in form.parameters:
            label = f"{form} {parameter.name}"
            kind = argument(form, parameter)
            if kind is None:
                add(f"{label} unknown", Case(form, parameter.name, "unknown", None))
                continue
            for (category, what), make in kind.wrong.items():
                add(f"{label} {category} {what}", Case(form, parameter.name, category, make))
    return found
