"""Runs a program on a provider and compares."""

from __future__ import annotations

from typing import Any

from .legal import illegal
from .model import Outcome, expected
from .program import Program
from .script import script

__all__ = ["check"]


def check(program: Program, provider: str, bound_s: float) -> None:
    """Run `program` on `provider`.

    Raises:
        AssertionError: it did not do what the model says, or did not end in time; the message holds the
            program as a script.
        TooLongError: the program does more than it is worth.
    """
    outcome = expected(program)
    source = script(program, provider, bound_s)
    names: dict[str, Any] = {"__name__": "generated"}
    try:
        exec(compile(source, "<generated program>", "exec"), names)
    except Exception as error:
        raise AssertionError(_report(f"it raised {error!r}", program, provider, bound_s, outcome)) from error
    difference = _difference(program, outcome, names)
    if difference is not None:
        raise AssertionError(_report(difference, program, provider, bound_s, outcome))


def _difference(program: Program, outcome: Outcome, names: dict[str, Any]) -> str | None:
    if program.producers:
        return illegal(program, names["received"][0])
    for what, got, wanted in (
        ("received", names["received"], outcome.received),
        ("called back", names["called"], outcome.called),
        ("closed", [sorted(each) for each in names["closed"]], outcome.closed),
        ("refused", names["refused"], outcome.refused),
        ("cells", names["values"], outcome.cells),
    ):
        if got != wanted:
            return f"{what}: {got}\nthe model: {wanted}"
    return None


def _report(what: str, program: Program, provider: str, bound_s: float, outcome: Outcome) -> str:
    text = script(program, provider, bound_s, None if program.producers else outcome)
    return f"{provider} differs from the model\n{what}\nthe program, to be run as it is:\n\n{text}"
