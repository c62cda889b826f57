"""Several runs, one after the other, each in a process of its own as in the seed document."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..children import finish
from ..console import Console
from ..rounds import ENDS
from ..tables import rate_text, table
from . import report
from .parameters import arguments

__all__ = ["repeated"]


def repeated(options: Mapping[str, Any], console: Console, deliver: Callable[[dict[str, Any]], None]) -> int:
    """Run the showcase `options["repeat"]` times and compare the runs; return the exit status.

    A run that fails or is interrupted is the last.
    """
    command = [sys.executable, "-m", "perfkit", "showcase", *arguments(options)]
    runs: list[dict[str, Any]] = []
    status = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(1, options["repeat"] + 1):
            console.say(f"run {number} of {options['repeat']}")
            file = Path(scratch) / f"{number}.json"
            status = finish(subprocess.Popen([*command, "--json", str(file)], stdout=console.results))
            if file.exists() and file.stat().st_size:
                runs.append(json.loads(file.read_text(encoding="utf-8")))
            console.say()
            if status != 0:
                break
    measured = [each for each in runs if each["deliveries_per_s"] is not None]
    if measured:
        for text in _tables(measured):
            console.say(text)
    deliver({"schema": report.SCHEMA, "workload": "showcase", "runs": runs})
    return status


def _tables(runs: list[dict[str, Any]]) -> list[str]:
    names = [f"Run {number}" for number in range(1, len(runs) + 1)]
    columns = [list(report.figures(run)) for run in runs]
    rows = [[title, *(column[place][1] for column in columns)] for place, (title, _) in enumerate(columns[0])]
    ends = [
        [
            str(number),
            str(sum(not each["warmup"] for each in run["rounds"])),
            rate_text(run["slowest_deliveries_per_s"]),
            rate_text(run["deliveries_per_s"]),
            rate_text(run["fastest_deliveries_per_s"]),
            rate_text(run["first_ten_deliveries_per_s"]),
            rate_text(run["last_ten_deliveries_per_s"]),
        ]
        for number, run in enumerate(runs, 1)
    ]
    rounds = ["Run", "Rounds", "Slowest round", "Median round", "Fastest round", f"First {ENDS} rounds"]
    return [table(["Figure", *names], rows), "", table([*rounds, f"Last {ENDS} rounds"], ends)]
