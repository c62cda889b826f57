"""The showcase as something to compare providers by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from substrates import spi

from .. import machine
from ..tables import count_text, figure_text, rate_text
from ..workload import Metric, Plan, Summary
from . import report
from .parameters import (
    FULL,
    Asked,
    Parameters,
    arguments,
    build_of,
    default_size,
    receptor_of,
    resolve,
)

__all__ = ["Showcase"]

ROUNDS: Final = 3
"""Measured in a turn by default: what one round has to itself is then not the turn's median."""


def _measured(summary: Summary) -> list[dict[str, Any]]:
    return [each for each in summary["rounds"] if not each["warmup"]]


def _costs(summary: Summary) -> list[float]:
    return [each["cpu_s"] * 1e9 / each["deliveries"] for each in _measured(summary)]


def _over_floor(summary: Summary) -> Sequence[Sequence[float]]:
    return (_costs(summary), summary["floor"]["lean_samples_ns"] or ())


def _rates(key: str, summary: Summary) -> Sequence[Sequence[float]]:
    return ([each[key] / each["seconds"] for each in _measured(summary)],)


_METRICS: Final = (
    Metric(
        "cpu_ns_per_delivery", "CPU ns/delivery", figure_text, "lower", lambda summary: (_costs(summary),)
    ),
    Metric("floor.ratio_lean", "CPU/lean floor", partial(figure_text, digits=3), "lower", _over_floor),
    Metric("deliveries_per_s", "Deliveries/s", rate_text, "higher", partial(_rates, "deliveries")),
    Metric("handoffs_per_s", "Hand-offs/s", rate_text, "higher", partial(_rates, "handoffs")),
    Metric("build_s", "Build s", partial(figure_text, digits=3), "lower"),
    Metric("memory.engine_bytes_per_circuit", "Engine bytes/circuit", count_text, "lower"),
    Metric("memory.total_bytes_per_circuit", "Total bytes/circuit", count_text, "lower"),
)


class Showcase:
    """The relay race; all providers run it with the same receptors and at the same size."""

    name: Final = "showcase"
    schema: Final = report.SCHEMA
    metrics: Final = _METRICS
    work: Final = ("circuits", "burst", "tokens", "receptor")

    def plan(self, options: Mapping[str, Any], providers: Sequence[spi.Provider]) -> Plan:
        """See `workload.Workload`. The default size is the largest that is the default of none to exceed.

        Receptors are kernels by default if one provider runs them natively and all run them at all; circuits
        are made as a population if that is the default of all.
        """
        minutes, rounds = options["minutes"], options["rounds"]
        asked = Asked(
            circuits=options["circuits"],
            burst=options["burst"],
            tokens=options["tokens"],
            minutes=minutes,
            rounds=ROUNDS if minutes is rounds is None else rounds,
            warmup=options["warmup"],
            receptor=options["receptor"] or _common_receptor(providers),
            build=options["build"],
            floor=options["floor"],
            stall_s=options["stall"],
        )
        builds = {build_of(asked, provider, receptor_of(asked, provider)[0]) for provider in providers}
        asked = replace(asked, build=builds.pop() if len(builds) == 1 else "loop")
        natives = {provider.name: receptor_of(asked, provider)[1] for provider in providers}
        sizes = [default_size(*receptor_of(asked, provider)) for provider in providers]
        smallest = {key: min(int(size[key]) for size in sizes) for key in ("circuits", "burst")}
        smaller = {
            key: (float(small), FULL[key])
            for key, small in smallest.items()
            if options[key] is None and small < FULL[key]
        }
        asked = replace(
            asked,
            circuits=asked.circuits or smallest["circuits"],
            burst=asked.burst or smallest["burst"],
        )
        resolved = [resolve(asked, provider) for provider in providers]
        parameters = replace(resolved[0], smaller=smaller)
        announcement = parameters.announcement()
        slow = ", ".join(name for name, native in natives.items() if not native)
        kind = "Python" if parameters.receptor == "python" else "kernel"
        if kind == "kernel" and slow:
            kind = f"kernel (as Python on {slow})"
        return Plan(
            announcement and f"{announcement}; for all, because of {slow}",
            report.work_text(parameters, kind, machine.usable_cores()),
            {key: value for key, value in parameters.record().items() if key != "native"},
            arguments(_options(parameters)),
        )


def _common_receptor(providers: Sequence[spi.Provider]) -> str:
    native = any("native-kernels" in provider.capabilities for provider in providers)
    able = all(provider.capabilities & {"kernels", "native-kernels"} for provider in providers)
    return "kernel" if native and able else "python"


def _options(parameters: Parameters) -> dict[str, Any]:
    """Return the command's options for `parameters`."""
    return parameters.record() | {"stall": parameters.stall_s}
