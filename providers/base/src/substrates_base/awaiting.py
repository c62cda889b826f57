"""Waiting in asyncio for what blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

__all__ = ["waited_for"]


def waited_for(wait: Callable[[], object]) -> Generator[Any, Any, None]:
    """Call `wait` on a thread of its own and return what an ``await`` of it goes through.

    The event loop goes on meanwhile. If the task is cancelled, the thread stays until `wait` returns.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            wait()
        except BaseException as raised:  # noqa: BLE001 - the awaiting task's to handle
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, name="substrates.await", daemon=True).start()
    return future.__await__()
