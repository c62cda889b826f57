"""The record of a run: one folder with all that is needed to believe its figures."""

from __future__ import annotations

import csv
import json
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import environment
from .errors import Refusal

__all__ = ["Evidence", "dump", "uninterrupted"]


class Evidence:
    """The folder ``<results>/<UTC timestamp>-<workload>-<provider>``, made at once.

    Attributes:
        folder: where it is.

    Raises:
        Refusal: it cannot be made or written to.
    """

    def __init__(self, results: Path, workload: str, provider: str) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        name = f"{stamp}-{workload}-{provider}"
        try:
            results.mkdir(parents=True, exist_ok=True)
            self.folder = _fresh(results, name)
            self._log = (self.folder / "console.log").open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise Refusal(
                f"--results {results}: cannot be written to ({error.strerror}: {error.filename});"
                " name another folder"
            ) from error

    def log(self, text: str) -> None:
        """Add lines to ``console.log``."""
        self._log.write(text + "\n")

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write ``<name>.json``."""
        (self.folder / f"{name}.json").write_text(dump(content) + "\n", encoding="utf-8")

    def write_rows(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write ``<name>.csv``; None is an empty field."""
        with (self.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)

    def conclude(self, text: str, summary: Mapping[str, Any], described: Mapping[str, Any]) -> None:
        """Log `text`, write the summary, the environment and the source, and close; for runs without more.

        Args:
            text: what the run printed.
            summary: its figures.
            described: the environment, as `environment.describe` has it.
        """
        self.log(text)
        self.write_json("summary", summary)
        self.write_json("environment", described)
        self.write_json("source", environment.source())
        self.close()

    def close(self) -> None:
        """Close ``console.log``."""
        self._log.close()


def dump(content: Mapping[str, Any]) -> str:
    """Return `content` as JSON text; a number that is none would be an error, not ``NaN``."""
    return json.dumps(content, indent=2, allow_nan=False)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no further Ctrl-C come between: what is done here is short, and the evidence is wanted whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _fresh(results: Path, name: str) -> Path:
    for number in range(1, 100):
        folder = results / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(17, "File exists", str(results / name))
