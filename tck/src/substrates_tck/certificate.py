"""The certificate: what a provider may show."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime

from substrates import __version__ as api_version
from substrates import spi

from . import __version__
from .runs import Run

__all__ = ["certificate"]


def certificate(run: Run, *, whole: bool) -> str:
    """Return the certificate of a run in Markdown.

    Args:
        run: what happened.
        whole: whether all tests of the kit ran; if not, it certifies nothing and says so.
    """
    listing = next((each for each in spi.installed() if each.name == run.provider), None)
    known, skipped = run.count("known"), run.count("skipped")
    ran = len(run.tests) - skipped
    if not whole:
        verdict = "This is no certificate: a part of the kit ran."
    elif not run.ok:
        verdict = f"**{run.provider} does not conform.**"
    elif known:
        verdict = f"**{run.provider} conforms, but for {known} known failures.**"
    else:
        verdict = f"**{run.provider} conforms.**"
    lines = [f"# Substrates conformance: {run.provider}", "", verdict, "", "| | |", "|---|---|"]
    facts = {
        "provider": run.provider,
        "distribution": f"{listing.distribution} {listing.version}" if listing else "not installed as one",
        "capabilities": ", ".join(listing.capabilities) if listing and listing.capabilities else "none",
        "api": f"substrates {api_version}",
        "kit": f"substrates-tck {__version__}",
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}{_gil()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "passed": f"{run.count('passed')} of {ran}",
        "failed": str(run.count("failed") + run.count("missing")),
        "known failures": str(known),
        "skipped for want of a capability": str(skipped),
        "time": f"{run.elapsed_s:.1f} s",
    }
    lines += [f"| {name} | {value} |" for name, value in facts.items()]
    lines += ["", "| area | rules | passed | failed | skipped |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {name} | {len(area.rules)} | {area.passed} | {area.failed} | {area.skipped} |"
        for name, area in run.areas().items()
    ]
    for title, outcomes in (
        ("Failures", {"failed", "missing"}),
        ("Known failures", {"known"}),
        ("Skipped", {"skipped"}),
    ):
        listed = [test for test in run.tests if test.outcome in outcomes]
        if listed:
            lines += ["", f"## {title}", ""]
            lines += [f"- `{test.id}`: {_first_line(test.message)}" for test in listed]
    return "\n".join(lines) + "\n"


def _gil() -> str:
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    return "" if enabled else ", free-threaded"


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:160] if lines else "did not run to its end"
