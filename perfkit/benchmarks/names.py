"""How fast names are interned and looked up, alone and by two threads at once.

    python perfkit/benchmarks/names.py [PROVIDER ...]

A million distinct names are interned once, since they stay for the life of the process, and looked up in
turns; then two threads intern a million others at the same time and must get the same objects. The exit
status is 1 if that fails or the bound below is broken.
"""

from __future__ import annotations

import sys
import threading
import time
from statistics import median

import click

import substrates
from substrates import Cortex, Name

NAMES = 1_000_000
TURNS = 7
LEAST_LOOKUPS_PER_S = 2e6


def _timed(cortex: Cortex, paths: list[str]) -> tuple[list[Name], float]:
    name = cortex.name
    start = time.perf_counter()
    names = [name(path) for path in paths]
    return names, len(paths) / (time.perf_counter() - start)


def _twice(cortex: Cortex, paths: list[str]) -> bool:
    """Intern in two threads at once; return whether both got the same objects."""
    gate = threading.Barrier(2)
    got: dict[int, list[Name]] = {}

    def intern(number: int) -> None:
        gate.wait()
        got[number] = [cortex.name(path) for path in paths]

    threads = [threading.Thread(target=intern, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(left is right for left, right in zip(got[0], got[1], strict=True))


@click.command()
@click.argument("providers", nargs=-1)
def main(providers: tuple[str, ...]) -> None:
    """Measure PROVIDERS, by default the reference."""
    sound = True
    for provider in providers or ("reference",):
        cortex = substrates.cortex(provider)
        paths = [f"bench.names.n{number}" for number in range(NAMES)]
        names, interned_per_s = _timed(cortex, paths)
        # Equal strings, not the same: what a program has that makes its paths anew.
        turns = [_timed(cortex, [f"bench.names.n{number}" for number in range(NAMES)]) for _ in range(TURNS)]
        same = all(found == names for found, _ in turns)
        looked_up_per_s = median(per_s for _, per_s in turns)
        agreed = _twice(cortex, [f"bench.raced.n{number}" for number in range(NAMES)])
        click.echo(
            f"{provider}: {NAMES:,} names interned at {interned_per_s / 1e6:.2f} M/s, looked up at"
            f" {looked_up_per_s / 1e6:.2f} M/s (median of {TURNS}; bound {LEAST_LOOKUPS_PER_S / 1e6:g}),"
            f" {'identical' if same else 'NOT IDENTICAL'}; by two threads at once"
            f" {'identical' if agreed else 'NOT IDENTICAL'}"
        )
        sound = sound and same and agreed and looked_up_per_s >= LEAST_LOOKUPS_PER_S
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
