"""Render the figures of the README from the runs that are kept here, so that none is typed in.

    python results/render.py          # rewrite the README's block
    python results/render.py --check  # exit with 1 if the block is not what the runs say
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
BEGIN, END = "<!-- figures: begin (results/render.py) -->", "<!-- figures: end -->"

# The kept runs that the README quotes; results/README.md says how each was made.
FULL, HAND_OFF, REFERENCE, LANES = (
    "20261130T220130Z-showcase-alpha",
    "20261130T220423Z-showcase-alpha",
    "20261130T220456Z-showcase-reference",
    "20261130T220549Z-lanes-all",
)


def _load(run: str, name: str = "summary") -> Any:
    return json.loads((HERE / run / f"{name}.json").read_text(encoding="utf-8"))


def render() -> str:
    """Return the block of the README."""
    full, hand_off, reference, lanes = (_load(run) for run in (FULL, HAND_OFF, REFERENCE, LANES))
    machine = _load(FULL, "environment")
    for run in (full, hand_off, reference, lanes):
        if not run["verified"]:
            raise SystemExit("a kept run is not verified")
    alpha = lanes["providers"]["alpha"]
    others = ", ".join(
        f"{name} {measured['emission_ns']:.0f} ns" for name, measured in lanes["providers"].items() if name != "alpha"
    )
    delays = [value for name, value in alpha.items() if name.endswith("_delay_s")]
    memory = full["memory"]
    rows = [
        ("deliveries per second, through a million circuits", f"{full['deliveries_per_s'] / 1e9:.2f} billion"),
        (
            "processor time per delivery",
            f"{full['cpu_ns_per_delivery']:.2f} ns,"
            f" {full['floor']['ratio_lean']:.2f} times a bare loop in C without any engine",
        ),
        ("processor time per hand-off to another circuit, delivery included",
         f"{hand_off['cpu_ns_per_visit']:.0f} ns"),
        (
            "memory per circuit with its pipe and kernel state",
            f"{memory['total_bytes_per_circuit']:.0f} bytes, {memory['engine_bytes_per_circuit']:.0f} of them the engine's",
        ),
        ("a million circuits and pipes made one by one from Python", f"{full['build_s']:.1f} s"),
        ("a million parked circuits", f"{alpha['parked_share']:.3%} of one processor"),
        ("emission to a Python receptor, delivered", f"{alpha['emission_ns']:.0f} ns ({others})"),
        ("longest delay by circuits that block or feed themselves for ever", f"{max(delays) * 1e3:.0f} ms"),
        (
            "reference, the showcase in plain Python",
            f"{reference['deliveries_per_s'] / 1e6:.1f} million deliveries per second",
        ),
    ]
    host, python = machine["machine"], machine["python"]["version"].split()[0]
    lines = [
        f"Measured on {host['usable_cores']} cores of an {host['cpu']} (virtual machine), CPython {python}; medians, every count",
        "verified; the runs are kept in [results/](results/README.md):",
        "",
        "| alpha | |",
        "|---|---|",
        *(f"| {what} | {value} |" for what, value in rows),
    ]
    return "\n".join(lines)


def main() -> None:
    """Rewrite or check."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = f"{before}{BEGIN}\n{render()}\n{END}{after}"
    if "--check" in sys.argv:
        sys.exit(0 if fresh == text else "README.md: the figures are not those of the kept runs: run results/render.py")
    README.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
