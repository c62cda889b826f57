"""Where failures of client code go: isolated, logged, counted, offered to a hook (ISO-09)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .counts import Count

__all__ = ["Faults"]

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

        One record is logged; each is counted and offered to the hook.
        """
        often = f" ({times} times)" if times > 1 else ""
        try:
            _log.error("%s raised %s%s", subject, repr(error), often, exc_info=error)
        except BaseException as failure:  # noqa: BLE001 - a user's __repr__ or handler
            _log.error("%s raised %s; reporting it raised %s", subject, type(error), type(failure))
        for _ in range(times):
            self.count.add()
            hook = self.hook
            if hook is not None:
                try:
                    hook(subject, error)
                except BaseException as failure:  # noqa: BLE001 - client code
                    _log.error("the fault hook raised", exc_info=failure)
