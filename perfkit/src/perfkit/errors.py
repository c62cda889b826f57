"""How a command ends that does not end well: with one message and an exit status, never a traceback."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["INTERRUPTED", "Failure", "Refusal"]

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as shells have it (128 + SIGINT)."""


class Refusal(click.ClickException):
    """What was asked for cannot be done, and nothing was measured."""

    exit_code = 2


class Failure(click.ClickException):
    """The provider did not do what it should, so the figures stand for nothing."""

    exit_code = 1
