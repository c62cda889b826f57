"""The command ``substrates-tck``."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree as ET

import click

from . import __version__
from .catalogue import gaps, reason, rules
from .runs import WRONG_USE, Run, collect, run

__all__ = ["main"]


INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as shells have it (128 + SIGINT)."""


class _Commands(click.Group):
    """Ends with a status of its own after Ctrl-C: 1 would say that a provider has failed."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)


class _Seconds(click.FloatRange):
    """Seconds, more than none and no more than there are; comparisons alone let NaN through."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> float:
        seconds: float = super().convert(value, param, context)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a finite number.", param, context)
        return seconds


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="substrates-tck")
def main() -> None:
    """Judge Substrates providers: does each do what the contract demands?

    Exit status of every command: 2 wrong use, 130 after Ctrl-C; else as the command says.
    """


@main.command("run")
@click.argument("names", nargs=-1)
@click.option(
    "--provider", "more", multiple=True, metavar="NAME", help="A provider, as NAMES; may be repeated."
)
@click.option("-k", "expression", metavar="EXPRESSION", help="Only tests whose name fits, as in pytest.")
@click.option(
    "--bound", type=_Seconds(), metavar="SECONDS", help="How long a test waits for what must happen (10)."
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit report.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write all results."
)
@click.option("-q", "--quiet", is_flag=True, help="Print the summary alone.")
def run_command(
    names: tuple[str, ...],
    more: tuple[str, ...],
    expression: str | None,
    bound: float | None,
    junit: Path | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Run the kit on the providers NAMES, by default all that are installed.

    Exit status: 0 all passed, 1 a test failed or the provider crashed, 2 wrong use.
    """
    chosen = _chosen((*names, *more))
    _check_writable("--junit", junit)
    _check_writable("--json", json_file)
    runs = []
    with TemporaryDirectory(prefix="substrates-tck.") as folder:
        reports: list[Path] = []
        for name in chosen:
            options = ["-q"]
            if expression:
                options += ["-k", expression]
            if bound is not None:
                options += ["--bound", str(bound)]
            if junit:
                reports.append(Path(folder) / f"{len(reports)}.xml")
                options += ["--junitxml", str(reports[-1]), "-o", f"junit_suite_name=substrates-tck.{name}"]
            click.echo(f"{name}:")
            runs.append(run(name, *options, quiet=quiet))
            if runs[-1].status == WRONG_USE:
                raise click.UsageError(_refusal(runs[-1]))
            _print_run(runs[-1])
        if junit:
            _merge(reports, junit)
    if json_file:
        json_file.write_text(json.dumps(_as_json(runs), indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if all(each.ok for each in runs) else 1)


def _chosen(names: tuple[str, ...]) -> list[str]:
    from substrates import spi
    from substrates.errors import ProviderNotFoundError

    chosen = list(dict.fromkeys(names)) or [listing.name for listing in spi.installed()]
    if not chosen:
        raise click.UsageError("no provider is installed: install substrates-reference, for example")
    for name in chosen:
        try:
            spi.choose(name)
        except ProviderNotFoundError as error:
            raise click.UsageError(str(error)) from None
    return chosen


def _check_writable(option: str, file: Path | None) -> None:
    if file is not None:
        try:
            with file.open("a", encoding="utf-8"):
                pass
        except OSError as error:
            raise click.UsageError(
                f"{option} {file}: cannot be written ({error.strerror}); name another file"
            ) from None


def _refusal(done: Run) -> str:
    errors = [line for line in done.output.splitlines() if line.startswith("ERROR: ")]
    return "\n".join(["pytest refuses to run", *errors]) if errors else "pytest refuses to run; see above"


def _print_run(done: Run) -> None:
    areas = done.areas()
    click.echo()
    click.echo(f"{'area':<18}{'rules':>7}{'passed':>8}{'failed':>8}{'skipped':>9}")
    for name, area in areas.items():
        click.echo(f"{name:<18}{len(area.rules):>7}{area.passed:>8}{area.failed:>8}{area.skipped:>9}")
    click.echo()
    for test in done.tests:
        if test.outcome in {"failed", "missing"}:
            first = (
                test.message.strip().splitlines()[0] if test.message.strip() else "the run ended before it"
            )
            click.echo(f"FAILED {test.id} ({', '.join(test.rules)}): {first[:160]}")
    if done.running:
        click.echo(f"the process was ended by signal {-done.status} during {done.running}")
    elif not done.tests:
        click.echo(f"no test ran: pytest ended with status {done.status}")
    passed, skipped = done.count("passed"), done.count("skipped")
    also = f", {skipped} skipped" if skipped else ""
    click.echo(
        f"{done.provider}: {passed} of {len(done.tests) - skipped} passed{also}, {done.elapsed_s:.1f} s"
    )
    click.echo()


def _merge(reports: list[Path], target: Path) -> None:
    merged = ET.Element("testsuites")
    for report in reports:
        if report.exists():
            merged.extend(ET.parse(report).getroot().iter("testsuite"))
    ET.ElementTree(merged).write(target, encoding="utf-8", xml_declaration=True)


def _as_json(runs: list[Run]) -> dict[str, object]:
    from substrates import __version__ as api_version
    from substrates import spi

    listings = {listing.name: listing for listing in spi.installed()}
    return {
        "tck": __version__,
        "api": api_version,
        "python": sys.version.split()[0],
        "runs": [
            {
                "provider": done.provider,
                "version": listings[done.provider].version if done.provider in listings else "n/a",
                "ok": done.ok,
                "status": done.status,
                "elapsed_s": round(done.elapsed_s, 3),
                "passed": done.count("passed"),
                "failed": done.count("failed") + done.count("missing"),
                "skipped": done.count("skipped"),
                "tests": [asdict(test) for test in done.tests],
            }
            for done in runs
        ],
    }


@main.command("mutants")
@click.option(
    "--provider", "names", multiple=True, metavar="NAME", help="A provider that must pass the same tests."
)
def mutants_command(names: tuple[str, ...]) -> None:
    """Run faulty providers, one bug each; the test that is about the bug must catch it.

    The same tests must pass on the faulty ones' healthy sibling, and on the providers given (default: the
    reference, if it is installed). Exit status: 0 if so, else 1.
    """
    from substrates import spi

    from .faults import HEALTHY
    from .faults.judge import judge, survivors

    if names:
        _chosen(names)
    verdicts = judge()
    killed = sum(verdict.problem is None for verdict in verdicts)
    for verdict in verdicts:
        state = "killed  " if verdict.problem is None else "SURVIVES"
        click.echo(f"{state}  {verdict.mutant.fault}")
        click.echo(f"          by {verdict.killer}")
        click.echo(f"          {verdict.problem or verdict.said}")
    installed = {listing.name for listing in spi.installed()}
    sound = True
    for name in (HEALTHY, *(names or {"reference"} & installed)):
        done = survivors(name)
        sound = sound and done.ok
        click.echo(f"{name}: {done.count('passed')} of {len(done.tests)} of these tests passed")
    click.echo(f"{killed} of {len(verdicts)} faults killed")
    sys.exit(0 if sound and killed == len(verdicts) else 1)


@main.command("coverage")
@click.option("--all", "every", is_flag=True, help="List the rules that have a test too.")
@click.option("--area", metavar="AREA", help="List one area alone.")
def coverage_command(every: bool, area: str | None) -> None:
    """List the rules of the contract with and without a test.

    Exit status: 0; 1 if a rule has neither a test nor a reason why not.
    """
    tests: dict[str, list[str]] = {}
    for test in collect("-p", "substrates_tck.faults.plugin", "--provider", "toy"):
        for name in test.rules:
            tests.setdefault(name, []).append(test.id.partition("[")[0])
    known, unexplained = gaps(), 0
    by_area: dict[str, list[str]] = {}
    counts: dict[str, list[int]] = {}
    for rule in rules().values():
        if area and rule.area != area:
            continue
        row = counts.setdefault(rule.area, [0, 0, 0, 0])
        must = 0 if rule.level == "MUST" else 2
        row[must] += 1
        mine = sorted(set(tests.get(rule.id, ())))
        lines = by_area.setdefault(rule.area, [])
        if mine:
            row[must + 1] += 1
            if every:
                lines.append(f"  {rule.id:<24}{rule.level:<8}{', '.join(mine)}")
        else:
            why = reason(rule, known)
            unexplained += why is None
            lines.append(f"  {rule.id:<24}{rule.level:<8}no test: {why or 'NO REASON GIVEN'}")
    click.echo(f"{'area':<18}{'MUST':>12}{'SHOULD, MAY':>14}")
    for name, (must, tested, other, other_tested) in counts.items():
        click.echo(f"{name:<18}{f'{tested}/{must}':>12}{f'{other_tested}/{other}':>14}")
        for line in by_area[name]:
            click.echo(line)
    total = [sum(column) for column in zip(*counts.values(), strict=True)] or [0, 0, 0, 0]
    click.echo(f"{'all':<18}{f'{total[1]}/{total[0]}':>12}{f'{total[3]}/{total[2]}':>14}")
    if unexplained:
        click.echo(f"{unexplained} rules have neither a test nor a reason in gaps.tsv")
    sys.exit(1 if unexplained else 0)
