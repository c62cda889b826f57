"""Where failures of client code go: isolated, logged, counted, offered to a hook (ISO-09)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .counts import Count

__all__ = ["Faults", "is_interrupt"]

_log = logging.getLogger("substrates")


class Faults:
    """The failures of one cortex."""

    def __init__(self) -> None:
        self.count = Count()
        self.hook: Callable[[Any, BaseException], object] | None = None

    def report(self, source: Any, error: BaseException) -> None:
        """Log `error`, raised by the client code behind `source`, count it, and call the hook.

        Args:
            source: a component with a subject, or None.
            error: what was raised.
        """
        subject = None
        with suppress(BaseException):
            subject = source.subject
        self.report_of(subject, error)

    def report_of(self, subject: Any, error: BaseException, times: int = 1) -> None:
        """Report what happened `times` times, one after the other, to the component of `subject`.

        Each is counted and offered to the hook; one record is logged.
        """
        for _ in range(times):
            self.count.add()
        often = f" ({times} times)" if times > 1 else ""
        _call(lambda: _log.error("%s raised %r%s", subject, error, often, exc_info=error))
        for _ in range(times):
            hook = self.hook
            if hook is not None:
                failure = _call(lambda hook=hook: hook(subject, error))  # type: ignore[misc]
                if failure is not None:
                    text = f"the fault hook raised {type(failure).__name__}"
                    _call(lambda text=text, cause=failure: _log.error(text, exc_info=cause))  # type: ignore[misc]


def _call(client: Callable[[], object]) -> BaseException | None:
    """Call client code (a hook, logging filters and handlers, a `__repr__`) and return what it raises.

    The engine's threads must go on whatever that is. But Ctrl-C, on the main thread, goes through.
    """
    try:
        client()
    except BaseException as failure:
        if is_interrupt(failure):
            raise
        return failure
    return None


def is_interrupt(error: BaseException) -> bool:
    """Tell whether `error`, just caught, is Ctrl-C: no failure of what it came upon."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
