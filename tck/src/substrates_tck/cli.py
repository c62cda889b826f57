"""The command ``substrates-tck``."""

from __future__ import annotations

import json
import logging
import math
import random
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree as ET

import click

from . import __version__
from .certificate import certificate
from .coverage import Coverage, cover
from .known import KnownFailure, MalformedListError, apply, read
from .manifest import plain, vanished, write
from .runs import WRONG_USE, Run, Test, collect, run

__all__ = ["main"]


LEVELS: Final = ("MUST", "SHOULD", "MAY")
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
@click.option(
    "--certificate",
    "certificate_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a certificate in Markdown; of several providers one after the other.",
)
@click.option(
    "--known-failures",
    "known_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of tests that fail and why: 'suite/test_x.py::test_y  # reason' a line. Strict: if one"
    " passes, that is a failure.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the summary alone.")
def run_command(
    names: tuple[str, ...],
    more: tuple[str, ...],
    expression: str | None,
    bound: float | None,
    junit: Path | None,
    json_file: Path | None,
    certificate_file: Path | None,
    known_file: Path | None,
    quiet: bool,
) -> None:
    """Run the kit on the providers NAMES, by default all that are installed.

    Without -k all tests of the kit have to run: one that has vanished is a failure. Tests are skipped only
    for want of a capability; what these are, `substrates-tck capabilities` tells.

    Exit status: 0 all passed, 1 a test failed or the provider crashed, 2 wrong use.
    """
    chosen = _chosen((*names, *more))
    known = _known(known_file)
    _check_writable("--junit", junit)
    _check_writable("--json", json_file)
    _check_writable("--certificate", certificate_file)
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
            _complete(runs[-1], whole=not expression)
            idle = apply(runs[-1], known)
            if idle and not expression:
                raise click.UsageError(f"{known_file}: there is no test {idle[0].test}")
            _print_run(runs[-1])
        if junit:
            _merge(reports, junit)
    if json_file:
        json_file.write_text(json.dumps(_as_json(runs), indent=1) + "\n", encoding="utf-8")
    if certificate_file:
        texts = [certificate(each, whole=not expression) for each in runs]
        certificate_file.write_text("\n".join(texts), encoding="utf-8")
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


def _known(file: Path | None) -> list[KnownFailure]:
    if file is None:
        return []
    try:
        return read(file)
    except (MalformedListError, OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--known-failures: {error}") from None


def _complete(done: Run, *, whole: bool) -> None:
    """Add the tests that should have been there, unless only some were asked for."""
    if whole and done.tests:
        gone = vanished(plain(test.id, done.provider) for test in done.tests)
        done.tests += [Test(name, [], False, message="has vanished from the kit") for name in gone]


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
    passed, skipped, known = done.count("passed"), done.count("skipped"), done.count("known")
    also = (f", {known} known failures" if known else "") + (f", {skipped} skipped" if skipped else "")
    for reason, often in Counter(test.message for test in done.tests if test.outcome == "skipped").items():
        click.echo(f"skipped {often}: {reason}")
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
                "known": done.count("known"),
                "skipped": done.count("skipped"),
                "tests": [asdict(test) for test in done.tests],
            }
            for done in runs
        ],
    }


@main.command("soak")
@click.argument("names", nargs=-1)
@click.option("--minutes", type=_Seconds(), default=10.0, show_default=True, help="For how long.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the first batch (default: another each time).")
@click.option(
    "--bound", type=_Seconds(), default=30.0, show_default=True, help="Seconds that a program waits at most."
)
@click.option("--shrink/--no-shrink", default=True, help="Look for the smallest program that differs (yes).")
def soak_command(
    names: tuple[str, ...], minutes: float, seed: int | None, bound: float, shrink: bool
) -> None:
    """Run generated programs on the providers NAMES, in turns, and compare each with a sequential model.

    A program that fails is printed as a script, as small as it could be made. Exit status: 0 no difference, 1
    a provider differs from the model.
    """
    from .programs.soak import DifferenceError, soak

    chosen = _chosen(names)
    first = random.SystemRandom().randrange(2**32) if seed is None else seed
    click.echo(f"{', '.join(chosen)}: {minutes:g} minutes, --seed {first}")
    # What the programs' receptors raise is wanted, and would bury what is said here.
    logging.getLogger("substrates").setLevel(logging.CRITICAL)
    counts: Counter[tuple[str, str]] = Counter()
    last = first
    try:
        for provider, kind, last, count in soak(chosen, minutes * 60, first, bound, shrink=shrink):  # noqa: B007 - told at the end
            counts[provider, kind] += count
    except DifferenceError as error:
        click.echo(f"{error}\n{error.__cause__}")
        sys.exit(1)
    finally:
        for (provider, kind), count in counts.items():
            click.echo(f"{provider}: {count:,} programs, {kind}")
    click.echo(f"no difference from the model; seeds {first} to {last}")


@main.command("mutants")
@click.option(
    "--provider", "names", multiple=True, metavar="NAME", help="A provider that must pass the same tests."
)
def mutants_command(names: tuple[str, ...]) -> None:
    """Run faulty providers, one bug each; the test that is about the bug must catch it.

    The same tests must pass on the faulty ones' healthy sibling, and on the providers given (default: all
    installed ones). Exit status: 0 if so, else 1.
    """
    from substrates import spi

    from .faults import HEALTHY
    from .faults.judge import judge, survivors

    if names:
        _chosen(names)
    verdicts = judge()
    faults = {verdict.mutant.name for verdict in verdicts}
    killed = len(faults - {verdict.mutant.name for verdict in verdicts if verdict.problem is not None})
    for verdict in verdicts:
        state = "killed  " if verdict.problem is None else "SURVIVES"
        click.echo(f"{state}  {verdict.mutant.fault}")
        click.echo(f"          by {verdict.killer}")
        click.echo(f"          {verdict.problem or verdict.said}")
    installed = {listing.name for listing in spi.installed()}
    sound = True
    for name in (HEALTHY, *(names or sorted(installed))):
        done = survivors(name)
        sound = sound and done.ok
        click.echo(f"{name}: {done.count('passed')} of {len(done.tests)} of these tests passed")
    click.echo(f"{killed} of {len(faults)} faults killed")
    sys.exit(0 if sound and killed == len(faults) else 1)


@main.command("coverage")
@click.option("--all", "every", is_flag=True, help="List the rules that have a test too.")
@click.option("--area", metavar="AREA", help="List one area alone.")
@click.option("--least-should", type=click.FloatRange(0, 100), default=95.0, help="In percent (95).")
def coverage_command(every: bool, area: str | None, least_should: float) -> None:
    """List the rules of the contract with and without a test, and the reasons why not.

    Rules that exist only because of Java are left out. Exit status: 0 if every MUST rule has a test, the
    SHOULD rules as many as wanted, and the others a reason; else 1.
    """
    done = cover(_collected(), area)
    if not done.areas:
        raise click.UsageError(f"there is no area {area}")
    click.echo(f"{'area':<18}{'tests':>7}{'MUST':>12}{'SHOULD':>10}{'MAY':>8}")
    for name, here in done.areas.items():
        levels = [f"{here.count(level, tested=True)}/{here.count(level, tested=False)}" for level in LEVELS]
        click.echo(f"{name:<18}{len(here.tests):>7}{levels[0]:>12}{levels[1]:>10}{levels[2]:>8}")
        for rule, tests in here.rules.items():
            if tests and every:
                click.echo(f"  {rule.id:<24}{rule.level:<8}{', '.join(tests)}")
            elif not tests:
                why = done.reasons[rule.id] or "NO REASON GIVEN"
                click.echo(f"  {rule.id:<24}{rule.level:<8}no test: {why}")
    shares = [_share(done, level) for level in LEVELS]
    for level, share in zip(LEVELS, shares, strict=True):
        tested, there = done.count(level, tested=True), done.count(level, tested=False)
        click.echo(f"{level:<8}{tested} of {there} rules have a test ({share:.1f} %)")
    click.echo(f"{done.cases} tests a provider")
    for name in done.unexplained:
        click.echo(f"{name} has neither a test nor a reason in gaps.tsv")
    sys.exit(0 if shares[0] == 100 and shares[1] >= least_should and not done.unexplained else 1)


def _share(done: Coverage, level: str) -> float:
    there = done.count(level, tested=False)
    return 100 * done.count(level, tested=True) / there if there else 100.0


def _collected() -> list[Test]:
    return collect("-p", "substrates_tck.faults.plugin", "--provider", "toy")


@main.command("list")
@click.option("--write", "keep", is_flag=True, help="Make them the tests that every run must have.")
def list_command(keep: bool) -> None:
    """List the tests of the kit with their rules."""
    tests = {plain(test.id, "toy"): test.rules for test in _collected()}
    if keep:
        write(tests)
        click.echo(f"{len(tests)} tests")
        return
    for name in sorted(tests):
        click.echo(f"{name}  {', '.join(tests[name])}")


@main.command("capabilities")
def capabilities_command() -> None:
    """Say what a provider may be capable of, and which of the installed ones is.

    A test asks for a capability, never for a product; without it the test is skipped.
    """
    from substrates import spi

    listings = spi.installed()
    for name, meaning in spi.CAPABILITIES.items():
        having = ", ".join(each.name for each in listings if name in each.capabilities) or "none"
        click.echo(f"{name}: {meaning}")
        click.echo(f"    of the providers installed here: {having}")
