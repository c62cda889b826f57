"""What a command says: results on one stream, progress and warnings on standard error, all of it logged."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Final, TextIO

import click

if TYPE_CHECKING:
    from .evidence import Evidence

__all__ = ["Console"]

PLAIN_S: Final = 30.0
"""How often progress is told where a line cannot be overwritten."""


class Console:
    """The streams of one command.

    Args:
        results: where tables go; standard error leaves standard output to JSON.
    """

    def __init__(self, results: TextIO | None = None) -> None:
        self.results = results or sys.stdout
        self._live = sys.stderr.isatty()
        self._told = monotonic()
        self._shown = False
        self._evidence: Evidence | None = None
        self._pending: list[str] = []

    def keep_in(self, evidence: Evidence | None) -> None:
        """Log what was said so far and from now on."""
        self._evidence = evidence
        if evidence is not None:
            for text in self._pending:
                evidence.log(text)
        self._pending = []

    def say(self, text: str = "") -> None:
        """Say part of the result."""
        self._print(text, self.results)

    def warn(self, text: str) -> None:
        """Say what the reader should know before trusting the figures, and what to do about it."""
        self._print(f"warning: {text}", sys.stderr)

    def progress(self, text: str) -> None:
        """Show how far a long task is: in place on a terminal, else with a line every half minute."""
        if self._live:
            click.echo(f"\r\x1b[K{text}", file=sys.stderr, nl=False)
            self._shown = True
        elif monotonic() - self._told > PLAIN_S:
            self._print(text, sys.stderr)

    def clear(self) -> None:
        """Take the progress away, and count the time to its next line from here."""
        if self._shown:
            click.echo("\r\x1b[K", file=sys.stderr, nl=False)
            self._shown = False
        self._told = monotonic()

    def _print(self, text: str, stream: TextIO) -> None:
        self.clear()
        click.echo(text, file=stream)
        stream.flush()
        if self._evidence is not None:
            self._evidence.log(text)
        else:
            self._pending.append(text)
