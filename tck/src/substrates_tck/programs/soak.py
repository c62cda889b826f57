"""Programs for as long as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from .check import check
from .model import TooLongError
from .program import Program
from .strategies import concurrent_programs, programs

__all__ = ["KINDS", "DifferenceError", "soak"]

KINDS: Final[dict[str, Callable[[], st.SearchStrategy[Program]]]] = {
    "one circuit": lambda: programs(1),
    "two circuits": lambda: programs(2),
    "several producers": concurrent_programs,
}
"""What programs there are."""
BATCH: Final = 100
"""Programs of one kind on one provider in a row."""


class DifferenceError(Exception):
    """A provider differs from the model; the cause says in what."""

    def __init__(self, provider: str, kind: str, seed: int) -> None:
        super().__init__(f"{provider}: {kind}, --seed {seed}")


def soak(
    providers: Sequence[str], seconds: float, seed: int, bound_s: float, *, shrink: bool = True
) -> Iterator[tuple[str, str, int, int]]:
    """Run generated programs until the time is over; yield after each batch what was done.

    Args:
        providers: on which, in turns.
        seconds: for how long, at least one batch of each kind on each.
        seed: of the first batch; each batch has another.
        bound_s: how long a program waits at most, each time.
        shrink: whether to look for the smallest program that differs.

    Yields:
        The provider, the kind, the seed of the batch, and how many programs it had.

    Raises:
        DifferenceError: a provider differs from the model.
    """
    with TemporaryDirectory(prefix="substrates-tck.") as folder:
        set_hypothesis_home_dir(folder)  # instead of the folder that one happens to be in
        yield from _batches(providers, seconds, seed, bound_s, shrink)


def _batches(
    providers: Sequence[str], seconds: float, seed: int, bound_s: float, shrink: bool
) -> Iterator[tuple[str, str, int, int]]:
    end = monotonic() + seconds
    first = True
    while first or monotonic() < end:
        first = False
        for kind, strategy in KINDS.items():
            for provider in providers:
                try:
                    count = _batch(strategy(), provider, seed, bound_s, shrink)
                except Exception as error:
                    raise DifferenceError(provider, kind, seed) from error
                yield provider, kind, seed, count
            seed += 1


def _batch(
    strategy: st.SearchStrategy[Program], provider: str, seed: int, bound_s: float, shrink: bool
) -> int:
    ran: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(program: Program) -> None:
        try:
            check(program, provider, bound_s)
        except TooLongError:
            reject()
        ran.append(None)

    run()
    return len(ran)
