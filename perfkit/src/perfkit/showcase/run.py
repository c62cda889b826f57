"""The whole run: floors, build, rounds, verification, floors again; and what is kept, however it ends."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty
from time import monotonic, perf_counter
from typing import Any

import substrates
from substrates import Cortex, spi

from .. import environment, machine
from ..console import Console
from ..errors import INTERRUPTED, Failure
from ..evidence import Evidence, uninterrupted
from ..floor import Floor, FloorError, compiled
from ..rounds import Meter, Round, fact
from . import report
from .parameters import Parameters
from .population import Population, crew_of
from .race import SHOWN, await_tokens

__all__ = ["Memory", "Outcome", "Record", "run"]


@dataclass(frozen=True)
class Memory:
    """What is held at one moment, in bytes; None where unknown."""

    resident: int | None
    engine: int | None

    @staticmethod
    def now(cortex: Cortex) -> Memory:
        """Return what is held once garbage is gone."""
        gc.collect()
        return Memory(machine.resident_bytes(), fact(cortex, "engine_bytes"))


class Outcome:
    """How a run can end."""

    COMPLETE = "complete"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass
class Record:
    """What is known of a run so far."""

    parameters: Parameters
    provider: str
    version: str
    cores: int
    evidence: str
    parallel: bool
    outcome: str = Outcome.INTERRUPTED
    error: str | None = None
    build_s: float | None = None
    empty: Memory | None = None
    built: Memory | None = None
    rounds: list[Round] = field(default_factory=list)
    ended: Memory | None = None
    measured_s: float = 0.0
    busy_s: float | None = 0.0
    stolen_s: float | None = 0.0
    floor: Floor | None = None
    floor_reason: str | None = None
    faults: int = 0
    first_fault: str | None = None


def run(
    provider: spi.Provider,
    parameters: Parameters,
    results: Path,
    console: Console,
    deliver: Callable[[dict[str, Any]], None],
) -> int:
    """Run the showcase and keep its evidence; return the exit status, 0 or that of an interruption.

    Args:
        provider: whose cortex is measured.
        parameters: what is run.
        results: the folder for the evidence.
        console: what is said goes there.
        deliver: gets the summary for JSON, however the run ends.

    Raises:
        Refusal: the evidence cannot be kept.
        Failure: verification failed or a token did not come through.
    """
    evidence = Evidence(results, "showcase", provider.name)
    record = Record(
        parameters,
        provider.name,
        provider.version,
        machine.usable_cores(),
        str(evidence.folder),
        "parallel" in provider.capabilities,
    )
    console.keep_in(evidence)
    try:
        return _recorded(record, evidence, provider, console, deliver)
    finally:
        console.keep_in(None)
        evidence.close()


def _recorded(
    record: Record,
    evidence: Evidence,
    provider: spi.Provider,
    console: Console,
    deliver: Callable[[dict[str, Any]], None],
) -> int:
    for line in report.opening(record):
        console.say(line)
    cortex = substrates.cortex(provider.name)
    cortex.on_fault(partial(_note_fault, record))
    evidence.write_json("environment", environment.describe(provider, cortex))
    evidence.write_json("source", environment.source())
    showcase = _Showcase(record, cortex, console)
    crew = crew_of(record.parameters)
    try:
        try:
            showcase.run(crew)
            record.outcome = Outcome.COMPLETE
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            record.outcome = Outcome.FAILED
            record.error = error.message if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            raise
        finally:
            console.clear()
            with uninterrupted():
                _keep(record, evidence, provider, cortex)
                deliver(report.summary(record))
        for line in report.closing(record):
            console.say(line)
        for advice in report.advice(record):
            console.warn(advice)
        return 0 if record.outcome == Outcome.COMPLETE else INTERRUPTED
    finally:
        cortex.on_fault(None)
        showcase.close()


def _keep(record: Record, evidence: Evidence, provider: spi.Provider, cortex: Cortex) -> None:
    evidence.write_json("environment", environment.describe(provider, cortex) | report.compiler(record))
    if record.error is not None:
        evidence.log(f"error: {record.error}")
    evidence.write_json("summary", report.summary(record))
    evidence.write_rows("rounds", *report.rows(record))


def _note_fault(record: Record, _: Any, error: BaseException) -> None:
    record.faults += 1
    if record.first_fault is None:
        record.first_fault = f"{type(error).__name__}: {error}"


class _Showcase:
    """The steps, each of which adds to the record."""

    def __init__(self, record: Record, cortex: Cortex, console: Console) -> None:
        self._record = record
        self._parameters = record.parameters
        self._cortex = cortex
        self._console = console
        self._population: Population | None = None
        self._base = 0

    def run(self, crew: type[Population]) -> None:
        record = self._record
        self._open_floor()
        if record.floor is not None:
            self._console.progress("floors, before")
            record.floor.sample(record.floor.before)
            self._console.say(report.floor_line(record.floor))
        elif record.floor_reason is not None:
            self._console.say(f"floors: n/a ({record.floor_reason})")
        population = self._build(crew)
        self._console.say(report.build_line(record))
        self._rounds(population)
        self._settle(population)
        record.ended = Memory.now(self._cortex)
        if record.floor is not None:
            self._console.progress("floors, after")
            record.floor.sample(record.floor.after)

    def close(self) -> None:
        """Close the circuits."""
        if self._population is not None:
            self._console.progress("closing")
            self._population.close()
            self._console.clear()

    def _open_floor(self) -> None:
        record = self._record
        if not self._parameters.floor:
            record.floor_reason = "--no-floor"
            return
        try:
            record.floor = Floor(compiled(), self._parameters.burst, record.cores)
        except FloorError as error:
            record.floor_reason = str(error)

    def _build(self, crew: type[Population]) -> Population:
        record = self._record
        if self._parameters.receptor == "kernel":
            from . import relay  # noqa: F401 - compiles the kernel, whose time and memory are not the circuits'
        record.empty = Memory.now(self._cortex)
        start = perf_counter()
        population = self._population = crew(self._cortex, self._parameters)
        population.build(lambda done, of: self._console.progress(f"building: {done:,} of {of:,} circuits"))
        record.build_s = perf_counter() - start
        record.built = Memory.now(self._cortex)
        return population

    def _rounds(self, population: Population) -> None:
        parameters = self._parameters
        table = report.live(parameters)
        self._console.say()
        self._console.say(table.head())
        meter = Meter(self._cortex)
        for number in range(1, parameters.warmup + 1):
            self._round(population, meter, f"warm-up {number}", warmup=True)
        start = monotonic()
        number = 0
        while self._more(number, monotonic() - start):
            number += 1
            self._round(population, meter, str(number), warmup=False)
            self._record.measured_s = monotonic() - start

    def _more(self, done: int, elapsed_s: float) -> bool:
        """Tell whether to measure another round; there is always one."""
        if self._parameters.rounds is not None:
            return done < self._parameters.rounds
        return done == 0 or elapsed_s < 60 * (self._parameters.minutes or 0)

    def _round(self, population: Population, meter: Meter, name: str, *, warmup: bool) -> None:
        parameters, record = self._parameters, self._record

        def progress(share: float) -> None:
            self._console.progress(f"round {name}: {100 * share:.0f} %")

        before = machine.Usage.now()
        meter.start()
        population.start()
        await_tokens(population, parameters.burst, self._base, parameters.stall_s, progress)
        done = meter.stop(
            warmup=warmup,
            deliveries=parameters.deliveries,
            handoffs=parameters.handoffs,
            visits=parameters.circuits,
        )
        after = machine.Usage.now()
        self._console.progress(f"round {name}: verifying")
        self._verify(population, f"round {name}", self._base + parameters.burst)
        self._base += parameters.burst
        record.rounds.append(done)
        if not warmup:
            self._note_usage(before, after)
        self._console.say(
            report.live(parameters).row(report.live_cells(parameters, record.cores, name, done))
        )

    def _note_usage(self, before: machine.Usage | None, after: machine.Usage | None) -> None:
        record = self._record
        if before is None or after is None:
            record.busy_s = record.stolen_s = None
            return
        if record.busy_s is not None:
            record.busy_s += after.busy - before.busy
        if before.stolen is None or after.stolen is None or record.stolen_s is None:
            record.stolen_s = None
        else:
            record.stolen_s += after.stolen - before.stolen

    def _verify(self, population: Population, name: str, expected: int) -> None:
        """Check every circuit's count.

        Raises:
            Failure: one is wrong, or a signal is left over.
        """
        unequal = population.unequal(expected)
        if unequal:
            raise Failure(self._miscount_text(population, name, unequal))
        try:
            chain = population.arrived.get_nowait()
        except Empty:
            return
        raise Failure(f"{name}: chain {chain + 1} has signalled twice: a value was delivered twice")

    def _miscount_text(self, population: Population, name: str, unequal: list[tuple[int, int]]) -> str:
        burst = self._parameters.burst
        named = "; ".join(
            f"circuit {place + 1:,} made {count - self._base:,}" for place, count in unequal[:SHOWN]
        )
        more = f"; and {len(unequal) - SHOWN:,} more" if len(unequal) > SHOWN else ""
        return (
            f"{name}: not verified, {len(unequal):,} of {len(population.pipes):,} circuits did not make"
            f" exactly {burst:,} deliveries: {named}{more}"
        )

    def _settle(self, population: Population) -> None:
        """Let what may still be under way arrive, and check once more."""
        try:
            population.settle(self._parameters.stall_s)
        except TimeoutError as error:
            raise Failure(f"after the last round: a circuit does not come to rest: {error}") from error
        self._base -= self._parameters.burst
        self._verify(population, "after the last round", self._base + self._parameters.burst)
