"""Whether there is memory for something large, asked before it is taken.

The system promises more memory than it has, and ends the process when it is used: too late for an error.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["available_bytes", "require_room"]

_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def require_room(wanted: int, what: str) -> None:
    """Refuse what cannot fit.

    Args:
        wanted: bytes.
        what: for the message.

    Raises:
        MemoryError: the system says that it has less.
    """
    available = available_bytes()
    if available is not None and wanted > available:
        raise MemoryError(
            f"{what}: at least {wanted / 2**30:,.1f} GiB are wanted,"
            f" {available / 2**30:,.1f} GiB are available"
        )


def available_bytes() -> int | None:
    """Return how much memory this process can still take; None where the system does not tell."""
    found = [each for each in (_of_machine(), _of_group(), _of_limit()) if each is not None]
    return max(0, min(found)) if found else None


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) * 1024
    return None


def _of_group() -> int | None:
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):  # no such group, or "max"
            return int(Path(limit).read_text()) - int(Path(used).read_text())
    return None


def _of_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError):
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return limit
