"""Providers in turn on one workload: A, B, then B, A, then A, B and so on, every turn a process of its own.

A fresh interpreter makes memory comparable, and taking turns spreads what the machine does meanwhile over all
of them alike. The providers are compared turn by turn: a ratio is the geometric mean of the ratios within the
turns, and its interval is that of Student's t for the mean of their logarithms (`intervals.paired`). Every
run verifies itself; the first that fails ends the comparison.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median, stdev
from threading import Thread
from time import monotonic
from typing import Any, Final

from substrates import spi

from .. import environment
from ..children import finish
from ..console import Console
from ..errors import INTERRUPTED, Failure, Refusal
from ..evidence import Evidence, uninterrupted
from ..intervals import CONFIDENCE, paired
from ..tables import Columns, figure_text, many_text
from ..workload import Plan, Summary, Workload
from .lines import SCHEMA, Line, confidence_text, records, table_text

__all__ = ["Entrant", "Record", "Turn", "advice", "entrants", "interleaved", "lines_of"]

TURNS: Final = "turns"
"""The folder in the evidence that has the evidence of each turn."""
FEW_TURNS: Final = 3
"""With two, the interval is 12.7 times their error."""
QUIET_CV_PERCENT: Final = 3.0
TOLD: Final = 10
"""Last lines of a failed process that are passed on."""


@dataclass(frozen=True)
class Entrant:
    """One of the compared: a provider, maybe more than once, which shows what the noise alone does.

    Attributes:
        label: unlike that of any other.
        provider: its name.
        version: its version.
    """

    label: str
    provider: str
    version: str


def entrants(providers: Sequence[spi.Provider]) -> list[Entrant]:
    """Return the entrants for `providers`; one that comes again gets a number."""
    found: list[Entrant] = []
    for provider in providers:
        before = sum(each.provider == provider.name for each in found)
        label = f"{provider.name} ({before + 1})" if before else provider.name
        found.append(Entrant(label, provider.name, provider.version))
    return found


@dataclass(frozen=True)
class Turn:
    """A run of one entrant.

    Attributes:
        number: from 1; each entrant has one of that number.
        label: the entrant's.
        seconds: that the process took.
        summary: what it wrote.
    """

    number: int
    label: str
    seconds: float
    summary: Summary


@dataclass
class Record:
    """What is known of a comparison so far."""

    workload: Workload
    plan: Plan
    entrants: Sequence[Entrant]
    repeats: int
    evidence: str
    outcome: str = "interrupted"
    error: str | None = None
    turns: list[Turn] = field(default_factory=list)

    @property
    def labels(self) -> list[str]:
        """The entrants' labels, in the order asked for."""
        return [each.label for each in self.entrants]

    def whole(self) -> list[dict[str, Turn]]:
        """Return the turns that all entrants had, each by label."""
        by_number: dict[int, dict[str, Turn]] = {}
        for turn in self.turns:
            by_number.setdefault(turn.number, {})[turn.label] = turn
        return [turns for turns in by_number.values() if len(turns) == len(self.entrants)]


def interleaved(
    workload: Workload,
    plan: Plan,
    entrants: Sequence[Entrant],
    repeats: int,
    results: Path,
    console: Console,
    deliver: Callable[[dict[str, Any]], None],
) -> int:
    """Run the entrants in turn, compare them and keep the evidence; return the exit status, 0 or interrupted.

    Args:
        workload: that they are compared by.
        plan: what each is to do in a turn.
        entrants: two or more; the others are compared with the first.
        repeats: turns of each.
        results: the folder for the evidence.
        console: what is said goes there.
        deliver: gets the summary for JSON, however the comparison ends.

    Raises:
        Refusal: the evidence cannot be kept, or a turn was refused.
        Failure: a turn was not verified.
    """
    names = "-".join(each.provider for each in entrants)
    evidence = Evidence(results, f"compare-{workload.name}", names)
    record = Record(workload, plan, entrants, repeats, str(evidence.folder))
    console.keep_in(evidence)
    try:
        return _recorded(record, evidence, console, deliver)
    finally:
        console.keep_in(None)
        evidence.close()


def _recorded(
    record: Record, evidence: Evidence, console: Console, deliver: Callable[[dict[str, Any]], None]
) -> int:
    for line in _opening(record):
        console.say(line)
    described = environment.surroundings(*(each.provider for each in record.entrants))
    evidence.write_json("environment", described)
    evidence.write_json("source", environment.source())
    try:
        _measure(record, evidence.folder / TURNS, console)
        record.outcome = "complete"
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        record.outcome = "failed"
        record.error = (
            error.message if isinstance(error, (Failure, Refusal)) else f"{type(error).__name__}: {error}"
        )
        evidence.log(f"error: {record.error}")
        raise
    finally:
        console.clear()
        with uninterrupted():
            content = _summary(record)
            evidence.write_json("summary", content)
            evidence.write_json("environment", described | {"providers": _providers(record)})
            deliver(content)
    for line in _closing(record):
        console.say(line)
    for text in advice(record):
        console.warn(text)
    return 0 if record.outcome == "complete" else INTERRUPTED


def _measure(record: Record, folder: Path, console: Console) -> None:
    metrics = record.workload.metrics
    shown = Columns(
        ["Turn", "Provider", "Seconds", *(metric.title for metric in metrics)],
        [4, max(map(len, record.labels)), 7, *[9] * len(metrics)],
    )
    console.say()
    console.say(shown.head())
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(1, record.repeats + 1):
            for entrant in _order(record.entrants, number):
                turn = _turn(record, entrant, number, folder, Path(scratch), console)
                record.turns.append(turn)
                console.say(
                    shown.row(
                        [
                            str(number),
                            entrant.label,
                            figure_text(turn.seconds, digits=1),
                            *(metric.text(metric.value(turn.summary)) for metric in metrics),
                        ]
                    )
                )


def _order(entrants: Sequence[Entrant], number: int) -> list[Entrant]:
    """Return who comes when in a turn: each is the first in one turn after the other."""
    first = (number - 1) % len(entrants)
    return [*entrants[first:], *entrants[:first]]


def _turn(
    record: Record, entrant: Entrant, number: int, folder: Path, scratch: Path, console: Console
) -> Turn:
    """Run an entrant in a process of its own.

    Raises:
        Failure: it was not verified.
        Refusal: it was refused.
        KeyboardInterrupt: so came Ctrl-C.
    """
    where = f"turn {number} of {record.repeats}, {entrant.label}"
    console.progress(where)
    file = scratch / f"{len(record.turns)}.json"
    command = [sys.executable, "-m", "perfkit", record.workload.name, "--provider", entrant.provider]
    command += [*record.plan.arguments, "--results", str(folder), "--json", str(file)]
    start = monotonic()
    status, told = _run(command, lambda line: console.progress(_fitting(f"{where}: {line}")))
    seconds = monotonic() - start
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    told = [line for line in told if line.strip()][-TOLD:]
    if status == Refusal.exit_code:
        raise Refusal("\n".join([f"{where}: refused, and said last:", *told]))
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    summary = json.loads(text) if text else None
    if status == 0 and summary is not None and summary["verified"]:
        return Turn(number, entrant.label, seconds, summary)
    reason = f"{where}: not verified"
    if summary is not None and summary["error"]:
        raise Failure(f"{reason}: {summary['error']}\nits evidence: {summary['evidence']}")
    raise Failure("\n".join([f"{reason}: {_ending(status)}, and it said last:", *told]))


def _run(command: Sequence[str], progress: Callable[[str], None]) -> tuple[int, list[str]]:
    """Run a process; return its exit status and the lines it wrote, each of which goes to `progress` too."""
    lines: list[str] = []

    def read(stream: Any) -> None:
        for line in stream:
            lines.append(line.rstrip())
            if lines[-1]:
                progress(lines[-1])

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as child:
        reader = Thread(target=read, args=(child.stdout,), name="perfkit-compare-output")
        reader.start()
        try:
            status = finish(child)
        finally:
            reader.join()
    return status, lines


def _fitting(text: str) -> str:
    """Return as much of `text` as a line of the terminal takes."""
    return text[: shutil.get_terminal_size().columns - 1]


def _ending(status: int) -> str:
    if status >= 0:
        return f"the process ended with status {status}"
    return f"the process was ended by {signal.Signals(-status).name}"


# -- what is said and kept


def lines_of(record: Record) -> list[Line]:
    """Return the comparison over the turns that all had: medians, and paired ratios."""
    whole = record.whole()
    lines = []
    for metric in record.workload.metrics:
        values = [[metric.value(turns[label].summary) for turns in whole] for label in record.labels]
        known = [[value for value in each if value is not None] for each in values]
        lines.append(
            Line(
                metric,
                [median(each) if each else None for each in known],
                [paired(values[0], other) for other in values[1:]],
            )
        )
    return lines


def advice(record: Record) -> Iterator[str]:
    """Yield what the reader should know before trusting the ratios, and what to do about it."""
    whole = record.whole()
    if len(whole) < FEW_TURNS:
        effect = "too few for an interval" if len(whole) < 2 else "too few for a narrow interval"
        yield f"{many_text(len(whole), 'turn')} of each: {effect}; use --repeats {FEW_TURNS} or more"
    first = record.workload.metrics[0]
    for label in record.labels:
        values = [first.value(turns[label].summary) for turns in whole]
        known = [value for value in values if value is not None]
        cv = 100 * stdev(known) / fmean(known) if len(known) > 1 else 0.0
        if cv > QUIET_CV_PERCENT:
            yield (
                f"the turns of {label} vary by {cv:.1f} % (cv of {first.title}), {QUIET_CV_PERCENT:g} % or"
                " less is quiet; use a quiet machine, or more --repeats"
            )
    warned = [turn for turn in record.turns if turn.summary["warnings"]]
    if warned:
        turn = warned[0]
        yield (
            f"{len(warned)} of {many_text(len(record.turns), 'run')} gave warnings, the first one (turn"
            f" {turn.number}, {turn.label}): {turn.summary['warnings'][0]}"
        )


def _opening(record: Record) -> Iterator[str]:
    name = record.workload.name
    if record.plan.announcement is not None:
        yield f"{name}, {record.plan.announcement}"
    entrants = ", ".join(f"{each.label} {each.version}" for each in record.entrants)
    yield (
        f"{name} on {entrants}, in turn, {many_text(record.repeats, 'turn')} each; in a turn:"
        f" {record.plan.description}"
    )
    yield f"evidence: {record.evidence}"


def _closing(record: Record) -> Iterator[str]:
    whole = record.whole()
    yield ""
    if not whole:
        yield f"{record.outcome}: not all had a whole turn"
    else:
        yield table_text(record.labels, lines_of(record))
        yield ""
        yield (
            f"medians of {many_text(len(whole), 'turn')}; ratios: geometric means of the turns' ratios, with"
            f" {confidence_text()} intervals by Student's t; better or worse: the interval leaves 1 out"
        )
        if record.outcome == "complete":
            yield f"verified: all {many_text(len(record.turns), 'run')}"
        else:
            yield f"{record.outcome}: the turns above were verified, the comparison is not whole"
    yield f"evidence: {record.evidence}"


def _summary(record: Record) -> dict[str, Any]:
    """Return the comparison for JSON."""
    return {
        "schema": SCHEMA,
        "workload": "compare",
        "kind": "interleaved",
        "compared": record.workload.name,
        "providers": [
            {"label": each.label, "name": each.provider, "version": each.version} for each in record.entrants
        ],
        "parameters": record.plan.parameters | {"repeats": record.repeats},
        "outcome": record.outcome,
        "verified": record.outcome == "complete",
        "error": record.error,
        "confidence": CONFIDENCE,
        "metrics": records(record.labels, lines_of(record)),
        "turns": [
            {
                "turn": turn.number,
                "label": turn.label,
                "seconds": turn.seconds,
                "verified": turn.summary["verified"],
                "figures": {metric.key: metric.value(turn.summary) for metric in record.workload.metrics},
                "warnings": turn.summary["warnings"],
                "evidence": f"{TURNS}/{Path(turn.summary['evidence']).name}",
            }
            for turn in record.turns
        ],
        "warnings": list(advice(record)),
        "evidence": record.evidence,
    }


def _providers(record: Record) -> dict[str, Any]:
    """Return what the first turn of each entrant tells of its provider."""
    found: dict[str, Any] = {}
    for turn in record.turns:
        if turn.label not in found:
            file = Path(turn.summary["evidence"]) / "environment.json"
            found[turn.label] = json.loads(file.read_text(encoding="utf-8")).get("provider")
    return found
