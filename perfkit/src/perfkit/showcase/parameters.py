"""What is run: what was asked for, the defaults for the rest, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

from substrates.spi import Provider

from .. import machine
from ..errors import Refusal
from ..tables import bytes_text

__all__ = ["FULL", "Asked", "Parameters", "arguments", "build_of", "default_size", "receptor_of", "resolve"]

FULL: Final[dict[str, float]] = {"circuits": 1_000_000, "burst": 32_000, "minutes": 5.0}
"""The seed document's size."""
SMALL: Final[dict[str, dict[str, float]]] = {
    "kernel": {"circuits": 10_000, "burst": 100, "minutes": 0.75},
    "python": {"circuits": 10_000, "burst": 500, "minutes": 0.75},
}
"""By receptor, where Python runs it: rounds of about a second (0.2 µs a delivery in a Python receptor, 0.9 in
a kernel run as Python), a run of about a minute."""
LONGEST: Final = 2**40
"""The longest burst: a day of deliveries, and the counts of eight million rounds of it fit into 64 bits."""
BYTES: Final = {"native": 1_024, "kernel": 3_072, "python": 2_560}
"""Bytes per circuit that a population is taken to need: engine, Python objects and this bench's lists. Native
engines must do with 800; measured on reference: 2,100 with a kernel run as Python, 1,300 with a Python
receptor."""
PASSED_ON: Final = (
    "provider", "circuits", "burst", "tokens", "minutes", "rounds", "warmup", "receptor", "build", "results",
    "stall",
)  # fmt: skip
"""The options of the command that a process of its own gets with their values."""


@dataclass(frozen=True)
class Asked:
    """What the user asked for; None where the default is to be taken."""

    circuits: int | None = None
    burst: int | None = None
    tokens: int | None = None
    minutes: float | None = None
    rounds: int | None = None
    warmup: int = 2
    receptor: str | None = None
    build: str | None = None
    floor: bool = True
    stall_s: float = 60.0


@dataclass(frozen=True)
class Parameters:
    """What is run.

    Attributes:
        circuits: in all.
        burst: deliveries of a circuit to itself before it hands off.
        tokens: chains, each with one token.
        minutes: that measured rounds repeat for; None if `rounds` says how many.
        rounds: measured rounds; None if `minutes` says how long.
        warmup: rounds before them, shown but not counted.
        receptor: "kernel" or "python".
        native: whether the kernel runs as machine code.
        build: "population", all circuits by one call, or "loop", one by one.
        floor: whether the floors are measured.
        stall_s: seconds without any progress after which a round is given up.
        smaller: the defaults that are smaller than the full size, each with its full value.
    """

    circuits: int
    burst: int
    tokens: int
    minutes: float | None
    rounds: int | None
    warmup: int
    receptor: str
    native: bool
    build: str
    floor: bool
    stall_s: float
    smaller: dict[str, tuple[float, float]]

    @property
    def deliveries(self) -> int:
        """Deliveries in a round."""
        return self.circuits * self.burst

    @property
    def handoffs(self) -> int:
        """Hand-offs between circuits in a round."""
        return self.circuits - self.tokens

    def chains(self) -> list[range]:
        """Return the circuits of each chain: contiguous, of equal length give or take one."""
        bounds = [self.circuits * chain // self.tokens for chain in range(self.tokens + 1)]
        return [range(first, last) for first, last in pairwise(bounds)]

    def announcement(self) -> str | None:
        """Return the line that says what is smaller by default and why; None if nothing is."""
        if not self.smaller:
            return None
        changes = ", ".join(
            f"{key} {_plain(small)} instead of {_plain(full)}" for key, (small, full) in self.smaller.items()
        )
        return f"smaller by default, because Python runs the receptors: {changes}"

    def record(self) -> dict[str, Any]:
        """Return the parameters for JSON."""
        return {key: value for key, value in asdict(self).items() if key != "smaller"} | {
            "smaller_defaults": {
                key: {"used": used, "full": full} for key, (used, full) in self.smaller.items()
            }
        }


def receptor_of(asked: Asked, provider: Provider) -> tuple[str, bool]:
    """Return what receives on `provider`, "kernel" or "python", and whether it runs as machine code.

    Raises:
        Refusal: a kernel is asked for, and the provider runs none.
    """
    receptor = asked.receptor or ("kernel" if "native-kernels" in provider.capabilities else "python")
    if receptor == "kernel" and not provider.capabilities & {"kernels", "native-kernels"}:
        raise Refusal(
            f"--receptor kernel: provider {provider.name!r} runs no kernels (its capabilities:"
            f" {', '.join(sorted(provider.capabilities)) or 'none'}); use --receptor python"
        )
    return receptor, receptor == "kernel" and "native-kernels" in provider.capabilities


def build_of(asked: Asked, provider: Provider, receptor: str) -> str:
    """Return how the circuits are made, "population" or "loop".

    Raises:
        Refusal: a population is asked for, and what receives is not a kernel.
    """
    if asked.build == "population" and receptor != "kernel":
        raise Refusal("--build population: it is for kernels, and what receives is Python; use --build loop")
    has_arrays = receptor == "kernel" and {"native-kernels", "population-kernels"} <= provider.capabilities
    return asked.build or ("population" if has_arrays else "loop")


def default_size(receptor: str, native: bool) -> dict[str, float]:
    """Return the defaults of circuits, burst and minutes."""
    return FULL if native else SMALL[receptor]


def resolve(asked: Asked, provider: Provider) -> Parameters:
    """Return what is run on `provider`.

    Raises:
        Refusal: the provider cannot do it, it contradicts itself, or it does not fit into memory.
    """
    receptor, native = receptor_of(asked, provider)
    if asked.rounds is not None and asked.minutes is not None:
        raise Refusal(f"--rounds {asked.rounds} and --minutes {asked.minutes:g}: give one of them")
    size = default_size(receptor, native)
    given = {"circuits": asked.circuits, "burst": asked.burst, "minutes": asked.minutes or asked.rounds}
    smaller = {
        key: (size[key], FULL[key]) for key, value in given.items() if value is None and size[key] < FULL[key]
    }
    circuits = asked.circuits or int(size["circuits"])
    tokens = asked.tokens or min(machine.usable_cores(), circuits)
    if tokens > circuits:
        raise Refusal(
            f"--tokens {tokens:,}: more tokens than circuits ({circuits:,}); use {circuits:,} or fewer"
        )
    if asked.burst is not None and asked.burst > LONGEST:
        raise Refusal(f"--burst {asked.burst:,}: counts would not fit into 64 bits; use {LONGEST:,} or fewer")
    _fits(circuits, BYTES["native" if native else receptor])
    return Parameters(
        circuits=circuits,
        burst=asked.burst or int(size["burst"]),
        tokens=tokens,
        minutes=None if asked.rounds else asked.minutes or size["minutes"],
        rounds=asked.rounds,
        warmup=asked.warmup,
        receptor=receptor,
        native=native,
        build=build_of(asked, provider, receptor),
        floor=asked.floor,
        stall_s=asked.stall_s,
        smaller=smaller,
    )


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments of `perfkit showcase` for `options`, by their names; what is None is left out."""
    given = {key: options[key] for key in PASSED_ON if options.get(key) is not None}
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    return words if options["floor"] else [*words, "--no-floor"]


def _plain(number: float) -> str:
    return f"{number:,}".removesuffix(".0")


def _fits(circuits: int, bytes_each: int) -> None:
    available = machine.available_memory()
    if circuits * bytes_each > available:
        raise Refusal(
            f"--circuits {circuits:,}: they would need about {bytes_text(circuits * bytes_each)}"
            f" ({bytes_each:,} bytes each), {bytes_text(available)} are available;"
            f" use {available // bytes_each:,} or fewer"
        )
