"""What a conduit's channel with one subscriber costs beside a plain pipe with the same receptor.

    python perfkit/benchmarks/dispatch.py [PROVIDER ...] [--results DIR]

Both ways of an emission are measured in turn through the public API, counts are verified outside the timed
parts, and the run is kept like perfkit's. The exit status is 1 if the bound below is broken or a count wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click

import substrates
from perfkit import environment
from perfkit.emissions import Way, emission_ns, plain_pipe, verify
from perfkit.evidence import Evidence
from perfkit.providers import ours
from perfkit.tables import table
from substrates import Circuit, Pipe, spi

EMISSIONS = 500_000
ROUNDS = 11
MOST_RATIO = 1.5


def channel(circuit: Circuit, receive: Callable[[Any], object]) -> Pipe[Any]:
    """Return the pipe of a channel with one subscriber, which registers a receptor."""
    conduit = circuit.conduit()
    conduit.subscribe(circuit.subscriber("one", lambda _, registrar: registrar.register(receive)))
    return conduit.get("channel")


WAYS: tuple[tuple[str, Way], ...] = (("pipe", plain_pipe), ("channel", channel))


@click.command()
@click.argument("providers", nargs=-1)
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
def main(providers: tuple[str, ...], results: Path) -> None:
    """Measure PROVIDERS (default: all of this project), print a table, keep the run."""
    names = providers or tuple(ours())
    cortices = {name: substrates.cortex(name) for name in names}
    evidence = Evidence(results, "dispatch", "-".join(names))
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    broken: list[str] = []
    for name, cortex in cortices.items():
        samples: dict[str, list[float]] = {what: [] for what, _ in WAYS}
        for what, way in WAYS:
            verify(cortex, EMISSIONS, what, way)
        for turn in range(ROUNDS):  # interleaved, so that a change of the machine's mood meets both
            for what, way in WAYS if turn % 2 == 0 else reversed(WAYS):
                samples[what].append(emission_ns(cortex, EMISSIONS, way))
        ratio = median(c / p for c, p in zip(samples["channel"], samples["pipe"], strict=True))
        cost = {what: median(sample) for what, sample in samples.items()}
        figures[name] = {"pipe_ns": cost["pipe"], "channel_ns": cost["channel"], "ratio": ratio}
        good = ratio <= MOST_RATIO
        if not good:
            broken.append(f"ratio of {name}: {ratio:.2f}, bound {MOST_RATIO}")
        row = [f"{cost['pipe']:.0f} ns", f"{cost['channel']:.0f} ns", f"{ratio:.2f}", f"{MOST_RATIO}"]
        rows.append([name, *row, "yes" if good else "NO"])

    text = table(["provider", "pipe", "channel", "ratio", "bound", "kept"], rows)
    click.echo(text)
    summary = {"schema": 1, "workload": "dispatch", "providers": figures, "verified": True, "broken": broken}
    described = {name: environment.describe(spi.load(name), cortices[name]) for name in names}
    evidence.conclude(text, summary, described)
    click.echo(f"kept in {evidence.folder}", err=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
