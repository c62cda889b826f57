"""Processes of this command's own that measure, one after the other."""

from __future__ import annotations

import signal
import subprocess
from typing import Any, Final

from .errors import INTERRUPTED

__all__ = ["finish"]

PATIENCE_S: Final = 5.0
"""How long an interrupted child has to keep its evidence before it is interrupted by hand."""


def finish(child: subprocess.Popen[Any]) -> int:
    """Wait for the end of `child`; return its exit status, `INTERRUPTED` if Ctrl-C came first.

    Ctrl-C on a terminal reaches the child too; a signal to this process alone does not, and is passed on.
    """
    try:
        return child.wait()
    except KeyboardInterrupt:
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            child.wait()
        return INTERRUPTED
