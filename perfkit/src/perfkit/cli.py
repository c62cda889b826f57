"""The command ``perfkit``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from substrates import spi

from . import __version__
from . import providers as catalogue
from .console import Console
from .errors import INTERRUPTED, Refusal
from .evidence import dump
from .tables import NA, table

__all__ = ["main"]

JSON_HELP = "Also write the result as JSON to FILE; '-' for standard output, and tables to standard error."


class _Amount(click.FloatRange):
    """A number more than 0 that ends; comparisons alone let NaN through."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> float:
        amount: float = super().convert(value, param, context)
        if not math.isfinite(amount):
            self.fail(f"{value} is not a finite number.", param, context)
        return amount


def _all_of(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return what gives a command `options`, in that order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


SIZE: Final = (
    click.option(
        "--circuits", type=click.IntRange(min=1), metavar="N", help="Circuits in all.  [default: 1_000_000]"
    ),
    click.option(
        "--burst",
        type=click.IntRange(min=1),
        metavar="N",
        help="Deliveries of a circuit to itself before it hands off.  [default: 32_000]",
    ),
    click.option(
        "--tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Chains, each with one token under way.  [default: the usable processors]",
    ),
)
"""How large a showcase is."""
MANNER: Final = (
    click.option(
        "--receptor",
        type=click.Choice(["kernel", "python"]),
        help="What receives.  [default: kernel where the provider runs kernels natively, else python]",
    ),
    click.option(
        "--build",
        type=click.Choice(["loop", "population"]),
        help="How the circuits are made, one by one or by one call.  [default: population where the provider"
        " has it natively, else loop]",
    ),
    click.option(
        "--floor/--no-floor", default=True, help="Measure the floors in C before and after.  [default: floor]"
    ),
    click.option(
        "--stall",
        type=_Amount(),
        default=60,
        show_default="60",
        metavar="S",
        help="Give a round up after so many seconds without any progress.",
    ),
)
"""How a showcase is measured."""
KEPT: Final = (
    click.option(
        "--results",
        type=click.Path(path_type=Path),
        default=Path("results"),
        show_default=True,
        metavar="DIR",
        help="Where the folder with the evidence is made.",
    ),
    click.option("--json", "json_to", metavar="FILE|-", help=JSON_HELP),
)
"""Where the figures of a measurement go."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="perfkit")
def main() -> None:
    """Measure Substrates providers through the public API alone, and verify every run.

    Exit status: 0 when all went well and was verified, 1 when verification failed or a token did not come
    through, 2 when what was asked for cannot be done, 130 after Ctrl-C.
    """


@main.command()
@click.option("--json", "json_to", metavar="FILE|-", help=JSON_HELP)
def providers(json_to: str | None) -> None:
    """List the installed providers, and which of this project's are missing, why, and how to get them.

    Loads none of them.
    """
    deliver = _delivery(json_to)
    console = Console(sys.stderr if json_to == "-" else None)
    description = catalogue.describe()
    choice = description["default"]
    rows = [
        [
            each["name"],
            each["distribution"] or NA,
            each["version"] or NA,
            each["language"] or NA,
            ", ".join(each["capabilities"]) or "none",
            "yes" if each["default"] else "",
        ]
        for each in description["providers"]
    ]
    if rows:
        console.say(table(["Name", "Distribution", "Version", "Language", "Capabilities", "Default"], rows))
        console.say()
    for each in description["missing"]:
        told = f"{each['distribution']}, in {each['language']}"
        console.say(f"missing: {each['name']} ({told}): {each['why']}; how to get it: {each['how']}")
    console.say(f"default: {choice['name'] or 'none'} ({choice['why']})")
    deliver(description)


@main.command()
@click.option(
    "--provider", metavar="NAME", help=f"Which one to measure; default: ${spi.VARIABLE}, else the only one."
)
@_all_of(SIZE)
@click.option(
    "--minutes",
    type=_Amount(),
    metavar="M",
    help="Repeat measured rounds until so much time has passed.  [default: 5]",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), metavar="R", help="Measure so many rounds instead of --minutes."
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="W",
    help="Rounds before the measured ones, shown but not counted.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs, one after the other, each in a process of its own.",
)
@_all_of(MANNER)
@_all_of(KEPT)
@click.pass_context
def showcase(context: click.Context, /, **options: Any) -> None:
    """A relay race of a million circuits, verified.

    The circuits are split into one chain per token. In a round each circuit that gets the token delivers it
    to itself BURST times through its queue and hands it to the next; the last of a chain signals the main
    thread. Then every circuit's count is checked. Where Python runs the receptors the default size is
    smaller, and the first line says so. Numbers may be written 1_000_000.
    """
    try:
        context.exit(_showcase(options))
    except KeyboardInterrupt:  # before there was anything to keep, or once more after it was kept
        context.exit(INTERRUPTED)


def _showcase(options: Mapping[str, Any]) -> int:
    from .showcase import Asked, repeated, resolve, run

    json_to = options["json_to"]
    deliver = _delivery(json_to)
    console = Console(sys.stderr if json_to == "-" else None)
    if options["repeat"] > 1:
        return repeated(options, console, deliver)
    provider = catalogue.chosen(options["provider"])
    asked = Asked(
        circuits=options["circuits"],
        burst=options["burst"],
        tokens=options["tokens"],
        minutes=options["minutes"],
        rounds=options["rounds"],
        warmup=options["warmup"],
        receptor=options["receptor"],
        build=options["build"],
        floor=options["floor"],
        stall_s=options["stall"],
    )
    return run(provider, resolve(asked, provider), options["results"], console, deliver)


@main.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_A RUN_B]")
@click.option("--workload", metavar="NAME", help="What the providers run: showcase.")
@click.option(
    "--providers", metavar="NAME,NAME...", help="Which ones; the others are compared with the first."
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    metavar="N",
    help="Turns of each provider, each in a process of its own.",
)
@_all_of(SIZE)
@click.option(
    "--rounds", type=click.IntRange(min=1), metavar="R", help="Rounds measured in a turn.  [default: 3]"
)
@click.option(
    "--minutes", type=_Amount(), metavar="M", help="Measure rounds for so long in a turn instead of --rounds."
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="W",
    help="Rounds before the measured ones of a turn, not counted.",
)
@_all_of(MANNER)
@click.option("--force", is_flag=True, help="Compare kept runs of different machines too.")
@_all_of(KEPT)
@click.pass_context
def compare(context: click.Context, /, **options: Any) -> None:
    """Compare providers side by side on a workload, or two runs that were kept.

    With --workload and --providers, the providers take turns, A B, B A, A B and so on, each time in a fresh
    process, with the same receptors and at a size that all can do. A name given twice shows what the noise
    alone does. With RUN_A and RUN_B, two folders in results/, nothing is run. A difference is called better
    or worse when its 95 % interval leaves out that there is none.
    """
    given = {
        name
        for name in options
        if context.get_parameter_source(name) not in {None, ParameterSource.DEFAULT} and name != "runs"
    }
    try:
        context.exit(_compare(options, given))
    except KeyboardInterrupt:  # before there was anything to keep, or once more after it was kept
        context.exit(INTERRUPTED)


def _compare(options: Mapping[str, Any], given: set[str]) -> int:
    from .compare import WORKLOADS, compared, entrants, interleaved

    runs: tuple[Path, ...] = options["runs"]
    if not runs and not given & {"workload", "providers"}:
        raise Refusal("nothing to compare: give --workload NAME --providers A,B, or two folders of kept runs")
    if runs:
        measuring = sorted(given - {"force", "json_to"})
        if measuring:
            raise Refusal(
                f"--{measuring[0]} is for measuring, kept runs are as they are; leave it or them out"
            )
        if len(runs) != 2:
            raise Refusal(f"{len(runs)} kept runs given ({', '.join(map(str, runs))}): give two")
        json_to = options["json_to"]
        deliver = _delivery(json_to)
        console = Console(sys.stderr if json_to == "-" else None)
        compared(WORKLOADS, (runs[0], runs[1]), console, deliver, force=options["force"])
        return 0
    if options["force"]:
        raise Refusal("--force is for kept runs; leave it out")
    workload = WORKLOADS.get(options["workload"])
    if workload is None:
        which = "is missing" if options["workload"] is None else f"{options['workload']}: no such workload"
        raise Refusal(f"--workload {which}; those there are: {', '.join(WORKLOADS)}")
    names = [name.strip() for name in (options["providers"] or "").split(",")]
    if len(names) < 2 or not all(names):
        installed = ", ".join(listing.name for listing in spi.installed()) or "none"
        what = "are missing" if options["providers"] is None else f"{options['providers']!r}"
        raise Refusal(f"--providers {what}: name two or more, with commas between; installed: {installed}")
    chosen = [catalogue.chosen(name) for name in names]
    plan = workload.plan(options, chosen)
    json_to = options["json_to"]
    deliver = _delivery(json_to)
    console = Console(sys.stderr if json_to == "-" else None)
    return interleaved(
        workload, plan, entrants(chosen), options["repeats"], options["results"], console, deliver
    )


def _delivery(json_to: str | None) -> Callable[[dict[str, Any]], None]:
    """Return what writes a result as JSON to where it is wanted.

    Raises:
        Refusal: the file cannot be written.
    """
    if json_to is None:
        return lambda _: None
    if json_to == "-":
        return lambda content: click.echo(dump(content))
    path = Path(json_to)
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise Refusal(f"--json {json_to}: cannot be written ({error.strerror}); name another file") from error

    def write(content: dict[str, Any]) -> None:
        path.write_text(dump(content) + "\n", encoding="utf-8")

    return write
