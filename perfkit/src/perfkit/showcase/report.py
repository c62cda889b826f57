"""What the run says: lines while it goes, tables and JSON at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..floor import KINDS, Floor, median_of
from ..rounds import Round, Series
from ..tables import (
    NA,
    Columns,
    bytes_text,
    count_text,
    figure_text,
    many_text,
    percent_text,
    rate_text,
    table,
)
from .parameters import Parameters

if TYPE_CHECKING:
    from .run import Record

__all__ = [
    "advice",
    "build_line",
    "closing",
    "compiler",
    "figures",
    "floor_line",
    "live",
    "live_cells",
    "opening",
    "rows",
    "summary",
    "work_text",
]

SCHEMA: Final = 1
"""Raised when a key of the summary changes its meaning or goes away."""
QUIET_CV_PERCENT: Final = 3.0
BUSY_PERCENT: Final = 97.0
FOREIGN_PERCENT: Final = 1.0
COARSE_S: Final = 1.0
"""Processor time below which the kernel's counts, kept in ticks of 10 ms, say little of a hundredth."""
DRIFT: Final = 0.05
FEW_ROUNDS: Final = 3
BUILDS: Final = {"loop": "one by one, Python's collector held off", "population": "as a population"}
SHORT_S: Final = 0.1
"""From here on a round's start and end, some 50 µs of waking threads, are under a thousandth of it."""
LITTLE: Final = 10
"""Bytes per visit below which decimals are shown."""
VISITS_MATTER: Final = 100
"""Up to this burst the hand-off is a good part of a visit, so that its cost is shown per round."""


def opening(record: Record) -> Iterator[str]:
    """Yield the first lines: what is smaller by default, then what is run."""
    parameters = record.parameters
    announcement = parameters.announcement()
    if announcement is not None:
        yield f"showcase on {record.provider}, {announcement}"
    kind = "kernel" if parameters.native else "kernel (as Python)"
    if parameters.receptor == "python":
        kind = "Python"
    yield f"showcase on {record.provider} {record.version}: {work_text(parameters, kind, record.cores)}"
    yield f"evidence: {record.evidence}"


def work_text(parameters: Parameters, kind: str, cores: int) -> str:
    """Return what is run, with receptors of that `kind`, on how many usable processors."""
    length = many_text(parameters.rounds, "round") if parameters.rounds else f"{parameters.minutes:g} minutes"
    return (
        f"{many_text(parameters.circuits, 'circuit')} in {many_text(parameters.tokens, 'chain')}, burst"
        f" {parameters.burst:,}, {kind} receptors, {many_text(parameters.warmup, 'warm-up round')}, then"
        f" {length}, on {many_text(cores, 'usable processor')}"
    )


def floor_line(floor: Floor) -> str:
    """Return the line on the floors before the rounds."""
    samples = {kind: min(floor.before[kind]) for kind in KINDS}
    medians = ", ".join(
        f"{kind} {figure_text(floor.ns(kind), 'ns')} (best {samples[kind]:.2f})" for kind in KINDS
    )
    return f"floors, processor time per delivery on {floor.cores} processors at once: {medians}"


def build_line(record: Record) -> str:
    """Return the line on the build and on what it holds."""
    held = _per_circuit(record, "built")
    return (
        f"built {record.parameters.circuits:,} circuits in {figure_text(record.build_s, 's')},"
        f" {BUILDS[record.parameters.build]};"
        f" {count_text(held['total'], 'bytes')} per circuit: engine {count_text(held['engine'])},"
        f" Python {count_text(held['python'])}"
    )


def live(parameters: Parameters) -> Columns:
    """Return the table that rounds are shown in as they end."""
    titles = [title for title, _ in _columns(parameters)]
    return Columns(titles, [width for _, width in _columns(parameters)])


def _columns(parameters: Parameters) -> list[tuple[str, int]]:
    visit = [("CPU ns/visit", 12)] if parameters.burst <= VISITS_MATTER else []
    return [
        ("Round", 9),
        ("Seconds", 8),
        ("Deliveries/s", 12),
        ("Hand-offs/s", 11),
        ("Busy", 7),
        ("CPU ns/delivery", 15),
        *visit,
        ("Bytes/visit", 11),
        ("Collections", 11),
        ("Resident", 9),
    ]


def live_cells(parameters: Parameters, cores: int, name: str, done: Round) -> list[str]:
    """Return a round's row of `live`."""
    visit = [figure_text(done.cpu_ns_per_visit, digits=1)] if parameters.burst <= VISITS_MATTER else []
    return [
        name,
        figure_text(done.seconds, digits=3),
        rate_text(done.deliveries_per_s),
        rate_text(done.handoffs_per_s),
        percent_text(done.busy_percent(cores)),
        figure_text(done.cpu_ns_per_delivery),
        *visit,
        _bytes_per_visit(done.allocated_bytes_per_visit),
        count_text(done.collections),
        bytes_text(done.rss_bytes),
    ]


def _bytes_per_visit(value: float | None) -> str:
    """Return whole bytes, but never 0 for a little."""
    if value is None or value == 0 or value >= LITTLE:
        return count_text(value)
    return figure_text(value) if value >= 0.01 else "< 0.01"


def closing(record: Record) -> Iterator[str]:
    """Yield the tables at the end."""
    series = Series(record.rounds)
    yield ""
    if not series:
        yield f"{record.outcome}: no round was measured"
        yield f"evidence: {record.evidence}"
        return
    yield table(["Figure", "This run"], list(figures(summary(record))))
    yield ""
    yield table(
        ["Rounds", "Slowest round", "Median round", "Fastest round", "First 10 rounds", "Last 10 rounds"],
        [
            [
                str(len(series)),
                rate_text(series.slowest()),
                rate_text(series.median(lambda each: each.deliveries_per_s)),
                rate_text(series.fastest()),
                rate_text(series.first()),
                rate_text(series.last()),
            ]
        ],
    )
    blocks = series.blocks()
    if blocks:
        yield ""
        yield table(
            ["Rounds", "Deliveries per second", "Processor time per delivery"],
            [
                [f"{first} - {last}", rate_text(rate), figure_text(cost, "ns")]
                for first, last, rate, cost in blocks
            ],
        )
    yield ""
    if record.outcome == "complete":
        yield (
            f"verified: each of {many_text(record.parameters.circuits, 'circuit')} made exactly"
            f" {many_text(record.parameters.burst, 'delivery')} in each of"
            f" {many_text(len(record.rounds), 'round')}"
        )
    else:
        yield f"{record.outcome}: the rounds above were verified, the run is not whole"
    yield f"evidence: {record.evidence}"


def figures(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of the seed document's table, then our own, from a summary as JSON has it."""
    floor, memory, parameters = summary["floor"], summary["memory"], summary["parameters"]
    series = [each for each in summary["rounds"] if not each["warmup"]]
    seconds = summary["measured_s"]
    yield "Length", figure_text(seconds, "s", 1) if seconds < 60 else figure_text(seconds / 60, "minutes", 1)
    yield "Deliveries per second", rate_text(summary["deliveries_per_s"])
    yield "Deliveries", count_text(sum(each["deliveries"] for each in series))
    yield "Processor time per delivery", figure_text(summary["cpu_ns_per_delivery"], "ns")
    yield "Hand-offs between circuits per second", count_text(summary["handoffs_per_s"], "/s")
    yield "Round-to-round variation (cv)", percent_text(summary["cv_percent"])
    yield "Processors busy", percent_text(summary["busy_percent"])
    yield "Garbage collections (Python)", count_text(sum(each["collections"] for each in series))
    yield "Memory held per circuit", count_text(memory["total_bytes_per_circuit"], "bytes")
    yield "Memory per circuit, the engine's part", count_text(memory["engine_bytes_per_circuit"], "bytes")
    yield "Memory per circuit, Python's part", count_text(memory["python_bytes_per_circuit"], "bytes")
    yield f"Time to build {parameters['circuits']:,} circuits", figure_text(summary["build_s"], "s")
    yield "Processor time per visit", figure_text(summary["cpu_ns_per_visit"], "ns", 1)
    allocated = _bytes_per_visit(summary["allocated_bytes_per_visit"])
    yield "Bytes allocated per visit", allocated if allocated == NA else f"{allocated} bytes"
    for kind in KINDS:
        yield f"The {kind} floor, processor time per delivery", figure_text(floor[f"{kind}_ns"], "ns")
        before, after = floor[f"{kind}_before_ns"], floor[f"{kind}_after_ns"]
        yield f"The {kind} floor before and after", f"{figure_text(before, 'ns')}, {figure_text(after, 'ns')}"
    for kind in KINDS:
        yield f"Ratio to the {kind} floor", figure_text(floor[f"ratio_{kind}"], "x")


def advice(record: Record) -> Iterator[str]:
    """Yield what should be known before the figures are trusted, each with what to do about it."""
    series, parameters = Series(record.rounds), record.parameters
    if record.faults:
        times = many_text(record.faults, "time")
        yield f"receptors failed {times}, first with {record.first_fault}; see standard error"
    if not series:
        return
    capacity_s = record.cores * sum(each.seconds for each in series)
    own_s = sum(each.cpu_s for each in series)
    if len(series) < FEW_ROUNDS:
        measured = many_text(len(series), "measured round")
        yield f"{measured}: too few to tell noise from speed; use --rounds 3 or more"
    cv = series.cv_percent()
    if cv is not None and cv >= QUIET_CV_PERCENT:
        yield (
            f"rounds vary by {cv:.1f} % (cv), under {QUIET_CV_PERCENT:g} % is quiet; end other work on this"
            " machine, or run longer and compare medians"
        )
    busy = series.median(lambda each: each.busy_percent(record.cores))
    if busy is not None and busy < BUSY_PERCENT and record.parallel:
        if parameters.tokens < record.cores:
            yield (
                f"{many_text(parameters.tokens, 'token')} cannot keep {record.cores} processors busy;"
                f" use --tokens {record.cores}"
            )
        else:
            yield (
                f"the processors were busy for {busy:.1f} % of the time only, {BUSY_PERCENT:g} % is expected;"
                " look for other work on this machine, or for a provider that lets processors idle"
            )
    for share, what in (
        (
            _over(record.stolen_s, capacity_s),
            "was stolen by the hypervisor; use a machine that is not shared",
        ),
        (
            _over(None if record.busy_s is None else record.busy_s - own_s, capacity_s),
            "went to other processes; end them and run again",
        ),
    ):
        if share is not None and 100 * share > FOREIGN_PERCENT and capacity_s > COARSE_S:
            yield f"{100 * share:.1f} % of the processors' time {what}"
    seconds = series.median(lambda each: each.seconds)
    if seconds is not None and seconds < SHORT_S:
        yield (
            f"rounds of {1000 * seconds:.1f} ms are short, so that waking threads shows in them;"
            " raise --burst or --circuits"
        )
    drift = record.floor.drift() if record.floor is not None else None
    if drift is not None and abs(drift) > DRIFT:
        yield (
            f"the lean floor moved by {100 * drift:+.1f} % from before to after the rounds: the machine's"
            " speed changed, so the ratios are rough; run again"
        )


def summary(record: Record) -> dict[str, Any]:
    """Return the run for JSON: medians where a figure stands for the rounds, None where unknown."""
    series = Series(record.rounds)
    held = _per_circuit(record, "ended")
    built = _per_circuit(record, "built")
    cost = series.median(lambda each: each.cpu_ns_per_delivery)
    return {
        "schema": SCHEMA,
        "workload": "showcase",
        "provider": {"name": record.provider, "version": record.version},
        "parameters": record.parameters.record(),
        "usable_cores": record.cores,
        "outcome": record.outcome,
        "verified": record.outcome == "complete",
        "error": record.error,
        "build_s": record.build_s,
        "measured_s": record.measured_s,
        "rounds": [each.record() for each in record.rounds],
        "deliveries_per_s": series.median(lambda each: each.deliveries_per_s),
        "handoffs_per_s": series.median(lambda each: each.handoffs_per_s),
        "cpu_ns_per_delivery": cost,
        "cpu_ns_per_visit": series.median(lambda each: each.cpu_ns_per_visit),
        "busy_percent": series.median(lambda each: each.busy_percent(record.cores)),
        "cv_percent": series.cv_percent(),
        "slowest_deliveries_per_s": series.slowest(),
        "fastest_deliveries_per_s": series.fastest(),
        "first_ten_deliveries_per_s": series.first(),
        "last_ten_deliveries_per_s": series.last(),
        "blocks": [
            {"first": first, "last": last, "deliveries_per_s": rate, "cpu_ns_per_delivery": each}
            for first, last, rate, each in series.blocks()
        ],
        "floor": _floor(record, cost),
        "memory": {
            "engine_bytes_per_circuit": held["engine"],
            "total_bytes_per_circuit": held["total"],
            "python_bytes_per_circuit": held["python"],
            "after_build": {f"{part}_bytes_per_circuit": value for part, value in built.items()},
        },
        "allocated_bytes_per_visit": series.median(lambda each: each.allocated_bytes_per_visit),
        "stolen_s": record.stolen_s,
        "other_processes_s": None if record.busy_s is None else record.busy_s - series.total_cpu_s(),
        "faults": record.faults,
        "first_fault": record.first_fault,
        "warnings": list(advice(record)),
        "evidence": record.evidence,
    }


def rows(record: Record) -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Return the header and the rows of ``rounds.csv``."""
    header = [
        "round", "warmup", "seconds", "deliveries", "handoffs", "deliveries_per_s", "handoffs_per_s",
        "busy_percent", "cpu_s", "cpu_ns_per_delivery", "cpu_ns_per_visit", "allocated_bytes",
        "allocated_bytes_per_visit", "collections", "rss_bytes",
    ]  # fmt: skip
    body: list[Sequence[Any]] = [
        [
            number, int(each.warmup), each.seconds, each.deliveries, each.handoffs, each.deliveries_per_s,
            each.handoffs_per_s, each.busy_percent(record.cores), each.cpu_s, each.cpu_ns_per_delivery,
            each.cpu_ns_per_visit, each.allocated_bytes, each.allocated_bytes_per_visit, each.collections,
            each.rss_bytes,
        ]
        for number, each in enumerate(record.rounds, 1)
    ]  # fmt: skip
    return header, body


def compiler(record: Record) -> dict[str, Any]:
    """Return the part of the environment that made the floors."""
    library = record.floor.library if record.floor is not None else None
    return {"floor": {"compiler": library.compiler, "flags": library.flags} if library is not None else None}


def _floor(record: Record, cost: float | None) -> dict[str, Any]:
    floor = record.floor
    found: dict[str, Any] = {"reason": record.floor_reason}
    for kind in KINDS:
        ns = floor.ns(kind) if floor is not None else None
        found[f"{kind}_ns"] = ns
        found[f"ratio_{kind}"] = _over(cost, ns)
        found[f"{kind}_before_ns"] = median_of(floor.before.get(kind, [])) if floor is not None else None
        found[f"{kind}_after_ns"] = median_of(floor.after.get(kind, [])) if floor is not None else None
        found[f"{kind}_samples_ns"] = (
            floor.before.get(kind, []) + floor.after.get(kind, []) if floor else None
        )
    return found


def _per_circuit(record: Record, moment: str) -> dict[str, float | None]:
    """Return what a circuit holds at a moment: all of it, the engine's part and the rest."""
    now, empty, circuits = getattr(record, moment), record.empty, record.parameters.circuits
    total = engine = None
    if now is not None and empty is not None:
        if now.resident is not None and empty.resident is not None:
            total = (now.resident - empty.resident) / circuits
        if now.engine is not None and empty.engine is not None:
            engine = (now.engine - empty.engine) / circuits
    python = None if total is None or engine is None else total - engine
    if (
        python is not None and python < 0
    ):  # a small population: the engine counts memory that it has not touched
        python = None
    return {"total": total, "engine": engine, "python": python}


def _over(value: float | None, divisor: float | None) -> float | None:
    return None if value is None or not divisor else value / divisor
