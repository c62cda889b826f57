"""Two runs that were kept, each a results folder, against each other.

What differs by less than the combined error of both runs is marked as such: figures that are made of rounds
are compared by Welch's t for the means of their logarithms (`intervals.unpaired`), those that a run has one
value of are shown without an error. Rounds of one process tell nothing of what differs from one process to
the next, so a comparison in turn (`turns`) is the surer one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..console import Console
from ..errors import Failure, Refusal
from ..intervals import CONFIDENCE, Ratio, unpaired
from ..tables import many_text
from ..workload import Metric, Workload
from .lines import SCHEMA, Line, confidence_text, records, table_text

__all__ = ["compared"]

LABELS: Final = ("A", "B")
MACHINE: Final = ("cpu", "architecture", "cores", "usable_cores", "memory_bytes")
"""By which two machines are told apart."""
ALIKE: Final = 0.01
"""Share of the memory by which a machine's own differs from one start of its kernel to the next."""
FOREIGN: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError)
"""What reading a summary raises that perfkit did not write."""


@dataclass(frozen=True)
class Run:
    """A kept run, as its folder has it."""

    folder: Path
    summary: dict[str, Any]
    environment: dict[str, Any]

    def describe(self) -> str:
        """Return what it is, in a line.

        Raises:
            KeyError: something is missing; and the others of `FOREIGN`.
        """
        provider, python = self.summary["provider"], self.environment["python"]
        return (
            f"{self.folder}: {self.summary['workload']} on {provider['name']} {provider['version']},"
            f" Python {python['version'].split()[0]}, {self.environment['system']['kernel']}"
        )


def compared(
    workloads: Mapping[str, Workload],
    folders: tuple[Path, Path],
    console: Console,
    deliver: Callable[[dict[str, Any]], None],
    *,
    force: bool,
) -> None:
    """Compare two kept runs.

    Args:
        workloads: those known, by name.
        folders: of the runs.
        console: what is said goes there.
        deliver: gets the comparison for JSON.
        force: compare runs of different machines too.

    Raises:
        Refusal: a folder is none of a run, or the runs are not of the same work, schema and machine.
        Failure: a run was not verified.
    """
    first, other = runs = (_load(folders[0]), _load(folders[1]))
    workload = _workload(workloads, *runs)
    foreign = _machines(*runs)
    if foreign and not force:
        raise Refusal(
            f"{first.folder} and {other.folder}: runs of different machines ({foreign}), whose figures"
            " tell of the machines; --force compares them all the same"
        )
    for run in runs:
        if run.summary["verified"] is not True:
            reason = run.summary.get("error") or run.summary.get("outcome")
            raise Failure(f"{run.folder}: was not verified ({reason}), so its figures stand for nothing")
    lines = [_line(metric, *runs) for metric in workload.metrics]
    warnings = list(_advice(*runs, foreign))
    told = [f"{label}: {_read(run, Run.describe)}" for label, run in zip(LABELS, runs, strict=True)]
    for text in told:
        console.say(text)
    console.say()
    console.say(table_text(LABELS, lines))
    console.say()
    console.say(
        "values: as each run tells them; ratios: of geometric means, with"
        f" {confidence_text()} intervals from the error of both runs (Welch's t); within the error: the"
        " interval has 1 in it; n/a: one value a run, of which no error is known"
    )
    for text in warnings:
        console.warn(text)
    deliver(
        {
            "schema": SCHEMA,
            "workload": "compare",
            "kind": "kept",
            "compared": workload.name,
            "runs": [
                {"label": label, "folder": str(run.folder), "provider": run.summary["provider"]}
                for label, run in zip(LABELS, runs, strict=True)
            ],
            "parameters": {key: first.summary["parameters"][key] for key in workload.work},
            "verified": True,
            "different_machines": foreign,
            "confidence": CONFIDENCE,
            "metrics": records(LABELS, lines),
            "warnings": warnings,
        }
    )


def _load(folder: Path) -> Run:
    if not folder.is_dir():
        raise Refusal(f"{folder}: no such folder; give two that `perfkit` made, such as results/<run>")
    return Run(folder, _json(folder / "summary.json"), _json(folder / "environment.json"))


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refusal(
            f"{file.parent}: no run, it has no {file.name}; give a folder that `perfkit` made"
        ) from None
    except OSError as error:
        raise Refusal(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise Refusal(f"{file}: not JSON, or cut off ({error}); run the workload again") from error
    if not isinstance(content, dict):
        raise Refusal(f"{file}: not a run, but a JSON {type(content).__name__}; run the workload again")
    return content


def _workload(workloads: Mapping[str, Workload], first: Run, other: Run) -> Workload:
    """Return what both runs ran.

    Raises:
        Refusal: it is not the same, or not known here.
    """
    names = [_read(run, lambda run: str(run.summary["workload"])) for run in (first, other)]
    for run, name in zip((first, other), names, strict=True):
        if name == "compare":
            raise Refusal(f"{run.folder}: is a comparison; give a run, such as one in {run.folder / 'turns'}")
        if name not in workloads:
            known = ", ".join(workloads)
            raise Refusal(f"{run.folder}: workload {name!r} cannot be compared; those that can: {known}")
    if names[0] != names[1]:
        raise Refusal(f"{first.folder} and {other.folder}: different workloads, {names[0]} and {names[1]}")
    workload = workloads[names[0]]
    schemas = [_read(run, lambda run: run.summary["schema"]) for run in (first, other)]
    if schemas[0] != schemas[1]:
        raise Refusal(
            f"{first.folder} and {other.folder}: different schema versions, {schemas[0]!r} and"
            f" {schemas[1]!r}; run one of them again, with the other's perfkit"
        )
    if schemas[0] != workload.schema:
        raise Refusal(
            f"{first.folder} and {other.folder}: of schema version {schemas[0]!r}, this perfkit reads"
            f" {workload.schema}; run them again"
        )
    work = [
        _read(run, lambda run: {key: run.summary["parameters"][key] for key in workload.work})
        for run in (first, other)
    ]
    different = ", ".join(
        f"{key} {_plain(work[0][key])} and {_plain(work[1][key])}"
        for key in workload.work
        if work[0][key] != work[1][key]
    )
    if different:
        raise Refusal(
            f"{first.folder} and {other.folder}: different parameters, {different}; run one of them again"
        )
    return workload


def _machines(first: Run, other: Run) -> str:
    """Return in what the machines of two runs differ, nothing if they do not."""
    facts = [
        _read(run, lambda run: {key: run.environment["machine"][key] for key in MACHINE}, "environment.json")
        for run in (first, other)
    ]
    return ", ".join(
        f"{key} {_plain(facts[0][key])} and {_plain(facts[1][key])}"
        for key in MACHINE
        if not _alike(facts[0][key], facts[1][key], exact=key != "memory_bytes")
    )


def _alike(first: Any, other: Any, *, exact: bool) -> bool:
    if exact or not isinstance(first, int) or not isinstance(other, int):
        return bool(first == other)
    return abs(first - other) <= ALIKE * max(first, other)


def _line(metric: Metric, first: Run, other: Run) -> Line:
    values = [_read(run, lambda run: metric.value(run.summary)) for run in (first, other)]
    samples = [_read(run, lambda run: metric.samples(run.summary)) for run in (first, other)]
    ratio = unpaired(*samples)
    if ratio is None and values[0] and values[1] and min(values[0], values[1]) > 0:
        ratio = Ratio(values[1] / values[0])
    return Line(metric, values, [ratio])


def _advice(first: Run, other: Run, foreign: str) -> list[str]:
    """Return what the reader should know before trusting the ratios."""
    found = [f"the machines differ: {foreign}"] if foreign else []
    warmups = [_read(run, lambda run: run.summary["parameters"]["warmup"]) for run in (first, other)]
    if warmups[0] != warmups[1]:
        found.append(f"A had {many_text(warmups[0], 'warm-up round')}, B {warmups[1]}")
    for label, run in zip(LABELS, (first, other), strict=True):
        found += [f"{label} warned: {text}" for text in _read(run, lambda run: run.summary["warnings"])]
    return found


def _read(run: Run, get: Callable[[Run], Any], name: str = "summary.json") -> Any:
    """Return what `get` finds in a run.

    Raises:
        Refusal: the run is not as perfkit writes it.
    """
    try:
        return get(run)
    except FOREIGN as error:
        raise Refusal(
            f"{run.folder / name}: not as perfkit writes it ({type(error).__name__}: {error});"
            " run the workload again"
        ) from error


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
